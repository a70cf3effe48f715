import { createPublicKey, sign } from "node:crypto";
import { createHs256, encode, sha256, signBytes, signJson, signTexts, toKeyObject, toPublic } from "./maker.ts";
import { keys, NOW, REQUEST_BODY, requestClaims, requestHeader, requestVector } from "./setting.ts";
import type { Change } from "./setting.ts";
import type { Json, RequestVector, VectorKey } from "./vector.ts";

type Refused = RequestVector & { readonly code: string };

function refused(code: string, name: string, change: Partial<RequestVector> = {}): Refused {
  return { ...requestVector(name, change), code };
}

function withClaims(code: string, name: string, change: Change): Refused[] {
  return withBoth(code, name, { change });
}

function withBoth(
  code: string,
  name: string,
  { change = {}, vector = {} }: { readonly change?: Change; readonly vector?: Partial<RequestVector> },
): Refused[] {
  // In both worlds: the second one is what a verifier without a key pair can repeat.
  return (["es256", "hs256"] as const).map((key) =>
    refused(code, `${name} (${key})`, {
      trusted: [key],
      header: signJson(keys[key], requestHeader(keys[key]), requestClaims(change)),
      ...vector,
    }),
  );
}

function withHeader(code: string, name: string, change: Change): Refused {
  const header = signJson(keys.hs256, requestHeader(keys.hs256, change), requestClaims());
  return refused(code, name, { trusted: ["hs256"], header });
}

function withAlg(name: string, alg: string): Refused {
  return refused("alg_not_allowed", name, {
    header: signJson(keys.es256, requestHeader(keys.es256, { alg }), requestClaims()),
  });
}

function withHeaderText(header: string): string {
  return signTexts(keys.hs256, header, JSON.stringify(requestClaims()));
}

function withClaimsText(claims: string): string {
  return signTexts(keys.hs256, JSON.stringify(requestHeader(keys.hs256)), claims);
}

function http(): readonly Refused[] {
  const vector: Partial<RequestVector> = { trusted: ["hs256"], header: hs() };
  return [
    refused("not_post", "GET", { ...vector, method: "GET" }),
    refused("not_post", "post in lower case", { ...vector, method: "post" }),
    refused("not_json", "a text", { ...vector, content_type: "text/plain" }),
    refused("not_json", "a form, which a page can send without asking", {
      ...vector,
      content_type: "application/x-www-form-urlencoded",
    }),
    refused("not_json", "a longer type", { ...vector, content_type: "application/jsonp" }),
    refused("not_json", "no content type", { ...vector, content_type: null }),
    refused("body_too_large", "one byte too many", { ...vector, max_body_bytes: REQUEST_BODY.length - 1 }),
  ];
}

function hs(change: Change = {}): string {
  return signJson(keys.hs256, requestHeader(keys.hs256), requestClaims(change));
}

function form(): readonly Refused[] {
  const vector: Partial<RequestVector> = { trusted: ["hs256"] };
  const token = hs();
  const [header, payload, signature] = token.split(".");
  // 32 bytes end in a character with two unused bits; setting one of them leaves the bytes as they are.
  const respelt = token.slice(0, -1) + String.fromCharCode(token.charCodeAt(token.length - 1) + 1);
  return [
    refused("signature_missing", "no header", { ...vector, header: null }),
    refused("signature_missing", "an empty header", { ...vector, header: "" }),
    refused("signature_duplicated", "two headers, joined", { ...vector, header: `${token}, ${token}` }),
    refused("signature_duplicated", "one header and an empty one", { ...vector, header: `${token}, ` }),
    refused("signature_malformed", "two parts", { ...vector, header: `${header}.${payload}` }),
    refused("signature_malformed", "four parts", { ...vector, header: `${token}.${signature}` }),
    refused("signature_malformed", "an empty signature", { ...vector, header: `${header}.${payload}.` }),
    refused("signature_malformed", "a detached payload", { ...vector, header: `${header}..${signature}` }),
    refused("signature_malformed", "padding", { ...vector, header: `${token}=` }),
    refused("signature_malformed", "a scheme before it", { ...vector, header: `Bearer ${token}` }),
    refused("signature_malformed", "the other base64 alphabet", {
      ...vector,
      header: `${header}.${payload}.+/${signature?.slice(2)}`,
    }),
    refused("signature_malformed", "another spelling of the same bytes", { ...vector, header: respelt }),
    refused("signature_malformed", "one lone character", { ...vector, header: `${header}.${payload}.A` }),
    refused("signature_too_long", "more than 4096 characters", { ...vector, header: hs({ pad: "x".repeat(4000) }) }),
  ];
}

