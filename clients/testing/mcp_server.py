#!/usr/bin/env python3
"""A small MCP server over stdio for the clients' tests; the argument chooses its tools.

    desk   echo (gives back its arguments), slow (reports progress `steps` times), cancelled (how many
           calls of slow were cancelled)
    safe   write (asks for nothing itself; the configuration does)
    extra  more (does nothing)
    many   a thousand tools, for measuring
"""
import json
import sys
import threading

output = threading.Lock()
running = {}
cancelled = []

OBJECT = {"type": "object"}
TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
STEPS = {"type": "object", "properties": {"steps": {"type": "integer"}}, "required": ["steps"]}
TOOLS = {
    "desk": [
        ("echo", "Gives back the arguments that it was called with.", OBJECT),
        ("slow", "Takes its time and reports progress at every step.", STEPS),
        ("cancelled", "Says how many slow calls were cancelled.", OBJECT),
    ],
    "safe": [("write", "Writes a note with a title into the safe.", TITLE)],
    "extra": [("more", "Does nothing at all.", OBJECT)],
    "many": [("tool_%04d" % n, "Tool number %d of very many." % n, TITLE) for n in range(1000)],
}


def send(**message):
    with output:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def call(request_id, params):
    name, arguments = params["name"], params.get("arguments") or {}
    if name == "slow":
        stopped = running[request_id]
        token = (params.get("_meta") or {}).get("progressToken")
        for step in range(1, arguments["steps"] + 1):
            progress = {"progressToken": token, "progress": step, "total": arguments["steps"]}
            send(method="notifications/progress", params=progress)
            if stopped.wait(0.02):
                return None
        return text("slow is done")
    if name == "cancelled":
        return text(str(len(cancelled)))
    if name == "write":
        return text("wrote " + arguments["title"])
    return text(json.dumps(arguments, ensure_ascii=False))


def answer(request_id, method, params, tools):
    if method == "initialize":
        send(id=request_id, result={
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "testing", "version": "1"},
        })
    elif method == "tools/list":
        send(id=request_id, result={"tools": [
            {"name": name, "description": description, "inputSchema": schema}
            for name, description, schema in tools
        ]})
    elif method == "tools/call":
        result = call(request_id, params)
        running.pop(request_id, None)
        if result is not None:
            send(id=request_id, result=result)
    elif method == "ping":
        send(id=request_id, result={})
    else:
        send(id=request_id, error={"code": -32601, "message": "no method " + method})


def main():
    tools = TOOLS[sys.argv[1]]
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params") or {}
        if method == "notifications/cancelled" and params["requestId"] in running:
            cancelled.append(params["requestId"])
            running[params["requestId"]].set()
        elif method is not None and "id" in message:
            running[message["id"]] = threading.Event()
            arguments = (message["id"], method, params, tools)
            threading.Thread(target=answer, args=arguments, daemon=True).start()


main()
