#!/usr/bin/env python3
"""Plays a sidecar for the tests of the clients: speaks the wire contract, and breaks it on demand.

`dispatch` does what the name of the tool says:

    echo      answers with the arguments
    slow      reports progress, then answers after `seconds`, or -32800 when cancelled
    steps     reports progress three times, then answers
    ask       sends the host a request, `method` with `params`, and answers with the answer
    withdraw  the same, but takes the request back at once
    host      leaves the call to the host
    later     answers with a case that nobody knows yet
    bad       answers with something that is not of the contract
    garbage   writes lines that are no messages, then answers
    deaf      answers nobody: an error without an id
    die       ends with status 7, owing this answer and all others
    cancels   answers with the ids of all requests that were cancelled so far

Of the environment: MOCK_PROTOCOL is the protocol version to claim; with MOCK_STUBBORN it does not end
when it is asked to, nor on SIGTERM; MOCK_PIDFILE is where it writes its process id.
"""
import json
import os
import signal
import sys
import threading

output = threading.Lock()
cancelled = []
running = {}
asked = {}


def write(text):
    with output:
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()


def send(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False))


def content(value, **more):
    return {
        "kind": "result",
        "content": json.dumps({"result": value}, ensure_ascii=False),
        "isError": False,
        "outcome": "ok",
        "elapsedMs": 1,
        **more,
    }


def initialize(params):
    return {
        "protocolVersion": int(os.environ.get("MOCK_PROTOCOL", "1")),
        "serverInfo": {"name": "toolcrib", "version": "0.0.1-mock"},
        "configPath": None,
        "problems": [],
        "formats": ["openai"],
        "received": params,
    }


def assemble(params):
    unchanged = params.get("knownDigest") == "d1"
    tools = [{"type": "function", "function": {"name": "echo", "description": "", "parameters": {}}}]
    decision = {
        "mode": "direct", "reason": "belowThreshold", "deferrableTools": 1, "deferrableTokens": 20,
        "visibleTokens": 20, "thresholdTokens": None, "contextLength": params.get("contextLength"),
        "savedTokens": 0,
    }
    result = {"unchanged": unchanged, "digest": "d1", "generation": 1, "decision": decision,
              "servers": [], "warnings": []}
    return result if unchanged else {"tools": tools, **result}


def status(_):
    return {"version": "0.0.1-mock", "protocolVersion": 1, "uptimeMs": 1, "generation": 1, "configPath": None,
            "catalog": {"tools": 1, "tokens": 20}, "servers": [], "sessions": []}


def progress(params, step):
    send(method="progress", params={"callId": params.get("callId", ""), "progress": step, "total": 3})


def ask(params, withdraw):
    question = "t%d" % (len(asked) + 1)
    answered = asked[question] = threading.Event()
    send(id=question, method=params["method"], params=params["params"])
    if withdraw:
        send(method="$/cancelRequest", params={"id": question})
    answered.wait(30)
    return answered.message


def dispatch(request_id, params):
    name, arguments = params["name"], params.get("arguments") or {}
    if name == "echo":
        return content(arguments)
    if name == "slow":
        progress(params, 1)
        stopped = running[request_id]
        if stopped.wait(arguments.get("seconds", 30)):
            return None
        return content("done")
    if name == "steps":
        for step in (1, 2, 3):
            progress(params, step)
        return content("done")
    if name in ("ask", "withdraw"):
        answer = ask(arguments, name == "withdraw")
        return content({key: answer[key] for key in ("result", "error") if key in answer})
    if name == "host":
        return {"kind": "host", "tool": {"name": "mine", "source": "host"}, "arguments": arguments}
    if name == "later":
        return {"kind": "later", "url": "x", "n": 9007199254740993}
    if name == "bad":
        return {"kind": "result"}
    if name == "garbage":
        write("this is not JSON")
        write("[1, 2]")
        write("")
        send(method="newerThanYou", params={"a": 1})
        send(id=999_999, result={})
        return content("done")
    if name == "deaf":
        send(id=None, error={"code": -32700, "message": "cannot read that"})
        return None
    if name == "die":
        os._exit(7)
    if name == "cancels":
        return content(cancelled)
    return content("no such tool")


def answer(request_id, method, params):
    if method == "dispatch":
        result = dispatch(request_id, params)
        if running.pop(request_id).is_set():
            send(id=request_id, error={"code": -32800, "message": "cancelled"})
        elif result is not None:
            send(id=request_id, result=result)
    elif method == "reload":
        problem = {"severity": "error", "message": "no", "path": "/servers",
                   "range": {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 5}}}
        data = {"kind": "configInvalid", "message": "1 problem", "retryable": False, "problems": [problem]}
        send(id=request_id, error={"code": -32803, "message": "the configuration is not valid", "data": data})
    elif method == "closeSession":
        send(id=request_id, result={})
    elif method == "shutdown":
        send(id=request_id, result=None)
    else:
        known = {"initialize": initialize, "assembleTools": assemble, "status": status}
        if method in known:
            send(id=request_id, result=known[method](params))
        else:
            send(id=request_id, error={"code": -32601, "message": "no method `%s`" % method})


def main():
    stubborn = "MOCK_STUBBORN" in os.environ
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "MOCK_PIDFILE" in os.environ:
        with open(os.environ["MOCK_PIDFILE"], "w") as file:
            file.write(str(os.getpid()))
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            question = asked.get(message["id"])
            if question is not None:
                question.message = message
                question.set()
        elif method == "$/cancelRequest":
            cancelled.append(params["id"])
            if params["id"] in running:
                running[params["id"]].set()
        elif method == "exit" and not stubborn:
            return
        elif "id" in message:
            if method == "dispatch":
                running[message["id"]] = threading.Event()
            arguments = (message["id"], method, params)
            threading.Thread(target=answer, args=arguments, daemon=True).start()
    while stubborn:
        signal.pause()


main()
