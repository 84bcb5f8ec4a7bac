#!/usr/bin/env python3
"""Writes the two configurations of the conversation into a folder."""
import json
import sys
from pathlib import Path

SERVER = str(Path(__file__).with_name("mcp_server.py").resolve())


def server(name, **more):
    return {"command": sys.executable, "args": [SERVER, name], **more}


def write(folder):
    desk = server("desk")

    def search(enabled):
        return {"tool_search": {"enabled": enabled}}

    before = {"mcp_servers": {"desk": desk, "safe": server("safe", approval="ask")}, "tools": search("on")}
    after = {"mcp_servers": {"desk": desk, "extra": server("extra")}, "tools": search("off")}
    for name, config in (("before", before), ("after", after)):
        Path(folder, name + ".json").write_text(json.dumps(config), "utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
