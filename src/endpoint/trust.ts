import type { Jwks } from "../signing/jwk.ts";
import type { HookEndpointOptions } from "./options.ts";
import { RefusedError } from "./answer.ts";
import { createJwsTrust } from "./trust-jws.ts";
import { createWebhookTrust } from "./trust-webhook.ts";

/** A request whose body was read, not parsed. */
export interface Received {
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** A reply to sign. */
export interface Outgoing {
  readonly status: number;
  /** It is sent in UTF-8. */
  readonly body: string;
}

/** A request that may be answered. */
export interface Trusted {
  /**
   * Checks that the parsed body is what was signed.
   * @throws {VerificationError} `mtd_mismatch`
   */
  checkMethod(message: unknown): void;
  /** The headers that sign the reply. */
  sign(reply: Outgoing): Promise<Readonly<Record<string, string>>>;
}

/** Decides whom to answer, and signs the answers. */
export interface Trust {
  /**
   * Imports the keys, if that was not done yet.
   * @throws {HookgateError} `ERR_CONFIG` when one is not valid
   */
  ready(): Promise<void>;
  /** @throws {VerificationError} with the first rule that is broken */
  verify(received: Received): Promise<Trusted>;
  /** The keys to publish; absent where there are none. */
  readonly jwks?: () => Promise<Jwks>;
}

/**
 * Makes the trust that the options describe.
 * @throws {TypeError} naming the option that is missing, does not fit or does not go with another
 * @throws {RangeError} when a secret is too short or there are too many
 * @throws {HookgateError} `ERR_CONFIG` when a key is not valid
 */
export function createTrust(options: HookEndpointOptions): Trust {
  const { scheme = "jws", secret, keys, unsigned = false } = options;
  if (unsigned) {
    if (secret !== undefined || keys !== undefined) throw new TypeError("unsigned must not be true beside keys");
    return unsignedTrust;
  }
  if (secret === undefined && keys === undefined) {
    throw new TypeError("secret or keys must be given, or unsigned must be true");
  }
  if (secret !== undefined && keys !== undefined) throw new TypeError("secret or keys must be given, got both");
  if (scheme === "jws") return createJwsTrust(options);
  if (scheme === "standard-webhooks") return createWebhookTrust(options);
  throw new TypeError(`scheme must be "jws" or "standard-webhooks", got ${JSON.stringify(scheme)}`);
}

const unsignedTrust: Trust = {
  ready: () => Promise.resolve(),
  async verify({ headers }) {
    // A browser sends it with every POST, also to a name that was made to lead to this machine.
    if (headers.has("origin")) throw new RefusedError("ERR_FORBIDDEN", "requests from web pages are refused");
    return { checkMethod() {}, sign: () => Promise.resolve({}) };
  },
};
