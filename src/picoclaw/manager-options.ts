import type { OnDecision } from "../chain/index.ts";
import type { Log } from "../log.ts";
import type { OnDetached } from "./detached.ts";
import type { HostCallOptions, ToolCallDecision } from "./host.ts";
import type { HookBudgets, HookPolicies, HookTimeouts } from "./limits.ts";
import type { HookManager } from "./manager.ts";
import type { HookTracer } from "./observation.ts";
import type { OperationOptions } from "./operation.ts";
import type { TrustOptions } from "./trust.ts";

/** Options of `HookManager`. */
export interface HookManagerOptions {
  readonly timeouts?: HookTimeouts;
  readonly budgets?: HookBudgets;
  /** What no-verdicts of a class mean, by cause, where a hook does not say. */
  readonly policies?: HookPolicies;
  /** How many events may wait for one observer, 1 to 65536. @default 64 */
  readonly maxQueuedEvents?: number;
  /** @default a log that keeps nothing */
  readonly log?: Log;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: () => number;
  /**
   * The request that is under way, as one object for as long as it is, where none may wait for what another does, as on
   * Workers: each then delivers the events it emitted by itself. @default the events of all wait in one queue
   */
  readonly currentRequest?: (() => object | undefined) | undefined;
  /** Which configuration of the host this is, counted from 1. @default 1 */
  readonly generation?: number | undefined;
  /** Told of each decision after it was made, for records and metrics. @default nobody, which costs nothing */
  readonly onDecision?: OnDecision | undefined;
  /** Traces hook points and the calls at them. @default nobody */
  readonly tracer?: HookTracer | undefined;
  /** Told what a detached hook would have done, after the verdict. It must not throw. @default nobody */
  readonly onDetached?: OnDetached | undefined;
  /** Keeps the delivery of events alive after the answer; the host's `waitUntil`. @default it is left to itself */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
}

/** Options of `HookManager.mount`. */
export interface MountOptions extends TrustOptions, OperationOptions {
  /** Unique among all hooks; a hook of the same name is closed and replaced. */
  readonly name: string;
  /** Lower runs first, inside the hook's group. @default 0 */
  readonly priority?: number;
  /**
   * The manager that has this same hook under this name and is about to be replaced: the hook's counters go on, and the
   * events that wait there are delivered first. @default the hook is new
   */
  readonly keptFrom?: HookManager | undefined;
}

/** Options of a call of `HookManager`. */
export interface ManagerCallOptions extends HostCallOptions {
  /** Told of the decision in the place of the manager's own `onDecision`. @default that */
  readonly onDecision?: OnDecision | undefined;
}

/** Options of `HookManager.checkTool`; `onDecision` is told of `before_tool`. */
export interface CheckToolOptions extends ManagerCallOptions {
  /** Looks at a call that `before_tool` lets go on, before it is approved; what it decides is what is approved. */
  readonly beforeApproval?: ((decision: ToolCallDecision) => Promise<ToolCallDecision>) | undefined;
}
