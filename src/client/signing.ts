import { HookCallError } from "../errors.ts";
import type { CryptoPort } from "../signing/crypto.ts";
import { parsePrivateJwk, parsePublicJwks } from "../signing/jwk.ts";
import { createKeySet, type KeySet } from "../signing/key-set.ts";
import {
  createSecretKey,
  createSigningKey,
  createVerificationKey,
  MIN_SECRET_BYTES,
  type SigningKey,
} from "../signing/keys.ts";
import { createReplyVerifier, type ReplyVerifier } from "../signing/reply.ts";
import { createRequestSigner, type RequestSigner } from "../signing/request.ts";
import { checkParty, SIGNATURE_HEADER } from "../signing/token.ts";
import { isVerificationError, toNoVerdictKind } from "../signing/verification-error.ts";

/** How a host signs its requests. One of `secret` and `key` must be given. */
export interface GatewayClientSigning {
  /** The host's id: the `issuer` the gateway knows it by. */
  readonly issuer: string;
  /** The secret shared with the gateway, at least 32 random bytes. It also verifies answers. */
  readonly secret?: string | Uint8Array | undefined;
  /** The host's private key, a JWK as an object or as JSON text. */
  readonly key?: object | string | undefined;
  /** The URL of the gateway exactly as the gateway is configured with. @default the URL that is called */
  readonly audience?: string | undefined;
  /**
   * The gateway's id, by which its answers must be signed; one that is not gives no verdict. The threat: without it
   * whoever can answer at the URL decides. @default answers are not verified
   */
  readonly gateway?: string | undefined;
  /** The gateway's public key, a JWK or a JWK Set, where `key` signs and `gateway` is given. */
  readonly gatewayKey?: object | string | undefined;
  /** Hashes, signs and verifies; on Node `nodeCrypto` is faster. @default WebCrypto, with jose for key pairs */
  readonly crypto?: CryptoPort | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** An answer before it is read. */
export interface AnswerToVerify {
  readonly status: number;
  readonly signature: string | null;
  readonly text: string;
}

/** A request that was signed, held until its answer is there. */
export interface SignedCall {
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Verifies the answer to this very request.
   * @throws {HookCallError} with the kind of no-verdict
   */
  verify(answer: AnswerToVerify): Promise<void>;
}

interface Material {
  readonly signer: RequestSigner;
  readonly verifier: ReplyVerifier | undefined;
}

const encoder = new TextEncoder();

/** Signs the requests of one host, and verifies the answers. */
export class ClientSigning {
  readonly #load: () => Promise<Material>;
  /** What was loaded, never the promise of it: on Workers a promise must not cross requests. */
  #material: Material | undefined;

  /**
   * @param url - What is called.
   * @throws {TypeError} when a name or a key is missing, or there is one too many
   * @throws {RangeError} when the secret is too short
   * @throws {HookgateError} `ERR_CONFIG` when the key is no private JWK
   */
  constructor(options: GatewayClientSigning, url: string) {
    checkParty("signing.issuer", options.issuer);
    const { secret, key, gateway, gatewayKey } = options;
    if ((secret === undefined) === (key === undefined)) {
      throw new TypeError("signing: expected one of secret and key");
    }
    if (gateway === undefined && gatewayKey !== undefined) throw new TypeError("signing.gateway: expected its id");
    if (gateway !== undefined && key !== undefined && gatewayKey === undefined) {
      throw new TypeError("signing.gatewayKey: expected the gateway's public key, to verify its answers with");
    }
    if (secret !== undefined && toLength(secret) < MIN_SECRET_BYTES) {
      throw new RangeError(`signing.secret: expected at least ${MIN_SECRET_BYTES} bytes, got ${toLength(secret)}`);
    }
    const own = key === undefined ? undefined : parsePrivateJwk(key);
    const audience = checkParty("signing.audience", options.audience ?? url);
    this.#load = () => load({ ...options, audience, key: own });
  }

  /** Signs a call, or a batch of them. */
  async sign(method: string, body: string): Promise<SignedCall> {
    this.#material ??= await this.#load();
    const { signer, verifier } = this.#material;
    const request = await signer.sign({ method, body: encoder.encode(body) });
    return {
      headers: { [SIGNATURE_HEADER]: request.token },
      async verify({ status, signature, text }) {
        try {
          await verifier?.verify({ status, signature, body: encoder.encode(text), request });
        } catch (cause) {
          if (!isVerificationError(cause)) throw cause;
          throw new HookCallError(toNoVerdictKind(cause.reason), `the answer was refused: ${cause.message}`, { cause });
        }
      },
    };
  }
}

function toLength(secret: string | Uint8Array): number {
  return typeof secret === "string" ? encoder.encode(secret).length : secret.length;
}

async function load(options: GatewayClientSigning & { readonly audience: string }): Promise<Material> {
  const { issuer, audience, gateway, crypto, now } = options;
  const { key, keys } = await importKeys(options);
  return {
    signer: createRequestSigner({ key, issuer, audience, crypto, now }),
    verifier:
      gateway === undefined || keys === undefined
        ? undefined
        : createReplyVerifier({ keys, issuer: gateway, audience: issuer, crypto, now }),
  };
}

interface Keys {
  readonly key: SigningKey;
  readonly keys: KeySet | undefined;
}

async function importKeys({ secret, key, gatewayKey, crypto }: GatewayClientSigning): Promise<Keys> {
  if (secret !== undefined) {
    const own = await createSecretKey(secret, { crypto });
    return { key: own, keys: createKeySet([own]) };
  }
  const jwks = gatewayKey === undefined ? [] : parsePublicJwks(gatewayKey);
  const trusted = await Promise.all(jwks.map((jwk) => createVerificationKey(jwk, { crypto })));
  return {
    key: await createSigningKey(parsePrivateJwk(key), { crypto }),
    keys: trusted.length === 0 ? undefined : createKeySet(trusted),
  };
}
