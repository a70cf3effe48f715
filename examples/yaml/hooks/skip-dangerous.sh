#!/bin/sh
# stdin: the context as JSON; tool_arguments in it is JSON text once more. stdout: what is to be done, as JSON.
exec python3 -c '
import json, re, sys

context = json.load(sys.stdin)
command = json.loads(context["tool_arguments"]).get("command", "")
dangerous = [
    r"\brm\s+(-\w*\s+)*-\w*[rR]\w*\s+(-\w*\s+)*(/|~|\$HOME)(\s|/?\*|$)",
    r"\bmkfs\b",
    r"\bdd\b.*\bof=/dev/",
    r":\(\)\s*\{.*\};\s*:",
]
if any(re.search(pattern, command) for pattern in dangerous):
    json.dump({"action": "skip", "system_message": "A dangerous command was left out."}, sys.stdout)
else:
    print("{}")
'
