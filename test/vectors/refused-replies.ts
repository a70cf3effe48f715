import { encode, sha256, signJson } from "./maker.ts";
import { heldRequest, keys, NOW, REPLY_BODY, REQUEST_BODY, replyClaims, replyHeader } from "./setting.ts";
import type { Change } from "./setting.ts";
import type { KeyName, ReplyVector } from "./vector.ts";

type Refused = ReplyVector & { readonly code: string };

function refused(code: string, name: string, change: Partial<ReplyVector> = {}): Refused {
  const request = heldRequest(keys.hs256);
  const header = signJson(keys.hs256, replyHeader(keys.hs256), replyClaims(request));
  return { kind: "reply", name, trusted: ["hs256"], request, status: 200, body: REPLY_BODY, header, ...change, code };
}

function withClaims(code: string, name: string, change: Change): Refused[] {
  return (["es256_endpoint", "hs256"] as const).map((key: KeyName) => {
    const request = heldRequest(key === "hs256" ? keys.hs256 : keys.es256);
    const header = signJson(keys[key], replyHeader(keys[key]), replyClaims(request, change));
    return refused(code, `${name} (${key})`, { trusted: [key], request, header });
  });
}

export function refusedReplies(): readonly Refused[] {
  const request = heldRequest(keys.hs256);
  const own = signJson(keys.es256, replyHeader(keys.es256), replyClaims(heldRequest(keys.es256)));
  return [
    refused("signature_missing", "no signature", { header: null }),
    refused("typ_mismatch", "the request sent back", { request, header: request.header, body: REQUEST_BODY }),
    refused("kid_unknown", "signed with the gateway's own key", { trusted: ["es256_endpoint"], header: own }),
    ...withClaims("iss_mismatch", "another endpoint", { iss: "other-desk" }),
    ...withClaims("iss_mismatch", "the gateway itself", { iss: "https://gateway.example.com" }),
    ...withClaims("aud_mismatch", "another gateway", { aud: "https://other.example.com" }),
    ...withClaims("expired", "an old reply", { iat: NOW - 100, exp: NOW - 40 }),
    ...withClaims("not_yet_valid", "a reply from the future", { iat: NOW + 60, exp: NOW + 120 }),
    ...withClaims("rid_mismatch", "to another request", { rid: "019ab3f0-5c00-7000-8000-00000000a002" }),
    ...withClaims("rid_mismatch", "no rid", { rid: undefined }),
    ...withClaims("rqh_mismatch", "to another token of the same jti", { rqh: encode(sha256("another")) }),
    ...withClaims("rqh_mismatch", "no rqh", { rqh: undefined }),
    ...withClaims("sts_mismatch", "another status", { sts: 500 }),
    ...withClaims("sts_mismatch", "the status as a string", { sts: "200" }),
    ...withClaims("bh_mismatch", "another body", {
      bh: encode(sha256('{"jsonrpc":"2.0","id":"call-1","result":{"action":"abort_turn"}}')),
    }),
    refused("sts_mismatch", "a status that was changed on the way", { status: 500 }),
    refused("bh_mismatch", "a body that was changed on the way", { body: REPLY_BODY.replace("continue", "deny_tool") }),
  ];
}
