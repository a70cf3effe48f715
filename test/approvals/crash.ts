import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import * as fc from "fast-check";
import { expect } from "vitest";
import { type Approval, ApprovalManager, type ApprovalStore } from "../../src/approvals/index.ts";
import { isHookgateError } from "../../src/errors.ts";

/** Options of {@link crashGateways}. */
export interface CrashOptions {
  /** The store's address, as in a config. */
  readonly address: string;
  /** The same store, as the people who decide see it; it is not closed. */
  readonly store: ApprovalStore;
  /** How often a gateway is killed. */
  readonly kills: number;
  /** What the points at which it is killed are drawn from. */
  readonly seed: number;
}

/** How many different calls are made: few, so that those of a gateway that died come again. */
const CALLS = 6;
const CALLS_PER_ROUND = 5;
const SCRIPT = join(import.meta.dirname, "crash-gateway.ts");

interface Answer {
  readonly approved: boolean;
  readonly approval?: { readonly id: string; readonly status: string };
}

/** What is known from outside of all gateways that lived: what a restart must not take back. */
interface Ledger {
  /** The approvals somebody was told to be pending. */
  readonly pending: Set<string>;
  readonly decided: Map<string, "approved" | "denied">;
  /** How often each approval has let a call go on. */
  readonly uses: Map<string, number>;
}

/**
 * Kills gateways with SIGKILL at points of their work that are drawn, one after the other on one store, and fails when an
 * approval is used twice, is used without a decision, or is lost.
 * @returns how many approvals were used, and how many gateways died by themselves
 */
export async function crashGateways({
  address,
  store,
  kills,
  seed,
}: CrashOptions): Promise<{ readonly used: number; readonly suicides: number }> {
  const people = new ApprovalManager({ store });
  const ledger: Ledger = { pending: new Set(), decided: new Map(), uses: new Map() };
  const rounds = fc.sample(fc.noBias(ROUND), { numRuns: kills, seed });
  let suicides = 0;
  // The next one starts while this one works; it does nothing before it is asked.
  let next = startGateway(address, rounds[0]);
  for (const [index, round] of rounds.entries()) {
    const gateway = await next;
    next = startGateway(address, rounds[index + 1]);
    try {
      const unanswered = await work(round, { gateway, people, ledger });
      if (unanswered > 0 && round.when !== "never") suicides += 1;
      gateway.kill();
      expect(await gateway.ended).toBe("SIGKILL");
      await compare(store, ledger);
    } catch (error) {
      (await next).kill();
      throw error;
    }
  }
  await settle(await next, { store, ledger });
  return { used: ledger.uses.size, suicides };
}

const ROUND = fc.record({
  when: fc.constantFrom("before", "after", "never" as const),
  /** At which step of its work with the store a gateway kills itself. */
  step: fc.integer({ min: 1, max: 32 }),
  calls: fc.array(fc.nat({ max: CALLS - 1 }), { minLength: CALLS_PER_ROUND, maxLength: CALLS_PER_ROUND }),
  /** After how many answers a gateway is killed that does not die by itself. */
  answers: fc.nat({ max: CALLS_PER_ROUND }),
  /** Which of the calls is denied, if it comes to that. */
  denied: fc.nat({ max: 2 * CALLS_PER_ROUND }),
});

type Round = typeof ROUND extends fc.Arbitrary<infer R> ? R : never;

interface Working {
  readonly gateway: Gateway;
  readonly people: ApprovalManager;
  readonly ledger: Ledger;
}

/**
 * Makes the calls of a round, decides about them, and makes them again, all at once.
 * @returns how many were not answered
 */
async function work(round: Round, { gateway, people, ledger }: Working): Promise<number> {
  let answers = 0;
  let unanswered = 0;
  const calls = round.calls.map(async (call, index) => {
    const answer = await ask(gateway.url, call);
    if (answer === undefined) unanswered += 1;
    if (answer === undefined) return;
    note(answer, ledger);
    const { id = "", status } = answer.approval ?? {};
    if (status === "pending" && !ledger.decided.has(id)) {
      await decide(id, { people, ledger, isDenied: round.denied === index });
    }
    const again = await ask(gateway.url, call);
    if (again === undefined) unanswered += 1;
    else note(again, ledger);
    answers += 1;
    if (round.when === "never" && answers > round.answers) gateway.kill();
  });
  await Promise.all(calls);
  return unanswered;
}