function headers(): readonly Refused[] {
  const jwk = toPublic(keys.es256_foreign) as Json;
  const embedded = requestHeader(keys.es256_foreign, { jwk });
  return [
    refused("header_malformed", "a header that is not JSON", {
      trusted: ["hs256"],
      header: withHeaderText("{alg:HS256}"),
    }),
    refused("header_malformed", "a header that is an array", { trusted: ["hs256"], header: withHeaderText("[]") }),
    refused("header_malformed", "a header that is null", { trusted: ["hs256"], header: withHeaderText("null") }),
    withHeader("header_forbidden", "crit", { crit: ["exp"], exp: NOW + 60 }),
    withHeader("header_forbidden", "crit, empty", { crit: [] }),
    withHeader("header_forbidden", "b64", { b64: true }),
    withHeader("header_forbidden", "jku", { jku: "https://evil.example/jwks.json" }),
    withHeader("header_forbidden", "x5u", { x5u: "https://evil.example/cert.pem" }),
    withHeader("header_forbidden", "x5c", { x5c: ["AAAA"] }),
    withHeader("header_forbidden", "jwk, null", { jwk: null }),
    refused("header_forbidden", "a key of the sender's own", {
      header: signJson(keys.es256_foreign, embedded, requestClaims()),
    }),
    withHeader("typ_mismatch", "no typ", { typ: undefined }),
    withHeader("typ_mismatch", "typ JWT", { typ: "JWT" }),
    withHeader("typ_mismatch", "typ of a reply", { typ: "hook-reply+jwt" }),
    withHeader("typ_mismatch", "typ in upper case", { typ: "HOOK-REQUEST+JWT" }),
    withHeader("typ_mismatch", "typ as a list", { typ: ["hook-request+jwt"] }),
  ];
}

/** A token in HS256 under a public key taken for a secret. */
function confused(secret: string): string {
  const key: VectorKey = { ...createHs256(secret), kid: keys.es256.kid };
  return signJson(key, requestHeader(key), requestClaims());
}

function algorithms(): readonly Refused[] {
  const pem = createPublicKey(toKeyObject(keys.es256)).export({ type: "spki", format: "pem" }).toString();
  const none = `${encode(JSON.stringify(requestHeader(keys.es256, { alg: "none" })))}.${encode(JSON.stringify(requestClaims()))}.AA`;
  const crossed = signJson(keys.es256, requestHeader(keys.es256, { kid: keys.ed25519.kid }), requestClaims());
  return [
    refused("alg_not_allowed", "alg none", { header: none }),
    refused("alg_not_allowed", "HS256 under the public key in PEM", { header: confused(pem) }),
    refused("alg_not_allowed", "HS256 under the public key in JSON", {
      header: confused(JSON.stringify(toPublic(keys.es256))),
    }),
    withAlg("another alg", "ES384"),
    withAlg("alg in lower case", "es256"),
    withHeader("alg_not_allowed", "no alg", { alg: undefined }),
    withHeader("alg_not_allowed", "alg as a list", { alg: ["HS256"] }),
    withHeader("alg_not_allowed", "HS512", { alg: "HS512" }),
    refused("alg_not_allowed", "ES256 where a secret is configured", { trusted: ["hs256"] }),
    refused("alg_not_allowed", "ES256 under the id of an Ed25519 key", {
      trusted: ["es256", "ed25519"],
      header: crossed,
    }),
    withHeader("kid_unknown", "no kid", { kid: undefined }),
    withHeader("kid_unknown", "kid as a number", { kid: 1 }),
    withHeader("kid_unknown", "kid as a path", { kid: "../../etc/passwd" }),
    withHeader("kid_unknown", "kid of an object's prototype", { kid: "__proto__" }),
    refused("kid_unknown", "a key that is not trusted", {
      header: signJson(keys.es256_foreign, requestHeader(keys.es256_foreign), requestClaims()),
    }),
    refused("kid_unknown", "a secret that was retired", { trusted: ["hs256_next"], header: hs() }),
  ];
}

