"""Verifies the HS256 vectors with nothing but Python's standard library.

It follows the protocol, not the TypeScript, and shares no code with it. It prints "N checked, 0 wrong".
"""

import base64
import hashlib
import hmac
import json
import pathlib
import re
import sys

SKEW = 30
B64URL = re.compile(r"[A-Za-z0-9_-]+\Z")


class Refused(Exception):
    pass


def check(condition, code):
    if not condition:
        raise Refused(code)


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64url(text, code):
    check(B64URL.match(text), code)
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise Refused(code) from None
    check(b64url(data) == text, code)
    return data


def parse_object(data, code):
    try:
        value = json.loads(data)
    except ValueError:
        raise Refused(code) from None
    check(isinstance(value, dict), code)
    return value


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def verify_token(header, typ, parties, now, secrets):
    issuer, audience = parties
    check(header, "signature_missing")
    check("," not in header, "signature_duplicated")
    parts = header.split(".")
    check(len(parts) == 3, "signature_malformed")
    check(all(B64URL.match(part) for part in parts), "signature_malformed")
    check(len(header) <= 4096, "signature_too_long")
    protected, payload, signature = [unb64url(part, "signature_malformed") for part in parts]
    protected = parse_object(protected, "header_malformed")
    check(not {"crit", "b64", "jwk", "jku", "x5u", "x5c"} & set(protected), "header_forbidden")
    check(protected.get("typ") == typ, "typ_mismatch")
    check(protected.get("alg") == "HS256", "alg_not_allowed")
    kid = protected.get("kid")
    check(isinstance(kid, str) and kid in secrets, "kid_unknown")
    expected = hmac.new(secrets[kid], ".".join(parts[:2]).encode(), hashlib.sha256).digest()
    check(hmac.compare_digest(expected, signature), "signature_invalid")
    claims = parse_object(payload, "claims_malformed")
    check(claims.get("iss") == issuer, "iss_mismatch")
    check(claims.get("aud") == audience, "aud_mismatch")
    iat, exp = claims.get("iat"), claims.get("exp")
    check(is_integer(iat) and is_integer(exp) and exp > iat, "time_malformed")
    check(exp - iat <= 120, "lifetime_too_long")
    check(now < exp + SKEW, "expired")
    check(iat < now + SKEW, "not_yet_valid")
    return claims


def verify_request(vector, context, secrets):
    parties = context["parties"]
    seen = set()
    check(vector["method"] == "POST", "not_post")
    content_type = (vector["content_type"] or "").split(";")[0].strip().lower()
    check(content_type == "application/json", "not_json")
    body = vector["body"].encode()
    check(len(body) <= vector.get("max_body_bytes", 1 << 20), "body_too_large")
    for _ in range(vector.get("arrivals", 1)):
        claims = verify_token(
            vector["header"],
            "hook-request+jwt",
            (parties["gateway"], parties["endpoint_url"]),
            context["now_ms"] / 1000,
            secrets,
        )
        check(claims.get("htm") == "POST", "htm_mismatch")
        check(claims.get("bh") == b64url(hashlib.sha256(body).digest()), "bh_mismatch")
        check(isinstance(claims.get("mtd"), str) and claims["mtd"], "mtd_malformed")
        jti = claims.get("jti")
        check(isinstance(jti, str) and 16 <= len(jti) <= 64, "jti_malformed")
        check((claims["iss"], jti) not in seen, "replayed")
        seen.add((claims["iss"], jti))
    message = json.loads(body)
    method = "batch" if isinstance(message, list) else message.get("method")
    check(method == claims["mtd"], "mtd_mismatch")
    return claims


def verify_reply(vector, context, secrets):
    parties = context["parties"]
    claims = verify_token(
        vector["header"],
        "hook-reply+jwt",
        (parties["endpoint"], parties["gateway"]),
        context["now_ms"] / 1000,
        secrets,
    )
    request = vector["request"]
    check(claims.get("rid") == request["jti"], "rid_mismatch")
    check(claims.get("rqh") == b64url(hashlib.sha256(request["header"].encode()).digest()), "rqh_mismatch")
    check(is_integer(claims.get("sts")) and claims["sts"] == vector["status"], "sts_mismatch")
    check(claims.get("bh") == b64url(hashlib.sha256(vector["body"].encode()).digest()), "bh_mismatch")
    return claims


def main():
    context = json.loads(pathlib.Path(__file__).with_name("signing.json").read_text(encoding="utf-8"))
    checked = wrong = 0
    for vector in context["accepted"] + context["refused"]:
        trusted = [context["keys"][name] for name in vector["trusted"]]
        if not all("secret" in key for key in trusted):
            continue
        secrets = {"hs-" + hashlib.sha256(key["secret"].encode()).hexdigest()[:8]: key["secret"].encode() for key in trusted}
        verify = verify_request if vector["kind"] == "request" else verify_reply
        try:
            claims = verify(vector, context, secrets)
            code = "ok" if claims == vector.get("claims") else "wrong claims"
        except Refused as refusal:
            code = str(refusal)
        checked += 1
        if code != vector.get("code", "ok"):
            wrong += 1
            print(f"{vector['kind']} {vector['name']}: expected {vector.get('code', 'ok')}, got {code}")
    print(f"{checked} checked, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
