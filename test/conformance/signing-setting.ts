/** One gateway and one endpoint that trust each other, for the cases of signing. */
import { createPrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import type { KeySet } from "../../src/signing/key-set.ts";
import { createSecretKey, createSigningKey, createVerificationKey } from "../../src/signing/keys.ts";
import type { SigningKey } from "../../src/signing/keys.ts";
import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import { createReplySigner, createReplyVerifier } from "../../src/signing/reply.ts";
import type { ReplySigner, ReplyVerifier } from "../../src/signing/reply.ts";
import { createRequestSigner, createRequestVerifier } from "../../src/signing/request.ts";
import type { RequestSigner, RequestVerifier, VerifiedRequest } from "../../src/signing/request.ts";
import { isVerificationError } from "../../src/signing/verification-error.ts";

export const NOW_MS = 1_764_000_000_000;
export const GATEWAY = "https://gateway.example.com";
export const ENDPOINT = "risk-desk";
export const ENDPOINT_URL = "https://hooks.example.com/v1/hook";
export const BODY: Uint8Array = new TextEncoder().encode('{"jsonrpc":"2.0","id":"1","method":"hook.before_tool"}');
export const REPLY: Uint8Array = new TextEncoder().encode('{"jsonrpc":"2.0","id":"1","result":{"action":"continue"}}');
export const SECRET = "a shared secret of more than 32 bytes, for tests";

export interface Side {
  readonly key: SigningKey;
  readonly keys: KeySet;
}

export async function createSide(alg: "ES256" | "EdDSA" | "Ed25519" | "HS256"): Promise<Side> {
  if (alg === "HS256") {
    const key = await createSecretKey(SECRET);
    return { key, keys: createKeySet([key]) };
  }
  const jwk = await createPrivateJwk(alg);
  const key = await createSigningKey(jwk);
  return { key, keys: createKeySet([await createVerificationKey(toPublicJwk(jwk))]) };
}

export interface Pair {
  readonly requestSigner: RequestSigner;
  readonly requestVerifier: RequestVerifier;
  readonly replySigner: ReplySigner;
  readonly replyVerifier: ReplyVerifier;
}

export function createPair(gateway: Side, endpoint: Side, now: () => number = () => NOW_MS): Pair {
  const replay = createMemoryReplayStore({ now });
  return {
    requestSigner: createRequestSigner({ key: gateway.key, issuer: GATEWAY, audience: ENDPOINT_URL, now }),
    requestVerifier: createRequestVerifier({
      keys: gateway.keys,
      issuer: GATEWAY,
      audience: ENDPOINT_URL,
      replay,
      now,
    }),
    replySigner: createReplySigner({ key: endpoint.key, issuer: ENDPOINT, now }),
    replyVerifier: createReplyVerifier({ keys: endpoint.keys, issuer: ENDPOINT, audience: GATEWAY, now }),
  };
}

export function received(
  verifier: RequestVerifier,
  token: string | null,
  body: Uint8Array = BODY,
): Promise<VerifiedRequest> {
  return verifier.verify({ method: "POST", contentType: "application/json", signature: token, body });
}

/** The reason a promise was refused for, or what happened instead. */
export async function reasonOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "accepted";
  } catch (error) {
    return isVerificationError(error) ? error.reason : `not a VerificationError: ${String(error)}`;
  }
}

/** What a call throws: its `code`, or its `name` where it has none. */
export function thrownBy(call: () => unknown): string {
  try {
    call();
    return "nothing";
  } catch (error) {
    if (!(error instanceof Error)) return "not an error";
    return "code" in error && typeof error.code === "string" ? error.code : error.name;
  }
}
