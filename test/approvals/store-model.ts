import * as fc from "fast-check";
import { expect } from "vitest";
import {
  type Approval,
  type ApprovalManager,
  type ApprovalQuestion,
  type ApprovalScope,
  type ApprovalStatus,
  toCallHash,
} from "../../src/approvals/index.ts";
import { isHookgateError } from "../../src/errors.ts";

/** An approval as plain rules have it. */
interface ModelApproval {
  readonly id: string;
  readonly command: string;
  status: ApprovalStatus;
  expiresAtMs: number;
  scope: ApprovalScope;
  readonly require: number;
  readonly approvers: readonly string[];
  readonly voters: string[];
  deniedAtMs?: number;
}

/** What a run of commands should have come to; the newest approval is the last. */
export interface ApprovalModel {
  nowMs: number;
  readonly approvals: ModelApproval[];
  /** How often each approval was told of. */
  readonly told: Map<string, number>;
}

/** What a run of commands works on. */
export interface ApprovalSystem {
  readonly managers: readonly ApprovalManager[];
  advance(ms: number): void;
  /** Ids of approvals that were told to be decided, one for each time. */
  readonly decided: readonly string[];
}

/** Longer than some steps of the clock and shorter than others. */
const HOLDS_MS = 45_000;
const PEOPLE = ["ann", "ben", "cem"] as const;
const EXPIRES_MS = 60_000;
const USE_MS = 30_000;
const HELD_MS: Readonly<Record<ApprovalScope, number>> = { once: USE_MS, hour: 3_600_000, session: 86_400_000 };

type Command = fc.AsyncCommand<ApprovalModel, ApprovalSystem>;

function toCommand(text: string, run: (model: ApprovalModel, system: ApprovalSystem) => Promise<void>): Command {
  return { check: () => true, run, toString: () => text };
}

function toQuestion(command: string, require: number, approvers: readonly string[]): ApprovalQuestion {
  const base = { agent: "main", session: "s", tool: "bash", arguments: { command } };
  return { ...base, hook: "human", reason: "", require, approvers, expiresMs: EXPIRES_MS, useWithinMs: USE_MS };
}

const isOpen = ({ status }: ModelApproval): boolean => status === "pending" || status === "approved";
const isOver = (approval: ModelApproval, nowMs: number): boolean => isOpen(approval) && approval.expiresAtMs <= nowMs;

function tell(model: ApprovalModel, { id }: ModelApproval): void {
  model.told.set(id, (model.told.get(id) ?? 0) + 1);
}

function settle(model: ApprovalModel, approval: ModelApproval, status: ApprovalStatus): void {
  if (approval.status === "pending") tell(model, approval);
  approval.status = status;
}

/** What a look at an approval does to one whose time is over. */
function touch(model: ApprovalModel, approval: ModelApproval): void {
  if (isOver(approval, model.nowMs)) settle(model, approval, "expired");
}

function pick(model: ApprovalModel, index: number): ModelApproval | undefined {
  // Mostly the newest: the others are settled.
  return model.approvals.at(-1 - (index % Math.max(1, model.approvals.length)));
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "done";
  } catch (error) {
    if (!isHookgateError(error)) throw error;
    return error.code;
  }
}

const SETTLED_CODES: Readonly<Partial<Record<ApprovalStatus, string>>> = { expired: "ERR_GONE" };

async function ask(manager: ApprovalManager, model: ApprovalModel, question: ApprovalQuestion): Promise<void> {
  const { approval, isNew, heldUntil } = await manager.ask(question);
  const command = String(question.arguments?.["command"]);
  const last = model.approvals.findLast((other) => other.command === command);
  const heldUntilMs = (last?.deniedAtMs ?? -Infinity) + (question.denialHoldsMs ?? 0);
  if (last !== undefined && model.nowMs < heldUntilMs) {
    return expect([isNew, approval.id, heldUntil]).toEqual([false, last.id, new Date(heldUntilMs).toISOString()]);
  }
  expect(heldUntil).toBeUndefined();
  const open = model.approvals.find((other) => other.command === command && isOpen(other));
  if (open !== undefined) touch(model, open);
  if (open?.status === "approved" && meets(open, question)) expect([isNew, approval.id]).toEqual([false, open.id]);
  else if (open?.status === "pending" && isSame(open, question)) expect([isNew, approval.id]).toEqual([false, open.id]);
  else {
    if (open !== undefined && isOpen(open)) settle(model, open, "cancelled");
    expect(isNew).toBe(true);
    const { require, approvers } = question;
    const rest = { require, approvers, voters: [], expiresAtMs: model.nowMs + EXPIRES_MS, scope: "once" as const };
    model.approvals.push({ id: approval.id, command, status: "pending", ...rest });
  }
}

function isSame(open: ModelApproval, { require, approvers }: ApprovalQuestion): boolean {
  return open.require === require && open.approvers.join() === approvers.join();
}

/** Whether as many people who may decide have approved as have to. */
function meets({ voters }: ModelApproval, { require, approvers }: ApprovalQuestion): boolean {
  return voters.filter((by) => approvers.length === 0 || approvers.includes(by)).length >= require;
}

interface Vote {
  readonly by: string;
  readonly decision: "approve" | "deny";
  readonly scope: ApprovalScope;
}

