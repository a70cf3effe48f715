import {
  type HookContext,
  type HookResult,
  type HostContext,
  isLifecycleEvent,
  LIFECYCLE_EVENTS,
  LifecycleManager,
  type LifecycleEvent,
  parseContext,
} from "../../src/jcli/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";

/** The table of the YAML hook system, section 2, written down once more. */
const TABLE: Readonly<Record<LifecycleEvent, readonly [context: string, effective: string, actions?: string]>> = {
  session_start: ["messages", ""],
  session_end: ["messages", ""],
  pre_send_message: ["user_input messages", "user_input retry_feedback", "stop"],
  post_send_message: ["user_input messages", ""],
  pre_llm_request: [
    "messages system_prompt model",
    "messages system_prompt inject_messages additional_context retry_feedback",
    "stop",
  ],
  post_llm_response: ["assistant_output messages model", "assistant_output retry_feedback system_message", "stop"],
  pre_tool_execution: ["tool_name tool_arguments", "tool_arguments", "skip stop"],
  post_tool_execution: ["tool_name tool_result", "tool_result"],
  post_tool_execution_failure: ["tool_name tool_error", "tool_error additional_context"],
  stop: ["user_input messages system_prompt model", "retry_feedback additional_context", "stop"],
  pre_micro_compact: ["messages model", "", "stop"],
  post_micro_compact: ["messages", "messages"],
  pre_auto_compact: ["messages system_prompt model", "additional_context", "stop"],
  post_auto_compact: ["messages", "messages"],
};

const NOTIFICATIONS: readonly string[] = ["session_start", "session_end", "post_send_message"];
const EVENTS = Object.keys(TABLE) as readonly LifecycleEvent[];

const EVERYTHING: Omit<Required<HookContext>, "event"> = {
  messages: [{ role: "user", content: "hi" }],
  system_prompt: "be kind",
  model: "gpt-4o",
  user_input: "hi",
  assistant_output: "hello",
  tool_name: "Bash",
  tool_arguments: "{}",
  tool_result: "done",
  tool_error: "broke",
  session_id: "s",
  cwd: "/home",
};

const NEW_VALUES: Required<Omit<HookResult, "action">> = {
  messages: [{ role: "user", content: "new" }],
  system_prompt: "new",
  user_input: "new",
  assistant_output: "new",
  tool_arguments: "new",
  tool_result: "new",
  tool_error: "new",
  inject_messages: [{ role: "user", content: "more" }],
  additional_context: "new",
  retry_feedback: "new",
  system_message: "new",
};

function words(text: string): readonly string[] {
  return text.split(" ").filter((word) => word !== "");
}

async function runOne(
  event: LifecycleEvent,
  result: HookResult,
): Promise<{ readonly result: HookResult; readonly shown: readonly string[]; readonly ignored: readonly string[] }> {
  const shown: string[] = [];
  const manager = new LifecycleManager({ onSystemMessage: (message) => void shown.push(message) });
  manager.addBuiltin(event, () => result, { name: "one" });
  const outcome = await manager.run({ event, ...EVERYTHING });
  await manager.flush(1000);
  return { result: outcome.result, shown, ignored: manager.hooks()[0]?.ignored_fields ?? [] };
}

function eventCase(id: string, test: () => Promise<void>): Case {
  return { id: `jcli-events/${id}`, source: "YAML hook system, section 2", run: test };
}

const fieldCases = EVENTS.flatMap((event) =>
  Object.entries(NEW_VALUES).map(([field, value]) =>
    eventCase(`${event}/${field}`, async () => {
      const { result, shown, ignored } = await runOne(event, { [field]: value });
      const isShown = field === "system_message";
      const isEffective = isShown || words(TABLE[event][1]).includes(field);
      if (NOTIFICATIONS.includes(event)) equal([result, shown], [{}, isShown ? [value] : []]);
      else equal([result, shown], [isEffective ? { [field]: value } : {}, []]);
      equal(ignored, isEffective ? [] : [field]);
    }),
  ),
);

