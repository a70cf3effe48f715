import type { HostEvent } from "./event.ts";
import type {
  ApprovalDecision,
  HookHost,
  HostCallOptions,
  LlmRequestDecision,
  LlmResponseDecision,
  ToolCallDecision,
  ToolCheckDecision,
  ToolOutcomeDecision,
} from "./host.ts";
import type { HookManager } from "./manager.ts";
import type { MountedHookStatus } from "./mounted.ts";
import type { HostPayload, LlmRequest, LlmResponse, ToolApproval, ToolCall, ToolOutcome } from "./payload.ts";

/** A host that can be replaced by another; the {@link HookManager} is one. */
export interface RetirableHost extends HookHost {
  /** Which configuration it is, counted from 1. */
  readonly generation: number;
  /** The mounted hooks in calling order. */
  hooks(): readonly MountedHookStatus[];
  /** Closes it once the calls under way are answered and its events are delivered. It does not reject. */
  retire(): Promise<void>;
}

/** A host whose hooks can be replaced as a whole: a call is answered by the hooks there are when it is made. */
export class ReloadableHost<H extends RetirableHost = HookManager> implements HookHost {
  readonly #retiring = new Set<Promise<void>>();
  #current: H;

  /** @param manager the first generation; it is the host's to close from now on */
  constructor(manager: H) {
    this.#current = manager;
  }

  /** Which generation answers. */
  get generation(): number {
    return this.#current.generation;
  }

  /** The generation that answers. */
  get manager(): H {
    return this.#current;
  }

  /**
   * Lets another manager answer from this moment. Calls under way stay with the one before, which is closed when they
   * are done: that is what the promise waits for.
   */
  swap(next: H): Promise<void> {
    const retiring = this.#current.retire();
    this.#current = next;
    this.#retiring.add(retiring);
    return retiring.finally(() => this.#retiring.delete(retiring));
  }

  /** The mounted hooks in calling order. */
  hooks(): readonly MountedHookStatus[] {
    return this.#current.hooks();
  }

  // Nothing here is async: the promise of the manager is handed on as it is.

  beforeLlm(request: HostPayload<LlmRequest>, options?: HostCallOptions): Promise<LlmRequestDecision> {
    return this.#current.beforeLlm(request, options);
  }

  afterLlm(response: HostPayload<LlmResponse>, options?: HostCallOptions): Promise<LlmResponseDecision> {
    return this.#current.afterLlm(response, options);
  }

  beforeTool(call: HostPayload<ToolCall>, options?: HostCallOptions): Promise<ToolCallDecision> {
    return this.#current.beforeTool(call, options);
  }

  approveTool(request: HostPayload<ToolApproval>, options?: HostCallOptions): Promise<ApprovalDecision> {
    return this.#current.approveTool(request, options);
  }

  checkTool(call: HostPayload<ToolCall>, options?: HostCallOptions): Promise<ToolCheckDecision> {
    return this.#current.checkTool(call, options);
  }

  afterTool(outcome: HostPayload<ToolOutcome>, options?: HostCallOptions): Promise<ToolOutcomeDecision> {
    return this.#current.afterTool(outcome, options);
  }

  run(...args: Parameters<HookHost["run"]>): ReturnType<HookHost["run"]> {
    return this.#current.run(...args);
  }

  emit(event: HostEvent): void {
    this.#current.emit(event);
  }

  flush(timeoutMs: number): Promise<void> {
    return this.#current.flush(timeoutMs);
  }

  async close(): Promise<void> {
    await Promise.all([this.#current.close(), ...this.#retiring]);
  }
}
