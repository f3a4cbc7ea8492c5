"""What a measurement of speed is asked for, and the model that both sides read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StudioError

if TYPE_CHECKING:
    from .facade import Studio

PEER = "sentence-transformers"


@dataclass(frozen=True)
class BenchOptions:
    """What to measure.

    Attributes:
        work: encode, train, search or startup.
        peer: the library to measure beside; only sentence-transformers is known.
        data: texts or pairs; ``None`` takes the bundled sample sets (for search: made-up vectors).
        test: pairs with a score on which both sides' trained models are judged.
        limit: rows at most.
        repeats: rounds; of ``train``, each with the next seed.
        precision: ours, or several with commas between them; the peer's is float32.
        batch_size, epochs, learning_rate, seed: of ``train``, on both sides.
        model: ``None`` is the default model.
    """

    work: str
    peer: str = PEER
    data: Path | None = None
    test: Path | None = None
    limit: int | None = None
    repeats: int = 2
    precision: str = "float32"
    batch_size: int = 16
    epochs: float = 1.0
    learning_rate: float = 2e-5
    seed: int = 12
    model: str | None = None

    @property
    def precisions(self) -> list[str]:
        """Our precisions, in the order given."""
        return [part.strip() for part in self.precision.split(",") if part.strip()] or ["float32"]


def folder_of(studio: Studio, model: str | None) -> tuple[str, Path]:
    """The model's name and the folder that both sides load it from."""
    name = model or studio.settings.default_model
    source = studio.catalog.resolve(name)
    folder = source.path
    if source.kind == "foreign":
        raise StudioError(f"{name} has no folder that both sides could load", "choose another model")
    if folder is None:
        raise StudioError(
            f"{name} is not on this machine", "use a bundled model, a run or a folder, so that both sides read the same files"
        )
    return name, folder
