"""A stdio MCP server, 2025-06-18, without an SDK: each `tools/call` asks a person first.

It says on standard error what it got, an answer's action or an error's message, and ends
with exit code 7 when its input ends.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    calls: dict[str, object] = {}
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                result = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "asking", "version": "1.0"},
                }
                send({"id": message["id"], "result": result})
            case "tools/call":
                question = f"q-{message['id']}"
                calls[question] = message["id"]
                schema = {"type": "object", "properties": {"city": {"type": "string"}}}
                params = {"message": "Which city?", "requestedSchema": schema}
                send({"id": question, "method": "elicitation/create", "params": params})
            case None if message.get("id") in calls:
                answer = message.get("result", {}).get("action")
                print("got", answer or message["error"]["message"], file=sys.stderr, flush=True)
                send({"id": calls.pop(message["id"]), "result": {"content": []}})
    sys.exit(7)


if __name__ == "__main__":
    main()