function signatures(): readonly Refused[] {
  const header = requestHeader(keys.es256);
  const claims = requestClaims();
  const input = `${encode(JSON.stringify(header))}.${encode(JSON.stringify(claims))}`;
  const right = signBytes(keys.es256, input);
  const flipped = Buffer.from(right);
  flipped[5] = (flipped[5] ?? 0) ^ 1;
  const der = sign("sha256", Buffer.from(input), toKeyObject(keys.es256));
  const other = `${encode(JSON.stringify(header))}.${encode(JSON.stringify(requestClaims({ mtd: "hook.event" })))}`;
  const hsInput = hs().slice(0, hs().lastIndexOf("."));
  const code = "signature_invalid";
  return [
    refused(code, "another key under a trusted id", { header: signJson(keys.es256_foreign, header, claims) }),
    refused(code, "one bit flipped", { header: `${input}.${encode(flipped)}` }),
    refused(code, "in DER", { header: `${input}.${encode(der)}` }),
    refused(code, "cut short", { header: `${input}.${encode(right.subarray(0, 32))}` }),
    refused(code, "all zero", { header: `${input}.${encode(Buffer.alloc(64))}` }),
    refused(code, "of other claims", { header: `${other}.${encode(right)}` }),
    refused(code, "another secret under a trusted id", {
      trusted: ["hs256"],
      header: `${hsInput}.${encode(signBytes(keys.hs256_foreign, hsInput))}`,
    }),
    refused(code, "HMAC cut short", {
      trusted: ["hs256"],
      header: `${hsInput}.${encode(signBytes(keys.hs256, hsInput).subarray(0, 16))}`,
    }),
  ];
}

function allClaims(): readonly Refused[] {
  return [
    refused("claims_malformed", "claims that are not JSON", {
      trusted: ["hs256"],
      header: withClaimsText("iss=gateway"),
    }),
    refused("claims_malformed", "claims that are an array", { trusted: ["hs256"], header: withClaimsText("[1]") }),
    ...withClaims("iss_mismatch", "another gateway", { iss: "https://evil.example" }),
    ...withClaims("iss_mismatch", "no iss", { iss: undefined }),
    ...withClaims("iss_mismatch", "the endpoint itself", { iss: "risk-desk" }),
    ...withClaims("aud_mismatch", "another endpoint", { aud: "https://hooks.example.com/v1/other" }),
    ...withClaims("aud_mismatch", "a slash at the end", { aud: "https://hooks.example.com/v1/hook/" }),
    ...withClaims("aud_mismatch", "aud as a list", { aud: ["https://hooks.example.com/v1/hook"] }),
    ...withClaims("aud_mismatch", "no aud", { aud: undefined }),
    ...withClaims("time_malformed", "iat as a string", { iat: String(NOW) }),
    ...withClaims("time_malformed", "iat with a fraction", { iat: NOW + 0.5 }),
    ...withClaims("time_malformed", "exp with a fraction", { exp: NOW + 60.5 }),
    ...withClaims("time_malformed", "no exp", { exp: undefined }),
    ...withClaims("time_malformed", "exp before iat", { exp: NOW - 1 }),
    ...withClaims("lifetime_too_long", "121 seconds", { exp: NOW + 121 }),
    ...withClaims("lifetime_too_long", "for ever", { exp: 9_007_199_254_740_991 }),
    ...withClaims("expired", "30 seconds after exp", { iat: NOW - 90, exp: NOW - 30 }),
    ...withClaims("not_yet_valid", "30 seconds before iat", { iat: NOW + 30, exp: NOW + 90 }),
    ...withClaims("htm_mismatch", "GET", { htm: "GET" }),
    ...withClaims("htm_mismatch", "no htm", { htm: undefined }),
    ...withClaims("bh_mismatch", "of another body", { bh: encode(sha256("{}")) }),
    ...withClaims("bh_mismatch", "no bh", { bh: undefined }),
    ...withClaims("bh_mismatch", "in hexadecimal", { bh: sha256(REQUEST_BODY).toString("hex") }),
    ...withBoth("bh_mismatch", "a body that was formatted on the way", {
      vector: { body: REQUEST_BODY.replace(":", ": ") },
    }),
    ...withClaims("mtd_malformed", "no mtd", { mtd: undefined }),
    ...withClaims("mtd_malformed", "mtd as a list", { mtd: ["hook.before_tool"] }),
    ...withClaims("jti_malformed", "15 characters", { jti: "0123456789abcde" }),
    ...withClaims("jti_malformed", "65 characters", { jti: "x".repeat(65) }),
    ...withClaims("jti_malformed", "no jti", { jti: undefined }),
    ...withBoth("replayed", "the same request again", { vector: { arrivals: 2 } }),
    ...withClaims("mtd_mismatch", "another method", { mtd: "hook.after_tool" }),
    ...withClaims("mtd_mismatch", "batch, and the body is one request", { mtd: "batch" }),
  ];
}

export function refusedRequests(): readonly Refused[] {
  return [...http(), ...form(), ...headers(), ...algorithms(), ...signatures(), ...allClaims()];
}
