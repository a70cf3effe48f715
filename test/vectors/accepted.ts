import { encode, sha256, signJson } from "./maker.ts";
import {
  heldRequest,
  keys,
  NOW,
  REPLY_BODY,
  replyClaims,
  replyHeader,
  requestClaims,
  requestHeader,
  requestVector,
} from "./setting.ts";
import type { Change } from "./setting.ts";
import type { KeyName, ReplyVector, RequestVector, VectorKey } from "./vector.ts";

function request(
  name: string,
  key: KeyName,
  change: { header?: Change; claims?: Change; vector?: Partial<RequestVector> } = {},
): RequestVector {
  const claims = requestClaims(change.claims);
  const header = signJson(keys[key], requestHeader(keys[key], change.header), claims);
  return requestVector(name, { trusted: [key], header, claims, ...change.vector });
}

export function acceptedRequests(): readonly RequestVector[] {
  const batch = '[{"jsonrpc":"2.0","method":"hook.event","params":{}}]';
  const wide = '{"jsonrpc":"2.0","id":"1","method":"hook.before_tool","params":{"text":"h\u00e9 \u2028 \ud83d\ude00"}}';
  return [
    request("ES256", "es256"),
    request("EdDSA", "ed25519"),
    request("Ed25519, the newer name, under the same key", "ed25519", { header: { alg: "Ed25519" } }),
    request("HS256", "hs256"),
    request("a content type with a charset", "es256", { vector: { content_type: "Application/JSON; charset=utf-8" } }),
    request("a batch", "hs256", { claims: { mtd: "batch", bh: encode(sha256(batch)) }, vector: { body: batch } }),
    request("a body that is not ASCII", "hs256", { claims: { bh: encode(sha256(wide)) }, vector: { body: wide } }),
    request("two keys are active, signed with the old one", "hs256", { vector: { trusted: ["hs256", "hs256_next"] } }),
    request("two keys are active, signed with the new one", "hs256_next", {
      vector: { trusted: ["hs256", "hs256_next"] },
    }),
    request("one second before it expires", "hs256", { claims: { iat: NOW - 89, exp: NOW - 29 } }),
    request("one second before it is too early", "hs256", { claims: { iat: NOW + 29, exp: NOW + 89 } }),
    request("the longest lifetime", "hs256", { claims: { exp: NOW + 120 } }),
    request("a claim nobody asked for", "hs256", { claims: { nbf: NOW + 1000, extra: [1] } }),
    request("a jti of 16 characters", "hs256", { claims: { jti: "0123456789abcdef" } }),
    request("a jti of 64 characters", "hs256", { claims: { jti: "x".repeat(64) } }),
    request("claims that are not ASCII", "hs256", { claims: { note: "h\u00e9\u2028" } }),
  ];
}

interface ReplyChange {
  readonly asker: VectorKey;
  readonly claims?: Change;
  readonly vector?: Partial<ReplyVector>;
}

function reply(name: string, key: KeyName, change: ReplyChange): ReplyVector {
  const asked = heldRequest(change.asker);
  const claims = replyClaims(asked, change.claims);
  const header = signJson(keys[key], replyHeader(keys[key]), claims);
  return {
    kind: "reply",
    name,
    trusted: [key],
    request: asked,
    status: 200,
    body: REPLY_BODY,
    header,
    claims,
    ...change.vector,
  };
}

export function acceptedReplies(): readonly ReplyVector[] {
  return [
    reply("a reply in ES256", "es256_endpoint", { asker: keys.es256 }),
    reply("a reply in EdDSA to a request in ES256", "ed25519", { asker: keys.es256 }),
    reply("a reply in HS256", "hs256", { asker: keys.hs256 }),
    reply("a reply without a body", "hs256", {
      asker: keys.hs256,
      claims: { sts: 202, bh: encode(sha256("")) },
      vector: { status: 202, body: "" },
    }),
  ];
}
