"""From nothing to two vectors, beside sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterator

from sbert_studio.models.io.bundled import bundled_folder
from sbert_studio.settings import Settings
from sbert_studio.workspace import Workspace

from .base import Ratio, Setting, studio
from .encoding import PEER


def start(setting: Setting) -> Iterator[Ratio]:
    """A process of its own that imports, loads and encodes two texts."""
    found = studio("bench", "startup", "--repeats", setting.rounds)
    name = found["model"]
    size = (bundled_folder(name, Workspace(Settings.from_env().home)) / "model.safetensors").stat().st_size
    rounds, floor = found["rounds"], f"{size / 1e6:.0f} MB of weights, read from the disk's cache"
    yield Ratio("start", "a new process until two texts are vectors", PEER, "s", rounds["ours"], rounds["peer"], "", floor)
