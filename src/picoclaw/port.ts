import type { CallScope, Current } from "../chain/index.ts";
import type { EventFilter, HookEvent } from "./event.ts";
import type { Origin } from "./payload.ts";
import type { HookPoint } from "./point.ts";

/** Whether a hook can be called, and why not. */
export interface PortStatus {
  readonly state: "starting" | "ready" | "backing_off" | "failed" | "closed";
  /** Why it is not ready. */
  readonly lastError?: string;
  readonly restartCount?: number;
  readonly pid?: number;
}

/** A hook as the manager reaches it, wherever it runs. */
export interface HookPort {
  /** `in-process`, or the transport's name. */
  readonly source: string;
  readonly points: ReadonlySet<HookPoint>;
  /** Which events it is told of; absent when it does not observe. */
  readonly observes?: EventFilter;
  /** Calls the hook; the result, or a promise of it, is its reply as it came. */
  call(point: HookPoint, current: Current<Origin>, scope: CallScope): unknown;
  /** Tells the hook of an event; a promise ends when it has been handed on. */
  notify(event: Current<HookEvent>, scope: CallScope): unknown;
  status(): PortStatus;
  /** Resolves when the hook can be called or has failed to start once. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** Whether a hook is reached already. */
export function isPort(hook: object | HookPort): hook is HookPort {
  return "points" in hook && "source" in hook;
}
