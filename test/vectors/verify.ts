/** Runs a vector through src/signing, on any runtime. */
import { createKeySet } from "../../src/signing/key-set.ts";
import type { KeySet } from "../../src/signing/key-set.ts";
import type { CryptoPort } from "../../src/signing/crypto.ts";
import { parsePrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { createSecretKey, createVerificationKey } from "../../src/signing/keys.ts";
import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import { createReplyVerifier } from "../../src/signing/reply.ts";
import { createRequestVerifier, verifyMethod } from "../../src/signing/request.ts";
import { isVerificationError } from "../../src/signing/verification-error.ts";
import document from "./signing.json" with { type: "json" };
import type { KeyName, ReplyVector, RequestVector, Vector, Vectors } from "./vector.ts";

/** The vectors of signing.json. */
export const vectors = document as unknown as Vectors;

const { now_ms: nowMs, parties, keys } = vectors;
const encoder = new TextEncoder();

async function toKeySet(names: readonly KeyName[], crypto: CryptoPort): Promise<KeySet> {
  const trusted = names.map(async (name) => {
    const { kid, secret, jwk } = keys[name];
    const key =
      secret === undefined
        ? await createVerificationKey(toPublicJwk(parsePrivateJwk(jwk)), { crypto })
        : await createSecretKey(secret, { crypto });
    if (key.kid !== kid) throw new Error(`the id of ${name} is not ${kid}`);
    return key;
  });
  return createKeySet(await Promise.all(trusted));
}

async function verifyRequest(vector: RequestVector, crypto: CryptoPort): Promise<unknown> {
  const verifier = createRequestVerifier({
    keys: await toKeySet(vector.trusted, crypto),
    issuer: parties.gateway,
    audience: parties.endpoint_url,
    replay: createMemoryReplayStore({ now: () => nowMs }),
    maxBodyBytes: vector.max_body_bytes,
    crypto,
    now: () => nowMs,
  });
  const request = {
    method: vector.method,
    contentType: vector.content_type,
    signature: vector.header,
    body: encoder.encode(vector.body),
  };
  for (let arrival = 1; arrival < (vector.arrivals ?? 1); arrival += 1) await verifier.verify(request);
  const verified = await verifier.verify(request);
  verifyMethod(verified, JSON.parse(vector.body));
  return verified.claims;
}

async function verifyReply(vector: ReplyVector, crypto: CryptoPort): Promise<unknown> {
  const verifier = createReplyVerifier({
    keys: await toKeySet(vector.trusted, crypto),
    issuer: parties.endpoint,
    audience: parties.gateway,
    crypto,
    now: () => nowMs,
  });
  const { jti, header: token } = vector.request;
  const body = encoder.encode(vector.body);
  const request = { jti, token };
  const { claims } = await verifier.verify({ signature: vector.header, status: vector.status, body, request });
  return claims;
}

/** "ok" where a vector is accepted and its claims are the expected ones, else the reason. */
export async function codeOf(vector: Vector, crypto: CryptoPort): Promise<string> {
  try {
    const claims = await (vector.kind === "request" ? verifyRequest(vector, crypto) : verifyReply(vector, crypto));
    const expected = vector.claims as object;
    const wrong = Object.entries(claims as object).filter(([name, value]) => Reflect.get(expected, name) !== value);
    return wrong.length === 0 ? "ok" : `wrong claims: ${wrong.map(([name]) => name).join(", ")}`;
  } catch (error) {
    if (isVerificationError(error)) return error.reason;
    throw error;
  }
}
