#!/usr/bin/env python3
"""Plays a model behind an OpenAI-style and an Anthropic-style endpoint on the loopback interface.

    model_endpoint.py PORTFILE      writes its port into the file and serves until it is ended

The model looks for a tool with `tool_search`, calls what it finds through `tool_call`, asks the host for
the time, and says what it heard. What does not fit the API that was used is answered with status 400, so
an agent that gets to the last words has spoken correctly.
"""
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXT = "grüße 🙂 <&> \u2028 9007199254740993"


def need(condition, complaint):
    if not condition:
        raise ValueError(complaint)


def next_move(names, results):
    """The tool to call next with its arguments, or the last words."""
    need("current_time" in names, "the host's own tool is missing")
    need({"tool_search", "tool_describe", "tool_call"} <= set(names), "the tools are not bridged: %s" % names)
    if not results:
        return "tool_search", {"query": "give back arguments", "limit": 3}
    found = json.loads(results[0])["matches"][0]["name"]
    if len(results) == 1:
        return "tool_call", {"name": found, "arguments": {"text": TEXT, "n": 9007199254740993}}
    echoed = json.loads(json.loads(results[1])["result"])
    need(echoed == {"text": TEXT, "n": 9007199254740993}, "the arguments were changed: %s" % echoed)
    if len(results) == 2:
        return "current_time", {}
    need("result" in json.loads(results[2]), "the time is missing: %s" % results[2])
    return "%s works, and there are %d results" % (found, len(results))


def openai(body):
    need(body["model"], "a model")
    names = []
    for tool in body["tools"]:
        need(tool["type"] == "function", "tools are functions")
        need(tool["function"]["parameters"]["type"] == "object", "parameters are an object")
        names.append(tool["function"]["name"])
    need(body["messages"][0]["role"] == "user", "the user begins")
    results, called = [], []
    for message in body["messages"][1:]:
        if message["role"] == "assistant":
            called += [call["id"] for call in message["tool_calls"]]
        else:
            need(message["role"] == "tool", "a tool answers")
            need(message["tool_call_id"] == called[len(results)], "the answer is for another call")
            results.append(message["content"])
    need(len(called) == len(results), "every call is answered")
    move = next_move(names, results)
    message = {"role": "assistant", "content": move, "refusal": None}
    if isinstance(move, tuple):
        function = {"name": move[0], "arguments": json.dumps(move[1], ensure_ascii=False)}
        call = {"id": "call_%d" % len(results), "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"id": "1", "object": "chat.completion", "choices": [{"index": 0, "message": message}]}


def anthropic(body):
    need(body["model"] and body["max_tokens"] > 0, "a model and a limit")
    names = []
    for tool in body["tools"]:
        need(tool["input_schema"]["type"] == "object", "input_schema is an object")
        names.append(tool["name"])
    results, called = [], []
    for turn, message in enumerate(body["messages"]):
        need(message["role"] == ("user", "assistant")[turn % 2], "user and assistant take turns")
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] == "tool_use":
                called.append(block["id"])
            if block["type"] == "tool_result":
                need(block["tool_use_id"] == called[len(results)], "the answer is for another call")
                need(block["is_error"] is False, "nothing fails here: %s" % block)
                results.append(block["content"])
    need(len(called) == len(results), "every call is answered")
    move = next_move(names, results)
    content = [{"type": "text", "text": move}]
    if isinstance(move, tuple):
        use = {"type": "tool_use", "id": "toolu_%d" % len(results), "name": move[0], "input": move[1]}
        content = [{"type": "text", "text": "One moment."}, use]
    return {"id": "1", "type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use"}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            if self.path == "/v1/chat/completions":
                need(self.headers["Authorization"] == "Bearer test", "a key")
                status, answer = 200, openai(body)
            elif self.path == "/v1/messages":
                need(self.headers["x-api-key"] == "test" and self.headers["anthropic-version"], "a key, a version")
                status, answer = 200, anthropic(body)
            else:
                status, answer = 404, {"error": self.path}
        except (KeyError, TypeError, IndexError, ValueError) as error:
            status, answer = 400, {"error": {"message": repr(error)}}
        data = json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
