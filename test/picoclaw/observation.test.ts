import { expect, test } from "vitest";
import type { HookRecord, ObservedDecision } from "../../src/chain/index.ts";
import { type Hook, HookManager, type HookTracer, type MountOptions } from "../../src/picoclaw/index.ts";

interface Watched {
  readonly manager: HookManager;
  readonly decisions: ObservedDecision[];
  readonly spans: string[];
}

async function watch(hooks: Readonly<Record<string, [Hook, Partial<MountOptions>]>>): Promise<Watched> {
  const decisions: ObservedDecision[] = [];
  const spans: string[] = [];
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const tracer: HookTracer = {
    start: () => ({
      traceparent,
      startHook: ({ name }) => ({ traceparent, end: ({ outcome }) => void spans.push(`${name}: ${outcome}`) }),
      end: ({ action }) => void spans.push(action),
    }),
  };
  const manager = new HookManager({
    budgets: { interceptorMs: 50 },
    onDecision: (decision) => decisions.push(decision),
    tracer,
  });
  for (const [name, [hook, options]] of Object.entries(hooks)) await manager.mount(hook, { name, ...options });
  return { manager, decisions, spans };
}

const together = { readOnly: true, parallel: true } as const;
const never = new Promise<undefined>(() => {});

function namesOf(records: readonly HookRecord[] = []): readonly string[] {
  return records.map(({ hook, outcome }) => `${hook}: ${outcome}`);
}

test("hooks that are called together have a span each, and changes belong to the hooks that made them", async () => {
  const { manager, decisions, spans } = await watch({
    audited: [{ beforeTool: () => ({ call: { tool: "mv" } }) }, { mode: "audit", priority: -1 }],
    a: [{ beforeTool: () => undefined }, together],
    b: [{ beforeTool: () => undefined }, together],
    changing: [{ beforeTool: () => ({ call: { tool: "rm" } }) }, {}],
  });
  const { call } = await manager.beforeTool({ tool: "ls" });
  expect(call.tool).toBe("rm");
  const [decision] = decisions;
  expect(namesOf(decision?.records)).toEqual(["audited: audit", "a: continue", "b: continue", "changing: modify"]);
  expect(decision?.changes).toMatchObject([{ index: 3, before: { tool: "ls" }, after: { tool: "rm" } }]);
  expect(spans.toSorted()).toEqual([...namesOf(decision?.records), "modify"].toSorted());
});

test.each([
  ["of the host", `00-${"c".repeat(32)}-${"d".repeat(16)}-01`],
  ["of the point before, so that they are in one trace", undefined],
])("the spans of both points of a tool check are children %s", async (_name, given) => {
  const parents: (string | undefined)[] = [];
  const own = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const manager = new HookManager({
    tracer: {
      start(_point, { traceparent }) {
        parents.push(traceparent);
        return { traceparent: own, startHook: () => ({ traceparent: own, end() {} }), end() {} };
      },
    },
  });
  await manager.mount({ beforeTool: () => undefined, approveTool: () => ({ approved: true }) }, { name: "gate" });
  await manager.checkTool({ tool: "ls" }, { traceparent: given });
  expect(parents).toEqual([given, given ?? own]);
});

test("a hook that is cut, and one that is not called, are in the record as in the answer", async () => {
  const { manager, decisions, spans } = await watch({
    denying: [{ beforeTool: async () => ({ action: "deny_tool" }) }, together],
    late: [{ beforeTool: () => never }, together],
  });
  expect((await manager.beforeTool({ tool: "ls" })).action).toBe("deny_tool");
  expect(spans).toEqual(["denying: deny_tool", "late: superseded", "deny_tool"]);
  expect(namesOf(decisions[0]?.records)).toEqual(["denying: deny_tool", "late: superseded"]);
  const slow = await watch({
    slow: [{ beforeTool: () => never }, {}],
    unasked: [{ beforeTool: () => undefined }, { policy: { onTimeout: "deny" } }],
  });
  const { trace, action, reason } = await slow.manager.beforeTool({ tool: "ls" });
  expect(slow.decisions[0]).toMatchObject({ id: trace.id, action, reason, records: trace.records });
  expect(slow.spans).toEqual(["slow: no_verdict", "deny_tool"]);
});
