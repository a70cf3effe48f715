import type { Log } from "../log.ts";
import type { CryptoPort } from "../signing/crypto.ts";
import { parsePrivateJwks, parsePublicJwks } from "../signing/jwk.ts";
import type { JwksFetch } from "../signing/jwks-fetch.ts";
import { readUnverifiedIssuer } from "../signing/jws.ts";
import { createKeySet, type KeySet } from "../signing/key-set.ts";
import { createSecretKey, createSigningKey, createVerificationKey, type SigningKey } from "../signing/keys.ts";
import { createRemoteKeySet } from "../signing/remote-key-set.ts";
import { createReplyVerifier, type ReplyVerifier, type ReplyVerifierOptions } from "../signing/reply.ts";
import { createRequestSigner } from "../signing/request.ts";
import { createWebhookSigner, createWebhookVerifier, parseWebhookSecret } from "../signing/standard-webhooks.ts";
import { createJwsSignature, createWebhookSignature, type MessageSignature } from "../transport/signature.ts";
import type { GatewayConfig } from "./gateway-schema.ts";
import type { HookPorts } from "./ports.ts";
import type { HttpConfig, ServiceConfig } from "./process-schema.ts";

/** Who signs and verifies, beside the hook's own entry. */
export interface SignatureContext extends Pick<HookPorts, "crypto" | "hashBody" | "platform"> {
  /** The hook's name. */
  readonly name: string;
  readonly gateway: Pick<GatewayConfig, "id" | "signing_key">;
  /** Fetches the endpoint's keys. */
  readonly fetch: JwksFetch;
  readonly log: Log;
  /**
   * Whether an endpoint that has the secret may have any name: for a person who asks one by hand. Its name adds nothing
   * where nobody else has its secret. @default false
   */
  readonly takesAnyName?: boolean | undefined;
}

type Entry = HttpConfig | ServiceConfig;

/**
 * Makes what signs the calls of a hook and verifies its replies; undefined when it is unsigned.
 * @throws {HookgateError} `ERR_CONFIG` when a key is not valid
 */
export async function createHookSignature(
  entry: Entry,
  context: SignatureContext,
): Promise<MessageSignature | undefined> {
  if (entry.unsigned) return undefined;
  return entry.scheme === "jws" ? createJws(entry, context) : createWebhook(entry, context);
}

function createWebhook(entry: Entry, { crypto, platform }: SignatureContext): MessageSignature {
  const secrets = listSecrets(entry.secret).map(parseWebhookSecret);
  const options = { secrets, crypto, now: platform?.epochNow };
  return createWebhookSignature({
    signer: createWebhookSigner(options),
    verifier: createWebhookVerifier(options),
    requireSignedReply: entry.require_signed_reply,
    allowWeakApproval: entry.allow_weak_approval,
  });
}

async function createJws(entry: Entry, context: SignatureContext): Promise<MessageSignature> {
  const { gateway, crypto, hashBody, platform } = context;
  const now = platform?.epochNow;
  const { key, replyKeys } =
    entry.secret === undefined ? await pairKeys(entry, context) : await secretKeys(entry, crypto);
  const signer = createRequestSigner({ key, issuer: gateway.id, audience: entry.url, alg: entry.alg, crypto, now });
  const verifier = replyKeys && createVerifier(replyKeys, entry, context);
  return createJwsSignature({ signer, verifier, requireSignedReply: entry.require_signed_reply, hashBody });
}

function createVerifier(keys: KeySet, entry: Entry, context: SignatureContext): ReplyVerifier {
  const { name, gateway, crypto, platform, takesAnyName = false } = context;
  const options = { keys, audience: gateway.id, crypto, now: platform?.epochNow };
  const isNameless = takesAnyName && entry.endpoint === undefined && entry.secret !== undefined;
  if (isNameless) return createNamelessVerifier(options);
  return createReplyVerifier({ ...options, issuer: entry.endpoint ?? name });
}

/** Verifies replies under whatever name they carry. */
function createNamelessVerifier(options: Omit<ReplyVerifierOptions, "issuer">): ReplyVerifier {
  return {
    async verify(reply) {
      const issuer = readUnverifiedIssuer(reply.signature ?? "");
      return createReplyVerifier({ ...options, issuer: issuer === undefined || issuer === "" ? "?" : issuer }).verify(
        reply,
      );
    },
  };
}

interface Keys {
  readonly key: SigningKey;
  /** Absent where replies need no signature. */
  readonly replyKeys: KeySet | undefined;
}

async function secretKeys({ secret }: Entry, crypto: CryptoPort | undefined): Promise<Keys> {
  const keys = await Promise.all(listSecrets(secret).map((text) => createSecretKey(text, { crypto })));
  const [key] = keys;
  if (key === undefined) throw new RangeError("secret must list at least one secret");
  return { key, replyKeys: createKeySet(keys) };
}

async function pairKeys(entry: Entry, context: SignatureContext): Promise<Keys> {
  const [key] = await createGatewayKeys(context.gateway, context.crypto);
  if (key === undefined) throw new TypeError("gateway.signing_key must be given where a hook has no secret");
  return { key, replyKeys: await createReplyKeys(entry, context) };
}

async function createReplyKeys(entry: Entry, context: SignatureContext): Promise<KeySet | undefined> {
  const { crypto, fetch, platform, log } = context;
  if (entry.reply_key !== undefined) {
    const jwks = parsePublicJwks(entry.reply_key);
    return createKeySet(await Promise.all(jwks.map((jwk) => createVerificationKey(jwk, { crypto }))));
  }
  if (entry.reply_jwks === undefined) return undefined;
  return createRemoteKeySet({
    url: entry.reply_jwks,
    sameOriginAs: entry.url,
    fetch,
    crypto,
    now: platform?.epochNow,
    shareFetch: platform?.isolatesRequests !== true,
    waitUntil: platform?.waitUntil,
    log,
  });
}

/** The secrets of an entry, the first of which signs. */
export function listSecrets(secret: string | readonly string[] | undefined): readonly string[] {
  if (secret === undefined) return [];
  return typeof secret === "string" ? [secret] : secret;
}

/**
 * The gateway's own keys, the first of which signs; all of them are published. None where it has none.
 * @throws {HookgateError} `ERR_CONFIG` when one is not valid
 */
export async function createGatewayKeys(
  { signing_key: signingKey }: Pick<GatewayConfig, "signing_key">,
  crypto?: CryptoPort,
): Promise<readonly SigningKey[]> {
  if (signingKey === undefined) return [];
  return Promise.all(parsePrivateJwks(signingKey).map((jwk) => createSigningKey(jwk, { crypto })));
}
