import type { GatewayConfig, HostConfig, JwtConfig } from "../config/index.ts";
import { createGatewayKeys } from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import { type Log, silentLog } from "../log.ts";
import {
  type BearerKeys,
  createBearerVerifier,
  createLocalBearerKeys,
  createRemoteBearerKeys,
  parseHostKeys,
} from "../signing/bearer.ts";
import type { CryptoPort } from "../signing/crypto.ts";
import { parsePublicJwks } from "../signing/jwk.ts";
import type { JwksFetch } from "../signing/jwks-fetch.ts";
import { createKeySet, type KeySet } from "../signing/key-set.ts";
import { createSecretKey, createVerificationKey, type SecretKey, type SigningKey, toJwks } from "../signing/keys.ts";
import { createRemoteKeySet, type RemoteKeySetOptions } from "../signing/remote-key-set.ts";
import { createMemoryReplayStore, type ReplayStore } from "../signing/replay.ts";
import { createReplySigner } from "../signing/reply.ts";
import { createRequestVerifier } from "../signing/request.ts";
import { createGateway, type RetirableGateway } from "./gateway.ts";
import type { GatewayAuth, GatewayOptions } from "./options.ts";
import type { RecordPages } from "./records.ts";
import { createJwtAuthenticator, createSignatureAuthenticator, type JwtIssuer, type SigningHost } from "./host-auth.ts";

/** Options of {@link createGatewayAuth}. */
export interface CreateGatewayAuthOptions {
  /** Fetches the keys that issuers and hosts publish. @default the platform's fetch */
  readonly fetch?: JwksFetch | undefined;
  /** @default WebCrypto, with jose for key pairs */
  readonly crypto?: CryptoPort | undefined;
  /**
   * Remembers which signed requests were seen. Every process that answers for the URL must share it, or a recorded
   * request counts once in each. @default a store in memory, exact within one process
   */
  readonly replay?: ReplayStore | undefined;
  /** Whether requests must not wait for each other, as on Workers. @default false */
  readonly isolatesRequests?: boolean | undefined;
  /** Keeps a fetch of keys alive after the answer. @default it is left to itself */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  readonly epochNow?: (() => number) | undefined;
  readonly log?: Log | undefined;
}

/** The gateway's own side of signatures. */
interface Own {
  readonly id: string;
  readonly keys: readonly SigningKey[];
}

/** Whether a config names any way by which hosts prove who they are. */
export function hasAuth({ auth: { tokens, jwt, signatures } }: Pick<GatewayConfig, "auth">): boolean {
  return tokens.length + jwt.length + signatures.length > 0;
}

/**
 * Makes the ways a config lets hosts in: tokens, JWTs, signatures.
 * @returns undefined when it names none, so that only this machine may call
 * @throws {HookgateError} `ERR_CONFIG` when a key is not valid
 */
export async function createGatewayAuth(
  { id, auth, signing_key, limits }: GatewayConfig,
  options: CreateGatewayAuthOptions = {},
): Promise<GatewayAuth | undefined> {
  const { tokens, jwt, signatures } = auth;
  if (!hasAuth({ auth })) return undefined;
  const { log = silentLog, crypto } = options;
  const own: Own = { id, keys: await createGatewayKeys({ ...(signing_key && { signing_key }) }, options.crypto) };
  const replay = options.replay ?? createMemoryReplayStore({ now: options.epochNow });
  const maxBodyBytes = limits.max_body_bytes ?? DEFAULT_BODY_BYTES;
  const hosts = await Promise.all(signatures.map((host) => toHost(host, own, { ...options, replay, maxBodyBytes })));
  return {
    tokens: tokens.map(({ speaks_for: speaksFor, ...token }) => ({ ...token, speaksFor })),
    crypto,
    authenticators: [
      ...(jwt.length === 0
        ? []
        : [
            createJwtAuthenticator(
              jwt.map((entry) => toIssuer(entry, options)),
              { log },
            ),
          ]),
      ...(hosts.length === 0 ? [] : [createSignatureAuthenticator(hosts, { log })]),
    ],
  };
}

const DEFAULT_BODY_BYTES = 8_388_608;

function toIssuer(entry: JwtConfig, options: CreateGatewayAuthOptions): JwtIssuer {
  const { name, issuer, audience, algorithms, scope_map: scopeMap } = entry;
  const keys = toBearerKeys(entry, options);
  return {
    name,
    issuer,
    verifier: createBearerVerifier({ keys, issuer, audience, algorithms, now: options.epochNow }),
    nameClaim: entry.name_claim,
    scopeClaim: entry.scope_claim,
    scopeMap,
    scopes: entry.scopes ?? (scopeMap === undefined ? ["call", "observe"] : []),
  };
}

