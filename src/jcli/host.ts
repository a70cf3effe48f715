import type { Trace } from "../chain/index.ts";
import type { HostContext } from "./context.ts";
import type { HookResult } from "./result.ts";

/** Options of {@link LifecycleHost.run}. */
export interface LifecycleRunOptions {
  /** The host's own signal; when it aborts, the call ends at once with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * What the host waits, in milliseconds. A hook gets no more than is left of it; one for which nothing is left is not
   * called, and gives no verdict. It does not bound what runs in the background. @default no bound
   */
  readonly timeoutMs?: number | undefined;
  /** Told of each hook that changed something or ended the chain, and with what; only by a manager in this process. */
  readonly onResult?: ((hook: string, result: HookResult) => void) | undefined;
}

/** What an event's hooks came to. */
export interface LifecycleOutcome {
  /** What to do: only fields that have an effect at the event, and none where no hook changed anything. */
  readonly result: HookResult;
  /** Whether a hook ended the chain: by its action, or by failing under `on_error: abort`. */
  readonly halted: boolean;
  readonly trace: Trace;
}

/**
 * Where an agent asks the hooks of its `hooks.yaml`. The local {@link LifecycleManager} and the client of a gateway are
 * the same to it.
 */
export interface LifecycleHost {
  /**
   * Calls an event's hooks. For an event that only tells, it answers at once and the hooks run in the background.
   * @throws {HookgateError} `ERR_INVALID_PARAMS` for an unknown event, `ERR_ABORTED` when the host's signal aborts,
   * `ERR_CLOSED` after {@link LifecycleHost.close}
   */
  run(context: HostContext, options?: LifecycleRunOptions): Promise<LifecycleOutcome>;
  /** Waits until background hooks have run for everything told so far, at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}
