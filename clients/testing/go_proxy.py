#!/usr/bin/env python3
"""Lays the Go module out as a module proxy in a folder, so that `go get` can be tried without a registry.

    go_proxy.py MODULE_FOLDER PROXY_FOLDER VERSION
"""
import re
import sys
import zipfile
from pathlib import Path

source, proxy, version = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
go_mod = (source / "go.mod").read_text()
module = re.search(r"^module (\S+)$", go_mod, re.MULTILINE)[1]
# Capitals are spelt `!c` in the paths of a proxy; this module has none.
assert module == module.lower()
folder = proxy / module / "@v"
folder.mkdir(parents=True, exist_ok=True)
(folder / "list").write_text(version + "\n")
(folder / (version + ".info")).write_text('{"Version": "%s"}' % version)
(folder / (version + ".mod")).write_text(go_mod)
with zipfile.ZipFile(folder / (version + ".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sorted(source.rglob("*")):
        if path.is_file():
            archive.write(path, "%s@%s/%s" % (module, version, path.relative_to(source).as_posix()))