function toBearerKeys({ keys, jwks_url: url, name }: JwtConfig, options: CreateGatewayAuthOptions): BearerKeys {
  if (keys !== undefined) return createLocalBearerKeys(parseHostKeys(keys));
  return createRemoteBearerKeys(toRemote(url, name, options));
}

function toRemote(url: string | undefined, name: string, options: CreateGatewayAuthOptions): RemoteKeySetOptions {
  if (url === undefined) throw new HookgateError("ERR_CONFIG", `"${name}" has no keys`);
  const { fetch = platformFetch, crypto, epochNow, isolatesRequests, waitUntil, log } = options;
  return { url, fetch, crypto, now: epochNow, shareFetch: isolatesRequests !== true, waitUntil, log };
}

const platformFetch: JwksFetch = (url, init) => fetch(url, init);

interface HostOptions extends CreateGatewayAuthOptions {
  readonly replay: ReplayStore;
  readonly maxBodyBytes: number;
}

async function toHost(entry: HostConfig, own: Own, options: HostOptions): Promise<SigningHost> {
  const { name, issuer, audience, scopes } = entry;
  const { crypto, epochNow: now, replay, maxBodyBytes } = options;
  const secrets = await toSecrets(entry, crypto);
  const keys = secrets.length > 0 ? createKeySet(secrets) : await toKeySet(entry, options);
  const signers = new Map(
    (secrets.length > 0 ? secrets : own.keys).map((key) => [
      key.kid,
      createReplySigner({ key, issuer: own.id, crypto, now }),
    ]),
  );
  const [first] = signers.values();
  return {
    name,
    issuer,
    scopes,
    verifier: createRequestVerifier({ keys, issuer, audience, replay, maxBodyBytes, crypto, now }),
    signerFor: (kid) => signers.get(kid) ?? first,
  };
}

function toSecrets({ secret }: HostConfig, crypto: CryptoPort | undefined): Promise<readonly SecretKey[]> {
  const texts = secret === undefined ? [] : typeof secret === "string" ? [secret] : secret;
  return Promise.all(texts.map((text) => createSecretKey(text, { crypto })));
}

async function toKeySet({ name, key, jwks_url: url }: HostConfig, options: HostOptions): Promise<KeySet> {
  if (key === undefined) return createRemoteKeySet(toRemote(url, name, options));
  const { crypto } = options;
  return createKeySet(await Promise.all(parsePublicJwks(key).map((jwk) => createVerificationKey(jwk, { crypto }))));
}

/** Options of {@link createGatewayFromConfig}. */
export interface GatewayFromConfigOptions
  extends
    CreateGatewayAuthOptions,
    Pick<
      GatewayOptions,
      | "host"
      | "hooks"
      | "approvals"
      | "links"
      | "notifications"
      | "lifecycle"
      | "methods"
      | "now"
      | "reload"
      | "sessions"
      | keyof RecordPages
    > {}

/**
 * Builds the gateway a config describes: who may call, its limits, and the keys it publishes.
 * @throws {HookgateError} `ERR_CONFIG` when a key is not valid
 */
export async function createGatewayFromConfig(
  config: GatewayConfig,
  options: GatewayFromConfigOptions,
): Promise<RetirableGateway> {
  const { signing_key, limits, allowed_origins: allowedOrigins } = config;
  const { max_body_bytes, max_batch, max_concurrency, requests_per_minute } = limits;
  const keys = await createGatewayKeys({ ...(signing_key && { signing_key }) }, options.crypto);
  const { host, hooks, approvals, links, notifications, lifecycle, methods, now, sessions, log, reload } = options;
  const { recording, records, metrics, absent, streamsEnd } = options;
  return createGateway({
    recording,
    records,
    metrics,
    absent,
    streamsEnd,
    host,
    hooks,
    approvals,
    links,
    notifications,
    lifecycle,
    methods,
    reload,
    now,
    sessions,
    log,
    auth: await createGatewayAuth(config, options),
    jwks: keys.length === 0 ? undefined : toJwks(keys),
    limits: {
      ...(max_body_bytes === undefined ? {} : { maxBodyBytes: max_body_bytes }),
      ...(max_batch === undefined ? {} : { maxBatch: max_batch }),
      ...(max_concurrency === undefined ? {} : { maxConcurrency: max_concurrency }),
      ...(requests_per_minute === undefined ? {} : { requestsPerMinute: requests_per_minute }),
    },
    allowedOrigins,
  });
}
