import type { CallScope } from "../chain/index.ts";
import { encodePayload, EVENT_ENCODERS, type EventMethod, toMethod } from "./codec.ts";
import type { EventFilter } from "./event.ts";
import type { HookPort, PortStatus } from "./port.ts";
import type { HookPoint } from "./point.ts";

/** What a remote hook needs of a transport. */
export interface HookChannel {
  call(message: { readonly method: string; readonly params: string }, scope: CallScope): Promise<unknown>;
  notify(message: { readonly method: string; readonly params: string }, scope: CallScope): Promise<void>;
  ready(): Promise<void>;
  status(): PortStatus;
  close(): Promise<void>;
}

/** Options of {@link createRemotePort}. */
export interface RemotePortOptions {
  /** The transport's name, such as `stdio`. */
  readonly source: string;
  readonly points: ReadonlySet<HookPoint>;
  /** Which events the hook is told of; absent when it does not observe. */
  readonly observes?: EventFilter;
  /** The form of the events it is sent. @default "hook.event" */
  readonly events?: EventMethod;
}

/** Reaches a hook that lives elsewhere and speaks the hook protocol. */
export function createRemotePort(channel: HookChannel, options: RemotePortOptions): HookPort {
  const { source, points, observes, events = "hook.event" } = options;
  return {
    source,
    points,
    ...(observes === undefined ? {} : { observes }),
    call: (point, current, scope) =>
      channel.call({ method: toMethod(point), params: current.encode(encodePayload) }, scope),
    notify: (event, scope) => channel.notify({ method: events, params: event.encode(EVENT_ENCODERS[events]) }, scope),
    status: () => channel.status(),
    ready: () => channel.ready(),
    close: () => channel.close(),
  };
}