interface Gateway {
  readonly url: string;
  /** The signal or the code it ends with. */
  readonly ended: Promise<unknown>;
  kill(): void;
}

async function startGateway(address: string, round?: Pick<Round, "when" | "step">): Promise<Gateway> {
  const { when = "never", step = 0 } = round ?? {};
  const child = spawn(process.execPath, [SCRIPT, address, when, String(step)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit").then(([code, signal]: unknown[]) => signal ?? code);
  const first = once(createInterface({ input: child.stdout }), "line").then(([line]: unknown[]) => String(line));
  const early = ended.then((how) => Promise.reject(new Error(`it ended before it listened: ${String(how)}`)));
  const url = await Promise.race([first, early]);
  early.catch(() => {});
  return {
    url,
    ended,
    kill: () => void child.kill("SIGKILL"),
  };
}

/** Asks a gateway about a call; undefined when it died before it answered. */
async function ask(url: string, call: number): Promise<Answer | undefined> {
  const params = { meta: { AgentID: "main", SessionKey: "s" }, tool: "bash", arguments: { call } };
  try {
    const response = await fetch(`${url}/rpc`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.check_tool", params }),
    });
    return ((await response.json()) as { readonly result: Answer }).result;
  } catch {
    return undefined;
  }
}

function note({ approved, approval }: Answer, { pending, uses }: Ledger): void {
  expect(approval).toBeDefined();
  if (approval === undefined) return;
  if (approved) uses.set(approval.id, (uses.get(approval.id) ?? 0) + 1);
  else if (approval.status === "pending") pending.add(approval.id);
}

interface Deciding {
  readonly people: ApprovalManager;
  readonly ledger: Ledger;
  readonly isDenied: boolean;
}

async function decide(id: string, { people, ledger, isDenied }: Deciding): Promise<void> {
  const decision = isDenied ? "deny" : "approve";
  try {
    await people.decide(id, { by: "ann", how: "test", decision });
    ledger.decided.set(id, isDenied ? "denied" : "approved");
  } catch (error) {
    // Another of the calls under way was told of the same approval, and it was decided for that one.
    if (!isHookgateError(error) || error.code !== "ERR_CONFLICT") throw error;
  }
}

/** Whether the store has all that was told of, in a state that fits. */
async function compare(store: ApprovalStore, { pending, decided, uses }: Ledger): Promise<void> {
  for (const id of pending) {
    const approval = await store.get(id);
    const decision = decided.get(id);
    if (decision === undefined || decision === "denied")
      expect([id, approval?.status]).toEqual([id, decision ?? "pending"]);
    else expect(["approved", "consumed"]).toContain(approval?.status);
  }
  for (const [id, times] of uses) {
    expect([id, times, decided.get(id), (await store.get(id))?.status]).toEqual([id, 1, "approved", "consumed"]);
  }
}

/** What is approved after all that lets exactly one call go on. */
async function settle(
  gateway: Gateway,
  { store, ledger }: Omit<Working, "gateway" | "people"> & Stored,
): Promise<void> {
  const { approvals } = await store.list({ status: "approved", maxApprovals: 500 });
  const open = new Map(approvals.map((approval: Approval) => [approval.arguments["call"], approval.id]));
  for (let call = 0; call < CALLS; call += 1) {
    const first = await ask(gateway.url, call);
    const id = open.get(call);
    expect(first?.approved).toBe(id !== undefined);
    if (id !== undefined) expect(first?.approval).toEqual({ id, status: "consumed" });
    if (first !== undefined) note(first, ledger);
    expect((await ask(gateway.url, call))?.approval?.status).toBe("pending");
  }
  await compare(store, ledger);
  gateway.kill();
  await gateway.ended;
}

interface Stored {
  readonly store: ApprovalStore;
}
