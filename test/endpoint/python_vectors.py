"""Runs the HS256 request vectors through examples/approval_endpoint.py, by its own front door without the socket."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples"))

from approval_endpoint import MAX_BODY_BYTES, Endpoint, Refused  # noqa: E402


def code_of(vector, document):
    keys = [document["keys"][name] for name in vector["trusted"]]
    parties = document["parties"]
    secrets = [key["secret"].encode() for key in keys]
    now = document["now_ms"] / 1000
    endpoint = Endpoint(secrets, parties["endpoint_url"], parties["gateway"], parties["endpoint"], now=lambda: now)
    body = vector["body"].encode()
    # The example's own limit is fixed, so a vector with a smaller one is told how long its body would be.
    over = max(0, len(body) - vector.get("max_body_bytes", MAX_BODY_BYTES))
    try:
        for _ in range(vector.get("arrivals", 1)):
            length = len(body) if over == 0 else MAX_BODY_BYTES + over
            endpoint.check_http(vector["method"], vector["content_type"], length)
            verified = endpoint.verify(vector["header"], body)
        endpoint.answer(verified, body)
        return "ok" if verified[1] == vector["claims"] else "wrong claims"
    except Refused as refusal:
        return refusal.code


def main():
    document = json.loads((ROOT / "test/vectors/signing.json").read_text(encoding="utf-8"))
    checked = wrong = 0
    for vector in document["accepted"] + document["refused"]:
        is_shared = all("secret" in document["keys"][name] for name in vector["trusted"])
        if vector["kind"] != "request" or not is_shared:
            continue
        code = code_of(vector, document)
        checked += 1
        if code != vector.get("code", "ok"):
            wrong += 1
            print(f"{vector['name']}: expected {vector.get('code', 'ok')}, got {code}")
    print(f"{checked} checked, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
