import {
  createEventFilter,
  createGreeting,
  createRemotePort,
  type HookChannel,
  HookManager,
  type HookPoint,
} from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";

function dialectCase(id: string, run: () => Promise<void>): Case {
  return { id: `dialect/${id}`, source: "PicoClaw hook semantics, section 9", run };
}

interface Stage {
  readonly host: HookManager;
  readonly sent: { readonly method: string; readonly params: unknown }[];
}

/** A manager with one hook that speaks the form of the documentation site. */
async function createStage(reply: unknown): Promise<Stage> {
  const sent: Stage["sent"] = [];
  const keep = ({ method, params }: { readonly method: string; readonly params: string }): void => {
    sent.push({ method, params: JSON.parse(params) });
  };
  const channel: HookChannel = {
    call(message) {
      keep(message);
      return Promise.resolve(reply);
    },
    async notify(message) {
      keep(message);
    },
    ready: () => Promise.resolve(),
    status: () => ({ state: "ready" }),
    close: () => Promise.resolve(),
  };
  const host = new HookManager();
  const points = new Set<HookPoint>(["before_tool", "approve_tool"]);
  const observes = createEventFilter(["*"]);
  const port = createRemotePort(channel, { source: "stdio", points, observes, dialect: "picoclaw-docs" });
  await host.mount(port, { name: "docs" });
  return { host, sent };
}

const CALL = { tool: "shell", arguments: { command: "ls" }, channel: "cli" };

async function before(reply: unknown): Promise<unknown> {
  const { host } = await createStage(reply);
  const { action, reason, call, result, trace } = await host.beforeTool(CALL);
  const { kind } = trace.records[0] ?? {};
  return { action, reason, arguments: call.arguments, ...(result && { result }), ...(kind && { kind }) };
}

async function approve(reply: unknown): Promise<unknown> {
  const { host } = await createStage(reply);
  const { approved, reason, trace } = await host.approveTool(CALL);
  const { kind } = trace.records[0] ?? {};
  return { approved, reason, ...(kind && { kind }) };
}

const same = { action: "continue", reason: "", arguments: { command: "ls" } };

/** What src/picoclaw/dialect.ts promises. */
export const dialectCases: readonly Case[] = [
  dialectCase("hello-carries-a-protocol-version", async () => {
    const points = new Set<HookPoint>(["before_tool"]);
    const docs = createGreeting({ name: "a", points, observes: true, dialect: "picoclaw-docs" });
    equal([docs.method, JSON.parse(docs.params)], ["hook.hello", { protocol_version: 1 }]);
    docs.accept({ name: "py_review_gate", protocol_version: 1 });
    const own = createGreeting({ name: "a", points, observes: true });
    equal(JSON.parse(own.params), { name: "a", version: 1, modes: ["observe", "tool"] });
    const http = createGreeting({ name: "a", points, observes: false, transport: "http" });
    equal(JSON.parse(http.params), { name: "a", version: 1, modes: ["tool"], transport: "http" });
  }),
  dialectCase("params-have-a-name-and-args", async () => {
    const { host, sent } = await createStage({});
    await host.beforeTool(CALL);
    await host.approveTool({ tool: "shell" });
    equal(sent, [
      { method: "hook.before_tool", params: { name: "shell", args: { command: "ls" } } },
      { method: "hook.approve_tool", params: { name: "shell", args: {} } },
    ]);
  }),
  dialectCase("events-have-a-type-and-data", async () => {
    const { host, sent } = await createStage({});
    host.emit({ Kind: "agent.tool.exec_end", Payload: { Tool: "shell" } });
    host.emit({ Kind: "turn_start" });
    await host.flush(1000);
    equal(sent, [
      { method: "hook.event", params: { type: "tool_exec_end", data: { Tool: "shell" } } },
      { method: "hook.event", params: { type: "turn_start", data: {} } },
    ]);
  }),
  dialectCase("replies-to-before-tool-are-read", async () => {
    equal(await before({ args: { command: "ls -l" } }), { ...same, arguments: { command: "ls -l" } });
    equal(await before({ args: { command: "ls" } }), same);
    equal(await before({ decision: { action: "continue" } }), same);
    equal(await before({ decision: { action: "deny_tool", reason: "no" } }), {
      ...same,
      action: "deny_tool",
      reason: "no",
    });
    const result = { for_llm: "done", is_error: false, silent: false, async: false };
    equal(await before({ decision: { action: "respond" }, hook_result: result }), {
      ...same,
      action: "respond",
      result,
    });
    for (const nothing of [{}, null, undefined]) equal(await before(nothing), same);
  }),
  dialectCase("replies-to-before-tool-that-cannot-be-read-are-no-verdicts", async () => {
    for (const reply of [
      [],
      "yes",
      { args: [] },
      { args: "x" },
      { decision: "deny_tool" },
      { decision: { action: 1 } },
    ]) {
      equal([reply, await before(reply)], [reply, { ...same, kind: "bad_result" }]);
    }
    equal(await before({ decision: { action: "allow" } }), { ...same, kind: "unsupported_action" });
  }),
  dialectCase("replies-to-approve-tool-are-read", async () => {
    equal(await approve({ allow: true }), { approved: true, reason: "" });
    equal(await approve({ allow: false, reason: "no" }), { approved: false, reason: "no" });
    for (const nothing of [{}, null, { approved: true }])
      equal(await approve(nothing), { approved: false, reason: "" });
    const failed = { approved: false, reason: 'tool approval hook "docs" failed', kind: "bad_result" };
    for (const reply of [{ allow: "yes" }, { allow: 1 }, "yes", []])
      equal([reply, await approve(reply)], [reply, failed]);
  }),
  dialectCase("a-point-without-a-form-is-refused", async () => {
    const { host } = await createStage({});
    const channel = {} as HookChannel;
    const points = new Set<HookPoint>(["before_llm"]);
    let error: unknown;
    try {
      createRemotePort(channel, { source: "stdio", points, dialect: "picoclaw-docs" });
    } catch (thrown) {
      error = thrown;
    }
    ok(error instanceof TypeError && error.message.includes("before_llm"), "it is taken");
    await host.close();
  }),
];
