import type {
  Hook,
  HookHost,
  HostPayload,
  LlmRequest,
  LlmResponse,
  ToolCall,
  ToolOutcome,
} from "../../src/picoclaw/index.ts";

/** One call of a host, and what every kind of host must answer to it. */
export interface ContractCase {
  readonly name: string;
  /** Mounted in this order. */
  readonly hooks: Readonly<Record<string, Hook>>;
  ask(host: HookHost): Promise<unknown>;
  /** Part of the decision; the rest must only be the same for every kind of host. */
  readonly expected: object;
}

const meta = { AgentID: "main", TurnID: "turn-1", SessionKey: "cli:direct", Iteration: 2 };

const call: HostPayload<ToolCall> = {
  meta,
  tool: "exec",
  arguments: { command: "rm -rf /", env: { A: "1" } },
  channel: "cli",
  chat_id: "",
  custom: { kept: [1, null, "é😀"] },
};

const request: HostPayload<LlmRequest> = {
  meta,
  model: "m1",
  messages: [
    { role: "system", content: "be good" },
    { role: "user", content: [{ type: "text", text: "hi" }] },
  ],
  tools: [{ type: "function", function: { name: "exec", description: "", parameters: { type: "object" } } }],
  options: { temperature: 0.5 },
  channel: "cli",
};

const response: HostPayload<LlmResponse> = {
  meta,
  model: "m1",
  response: { content: "hello", finish_reason: "stop", usage: { total_tokens: 3 }, custom: 1 },
};

const outcome: HostPayload<ToolOutcome> = {
  meta,
  tool: "exec",
  arguments: { command: "ls" },
  result: { for_llm: "a\nb", is_error: true },
  duration: 1_500_000,
};

const beforeTool: readonly ContractCase[] = [
  {
    name: "no hooks",
    hooks: {},
    ask: (host) => host.beforeTool(call),
    expected: { action: "continue", reason: "", changed: false, call: { tool: "exec", chat_id: "" } },
  },
  {
    name: "the least a host may send",
    hooks: {},
    ask: (host) => host.beforeTool({ tool: "x" }),
    expected: { call: { tool: "x", arguments: {}, meta: { AgentID: "", Iteration: 0 } } },
  },
  {
    name: "a rewritten call",
    hooks: { a: { beforeTool: () => ({ action: "modify", call: { arguments: { command: "ls" } } }) } },
    ask: (host) => host.beforeTool(call),
    expected: { action: "continue", changed: true, call: { tool: "exec", arguments: { command: "ls" } } },
  },
  {
    name: "arguments emptied",
    hooks: { a: { beforeTool: () => ({ call: { arguments: {} } }) } },
    ask: (host) => host.beforeTool(call),
    expected: { changed: true, call: { arguments: {} } },
  },
  {
    name: "the same call again is no change",
    hooks: { a: { beforeTool: ({ tool, arguments: args }) => ({ call: { tool, arguments: { ...args } } }) } },
    ask: (host) => host.beforeTool(call),
    expected: { action: "continue", changed: false },
  },
  {
    name: "there and back is a change",
    hooks: {
      a: { beforeTool: () => ({ call: { tool: "other" } }) },
      b: { beforeTool: () => ({ call: { tool: "exec" } }) },
    },
    ask: (host) => host.beforeTool(call),
    expected: { action: "continue", changed: true, call: { tool: "exec" } },
  },
  {
    name: "a denial",
    hooks: { a: { beforeTool: () => ({ action: "deny_tool", reason: "no" }) } },
    ask: (host) => host.beforeTool(call),
    expected: { action: "deny_tool", reason: "no", changed: false },
  },
  {
    name: "a denial after a rewrite",
    hooks: {
      a: { beforeTool: () => ({ call: { tool: "other" } }) },
      b: { beforeTool: () => ({ action: "deny_tool" }) },
    },
    ask: (host) => host.beforeTool(call),
    expected: { action: "deny_tool", reason: "", changed: true, call: { tool: "other" } },
  },
  {
    name: "a response in the tool's place",
    hooks: { a: { beforeTool: () => ({ action: "respond", result: { for_llm: "done", extra: [1] } }) } },
    ask: (host) => host.beforeTool(call),
    expected: { action: "respond", changed: false, result: { for_llm: "done", extra: [1] } },
  },
  {
    name: "a response with another call",
    hooks: { a: { beforeTool: () => ({ action: "respond", call: { tool: "t" }, result: { for_llm: "" } }) } },
    ask: (host) => host.beforeTool(call),
    expected: { action: "respond", changed: true, call: { tool: "t" } },
  },
  {
    name: "an abort and a hard abort",
    hooks: { a: { beforeTool: ({ tool }) => ({ action: tool === "x" ? "abort_turn" : "hard_abort", reason: tool }) } },
    ask: async (host) => ({ one: await host.beforeTool({ tool: "x" }), two: await host.beforeTool({ tool: "y" }) }),
    expected: { one: { action: "abort_turn", reason: "x" }, two: { action: "hard_abort", reason: "y" } },
  },
  {
    name: "a hook without a verdict",
    hooks: {
      a: {
        beforeTool() {
          throw new Error("broken");
        },
      },
    },
    ask: (host) => host.beforeTool(call),
    expected: { action: "continue", trace: { records: [{ hook: "a", kind: "hook_error", failed_open: true }] } },
  },
];