async function decide(
  manager: ApprovalManager,
  approval: ModelApproval,
  { model, vote }: { readonly model: ApprovalModel; readonly vote: Vote },
): Promise<void> {
  const { by, decision, scope } = vote;
  touch(model, approval);
  const expected =
    approval.approvers.length > 0 && !approval.approvers.includes(by)
      ? "ERR_FORBIDDEN"
      : approval.status !== "pending"
        ? (SETTLED_CODES[approval.status] ?? "ERR_CONFLICT")
        : approval.voters.includes(by)
          ? "ERR_CONFLICT"
          : "done";
  expect(await codeOf(manager.decide(approval.id, { by, how: "token", decision, scope }))).toBe(expected);
  if (expected !== "done") return;
  approval.voters.push(by);
  if (decision === "deny") {
    approval.deniedAtMs = model.nowMs;
    return settle(model, approval, "denied");
  }
  const order: readonly ApprovalScope[] = ["once", "hour", "session"];
  const before = approval.voters.length === 1 ? scope : approval.scope;
  approval.scope = order[Math.min(order.indexOf(before), order.indexOf(scope))] ?? "once";
  if (approval.voters.length < approval.require) return;
  settle(model, approval, "approved");
  approval.expiresAtMs = model.nowMs + HELD_MS[approval.scope];
}

async function use(manager: ApprovalManager, model: ApprovalModel, command: string): Promise<void> {
  const call = await toCallHash(toQuestion(command, 1, []));
  const open = model.approvals.find((other) => other.command === command && isOpen(other));
  const used = await manager.use(call);
  // A pending one is only looked up: it stays as it is.
  if (open?.status === "approved") touch(model, open);
  if (open?.status !== "approved") return expect(used).toBeUndefined();
  expect(used?.id).toBe(open.id);
  if (open.scope === "once") open.status = "consumed";
}

async function cancel(manager: ApprovalManager, model: ApprovalModel, approval?: ModelApproval): Promise<void> {
  if (approval === undefined) return;
  touch(model, approval);
  const expected = isOpen(approval) ? "done" : (SETTLED_CODES[approval.status] ?? "ERR_CONFLICT");
  expect(await codeOf(manager.cancel(approval.id))).toBe(expected);
  if (expected === "done") settle(model, approval, "cancelled");
}

/** The statuses as people see them, once everything that is over is settled. */
async function compare(manager: ApprovalManager, model: ApprovalModel): Promise<void> {
  while ((await manager.sweep()) > 0);
  for (const approval of model.approvals) touch(model, approval);
  const seen: Approval[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await manager.list({ maxApprovals: 3, cursor });
    seen.push(...page.approvals);
    cursor = page.next;
    if (cursor === undefined) break;
  }
  expect(new Map(seen.map(({ id, status }) => [id, status]))).toEqual(
    new Map(model.approvals.map(({ id, status }) => [id, status])),
  );
  for (const { id, status, votes } of seen) {
    expect((await manager.get(id)).status).toBe(status);
    expect(votes.map(({ by }) => by)).toEqual(model.approvals.find((other) => other.id === id)?.voters);
  }
}

/** Compares what was told of with what should have been. */
export function compareTold(model: ApprovalModel, { decided }: ApprovalSystem): void {
  const counts = new Map<string, number>();
  for (const id of decided) counts.set(id, (counts.get(id) ?? 0) + 1);
  expect(counts).toEqual(model.told);
}

const which = fc.nat({ max: 1 });
const commandName = fc.constantFrom("ls", "rm");
const who = fc.constantFrom(...PEOPLE, "eve");

/** What can be done with approvals. Each is done by one of two managers. */
export const approvalCommands: fc.Arbitrary<Command>[] = [
  fc
    .tuple(which, commandName, fc.constantFrom(1, 2), fc.constantFrom([], [...PEOPLE]), fc.constantFrom(0, HOLDS_MS))
    .map(([by, name, require, approvers, denialHoldsMs]) =>
      toCommand(`ask(${name}, ${require} of ${approvers.length}, ${denialHoldsMs})`, (model, { managers }) =>
        ask(managers[by] as ApprovalManager, model, { ...toQuestion(name, require, approvers), denialHoldsMs }),
      ),
    ),
  fc
    .record({
      at: which,
      index: fc.nat({ max: 3 }),
      by: who,
      decision: fc.constantFrom("approve", "approve", "deny" as const),
      scope: fc.constantFrom("once", "hour", "session" as const),
    })
    .map(({ at, index, ...vote }) =>
      toCommand(`decide(${index}, ${JSON.stringify(vote)})`, async (model, { managers }) => {
        const approval = pick(model, index);
        if (approval !== undefined) await decide(managers[at] as ApprovalManager, approval, { model, vote });
      }),
    ),
  fc
    .tuple(which, commandName)
    .map(([by, name]) =>
      toCommand(`use(${name})`, (model, { managers }) => use(managers[by] as ApprovalManager, model, name)),
    ),
  fc
    .tuple(which, fc.nat({ max: 3 }))
    .map(([by, index]) =>
      toCommand(`cancel(${index})`, (model, { managers }) =>
        cancel(managers[by] as ApprovalManager, model, pick(model, index)),
      ),
    ),
  fc.constantFrom(1, USE_MS - 1, USE_MS, EXPIRES_MS, 3_600_000).map((ms) =>
    toCommand(`advance(${ms})`, async (model, system) => {
      system.advance(ms);
      model.nowMs += ms;
    }),
  ),
  which.map((by) => toCommand("compare()", (model, { managers }) => compare(managers[by] as ApprovalManager, model))),
];

/** Looks at everything, after the last command. */
export async function compareAll(model: ApprovalModel, system: ApprovalSystem): Promise<void> {
  await compare(system.managers[0] as ApprovalManager, model);
  compareTold(model, system);
}
