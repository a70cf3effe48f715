import type { Log } from "../log.ts";
import type { Greeting } from "./contract.ts";
import type { HttpExchange } from "./http-exchange.ts";
import type { HookUrlOptions } from "./http-url.ts";
import type { Schedule } from "./schedule.ts";
import type { MessageSignature } from "./signature.ts";

/** What {@link HttpOptions} may leave to the platform. Tests put a clock of their own in its place. */
export interface HttpPlatformOptions {
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
  /** The time, in milliseconds since the epoch. @default Date.now */
  readonly epochNow?: (() => number) | undefined;
  /** A number from 0 up to but not 1, for the jitter of retries. @default Math.random */
  readonly random?: (() => number) | undefined;
  /** @default the platform's timers */
  readonly schedule?: Schedule | undefined;
  /**
   * Keeps event batches alive after the reply; the host's `waitUntil`. @default they are left to themselves
   */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
  /**
   * Whether no request may wait for what another one does, as on Workers: then each greets for itself, and a call beyond
   * `maxConcurrency` is `overloaded` at once. @default false
   */
  readonly isolatesRequests?: boolean | undefined;
  /**
   * The request that is under way, as one object for as long as it is. Each then sends the events it was handed by
   * itself, on its own `waitUntil`. @default the events of all requests go out together
   */
  readonly currentRequest?: (() => object | undefined) | undefined;
}

/** Options of {@link createHttpTransport}. */
export interface HttpOptions extends HookUrlOptions, HttpPlatformOptions {
  /** The hook's name, for the log. */
  readonly name: string;
  /** Where the hook is called. */
  readonly url: string;
  /** Carries the requests out. The transport owns it: closing the one closes the other. */
  readonly exchange: HttpExchange;
  /** The first call, repeated when its answer is five minutes old. @default none is made: `"handshake": "none"` */
  readonly greeting?: Greeting | undefined;
  /** Signs requests and verifies replies. */
  readonly signature?: MessageSignature | undefined;
  /**
   * Whether there is no signature. It has to be said: whoever is on the way, or at the other end of a mistyped URL, can
   * then answer in the hook's place. Even so an approval is only taken from a loopback address. @default false
   */
  readonly unsigned?: boolean | undefined;
  /**
   * Whether an approval may be unsigned although the address is not loopback: for a binding that no network is behind.
   * @default false
   */
  readonly isBinding?: boolean | undefined;
  /** Headers sent with every request. They never replace one of ours. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How often a call may be sent again when no verdict can exist yet, 0 to 10. @default 1 */
  readonly maxRetries?: number | undefined;
  /** How many calls may be in flight, 1 to 65536; others wait within their deadline. @default 64 */
  readonly maxConcurrency?: number | undefined;
  /**
   * The longest reply that is read, in bytes, 1 or more. It bounds the memory a hook can make the host use.
   * @default 1048576 (1 MiB)
   */
  readonly maxMessageBytes?: number | undefined;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
}

/** What the parts of the transport share, with every default filled in. */
export interface HttpSettings extends Required<Pick<HttpOptions, "name" | "exchange">> {
  /** As it is called. */
  readonly url: string;
  readonly signature: MessageSignature | undefined;
  /** The headers every request has. */
  readonly headers: Readonly<Record<string, string>>;
  readonly maxRetries: number;
  readonly maxMessageBytes: number;
  readonly log: Log;
  readonly now: () => number;
  readonly epochNow: () => number;
  readonly random: () => number;
  readonly schedule: Schedule;
}
