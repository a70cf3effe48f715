import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type HookContext,
  type HookResult,
  LIFECYCLE_EVENTS,
  type LifecycleEvent,
  LifecycleManager,
} from "../../src/jcli/index.ts";

/** What one hook does. */
interface Step {
  readonly result: HookResult;
  readonly fails: boolean;
  readonly aborts: boolean;
}

interface Expected {
  readonly result: HookResult;
  /** What each hook that was called was given. */
  readonly seen: readonly HookContext[];
}

const REPLACES = {
  pre_send_message: ["user_input"],
  pre_llm_request: ["messages", "system_prompt"],
  post_llm_response: ["assistant_output"],
  pre_tool_execution: ["tool_arguments"],
  post_tool_execution: ["tool_result"],
  post_tool_execution_failure: ["tool_error"],
  post_micro_compact: ["messages"],
  post_auto_compact: ["messages"],
} as Partial<Record<LifecycleEvent, (keyof HookResult)[]>>;
const FEEDS_BACK = ["pre_send_message", "pre_llm_request", "post_llm_response", "stop"];
const ADDS_CONTEXT = ["pre_llm_request", "post_tool_execution_failure", "stop", "pre_auto_compact"];
const STOPS = [...FEEDS_BACK, "pre_tool_execution", "pre_micro_compact", "pre_auto_compact"];

/** The merge as a reader of the document would write it: mutable, with no thought for speed. */
function model(event: LifecycleEvent, start: HookContext, steps: readonly Step[]): Expected {
  const context: Record<string, unknown> = { ...start };
  let result: Record<string, unknown> = {};
  const seen: HookContext[] = [];
  for (const { result: given, fails, aborts } of steps) {
    seen.push({ ...context } as unknown as HookContext);
    if (fails) {
      if (aborts) return { seen, result: STOPS.includes(event) ? { action: "stop" } : {} };
      continue;
    }
    const isAction = given.action === "skip" ? event === "pre_tool_execution" : STOPS.includes(event);
    if (given.action !== undefined && isAction) result = { action: given.action };
    else {
      for (const field of REPLACES[event] ?? []) {
        if (given[field] === undefined || JSON.stringify(given[field]) === JSON.stringify(context[field])) continue;
        context[field] = given[field];
        result[field] = given[field];
      }
      if (event === "pre_llm_request" && given.inject_messages !== undefined && given.inject_messages.length > 0) {
        result["inject_messages"] = [...((result["inject_messages"] as []) ?? []), ...given.inject_messages];
      }
      if (ADDS_CONTEXT.includes(event) && given.additional_context) {
        const before = result["additional_context"];
        const more = given.additional_context;
        result["additional_context"] = typeof before === "string" ? `${before}\n\n${more}` : more;
      }
    }
    if (FEEDS_BACK.includes(event) && given.retry_feedback) result["retry_feedback"] = given.retry_feedback;
    if (given.system_message) result["system_message"] = given.system_message;
    if (given.action !== undefined && isAction) break;
  }
  return { seen, result };
}

const text = fc.constantFrom("", "a", "b", "c");
const messages = fc.array(fc.record({ role: fc.constantFrom("user", "assistant"), content: text }), { maxLength: 2 });
const fields = {
  messages,
  system_prompt: text,
  user_input: text,
  assistant_output: text,
  tool_arguments: text,
  tool_result: text,
  tool_error: text,
};
const resultOf: fc.Arbitrary<HookResult> = fc.record(
  {
    ...fields,
    inject_messages: messages,
    additional_context: text,
    retry_feedback: text,
    system_message: text,
    action: fc.option(fc.constantFrom("stop" as const, "skip" as const), { nil: undefined, freq: 2 }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<HookResult>;
const isRare = fc.nat(9).map((number) => number === 0);
const step: fc.Arbitrary<Step> = fc.record({ result: resultOf, fails: isRare, aborts: fc.boolean() });
const events = LIFECYCLE_EVENTS.filter(
  (event) => !["session_start", "session_end", "post_send_message"].includes(event),
);

describe("the merge", () => {
  test("is that of the reference model", { timeout: 15_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...events),
        fc.record({ ...fields, tool_name: text, model: text }, { requiredKeys: [] }),
        fc.array(step, { maxLength: 6 }),
        async (event, given, steps) => {
          const manager = new LifecycleManager({ cwd: "/" });
          const seen: HookContext[] = [];
          for (const { result, fails, aborts } of steps) {
            const hook = (context: HookContext): HookResult => {
              seen.push(JSON.parse(JSON.stringify(context)) as HookContext);
              if (fails) throw new Error("no");
              return JSON.parse(JSON.stringify(result)) as HookResult;
            };
            manager.addBuiltin(event, hook, { name: "hook", onError: aborts ? "abort" : "skip" });
          }
          let start: HookContext | undefined;
          const probe = new LifecycleManager({ cwd: "/" });
          probe.addBuiltin(event, (context) => void (start = JSON.parse(JSON.stringify(context)) as HookContext), {
            name: "probe",
          });
          await probe.run({ event, ...given });
          const before = structuredClone(given);
          const { result } = await manager.run({ event, ...given });
          const expected = model(event, start ?? { event, cwd: "/" }, steps);
          expect(result).toEqual(expected.result);
          expect(seen).toEqual(expected.seen);
          expect(given).toEqual(before);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
