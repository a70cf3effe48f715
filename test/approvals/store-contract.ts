import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApprovalManager } from "../../src/approvals/index.ts";
import type { OpenApprovalStage } from "../conformance/approval-fixture.ts";
import { approvalStoreCases } from "../conformance/approval-store.ts";
import { testReplayStore } from "../signing/replay-contract.ts";
import { describeRaces } from "./race-contract.ts";
import { approvalCommands, type ApprovalModel, compareAll } from "./store-model.ts";

/** Options of {@link describeStore}. */
export interface DescribeStoreOptions {
  /** How many runs of commands the store is put through. @default 200 */
  readonly numRuns?: number;
}

/**
 * What every store of approvals must do, as tests of vitest: the cases of the conformance suite, the contract of replay
 * stores, and runs of random commands by two managers that are compared with a plain model of the states.
 * @param open - Makes an empty store each time.
 */
export function describeStore(
  name: string,
  open: OpenApprovalStage,
  { numRuns = 200 }: DescribeStoreOptions = {},
): void {
  describe(`the approval store in ${name}`, () => {
    test.each(approvalStoreCases(name, open))("$id", async ({ run }) => {
      await expect(run()).resolves.toBeUndefined();
    });

    describeRaces(name, open);

    testReplayStore(async () => {
      const { store, now, advance } = await open();
      return { store, nowMs: now, advance };
    });

    test("approvals agree with a plain model of their states", { timeout: 120_000 }, async () => {
      const commands = fc.commands(approvalCommands, { maxCommands: 50, size: "max" });
      const property = fc.asyncProperty(commands, (run) => runCommands(open, run));
      await expect(fc.assert(property, { numRuns })).resolves.toBeUndefined();
    });
  });
}

type Commands = typeof fc.commands extends (...args: never[]) => fc.Arbitrary<infer C> ? C : never;

async function runCommands(open: OpenApprovalStage, commands: Commands): Promise<void> {
  const { store, other = store, now, advance, close } = await open();
  try {
    const decided: string[] = [];
    const managers = [store, other].map(
      (each) =>
        new ApprovalManager({
          store: each,
          now,
          onNews: (news, { id }) => void (news === "decided" && decided.push(id)),
        }),
    );
    const model: ApprovalModel = { approvals: [], told: new Map(), nowMs: now() };
    const real = { managers, decided, advance };
    await fc.asyncModelRun(() => ({ model, real }), commands as Iterable<fc.AsyncCommand<ApprovalModel, typeof real>>);
    await compareAll(model, real);
  } finally {
    await store.close();
    await close?.();
  }
}
