import type { Trace } from "../chain/index.ts";
import type { HostContext } from "../jcli/context.ts";
import type { LifecycleOutcome } from "../jcli/host.ts";
import type { HostEvent } from "./event.ts";
import type {
  HostPayload,
  LlmRequest,
  LlmResponse,
  ToolApproval,
  ToolCall,
  ToolOutcome,
  ToolResult,
} from "./payload.ts";

export type { HostContext, LifecycleOutcome, Trace };

/** Options of every call to a {@link HookHost}. */
export interface HostCallOptions {
  /** The host's own signal; when it aborts, the call ends at once with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * What the whole call may take, in milliseconds; hooks that are not reached in it give no verdict. For a host that is
   * itself waited for: the answer then comes before it is given up. @default no bound beside the hooks' own deadlines
   */
  readonly timeoutMs?: number | undefined;
  /** Who asks, for records and for hooks in this process: never a token. @default nobody is named */
  readonly caller?: string | undefined;
  /** The W3C trace the call belongs to; hooks over HTTP are called in it. @default a trace of its own */
  readonly traceparent?: string | undefined;
}

interface Decision {
  /** Why, when the action is not `continue`; empty when no hook said. */
  readonly reason: string;
  /** Whether any hook changed the payload. */
  readonly changed: boolean;
  readonly trace: Trace;
  /** To be shown to the user; the model does not see it. */
  readonly system_message?: string;
  /** What the model is to be told: at an answer, that it has to be given again and how. */
  readonly retry_feedback?: string;
}

/** What to do with a model request: `request` is what to send. */
export interface LlmRequestDecision extends Decision {
  readonly action: "continue" | "abort_turn" | "hard_abort";
  readonly request: LlmRequest;
}

/** What to do with a model response: `response` is what to use. */
export interface LlmResponseDecision extends Decision {
  readonly action: "continue" | "abort_turn" | "hard_abort";
  readonly response: LlmResponse;
}

/** What to do with a tool call: `call` is what to run; with `respond` it is not run and `result` is used. */
export interface ToolCallDecision extends Decision {
  readonly action: "continue" | "respond" | "deny_tool" | "abort_turn" | "hard_abort";
  readonly call: ToolCall;
  readonly result?: ToolResult;
}

/** What to do with a tool's outcome: `outcome.result` is what to use. */
export interface ToolOutcomeDecision extends Decision {
  readonly action: "continue" | "abort_turn" | "hard_abort";
  readonly outcome: ToolOutcome;
}

/** What an approver that asks people says of the question; a host that does not know it ignores it. */
export interface ApprovalNotice {
  /** The approval's id. */
  readonly id: string;
  /** `pending` while people are asked: the same call can be made again later, and runs once it was approved. */
  readonly status: string;
  /** Where a gateway tells what comes of it, as a path on it. */
  readonly poll?: string;
  /** RFC 3339: until when people can decide. */
  readonly expires?: string;
  /** Who decided, where another gateway has said so. */
  readonly by?: string;
  /** How far it goes: `once`, `hour` or `session`. */
  readonly scope?: string;
  /** The decision with the signature of who took it: a `hook-approval+jwt`. */
  readonly token?: string;
}

/** Whether a tool may run, with whatever else the approver that refused has said. */
export interface ApprovalDecision {
  readonly approved: boolean;
  readonly reason: string;
  /** Present when people were asked. */
  readonly approval?: ApprovalNotice;
  readonly trace: Trace;
  readonly [key: string]: unknown;
}

/**
 * before_tool and, unless that ended it, approve_tool in one: run `call` only when `approved` and not responded. An answer
 * in the tool's place that had to be approved and was not is left out, and the action is `continue`.
 */
export interface ToolCheckDecision extends ToolCallDecision {
  /** Whether the call may go on: a responded one may, a denied or aborted one may not. */
  readonly approved: boolean;
  /** Present when people were asked. */
  readonly approval?: ApprovalNotice;
}

/**
 * Where an agent asks its hooks. The local {@link HookManager} and the client of a gateway are the same to it.
 * Every method rejects with a {@link HookgateError} of code `ERR_ABORTED` when the host's signal aborts and `ERR_CLOSED`
 * after {@link HookHost.close}.
 */
export interface HookHost {
  beforeLlm(request: HostPayload<LlmRequest>, options?: HostCallOptions): Promise<LlmRequestDecision>;
  afterLlm(response: HostPayload<LlmResponse>, options?: HostCallOptions): Promise<LlmResponseDecision>;
  beforeTool(call: HostPayload<ToolCall>, options?: HostCallOptions): Promise<ToolCallDecision>;
  approveTool(request: HostPayload<ToolApproval>, options?: HostCallOptions): Promise<ApprovalDecision>;
  checkTool(call: HostPayload<ToolCall>, options?: HostCallOptions): Promise<ToolCheckDecision>;
  afterTool(outcome: HostPayload<ToolOutcome>, options?: HostCallOptions): Promise<ToolOutcomeDecision>;
  /**
   * Calls the hooks of one event of a `hooks.yaml`. Those of `pre_llm_request`, `post_llm_response`, `pre_tool_execution`
   * and `post_tool_execution` are called by the methods above too, after the point's own: a host that uses these does not
   * run them. For an event that only tells, it answers at once and the hooks run in the background.
   */
  run(context: HostContext, options?: HostCallOptions): Promise<LifecycleOutcome>;
  /** Tells observers; it never waits for them and never throws. */
  emit(event: HostEvent): void;
  /** Waits until observers have been told of everything emitted so far, at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}
