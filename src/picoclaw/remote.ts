import type { CallScope } from "../chain/index.ts";
import { type EventMethod, toMethod } from "./codec.ts";
import { type DialectName, DIALECTS } from "./dialect.ts";
import type { EventFilter } from "./event.ts";
import type { HookPort, PortStatus } from "./port.ts";
import type { HookPoint } from "./point.ts";

/** One message to a remote hook. */
export interface ChannelMessage {
  readonly method: string;
  /** JSON text. */
  readonly params: string;
  /** What the params were made of: the same object for every hook that is sent the same. */
  readonly payload: object;
}

/** What a remote hook needs of a transport. */
export interface HookChannel {
  call(message: ChannelMessage, scope: CallScope): Promise<unknown>;
  notify(message: ChannelMessage, scope: CallScope): Promise<void>;
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
  /** The form of the protocol it speaks. @default "picoclaw" */
  readonly dialect?: DialectName;
}

/**
 * Reaches a hook that lives elsewhere and speaks the hook protocol.
 * @throws {TypeError} when the dialect has no form for one of the points
 */
export function createRemotePort(channel: HookChannel, options: RemotePortOptions): HookPort {
  const { source, points, observes, events = "hook.event", dialect = "picoclaw" } = options;
  const form = DIALECTS[dialect];
  const unknown = [...points].find((point) => !form.points.has(point));
  if (unknown !== undefined) throw new TypeError(`points: the dialect ${dialect} has no form for ${unknown}`);
  const encodeEvent = form.encodeEvent(events);
  const method = dialect === "picoclaw" ? events : "hook.event";
  const call: HookPort["call"] = (point, current, scope) =>
    channel.call({ method: toMethod(point), params: current.encode(form.encode), payload: current }, scope);
  return {
    source,
    points,
    ...(observes === undefined ? {} : { observes }),
    call:
      dialect === "picoclaw"
        ? call
        : async (point, current, scope) => form.decode(point, await call(point, current, scope)),
    notify: (event, scope) => channel.notify({ method, params: event.encode(encodeEvent), payload: event }, scope),
    status: () => channel.status(),
    ready: () => channel.ready(),
    close: () => channel.close(),
  };
}
