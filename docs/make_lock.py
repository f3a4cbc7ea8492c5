"""What the pinned packages of requirements.txt bring along, pinned too: ``python docs/make_lock.py`` writes it from what is installed.

The packages that torch pins itself (CUDA's libraries, Triton) are left to it: they differ from machine to machine.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILE = Path(__file__).resolve().parents[1] / "requirements.txt"
HEAD = "# What these bring along, written by docs/make_lock.py."
_OF_THE_MACHINE = ("nvidia-", "cuda-", "triton")


def drawn() -> str:
    """The file, its second part made anew.

    Raises:
        SystemExit: a package of the first part is not installed, or in another version.
    """
    first = FILE.read_text(encoding="utf-8").partition(f"\n{HEAD}\n")[0].rstrip("\n")
    pinned = [Requirement(line) for line in first.splitlines() if line and not line.startswith("#")]
    found: dict[str, str] = {}
    for one in pinned:
        if not one.specifier.contains(_version(one.name)):
            sys.exit(f"{one} is pinned, and {_version(one.name)} is installed: make setup")
        _collect(one, found)
    for one in pinned:
        found.pop(canonicalize_name(one.name), None)
    lines = [f"{name}=={version}" for name, version in sorted(found.items()) if not name.startswith(_OF_THE_MACHINE)]
    return "\n".join([first, "", HEAD, *lines, ""])


def _collect(wanted: Requirement, found: dict[str, str], extras: frozenset[str] = frozenset()) -> None:
    """Add ``wanted`` and all that it needs on this machine, in the versions that are installed."""
    name = canonicalize_name(wanted.name)
    mark = f"{name}{sorted(wanted.extras)}"
    if mark in extras:
        return
    try:
        package = distribution(wanted.name)
    except PackageNotFoundError:
        return
    found[name] = package.version.partition("+")[0]
    for line in package.requires or ():
        need = Requirement(line)
        asked = [{"extra": ""}, *({"extra": extra} for extra in wanted.extras)]
        if need.marker is None or any(need.marker.evaluate(one) for one in asked):
            _collect(need, found, extras | {mark})


def _version(name: str) -> str:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        sys.exit(f"{name} is pinned and not installed: make setup")


if __name__ == "__main__":
    FILE.write_text(drawn(), encoding="utf-8")
