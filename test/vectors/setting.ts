/** What every vector is made from: the keys, the parties, the time, a request and a reply that are right. */
import { createEd25519, createEs256, createHs256, encode, sha256, signJson } from "./maker.ts";
import type { Json, KeyName, ReplyVector, RequestVector, VectorKey } from "./vector.ts";

export const NOW_MS = 1_764_000_000_000;
export const NOW = NOW_MS / 1000;

export const parties = {
  gateway: "https://gateway.example.com",
  endpoint: "risk-desk",
  endpoint_url: "https://hooks.example.com/v1/hook",
} as const;

export const keys: Readonly<Record<KeyName, VectorKey>> = {
  es256: createEs256("hookgate vector es256"),
  ed25519: createEd25519("hookgate vector ed25519"),
  hs256: createHs256("hookgate-vector-secret-0123456789abcdef"),
  es256_endpoint: createEs256("hookgate vector es256 endpoint"),
  hs256_next: createHs256("hookgate-vector-secret-next-0123456789abcdef"),
  es256_foreign: createEs256("hookgate vector es256 foreign"),
  hs256_foreign: createHs256("hookgate-vector-secret-foreign-0123456789"),
};

export const REQUEST_BODY = '{"jsonrpc":"2.0","id":"call-1","method":"hook.before_tool","params":{"tool":"exec"}}';
export const REPLY_BODY = '{"jsonrpc":"2.0","id":"call-1","result":{"action":"continue"}}';
export const JTI = "019ab3f0-5c00-7000-8000-00000000a001";

export type Change = Readonly<Record<string, Json | undefined>>;

export function requestHeader(key: VectorKey, change: Change = {}): Json {
  return { alg: key.alg, typ: "hook-request+jwt", kid: key.kid, ...change };
}

export function requestClaims(change: Change = {}): Json {
  return {
    iss: parties.gateway,
    aud: parties.endpoint_url,
    iat: NOW,
    exp: NOW + 60,
    jti: JTI,
    htm: "POST",
    bh: encode(sha256(REQUEST_BODY)),
    mtd: "hook.before_tool",
    ...change,
  };
}

export function requestVector(name: string, change: Partial<RequestVector> = {}): RequestVector {
  return {
    kind: "request",
    name,
    trusted: ["es256"],
    method: "POST",
    content_type: "application/json",
    body: REQUEST_BODY,
    header: signJson(keys.es256, requestHeader(keys.es256), requestClaims()),
    ...change,
  };
}

export function heldRequest(key: VectorKey): ReplyVector["request"] {
  return { jti: JTI, header: signJson(key, requestHeader(key), requestClaims()) };
}

export function replyHeader(key: VectorKey, change: Change = {}): Json {
  return { alg: key.alg, typ: "hook-reply+jwt", kid: key.kid, ...change };
}

export function replyClaims(request: ReplyVector["request"], change: Change = {}): Json {
  return {
    iss: parties.endpoint,
    aud: parties.gateway,
    iat: NOW,
    exp: NOW + 60,
    rid: request.jti,
    rqh: encode(sha256(request.header)),
    sts: 200,
    bh: encode(sha256(REPLY_BODY)),
    ...change,
  };
}
