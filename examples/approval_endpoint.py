"""A hook endpoint in Python, with the standard library only: HS256 signatures both ways, as docs/signing.md has them.

    export HOOK_SECRET="$(openssl rand -base64 32)" HOOK_URL=https://hooks.example.com/hook HOOK_GATEWAY=gateway
    python3 examples/approval_endpoint.py

HOOK_SECRET   the secret shared with the gateway, at least 32 bytes; HOOK_SECRET_OLD: the one before it, while rotating
HOOK_URL      this endpoint's URL, exactly as the gateway is configured with
HOOK_GATEWAY  the gateway's id
HOOK_NAME     this endpoint's name (default: approvals)
PORT          where to listen on 127.0.0.1 (default: 8788); put a server that speaks TLS in front
"""

import base64
import hashlib
import hmac
import json
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# --- The policy: replace this part. ---

READ_ONLY = {"read_file", "search", "list_files"}


def before_tool(params):
    arguments = params.get("arguments") or {}
    if params["tool"] == "shell" and "rm -rf" in str(arguments.get("command", "")):
        return {"action": "deny_tool", "reason": "rm -rf is not allowed"}
    return {"action": "continue"}


def approve_tool(params):
    tool = params["tool"]
    if tool in READ_ONLY:
        return {"approved": True}
    return {"approved": False, "reason": f"{tool} is not a tool that only reads"}


def on_event(params):
    print("event", params.get("Kind"), file=sys.stderr, flush=True)


POINTS = {"hook.before_tool": before_tool, "hook.approve_tool": approve_tool}

# --- The signatures. The order of the checks is part of the protocol. ---

MAX_BODY_BYTES = 1 << 20
MAX_DISCARDED_BYTES = 4 << 20
MAX_HEADER_CHARS = 4096
MAX_LIFETIME = 120
LIFETIME = 60
SKEW = 30
MAX_REMEMBERED = 500_000
B64URL = re.compile(r"[A-Za-z0-9_-]+\Z")
FORBIDDEN = {"crit", "b64", "jwk", "jku", "x5u", "x5c"}


class Refused(Exception):
    """A request that is not answered, and the code that says why."""

    def __init__(self, code, status=401):
        super().__init__(code)
        self.code = code
        self.status = status


