"""The evaluations of a training that judges and leaves no model: files that outlive it, and are made again to the bit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...workspace import atomic_file, write_json

_FOLDER = "marks"
UNTUNED = "untuned.npy"


@dataclass(frozen=True)
class Marks:
    """``marks/<name>.json`` and ``.npy`` below a training's folder: scores, and the main score in every bootstrap resample.

    The names are ``step-<n>`` for the weights after so many steps, and ``strength-<s>`` for a blend of the last ones.
    """

    folder: Path

    def note(self, name: str, scores: Mapping[str, Any], resampled: np.ndarray | None) -> None:
        """Keep one evaluation."""
        place = self.folder / _FOLDER
        if resampled is not None:
            with atomic_file(place / f"{name}.npy") as part:
                np.save(part, resampled, allow_pickle=False)
        write_json(place / f"{name}.json", dict(scores))

    def clear(self) -> None:
        """Remove all evaluations."""
        shutil.rmtree(self.folder / _FOLDER, ignore_errors=True)

    @property
    def whole(self) -> bool:
        """Whether every evaluation that was kept can be read."""
        try:
            for path in (self.folder / _FOLDER).glob("*.json"):
                self.scores(path.stem)
                self.resampled(path.stem)
            self.untuned()
        except (OSError, ValueError, EOFError):
            return False
        return True

    def scores(self, name: str) -> dict[str, Any]:
        """The scores of one evaluation."""
        found: dict[str, Any] = json.loads((self.folder / _FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        return found

    def resampled(self, name: str) -> np.ndarray | None:
        """The resampled scores of one evaluation, (resamples,); ``None`` where the task has none."""
        path = self.folder / _FOLDER / f"{name}.npy"
        return np.load(path, allow_pickle=False) if path.is_file() else None

    def untuned(self) -> np.ndarray | None:
        """The untuned model's resampled scores, which the judge has kept."""
        path = self.folder / UNTUNED
        return np.load(path, allow_pickle=False) if path.is_file() else None

    def steps(self) -> list[int]:
        """After which steps there were evaluations, in order."""
        return sorted(int(path.stem.removeprefix("step-")) for path in (self.folder / _FOLDER).glob("step-*.json"))

    def strengths(self) -> list[float]:
        """Which blends of the last weights were judged, in order."""
        return sorted(float(path.stem.removeprefix("strength-")) for path in (self.folder / _FOLDER).glob("strength-*.json"))
