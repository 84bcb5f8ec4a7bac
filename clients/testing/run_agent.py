#!/usr/bin/env python3
"""Runs an agent of the examples against the scripted model, over both APIs, and checks its last words.

    run_agent.py FOLDER COMMAND...

The agent gets the arguments of its documentation; the folder takes the configuration and the port.
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATIENCE = 60


def run(command, stdin, environment):
    done = subprocess.run(
        command, input=stdin, env={**os.environ, **environment}, capture_output=True, encoding="utf-8", timeout=PATIENCE
    )
    if done.returncode != 0:
        sys.exit("%s\nended with %d\n%s\n%s" % (command, done.returncode, done.stdout, done.stderr))
    return done.stdout


def main():
    folder, command = Path(sys.argv[1]), sys.argv[2:]
    desk = {"command": sys.executable, "args": [str(HERE / "mcp_server.py"), "desk"], "approval": "ask"}
    config = {"mcp_servers": {"desk": desk}, "tools": {"tool_search": {"enabled": "on"}}}
    (folder / "agent.json").write_text(json.dumps(config))
    port_file = folder / "port"
    port_file.unlink(missing_ok=True)
    endpoint = subprocess.Popen([sys.executable, str(HERE / "model_endpoint.py"), str(port_file)])
    try:
        end = time.monotonic() + PATIENCE
        while not port_file.exists():
            if time.monotonic() > end or endpoint.poll() is not None:
                sys.exit("the model does not start")
            time.sleep(0.02)
        address = "http://127.0.0.1:" + port_file.read_text()
        environment = {
            "OPENAI_BASE_URL": address + "/v1", "OPENAI_API_KEY": "test",
            "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "test",
        }
        for api in ("openai", "anthropic"):
            options = ["--api", api, "--config", str(folder / "agent.json")]
            # The configuration asks even where the agent does not.
            said = run([*command, *options, "--yes", "Does it work?"], "y\n", environment)
            wanted = ["-> mcp_desk_echo", "-> current_time", "mcp_desk_echo works, and there are 3 results"]
            for words in wanted:
                if words not in said:
                    sys.exit("%s: %r is missing in\n%s" % (api, words, said))
        print("ok: both APIs")
    finally:
        endpoint.terminate()
        endpoint.wait(PATIENCE)


main()