const llm: readonly ContractCase[] = [
  {
    name: "a request as it is",
    hooks: { a: { beforeLlm: () => {} } },
    ask: (host) => host.beforeLlm(request),
    expected: { action: "continue", changed: false, request: { options: { temperature: 0.5 } } },
  },
  {
    name: "a request with all of it emptied",
    hooks: { a: { beforeLlm: () => ({ request: { messages: [], tools: [], options: {} } }) } },
    ask: (host) => host.beforeLlm(request),
    expected: { changed: true, request: { messages: [], tools: [], options: {}, channel: "cli" } },
  },
  {
    name: "a request with another model",
    hooks: { a: { beforeLlm: () => ({ request: { model: "m2" } }) } },
    ask: (host) => host.beforeLlm(request),
    expected: { changed: true, request: { model: "m2", messages: request.messages, tools: request.tools } },
  },
  {
    name: "a request without what may be left out",
    hooks: { a: { beforeLlm: () => ({ request: { model: "m2" } }) } },
    ask: (host) => host.beforeLlm({ model: "m1", tools: [] }),
    expected: { changed: true, request: { model: "m2", tools: [] } },
  },
  {
    name: "tools without parameters",
    hooks: {},
    ask: (host) => host.beforeLlm({ model: "m", tools: [{ type: "function", function: { name: "t" } }] }),
    expected: { request: { tools: [{ function: { parameters: {} } }] } },
  },
  {
    name: "an aborted request",
    hooks: { a: { beforeLlm: () => ({ action: "abort_turn", reason: "stop" }) } },
    ask: (host) => host.beforeLlm(request),
    expected: { action: "abort_turn", reason: "stop", changed: false },
  },
  {
    name: "a response as it is",
    hooks: {},
    ask: (host) => host.afterLlm(response),
    expected: { action: "continue", response: { response: { content: "hello", custom: 1 } } },
  },
  {
    name: "a rewritten response, bare",
    hooks: { a: { afterLlm: () => ({ response: { content: "redacted" } }) } },
    ask: (host) => host.afterLlm(response),
    expected: { changed: true, response: { model: "m1", response: { content: "redacted" } } },
  },
  {
    name: "an emptied response",
    hooks: { a: { afterLlm: () => ({ response: { response: {} } }) } },
    ask: (host) => host.afterLlm(response),
    expected: { changed: true },
  },
];

const afterTool: readonly ContractCase[] = [
  {
    name: "an outcome as it is",
    hooks: {},
    ask: (host) => host.afterTool(outcome),
    expected: { outcome: { result: { for_llm: "a\nb", is_error: true, silent: false }, duration: 1_500_000 } },
  },
  {
    name: "a rewritten outcome",
    hooks: { a: { afterTool: () => ({ result: { tool: "ls", result: { for_llm: "x" } } }) } },
    ask: (host) => host.afterTool(outcome),
    expected: { changed: true, outcome: { tool: "ls", result: { for_llm: "x" }, duration: 1_500_000 } },
  },
  {
    name: "an outcome of nothing",
    hooks: { a: { afterTool: () => ({ result: { for_llm: "x" } }) } },
    ask: (host) => host.afterTool({ tool: "t" }),
    expected: { changed: true, outcome: { tool: "t", result: { for_llm: "x" }, duration: 0 } },
  },
];

const approvals: readonly ContractCase[] = [
  {
    name: "nobody to approve",
    hooks: {},
    ask: (host) => host.approveTool(call),
    expected: { approved: true, reason: "" },
  },
  {
    name: "a refusal with more to say",
    hooks: { a: { approveTool: () => ({ approved: false, reason: "no", ticket: { id: 7 } }) } },
    ask: (host) => host.approveTool(call),
    expected: { approved: false, reason: "no", ticket: { id: 7 } },
  },
  {
    name: "an approver without a verdict",
    hooks: { a: { approveTool: () => Promise.reject(new Error("broken")) } },
    ask: (host) => host.approveTool(call),
    expected: { approved: false, reason: 'tool approval hook "a" failed' },
  },
  {
    name: "checked and approved after a rewrite",
    hooks: {
      a: { beforeTool: () => ({ call: { tool: "other" } }) },
      b: { approveTool: ({ tool }) => ({ approved: tool === "other" }) },
    },
    ask: (host) => host.checkTool(call),
    expected: { action: "continue", changed: true, approved: true, reason: "", call: { tool: "other" } },
  },
  {
    name: "checked and refused",
    hooks: { b: { approveTool: () => ({ approved: false, reason: "no", ticket: 7 }) } },
    ask: (host) => host.checkTool(call),
    expected: { action: "continue", changed: false, approved: false, reason: "no", ticket: 7 },
  },
  {
    name: "checked and denied",
    hooks: {
      a: { beforeTool: () => ({ action: "deny_tool", reason: "no" }) },
      b: { approveTool: () => ({ approved: true }) },
    },
    ask: (host) => host.checkTool(call),
    expected: { action: "deny_tool", reason: "no", changed: false, approved: false },
  },
  {
    name: "checked and denied after a rewrite",
    hooks: {
      a: { beforeTool: () => ({ call: { arguments: { a: 1 } } }) },
      b: { beforeTool: () => ({ action: "deny_tool" }) },
    },
    ask: (host) => host.checkTool(call),
    expected: { action: "deny_tool", changed: true, approved: false, call: { arguments: { a: 1 } } },
  },
  {
    name: "checked and responded",
    hooks: { a: { beforeTool: () => ({ action: "respond", result: { for_llm: "done" } }) } },
    ask: (host) => host.checkTool(call),
    expected: { action: "respond", changed: false, approved: true, result: { for_llm: "done" } },
  },
];

const run: readonly ContractCase[] = [
  {
    name: "no YAML hooks",
    hooks: {},
    ask: (host) => host.run({ event: "pre_send_message", user_input: "hi" }),
    expected: { result: {}, halted: false, trace: { records: [] } },
  },
];

/** What a local manager and the client of a gateway answer alike. */
export const contract: readonly ContractCase[] = [...beforeTool, ...llm, ...afterTool, ...approvals, ...run];
