"""From nothing to two vectors, beside sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterator

from .base import Ratio, Setting, studio
from .encoding import PEER


def start(setting: Setting) -> Iterator[Ratio]:
    """A process of its own that imports, loads and encodes two texts."""
    found = studio("bench", "startup", "--repeats", setting.rounds)
    rounds, floor = found["rounds"], "91 MB of weights, read from the disk's cache"
    yield Ratio("start", "a new process until two texts are vectors", PEER, "s", rounds["ours"], rounds["peer"], "", floor)
