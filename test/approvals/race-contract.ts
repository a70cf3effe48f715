import { describe, expect, test } from "vitest";
import { type Approval, ApprovalManager, type ApprovalQuestion } from "../../src/approvals/index.ts";
import { isHookgateError } from "../../src/errors.ts";
import type { ApprovalStage, OpenApprovalStage } from "../conformance/approval-fixture.ts";

const RACERS = 50;

function questionOf(changes: Partial<ApprovalQuestion> = {}): ApprovalQuestion {
  return {
    agent: "main",
    session: "s",
    tool: "bash",
    arguments: { command: "ls" },
    hook: "human",
    reason: "",
    require: 1,
    approvers: [],
    expiresMs: 60_000,
    useWithinMs: 60_000,
    ...changes,
  };
}

interface Nodes {
  readonly a: ApprovalManager;
  readonly b: ApprovalManager;
  /** One of the two, by turns. */
  at(index: number): ApprovalManager;
  /** Ids of approvals that were told to be decided. */
  readonly decided: readonly string[];
}

function toNodes({ store, other = store, now }: ApprovalStage): Nodes {
  const decided: string[] = [];
  const create = (each: ApprovalStage["store"]): ApprovalManager =>
    new ApprovalManager({
      store: each,
      now,
      onNews: (news, { id }) => void (news === "decided" && decided.push(id)),
    });
  const [a, b] = [create(store), create(other)];
  return { a, b, at: (index) => (index % 2 === 0 ? a : b), decided };
}

/** What each of many came to: what it gave, or the code it was refused with. */
function race<T>(run: (index: number) => Promise<T>): Promise<(T | string)[]> {
  return Promise.all(
    Array.from({ length: RACERS }, (_, index) =>
      run(index).catch((error: unknown) => {
        if (!isHookgateError(error)) throw error;
        return error.code;
      }),
    ),
  );
}

function count(results: readonly unknown[], wanted: unknown): number {
  return results.filter((result) => result === wanted).length;
}

async function askAtOnce({ at }: Nodes): Promise<void> {
  const asked = await race(async (index) => (await at(index).ask(questionOf())).approval.id);
  expect(new Set(asked).size).toBe(1);
}

async function decideAtOnce({ a, at, decided }: Nodes): Promise<void> {
  const { approval } = await a.ask(questionOf());
  const results = await race(async (index) => {
    const decision = index % 3 === 0 ? "deny" : "approve";
    return (await at(index).decide(approval.id, { by: `person-${index}`, how: "token", decision })).status;
  });
  expect(count(results, "approved") + count(results, "denied")).toBe(1);
  expect(count(results, "ERR_CONFLICT")).toBe(RACERS - 1);
  expect(decided).toEqual([approval.id]);
  expect((await a.get(approval.id)).votes).toHaveLength(1);
}

async function countPeople({ a, at }: Nodes): Promise<void> {
  const { approval } = await a.ask(questionOf({ require: 10 }));
  const results = await race(async (index) => {
    const by = `person-${index % 25}`;
    return (await at(index).decide(approval.id, { by, how: "token", decision: "approve" })).status;
  });
  const { votes, status } = await a.get(approval.id);
  expect(status).toBe("approved");
  expect(new Set(votes.map(({ by }) => by)).size).toBe(10);
  expect([count(results, "pending"), count(results, "approved")]).toEqual([9, 1]);
  expect(count(results, "ERR_CONFLICT")).toBe(RACERS - 10);
}

async function useAtOnce({ a, at }: Nodes): Promise<void> {
  const { approval } = await a.ask(questionOf());
  await a.decide(approval.id, { by: "ann", how: "token", decision: "approve" });
  const results = await race((index) => at(index).use(approval.call));
  const used = results.filter((result): result is Approval => typeof result === "object");
  expect(used.map(({ id, status }) => [id, status])).toEqual([[approval.id, "consumed"]]);
  expect((await a.get(approval.id)).status).toBe("consumed");
}

async function mixAtOnce({ a, at, decided }: Nodes): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    const { approval } = await a.ask(questionOf({ arguments: { round } }));
    const { id, call } = approval;
    const uses: string[] = [];
    await race(async (index) => {
      if (index % 5 === 0) await at(index).decide(id, { by: `p${index}`, how: "token", decision: "approve" });
      if (index === 33) await at(index).cancel(id);
      const used = await at(index).use(call);
      if (used !== undefined) uses.push(used.id);
    });
    const { status, votes } = await a.get(id);
    expect(votes.length).toBeLessThanOrEqual(1);
    expect(status === "consumed" ? 1 : 0).toBe(uses.length);
    expect(["consumed", "cancelled"]).toContain(status);
    expect(count(decided, id)).toBe(1);
  }
}

async function wakeAcross({ a, b }: Nodes): Promise<void> {
  const asked = await Promise.all(
    Array.from({ length: RACERS }, (_, index) => a.ask(questionOf({ arguments: { index } }))),
  );
  const ids = asked.map(({ approval }) => approval.id);
  const waits = ids.map((id) => a.wait(id, { timeoutMs: 50_000 }));
  await Promise.all(ids.map((id) => b.decide(id, { by: "ann", how: "token", decision: "approve" })));
  expect((await Promise.all(waits)).map(({ id, status }) => [id, status])).toEqual(ids.map((id) => [id, "approved"]));
}

const RACES: readonly (readonly [what: string, run: (nodes: Nodes) => Promise<void>])[] = [
  ["of fifty questions about one call, one is asked", askAtOnce],
  ["of fifty decisions one counts, and the others are told so", decideAtOnce],
  ["of fifty people as many are counted as it takes, each once", countPeople],
  ["of fifty uses one counts", useAtOnce],
  ["decisions, uses and revocations at once come to one end, and to one use", mixAtOnce],
  ["who waits at one is woken by what is decided at the other", wakeAcross],
];

/** What two gateways on one store must do when everything comes at once. */
export function describeRaces(name: string, open: OpenApprovalStage): void {
  describe(`two gateways on ${name}`, () => {
    test.each(RACES)("%s", { timeout: 60_000 }, async (_what, run) => {
      const stage = await open();
      try {
        await expect(run(toNodes(stage))).resolves.toBeUndefined();
      } finally {
        await stage.store.close();
        await stage.close?.();
      }
    });
  });
}
