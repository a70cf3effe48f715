import type { Log } from "../log.ts";
import type { HookContext } from "./context.ts";
import type { HookType, OnError } from "./definition.ts";
import type { LifecyclePorts } from "./port.ts";
import type { SessionHookStore } from "./session-store.ts";

/** Options of `LifecycleManager`. */
export interface LifecycleManagerOptions {
  /** How hooks are reached, by type. @default none: only builtins can be called */
  readonly ports?: LifecyclePorts;
  /** The directory of contexts that name none. @default "/" */
  readonly cwd?: string;
  /** What an event's hooks may take together, in milliseconds, 1 to 2^31 - 1. @default 30000 */
  readonly chainTimeoutMs?: number;
  /** How many events may wait or run in the background at once, 1 or more. @default 256 */
  readonly maxBackgroundEvents?: number;
  /** How the hooks of sessions are reached, which may go to fewer places than a file's. @default `ports` */
  readonly sessionPorts?: LifecyclePorts;
  /** The types of hooks that sessions may register. @default those with a port */
  readonly sessionTypes?: readonly HookType[];
  /** How many hooks a session may register, 1 or more. @default 64 */
  readonly maxSessionHooks?: number;
  /** How many sessions may have hooks at once, 1 or more. @default 10000 */
  readonly maxSessions?: number;
  /** Where the hooks of sessions are kept, which several managers may share. @default this process's memory */
  readonly sessionStore?: SessionHookStore | undefined;
  /**
   * What an event comes to while the store cannot be asked and nothing is known of the session's hooks: `skip` goes on
   * without them, which the trace and the log say; `abort` ends it with `stop`, for a guard may be among them.
   * @default "skip"
   */
  readonly onSessionStoreError?: OnError | undefined;
  /** Whether calls must not wait for each other's work, as on Workers. @default false */
  readonly isolatesRequests?: boolean | undefined;
  /** Told of a message for the user that a background hook gave. @default it is dropped */
  readonly onSystemMessage?: (message: string, context: Pick<HookContext, "event" | "session_id">) => void;
  /** @default a log that keeps nothing */
  readonly log?: Log;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: () => number;
}