const actionCases = EVENTS.flatMap((event) =>
  (["stop", "skip"] as const).map((action) =>
    eventCase(`${event}/action=${action}`, async () => {
      const { result, ignored } = await runOne(event, { action, system_message: "why" });
      const isEffective = words(TABLE[event][2] ?? "").includes(action);
      const isTold = NOTIFICATIONS.includes(event);
      equal(result, isTold ? {} : { ...(isEffective && { action }), system_message: "why" });
      equal(ignored, isEffective ? [] : ["action"]);
    }),
  ),
);

const contextCases = EVENTS.map((event) =>
  eventCase(`${event}/carries`, async () => {
    let seen: HookContext | undefined;
    const manager = new LifecycleManager({ cwd: "/else" });
    manager.addBuiltin(event, (context) => void (seen = JSON.parse(JSON.stringify(context)) as HookContext), {
      name: "look",
    });
    await manager.run({ event, ...EVERYTHING });
    await manager.flush(1000);
    equal(Object.keys(seen ?? {}).toSorted(), [...words(TABLE[event][0]), "event", "session_id", "cwd"].toSorted());
    ok(seen?.event === event && seen.cwd === "/home", "event and cwd are those of the host");
  }),
);

/** The table of events, cell by cell. */
export const jcliEventCases: readonly Case[] = [
  eventCase("every-name-round-trips", async () => {
    equal(LIFECYCLE_EVENTS.toSorted(), EVENTS.toSorted());
    for (const event of EVENTS) {
      const context = parseContext(JSON.parse(JSON.stringify({ event, cwd: "/" })));
      equal([context.event, isLifecycleEvent(event)], [event, true]);
    }
  }),
  eventCase("an-unknown-name-is-refused", async () => {
    const manager = new LifecycleManager();
    for (const event of ["pre_send_mesage", "PreSendMessage", "", "toString", "__proto__"]) {
      await rejects(manager.run({ event: event as LifecycleEvent }), "ERR_INVALID_PARAMS");
      await rejects(
        Promise.resolve().then(() => parseContext({ event })),
        "ERR_INVALID_PARAMS",
      );
    }
  }),
  eventCase("the-nearest-name-is-named", async () => {
    try {
      parseContext({ event: "pre_tool_exection" });
    } catch (error) {
      ok(error instanceof Error && error.message.includes('did you mean "pre_tool_execution"?'), String(error));
      return;
    }
    ok(false, "the name was taken");
  }),
  eventCase("a-field-of-the-wrong-type-is-refused", async () => {
    for (const wrong of [{ messages: "hi" }, { messages: [{ content: "hi" }] }, { user_input: 5 }, { cwd: [] }]) {
      await rejects(
        Promise.resolve().then(() => parseContext({ event: "stop", ...wrong })),
        "ERR_INVALID_PARAMS",
      );
    }
  }),
  eventCase("null-is-absent-and-unknown-keys-are-left-out", async () => {
    const context: HostContext = parseContext({ event: "stop", user_input: null, colour: "red", model: "m" });
    equal(context, { event: "stop", model: "m" });
  }),
  eventCase("keys-of-messages-pass-through", async () => {
    const messages = [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "1", name: "Bash", arguments: "{}", type: "x" }],
        name: "a",
      },
      { role: "user", content: [{ type: "text", text: "hi" }], cache: true },
    ];
    equal(parseContext({ event: "stop", messages }).messages, messages);
  }),
  eventCase("cwd-is-filled-in-and-unset-fields-are-left-out", async () => {
    let seen: HookContext | undefined;
    const manager = new LifecycleManager({ cwd: "/work" });
    manager.addBuiltin("stop", (context) => void (seen = { ...context }), { name: "look" });
    await manager.run({ event: "stop", user_input: "hi" });
    equal(seen, { event: "stop", user_input: "hi", cwd: "/work" });
  }),
  ...contextCases,
  ...fieldCases,
  ...actionCases,
];
