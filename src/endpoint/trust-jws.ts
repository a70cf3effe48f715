import { type Jwks, parseJwks, parsePrivateJwks, parsePublicJwk, type PublicJwk } from "../signing/jwk.ts";
import { createKeySet, type KeySet } from "../signing/key-set.ts";
import {
  createSecretKey,
  createSigningKey,
  createVerificationKey,
  MIN_SECRET_BYTES,
  type SigningKey,
  toJwks,
} from "../signing/keys.ts";
import { createMemoryReplayStore } from "../signing/replay.ts";
import { createReplySigner, type ReplySigner } from "../signing/reply.ts";
import { createRequestVerifier, type RequestVerifier, verifyMethod } from "../signing/request.ts";
import { checkParty, SIGNATURE_HEADER } from "../signing/token.ts";
import type { EndpointKeys, EndpointSecret, HookEndpointOptions } from "./options.ts";
import { listSecrets } from "./secrets.ts";
import type { Received, Trust, Trusted } from "./trust.ts";

const MAX_SECRETS = 2;
const encoder = new TextEncoder();

/** Keys, imported. */
interface Imported {
  readonly gateway: KeySet;
  /** Every key that may sign a reply; the first does, unless the request's own key is among them. */
  readonly own: readonly SigningKey[];
}

/**
 * Trust by one token in `hook-signature`, each way.
 * @throws {TypeError} when `url`, `gateway` or a key is missing or is none
 * @throws {RangeError} when a secret is too short or there are more than two
 * @throws {HookgateError} `ERR_CONFIG` when a key is not valid
 */
export function createJwsTrust(options: HookEndpointOptions): Trust {
  const settings = { ...options, url: checkUrl(options.url), gateway: checkParty("gateway", options.gateway ?? "") };
  const { secret, keys } = options;
  if (keys !== undefined) return new JwsTrust(settings, prepareKeys(keys, options));
  return new JwsTrust(settings, prepareSecrets(listSecrets(secret ?? []), options));
}

function checkUrl(url: string | undefined): string {
  const parsed = url === undefined ? null : URL.parse(url);
  if (url === undefined || (parsed?.protocol !== "https:" && parsed?.protocol !== "http:")) {
    throw new TypeError("url must be the endpoint's absolute http or https URL");
  }
  return checkParty("url", url);
}

function prepareSecrets(secrets: readonly EndpointSecret[], options: HookEndpointOptions): () => Promise<Imported> {
  if (secrets.length > MAX_SECRETS) throw new RangeError(`secret must list at most ${MAX_SECRETS} secrets`);
  for (const secret of secrets) {
    const { length } = typeof secret === "string" ? encoder.encode(secret) : secret;
    if (length < MIN_SECRET_BYTES) {
      throw new RangeError(`secret must have at least ${MIN_SECRET_BYTES} bytes, got ${length}`);
    }
  }
  return async () => {
    const own = await Promise.all(secrets.map((secret) => createSecretKey(secret, options)));
    return { gateway: createKeySet(own), own };
  };
}

function prepareKeys(keys: EndpointKeys, options: HookEndpointOptions): () => Promise<Imported> {
  const privateJwks = parsePrivateJwks(keys.own);
  const gateway = isKeySet(keys.gateway) ? keys.gateway : parsePublicJwks(keys.gateway);
  return async () => ({
    gateway: isKeySet(gateway)
      ? gateway
      : createKeySet(await Promise.all(gateway.map((jwk) => createVerificationKey(jwk, options)))),
    own: await Promise.all(privateJwks.map((jwk) => createSigningKey(jwk, options))),
  });
}

function isKeySet(value: object | string): value is KeySet {
  return typeof value === "object" && "algs" in value && "find" in value && typeof value.find === "function";
}

function parsePublicJwks(value: object | string): readonly PublicJwk[] {
  const parsed = typeof value === "string" ? parseText(value) : value;
  if (typeof parsed !== "object" || parsed === null || !("keys" in parsed)) return [parsePublicJwk(parsed)];
  const jwks = parseJwks(parsed);
  if (jwks.length === 0) throw new TypeError("keys.gateway must hold at least one P-256 or Ed25519 key");
  return jwks;
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TypeError("keys.gateway must be a JWK or a JWK Set, got text that is not JSON");
  }
}

interface Settings extends HookEndpointOptions {
  readonly url: string;
  readonly gateway: string;
}

interface Material {
  readonly verifier: RequestVerifier;
  readonly jwks: Jwks;
  /** The signer whose key the gateway has for certain: the one the request was signed with, where it is ours too. */
  readonly signerFor: (kid: string) => ReplySigner;
}

class JwsTrust implements Trust {
  readonly jwks?: () => Promise<Jwks>;
  readonly #load: () => Promise<Material>;
  /** What was loaded, never the promise of it: on Workers a promise must not cross requests. */
  #material: Material | undefined;

  constructor(settings: Settings, importKeys: () => Promise<Imported>) {
    const replay = settings.replay ?? createMemoryReplayStore({ now: settings.now });
    this.#load = async () => createMaterial({ ...settings, replay }, await importKeys());
    if (settings.keys !== undefined) this.jwks = async () => (await this.#loaded()).jwks;
  }

  async ready(): Promise<void> {
    await this.#loaded();
  }

  async verify({ method, headers, body }: Received): Promise<Trusted> {
    const { verifier, signerFor } = this.#material ?? (await this.#loaded());
    const contentType = headers.get("content-type");
    const request = await verifier.verify({ method, contentType, signature: headers.get(SIGNATURE_HEADER), body });
    return {
      checkMethod: (message) => verifyMethod(request, message),
      sign: async (reply) => ({ [SIGNATURE_HEADER]: await signerFor(request.kid).sign({ ...reply, request }) }),
    };
  }

  async #loaded(): Promise<Material> {
    this.#material ??= await this.#load();
    return this.#material;
  }
}

function createMaterial(settings: Settings & Required<Pick<Settings, "replay">>, { gateway, own }: Imported): Material {
  const { url, gateway: issuer, name, replay, maxBodyBytes, crypto, now } = settings;
  const signers = new Map(own.map((key) => [key.kid, createReplySigner({ key, issuer: name, crypto, now })]));
  const [first] = signers.values();
  if (first === undefined || replay === undefined) throw new TypeError("keys.own must hold a key");
  return {
    verifier: createRequestVerifier({ keys: gateway, issuer, audience: url, replay, maxBodyBytes, crypto, now }),
    jwks: toJwks(own),
    signerFor: (kid) => signers.get(kid) ?? first,
  };
}
