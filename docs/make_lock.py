"""What the pinned packages of requirements.txt bring along, pinned too: ``python docs/make_lock.py`` writes it from what is installed.

It also writes requirements-zerogpu.txt, the same with the PyTorch of ZeroGPU: a Space installs one file, which cannot refer to another.

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
ZEROGPU_FILE = FILE.with_name("requirements-zerogpu.txt")
_ZEROGPU_HEAD = """\
# The runtime of a Space on ZeroGPU: replace requirements.txt by this file. Written by docs/make_lock.py.
# ZeroGPU accepts only some versions of PyTorch. The newest that huggingface.co/docs/hub/spaces-zerogpu listed by name, when this was
# written, was 2.8.0 (the list begins "Almost all versions from 2.1.0 to latest").
torch==2.8.0
spaces==0.51.3
requests==2.34.2"""
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


def for_zerogpu(requirements: str) -> str:
    """Return requirements.txt with the PyTorch of ZeroGPU and the package that requests its GPUs."""
    lines = requirements.splitlines()
    rest = [line for line in lines[lines.index(f"torch=={_version('torch').partition('+')[0]}") + 1 :] if line]
    return "\n".join([_ZEROGPU_HEAD, *rest, ""])


if __name__ == "__main__":
    FILE.write_text(drawn(), encoding="utf-8")
    ZEROGPU_FILE.write_text(for_zerogpu(FILE.read_text(encoding="utf-8")), encoding="utf-8")
