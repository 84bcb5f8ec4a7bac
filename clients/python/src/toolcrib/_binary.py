"""Finds the program to start."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Iterator

from .errors import BinaryNotFound

NAME = "toolcrib" + (sysconfig.get_config_var("EXE") or "")


def find_binary(given: str | os.PathLike[str] | None = None) -> str:
    """The argument, else `TOOLCRIB_BINARY`, else the packaged program, else the `PATH`."""
    if given is not None:
        return _existing(os.fspath(given), "the argument `binary`")
    variable = os.environ.get("TOOLCRIB_BINARY")
    if variable:
        return _existing(variable, "the variable `TOOLCRIB_BINARY`")
    packaged = list(_packaged())
    for candidate in packaged:
        if os.path.isfile(candidate):
            return candidate
    found = shutil.which(NAME)
    if found is not None:
        return found
    places = "".join(f"\n  {place}" for place in packaged)
    raise BinaryNotFound(
        f"no `{NAME}` found: install a wheel of toolcrib for this platform, set"
        f" TOOLCRIB_BINARY, or pass `binary=`; looked on the PATH and in{places}"
    )


def _existing(path: str, source: str) -> str:
    # A bare name is looked up as a shell would.
    found = shutil.which(path)
    if found is None:
        raise BinaryNotFound(f"{source} names `{path}`, which is not a program")
    return found


def _packaged() -> Iterator[str]:
    """Where an installer may have put the wheel's program."""
    package = os.path.dirname(os.path.abspath(__file__))
    folders = [sysconfig.get_path("scripts")]
    for scheme in ("posix_user", "nt_user", "osx_framework_user"):
        if scheme in sysconfig.get_scheme_names():
            folders.append(sysconfig.get_path("scripts", scheme))
    # `pip install --target` and `--prefix` put the scripts beside or above the packages.
    folders.append(os.path.join(os.path.dirname(package), "bin"))
    above = package
    for _ in range(4):
        above = os.path.dirname(above)
    folders.append(os.path.join(above, "Scripts" if os.name == "nt" else "bin"))
    for folder in dict.fromkeys(folders):
        yield os.path.join(folder, NAME)
