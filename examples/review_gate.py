#!/usr/bin/env python3
"""Review tool calls before they run: a hook over stdio, with the standard library only.

Every call is written to stderr. Tools named in REVIEW_DENY, separated by commas, are refused:

    REVIEW_DENY=exec,write_file python3 review_gate.py

It answers hook.hello, hook.before_tool, hook.approve_tool and hook.event.
"""

import json
import os
import sys

DENIED = {name.strip() for name in os.environ.get("REVIEW_DENY", "").split(",") if name.strip()}


def log(text):
    # stdout belongs to the protocol; what goes to stderr ends up in the host's log.
    print(text, file=sys.stderr, flush=True)


def hello(params):
    log(f"reviewing for {params.get('name', 'a host')}, denying {sorted(DENIED) or 'nothing'}")
    return {"ok": True, "name": "review-gate"}


def before_tool(params):
    # Names only: arguments can hold secrets.
    log(f"{params['tool']} is called with {sorted(params.get('arguments') or {})}")
    return {"action": "continue"}


def approve_tool(params):
    tool = params["tool"]
    if tool in DENIED:
        log(f"{tool} is denied")
        return {"approved": False, "reason": f"{tool} is on the deny list"}
    return {"approved": True}


def event(params):
    log(f"event {params.get('Kind')}")


METHODS = {
    "hook.hello": hello,
    "hook.before_tool": before_tool,
    "hook.approve_tool": approve_tool,
    "hook.event": event,
}


def answer(message):
    """The reply to one message; none to a notification."""
    method = METHODS.get(message.get("method"))
    if method is None:
        reply = {"error": {"code": -32601, "message": f"unknown method {message.get('method')}"}}
    else:
        try:
            reply = {"result": method(message.get("params") or {})}
        except Exception as error:  # a bug here must not end the hook
            reply = {"error": {"code": -32000, "message": f"{type(error).__name__}: {error}"}}
    if "id" not in message:
        return None
    return {"jsonrpc": "2.0", "id": message["id"], **reply}


def main():
    # Bytes, not text: a line of JSON ends with a line feed and with nothing else.
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            reply = answer(json.loads(line))
        except ValueError:
            log("a line that is not JSON was ignored")
            continue
        if reply is not None:
            sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        # The host has left. The interpreter would try to flush stdout once more and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
