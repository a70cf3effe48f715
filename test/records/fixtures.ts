import { hash } from "node:crypto";
import type { ObservedDecision } from "../../src/chain/index.ts";
import type { DecisionRecord, RecordSink, Sealed } from "../../src/records/index.ts";

export const sha256 = (text: string): string => hash("sha256", text, "hex");

let count = 0;

/** A decision as a manager hands it out. */
export function decision(changes: Partial<ObservedDecision> = {}): ObservedDecision {
  count += 1;
  const id = `00000000-0000-4000-8000-${String(count).padStart(12, "0")}`;
  return {
    id,
    point: "before_tool",
    atMs: Date.UTC(2026, 0, 1) + count,
    ms: 1.5,
    traceId: id.replaceAll("-", ""),
    caller: "bot",
    input: { meta: { AgentID: "main", SessionKey: "s1" }, tool: "bash", arguments: { command: "ls" } },
    action: "continue",
    reason: "",
    records: [{ hook: "gate", source: "in-process", point: "before_tool", outcome: "continue", ms: 0.2, attempt: 1 }],
    changes: [],
    ...changes,
  };
}

/** A sink that keeps what it is given, and fails when told to. */
export function memorySink(): RecordSink & {
  readonly sealed: Sealed[];
  readonly records: () => readonly DecisionRecord[];
  failure: Error | undefined;
} {
  const sealed: Sealed[] = [];
  return {
    name: "memory",
    sealed,
    failure: undefined,
    records: () => sealed.map(({ record }) => record),
    open: () => Promise.resolve(undefined),
    async write(batch) {
      if (this.failure !== undefined) throw this.failure;
      sealed.push(...batch);
    },
    close: () => Promise.resolve(),
  };
}
