"""Indexes on disk: mapped, believed only when whole, and made from that of a corpus that is nearly the same where there is one."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...workspace import Workspace, atomic_file
from ..arrays import is_whole, keep_below, seal, sealed_part, touch
from ..keys import TextKeys, places_of
from .cells import Cells
from .exact import Exact
from .recall import Approximate, Reach, measured

log = logging.getLogger(__name__)
_SUFFIX = ".cells"
_LENGTH = 8  # bytes that say how long what stands before them is
_PARENTS = 4  # indexes that are looked at, the latest first
_SHARED, _NEW, _GROWTH = 0.5, 0.25, 2.0  # of its parent, of itself, beyond what the cells were made for
_VERSION = 1


class CellFiles:
    """One file a corpus and an encoder.

    Args:
        workspace: where the files lie.
        max_bytes: how much they may take; beyond it the least recently used go.
    """

    def __init__(self, workspace: Workspace, max_bytes: int) -> None:
        self._workspace = workspace
        self._max_bytes = max_bytes
        self._keys = TextKeys(workspace)

    def load(self, digest: str, fingerprint: str, rows: int, width: int) -> Approximate | None:
        """The index of (rows, width) vectors; None where there is none, or none that is whole."""
        path = self._workspace.cells(digest, fingerprint)
        found = _read(path)
        if found is None or (len(found.cells), found.cells.index.d) != (rows, width):
            return None
        touch(path)
        return found

    def make(self, digest: str, fingerprint: str, texts: Sequence[str], exact: Exact) -> Approximate | None:
        """Build the index, or take another's and change what is different; None where the disk takes nothing.

        Raises:
            StoppedError: the work was asked to end.
        """
        cells = self._from_another(digest, fingerprint, texts, exact.vectors) or Cells.of(exact.vectors)
        found = measured(cells, exact)
        path = self._workspace.cells(digest, fingerprint)
        if not _write(path, found):
            return None
        keep_below(path.parent, self._max_bytes, path, f"*{_SUFFIX}")
        return self.load(digest, fingerprint, *exact.vectors.shape)

    def _from_another(self, digest: str, fingerprint: str, texts: Sequence[str], vectors: np.ndarray) -> Cells | None:
        keys = self._keys.get(texts, digest)
        folder = self._workspace.cells(digest, fingerprint).parent
        for path in _latest(folder, f"*-{fingerprint}{_SUFFIX}")[:_PARENTS]:
            before = self._keys.known(path.name.split("-")[0])
            if before is None or not len(before):
                continue
            came = places_of(keys, before)
            once = np.unique(came[came >= 0], return_index=True)[1]
            first = np.flatnonzero(came >= 0)[once]
            single = np.full(len(came), -1, np.int64)
            single[first] = came[first]
            shared = len(first)
            if shared < _SHARED * len(before) or shared < (1 - _NEW) * len(keys):
                continue
            parent = _read(path)
            if parent is None or len(parent.cells) != len(before) or not 1 / _GROWTH <= len(keys) / parent.cells.trained <= _GROWTH:
                continue
            return parent.cells.grown(vectors, single)
        return None


def _latest(folder: Path, pattern: str) -> list[Path]:
    def age(path: Path) -> float:
        try:
            return -path.stat().st_mtime
        except OSError:
            return 0.0

    return sorted((path for path in folder.glob(pattern) if not path.name.startswith(".")), key=age)


def _write(path: Path, found: Approximate) -> bool:
    told = {
        "version": _VERSION,
        "trained": found.cells.trained,
        "reaches": [[reach.k, reach.probes, reach.recall] for reach in found.reaches],
    }
    raw = json.dumps(told).encode()
    try:
        with atomic_file(path) as part:
            found.cells.write(part)
            with part.open("r+b") as target:
                target.seek(0, os.SEEK_END)
                target.write(raw + len(raw).to_bytes(_LENGTH, "little"))
                seal(target)
    except OSError as error:
        log.warning("%s could not be kept: search stays exact: %s", path.name, error.strerror or error)
        return False
    return True


def _read(path: Path) -> Approximate | None:
    try:
        if not is_whole(path):
            return None
        with path.open("rb") as source:
            end = sealed_part(path) - _LENGTH
            source.seek(end)
            length = int.from_bytes(source.read(_LENGTH), "little")
            source.seek(end - length)
            told = json.loads(source.read(length))
        if told["version"] != _VERSION:
            return None
        return Approximate(Cells.read(path, int(told["trained"])), tuple(Reach(*reach) for reach in told["reaches"]))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return None
