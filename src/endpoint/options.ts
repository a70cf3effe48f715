import type { Log } from "../log.ts";
import type { HookPoint } from "../picoclaw/point.ts";
import type { CryptoPort } from "../signing/crypto.ts";
import type { KeySet } from "../signing/key-set.ts";
import type { ReplayStore } from "../signing/replay.ts";

/** How requests and replies are signed. */
export type SignatureScheme = "jws" | "standard-webhooks";

/** One shared secret. For `jws` a text stands for its UTF-8 bytes; for `standard-webhooks` it is `whsec_` and base64. */
export type EndpointSecret = string | Uint8Array;

/** Key pairs: the gateway signs with its own, the endpoint with its own. */
export interface EndpointKeys {
  /**
   * The gateway's public keys: a JWK or a JWK Set, as an object or as JSON text, or a key set such as that of
   * `createRemoteKeySet`. They come from your configuration: a key that arrives with a message is not trusted.
   */
  readonly gateway: KeySet | object | string;
  /**
   * The endpoint's private key: a JWK or a JWK Set of at most two, as an object or as JSON text. The first signs replies;
   * the public half of each is served at `/.well-known/jwks.json`.
   */
  readonly own: object | string;
}

/** Options of `createHookEndpoint`. One of `secret`, `keys` and `unsigned` must be given. */
export interface HookEndpointOptions {
  /** The endpoint's name: the issuer of its replies, and what it calls itself in its reply to `hook.hello`. */
  readonly name: string;
  /**
   * The endpoint's URL exactly as the gateway is configured with; scheme `jws` needs it. It is compared with the audience
   * that was signed, never with the URL or the Host of a request: whoever sends a request chooses those, and could pass
   * on to this endpoint what was signed for another.
   */
  readonly url?: string | undefined;
  /** The gateway's id: the only issuer that is accepted. Scheme `jws` needs it. */
  readonly gateway?: string | undefined;
  /**
   * The secret that gateway and endpoint share, at least 32 random bytes (24 for `standard-webhooks`), or two while
   * rotating; entries that are undefined are left out. Each endpoint needs its own: who has it can sign as either side.
   */
  readonly secret?: EndpointSecret | readonly (EndpointSecret | undefined)[] | undefined;
  /** Key pairs in the place of a secret, for scheme `jws`: then the endpoint cannot sign as the gateway. */
  readonly keys?: EndpointKeys | undefined;
  /**
   * How messages are signed. `standard-webhooks` binds neither URL nor method nor status: only the secret, which must be
   * this endpoint's alone, ties a message to it. @default "jws"
   */
  readonly scheme?: SignatureScheme | undefined;
  /**
   * Remembers the requests that were seen, for about 90 s (10 minutes for `standard-webhooks`). Every process that answers
   * for the URL must share it: with one store for each, somebody who recorded a request can have it answered once more by
   * each of them in that time, and the reply again names that old request only.
   * @default a store in memory, exact within one process or isolate
   */
  readonly replay?: ReplayStore | undefined;
  /**
   * Whether anyone may call. It has to be said: whoever reaches the URL can then ask the hook anything and read what it
   * answers, and whoever is on the way can answer in its place, so a gateway takes no approval from it unless the address
   * is loopback. Requests from web pages (with an `Origin`) are refused even so. @default false
   */
  readonly unsigned?: boolean | undefined;
  /**
   * For which points doing a call twice is doing it once. The gateway may then send a call again when the connection
   * broke before a reply came; the hook runs twice for it. @default none
   */
  readonly idempotent?: boolean | readonly HookPoint[] | undefined;
  /** The largest body that is read, in bytes, 1 or more; it bounds the memory a caller can use. @default 1048576 (1 MiB) */
  readonly maxBodyBytes?: number | undefined;
  /** Hashes and signs; on Node `nodeCrypto` is several times faster. @default WebCrypto, with jose for key pairs */
  readonly crypto?: CryptoPort | undefined;
  /** The time, in milliseconds since the epoch. @default Date.now */
  readonly now?: (() => number) | undefined;
  /** Hears of refused requests and failed hooks. `console` is one. @default a log that keeps nothing */
  readonly log?: Log | undefined;
}
