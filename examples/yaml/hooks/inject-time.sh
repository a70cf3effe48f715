#!/bin/sh
# stdin: the context as JSON. stdout: what is to change, as JSON.
exec python3 -c '
import datetime, json, sys

context = json.load(sys.stdin)
now = datetime.datetime.now().strftime("%H:%M")
json.dump({"user_input": "[" + now + "] " + context["user_input"]}, sys.stdout)
'
