"""A stand-in for the package ``spaces`` of ZeroGPU: one worker, forked at the first call and used again, as the real one may be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sbert_studio.models.inference import zerogpu

_PACKAGE = """
import atexit, functools, multiprocessing, os, pickle

calls, workers, refusal = [], [], []


def GPU(task, duration=None):
    @functools.wraps(task)
    def carried_out(*given):
        if refusal:
            raise refusal[0]
        calls.append(duration)
        if not workers:
            context = multiprocessing.get_context("fork")
            here, there = context.Pipe()
            worker = context.Process(target=_serve, args=(task, there), daemon=True)
            worker.start()
            workers.append((worker, here))
        here = workers[0][1]
        here.send_bytes(pickle.dumps(given))
        return pickle.loads(here.recv_bytes())
    return carried_out


def _serve(task, there):
    while True:
        there.send_bytes(pickle.dumps(task(*pickle.loads(there.recv_bytes()))))


def close():
    while workers:
        worker, _ = workers.pop()
        worker.terminate()
        worker.join()
"""


@contextmanager
def lending(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A GPU is lent meanwhile, which is the CPU; the package."""
    place = folder / "packages"
    place.mkdir()
    (place / "spaces.py").write_text(_PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delitem(sys.modules, "spaces", raising=False)
    assert zerogpu.enable("cpu")
    package = sys.modules["spaces"]
    try:
        yield package
    finally:
        zerogpu.disable()
        package.close()
        sys.modules.pop("spaces", None)
