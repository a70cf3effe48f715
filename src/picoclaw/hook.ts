import { isLifecycleEvent, LIFECYCLE_EVENTS } from "../jcli/codec.ts";
import type { LifecycleHandlers } from "../jcli/handler.ts";
import type { Log } from "../log.ts";
import type { CacheHint } from "./cache.ts";
import type { HookEvent } from "./event.ts";
import type { ApprovalNotice } from "./host.ts";
import type {
  LlmRequest,
  LlmResponse,
  ModelResponse,
  ToolApproval,
  ToolCall,
  ToolOutcome,
  ToolResult,
} from "./payload.ts";
import type { HookPoint } from "./point.ts";

/** What a hook's handler is given besides the payload. */
export interface HookContext {
  /** Aborts at the deadline, or when the host gives up. */
  readonly signal: AbortSignal;
  /** What is left of the deadline, in milliseconds. */
  readonly remainingMs: number;
  /**
   * The name under which the gateway knows the host that asks: its token's, its JWT's or its signing key's. Only a hook in
   * the gateway's own process is told. @default no host is named
   */
  readonly caller?: string | undefined;
  /** The hook's own log. */
  readonly log: Log;
}

type Reply<T> = T | null | undefined | void | Promise<T | null | undefined | void>;

/** A reply that may be used again, where the config of the hook allows it and the reply changes nothing. */
interface Cacheable {
  readonly cache?: CacheHint;
}

/** Ends the turn: `abort_turn` fails it, `hard_abort` cancels it and rolls the session back. */
export interface AbortReply {
  readonly action: "abort_turn" | "hard_abort";
  readonly reason?: string;
}

/** Goes on; keys the payload has replace, keys it lacks stay as they are. */
export interface BeforeLlmChange extends Cacheable {
  readonly action?: "continue" | "modify" | "";
  readonly request?: Partial<LlmRequest>;
}

/** Goes on, with another response when there is one: in its wrapper or bare. */
export interface AfterLlmChange extends Cacheable {
  readonly action?: "continue" | "modify" | "";
  readonly response?: Partial<LlmResponse> | ModelResponse;
}

/** Goes on, with another call when there is one. */
export interface BeforeToolChange extends Cacheable {
  readonly action?: "continue" | "modify" | "";
  readonly call?: Partial<ToolCall>;
}

/** Answers in the tool's place: no later hook, no approval, no execution. */
export interface RespondReply {
  readonly action: "respond";
  readonly result?: ToolResult;
  readonly call?: Partial<ToolCall>;
}

/** Keeps the tool from running; the model is told the reason. */
export interface DenyReply extends Cacheable {
  readonly action: "deny_tool";
  readonly reason?: string;
}

/** Goes on, with another result when there is one: in its wrapper or bare. */
export interface AfterToolChange extends Cacheable {
  readonly action?: "continue" | "modify" | "";
  readonly result?: Partial<ToolOutcome> | ToolResult;
}

/** Whether a tool may run. Silence is not consent: without `approved: true` it may not. */
export interface ApprovalReply extends Cacheable {
  readonly approved: boolean;
  readonly reason?: string;
  /** What people were asked, where they were. */
  readonly approval?: ApprovalNotice;
}

/**
 * A hook: the same object runs in-process, over stdio and behind an endpoint. A handler owns what it is given; changing
 * it in place changes nothing for others, only what it returns counts.
 */
export interface Hook {
  beforeLlm?(request: LlmRequest, context: HookContext): Reply<BeforeLlmChange | AbortReply>;
  afterLlm?(response: LlmResponse, context: HookContext): Reply<AfterLlmChange | AbortReply>;
  beforeTool?(call: ToolCall, context: HookContext): Reply<BeforeToolChange | RespondReply | DenyReply | AbortReply>;
  afterTool?(outcome: ToolOutcome, context: HookContext): Reply<AfterToolChange | AbortReply>;
  approveTool?(request: ToolApproval, context: HookContext): Reply<ApprovalReply>;
  /** The hook's part in the YAML system: a handler for each event it serves. */
  readonly lifecycle?: LifecycleHandlers<HookContext>;
  onEvent?(event: HookEvent, context: HookContext): void | Promise<void>;
  /** Called once when the hook is unmounted or its host closes. */
  close?(): void | Promise<void>;
}

/** The method of {@link Hook} that serves each hook point. */
export const HANDLERS: Readonly<Record<HookPoint, Exclude<keyof Hook, "onEvent" | "close" | "lifecycle">>> = {
  before_llm: "beforeLlm",
  after_llm: "afterLlm",
  before_tool: "beforeTool",
  after_tool: "afterTool",
  approve_tool: "approveTool",
};

const METHODS: readonly string[] = [...Object.values(HANDLERS), "onEvent", "close"];
const MEMBERS: readonly string[] = [...METHODS, "lifecycle"];

/**
 * Checks the handlers of a hook that may have other members too, such as an instance of a class.
 * @throws {TypeError} when a handler is not a function, or has the name of its hook point: it would never be called
 */
export function assertHandlers(hook: Hook): void {
  for (const [point, name] of Object.entries(HANDLERS)) {
    if (point in hook) throw new TypeError(`hook: unknown handler "${point}"; it is named ${name}`);
  }
  for (const name of METHODS) {
    const handler: unknown = Reflect.get(hook, name);
    if (handler !== undefined && typeof handler !== "function") {
      throw new TypeError(`hook: ${name} must be a function, got ${handler === null ? "null" : typeof handler}`);
    }
  }
  if (hook.lifecycle !== undefined) assertLifecycle(hook.lifecycle);
}

function assertLifecycle(lifecycle: unknown): void {
  if (typeof lifecycle !== "object" || lifecycle === null) throw new TypeError("hook: lifecycle must be an object");
  for (const [event, handler] of Object.entries(lifecycle)) {
    if (!isLifecycleEvent(event)) {
      throw new TypeError(
        `hook: unknown event "${event}" in lifecycle; expected one of ${LIFECYCLE_EVENTS.join(", ")}`,
      );
    }
    if (handler !== undefined && typeof handler !== "function") {
      throw new TypeError(`hook: lifecycle.${event} must be a function, got ${typeof handler}`);
    }
  }
}

/**
 * Checks a hook and gives it its type.
 * @throws {TypeError} when a handler is not a function or its name is not known
 */
export function defineHook<H extends Hook>(hook: H): H {
  for (const [name, handler] of Object.entries(hook)) {
    if (!MEMBERS.includes(name)) {
      throw new TypeError(`defineHook: unknown handler "${name}"; expected one of ${MEMBERS.join(", ")}`);
    }
    if (name !== "lifecycle" && handler !== undefined && typeof handler !== "function") {
      throw new TypeError(`defineHook: ${name} must be a function, got ${typeof handler}`);
    }
  }
  if (hook.lifecycle !== undefined) assertLifecycle(hook.lifecycle);
  return hook;
}