def check(condition, code, status=401):
    if not condition:
        raise Refused(code, status)


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def unb64url(text):
    """Strict: what an encoder would not write is refused, or one token would have several spellings."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise Refused("signature_malformed") from None
    check(b64url(data) == text, "signature_malformed")
    return data


def parse_object(data, code):
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refused(code) from None
    check(isinstance(value, dict), code)
    return value


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def sha256(data):
    return b64url(hashlib.sha256(data).digest())


class ReplayStore:
    """Remembers the requests that were seen. For one process: several need one that they share, such as Redis SET NX EX."""

    def __init__(self):
        self._expiries = {}
        self._lock = threading.Lock()

    def insert(self, key, expires_at, now):
        """Whether the key was not there. In order of arrival, so the oldest expire about first."""
        with self._lock:
            while self._expiries:
                oldest = next(iter(self._expiries))
                if self._expiries[oldest] > now:
                    break
                del self._expiries[oldest]
            if self._expiries.get(key, 0) > now:
                return False
            # Refused rather than forgotten: a flood would otherwise make room for the one message it was sent for.
            check(len(self._expiries) < MAX_REMEMBERED, "replay_store_unavailable", 503)
            self._expiries.pop(key, None)
            self._expiries[key] = expires_at
            return True


class Endpoint:
    """Verifies requests and signs replies."""

    def __init__(self, secrets, url, gateway, name, now=time.time):
        for secret in secrets:
            if len(secret) < 32:
                raise ValueError("a secret must have at least 32 bytes")
        self._keys = {"hs-" + hashlib.sha256(secret).hexdigest()[:8]: secret for secret in secrets}
        self._url = url
        self._gateway = gateway
        self._name = name
        self._now = now
        self._replay = ReplayStore()

    def check_http(self, method, content_type, length):
        check(method == "POST", "not_post", 405)
        kind = (content_type or "").split(";")[0].strip().lower()
        check(kind == "application/json", "not_json", 415)
        check(length <= MAX_BODY_BYTES, "body_too_large", 413)

    def verify(self, header, body):
        """The claims of a request; `header` is the value of hook-signature, with several joined by a comma."""
        kid, payload = self._verify_token(header)
        claims = parse_object(payload, "claims_malformed")
        check(claims.get("iss") == self._gateway, "iss_mismatch")
        # Never compared with the URL or the Host of the request: whoever sends it chooses those.
        check(claims.get("aud") == self._url, "aud_mismatch")
        now = self._now()
        iat, exp = claims.get("iat"), claims.get("exp")
        check(is_integer(iat) and is_integer(exp) and exp > iat, "time_malformed")
        check(exp - iat <= MAX_LIFETIME, "lifetime_too_long")
        check(now < exp + SKEW, "expired")
        check(iat < now + SKEW, "not_yet_valid")
        check(claims.get("htm") == "POST", "htm_mismatch")
        check(claims.get("bh") == sha256(body), "bh_mismatch")
        check(isinstance(claims.get("mtd"), str) and claims["mtd"] != "", "mtd_malformed")
        jti = claims.get("jti")
        check(isinstance(jti, str) and 16 <= len(jti) <= 64, "jti_malformed")
        # Last, so that what is not authentic cannot fill the store.
        check(self._replay.insert(f"{self._gateway}|{jti}", exp + SKEW, now), "replayed")
        return kid, claims

    def _verify_token(self, header):
        check(header, "signature_missing")
        check("," not in header, "signature_duplicated")
        parts = header.split(".")
        check(len(parts) == 3 and all(B64URL.match(part) for part in parts), "signature_malformed")
        check(len(header) <= MAX_HEADER_CHARS, "signature_too_long")
        protected, payload, signature = [unb64url(part) for part in parts]
        protected = parse_object(protected, "header_malformed")
        check(not FORBIDDEN & set(protected), "header_forbidden")
        check(protected.get("typ") == "hook-request+jwt", "typ_mismatch")
        check(protected.get("alg") == "HS256", "alg_not_allowed")
        kid = protected.get("kid")
        check(isinstance(kid, str) and kid in self._keys, "kid_unknown")
        expected = self._mac(kid, ".".join(parts[:2]))
        check(hmac.compare_digest(expected, signature), "signature_invalid")
        return kid, payload

    def sign(self, header, verified, status, body):
        """The value of hook-signature for the reply, under the key that signed the request."""
        kid, claims = verified
        iat = int(self._now())
        protected = {"alg": "HS256", "typ": "hook-reply+jwt", "kid": kid}
        reply = {
            "iss": self._name,
            "aud": claims["iss"],
            "iat": iat,
            "exp": iat + LIFETIME,
            "rid": claims["jti"],
            "rqh": sha256(header.encode("ascii")),
            "sts": status,
            "bh": sha256(body),
        }
        signed = ".".join(b64url(json.dumps(part).encode()) for part in (protected, reply))
        return signed + "." + b64url(self._mac(kid, signed))

    def _mac(self, kid, text):
        return hmac.new(self._keys[kid], text.encode("ascii"), hashlib.sha256).digest()

    def answer(self, verified, body):
        """The status and the text of the reply to a verified request. Only now is the body parsed."""
        try:
            message = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            return 400, error_text(None, -32700, "the body is not JSON in UTF-8")
        check(method_of(message) == verified[1]["mtd"], "mtd_mismatch")
        if isinstance(message, dict) and "id" in message:
            if message.get("jsonrpc") != "2.0" or not isinstance(message["id"], str):
                return 400, error_text(None, -32600, "the body is not a JSON-RPC 2.0 request with a string as its id")
            return 200, self._call(message["id"], message["method"], message.get("params"))
        messages = message if isinstance(message, list) else [message]
        if not 1 <= len(messages) <= 64 or not all(is_event(one) for one in messages):
            return 400, error_text(None, -32600, "only hook.event may come without an id, 1 to 64 at once")
        for one in messages:
            run_event(one)
        return 202, ""

    def _call(self, call_id, method, params):
        if method == "hook.hello":
            points = [name.removeprefix("hook.") for name in POINTS]
            result = {"ok": True, "name": self._name, "points": points, "version": 1, "dialect": "picoclaw"}
            return json.dumps({"jsonrpc": "2.0", "id": call_id, "result": result})
        if method not in POINTS:
            return error_text(call_id, -32601, "this hook does not serve that method")
        if not isinstance(params, dict) or not isinstance(params.get("tool"), str):
            return error_text(call_id, -32602, "params.tool: expected a string")
        try:
            return json.dumps({"jsonrpc": "2.0", "id": call_id, "result": POINTS[method](params)})
        except Exception as error:  # the policy's own: the gateway counts it as no verdict, and an approval denies
            print("the policy failed:", repr(error), file=sys.stderr, flush=True)
            return error_text(call_id, -32000, str(error))


def method_of(message):
    """What must have been signed as mtd. A single request for a method called "batch" is not one."""
    if isinstance(message, list):
        return "batch"
    method = message.get("method") if isinstance(message, dict) else None
    return None if method == "batch" else method


def is_event(message):
    return isinstance(message, dict) and message.get("method") == "hook.event" and "id" not in message


def run_event(message):
    try:
        on_event(message.get("params") or {})
    except Exception as error:
        print("an event was not handled:", repr(error), file=sys.stderr, flush=True)


def error_text(call_id, code, message):
    return json.dumps({"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": message}})


def refusal_text(code):
    error = {"code": -32001, "message": "refused", "data": {"reason": code}}
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": error})


# --- HTTP. ---


class Server(ThreadingHTTPServer):
    # How many connections may wait to be accepted; the default of 5 makes the sixth of a burst wait for a second.
    request_queue_size = 128


class Handler(BaseHTTPRequestHandler):
    endpoint = None
    protocol_version = "HTTP/1.1"
    server_version = "approval-endpoint"
    sys_version = ""
    # A caller that sends a byte now and then must not hold a thread.
    timeout = 30
    # Head and body leave in one piece, and at once.
    wbufsize = -1
    disable_nagle_algorithm = True

    def handle_any(self):
        # Until its body is read, the connection cannot carry another request.
        self.close_connection = True
        self._unread = 0
        try:
            body = self._read_body()
            header = ",".join(self.headers.get_all("hook-signature") or [])
            verified = self.endpoint.verify(header, body)
            status, text = self.endpoint.answer(verified, body)
            reply = text.encode("utf-8")
            self._send(status, reply, {"hook-signature": self.endpoint.sign(header, verified, status, reply)})
        except Refused as refusal:
            # Of a refused request nothing but its code is logged.
            print("refused:", refusal.code, file=sys.stderr, flush=True)
            self._send(refusal.status, refusal_text(refusal.code).encode(), {"allow": "POST"})
            self.wfile.flush()
            # Closing with bytes unread would reset the connection, and the answer with it.
            self.rfile.read(min(self._unread, MAX_DISCARDED_BYTES))

    do_GET = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST = handle_any

    def _read_body(self):
        length = self.headers.get("content-length", "")
        known = length.isascii() and length.isdigit() and len(length) <= 15
        self._unread = size = int(length) if known else 0
        self.endpoint.check_http(self.command, self.headers.get("content-type"), size)
        # Chunked bodies are not read here; gateways say the length.
        check(known and self.headers.get("transfer-encoding") is None, "length_required", 411)
        body = self.rfile.read(size)
        self._unread = 0
        check(len(body) == size, "body_incomplete", 400)
        self.close_connection = self.headers.get("connection", "").lower() == "close"
        return body

    def _send(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if body:
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("cache-control", "no-store")
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_args):
        pass


def main():
    secrets = [os.environ[name].encode("utf-8") for name in ("HOOK_SECRET", "HOOK_SECRET_OLD") if os.environ.get(name)]
    if not secrets:
        sys.exit("HOOK_SECRET must be set")
    Handler.endpoint = Endpoint(
        secrets,
        os.environ["HOOK_URL"],
        os.environ["HOOK_GATEWAY"],
        os.environ.get("HOOK_NAME", "approvals"),
    )
    server = Server(("127.0.0.1", int(os.environ.get("PORT", "8788"))), Handler)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
