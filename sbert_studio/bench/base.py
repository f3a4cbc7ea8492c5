"""What a measurement of speed is asked for, what it has at hand, and what every work that is measured promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..errors import StudioError
from ..registry import Registry

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..data.tables import Table
    from ..models.catalog import Catalog
    from .duel import Duel

PEER = "sentence-transformers"


@dataclass(frozen=True)
class BenchOptions:
    """What to measure.

    Attributes:
        work: one of :data:`BENCHMARKS`.
        peer: the library to measure beside; only sentence-transformers is known.
        data: texts or pairs; ``None`` takes the bundled sample sets (for search: made-up vectors).
        test: pairs with a score on which both sides' trained models are judged.
        limit: rows at most.
        repeats: rounds; of ``train``, each with the next seed.
        precision: ours, or several with commas between them. peer_precision: ``float32`` or ``bfloat16``.
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
    peer_precision: str = "float32"

    def __post_init__(self) -> None:
        if self.peer_precision not in ("float32", "bfloat16"):
            raise StudioError(f"the peer has no precision {self.peer_precision!r}", "choose float32 or bfloat16")

    @property
    def precisions(self) -> list[str]:
        """Our precisions, in the order given."""
        return [part.strip() for part in self.precision.split(",") if part.strip()] or ["float32"]


@dataclass(frozen=True)
class Bench:
    """One measurement: what was asked for, and what both sides read.

    Attributes:
        options: what was asked for.
        catalog: names → encoders.
        default_model: what is measured where no model is named.
        table: a file → its table.
    """

    options: BenchOptions
    catalog: Catalog
    default_model: str
    table: Callable[[Path], Table]

    def model(self) -> tuple[str, Path]:
        """The model's name and the folder that both sides load it from.

        Raises:
            StudioError: its files are not on this machine, or it has none.
        """
        name = self.options.model or self.default_model
        source = self.catalog.resolve(name)
        folder = source.path
        if source.kind == "foreign":
            raise StudioError(f"{name} has no folder that both sides could load", "choose another model")
        if folder is None:
            raise StudioError(
                f"{name} is not on this machine", "use a bundled model, a run or a folder, so that both sides read the same files"
            )
        return name, folder

    def texts(self) -> list[str]:
        """Distinct texts of every text column of the file, or of the bundled sample sets.

        Raises:
            StudioError: there are none.
        """
        from ..data.corpus import text_columns
        from ..data.samples import samples

        files = [self.options.data] if self.options.data else [sample.path for sample in samples()]
        tables = [self.table(path) for path in files]
        found = dict.fromkeys(text for table in tables for column in text_columns(table) for text in table.column(column) if text.strip())
        texts = list(found)[: self.options.limit]
        if not texts:
            raise StudioError("there are no texts to encode", "name a file with a column of texts")
        return texts


class Benchmark(ABC):
    """One kind of work, done by us and by the peer in turn (A B A B).

    Attributes:
        name: what it is called; the registry sets it.
    """

    name: ClassVar[str]

    @abstractmethod
    def measure(self, bench: Bench, progress: Progress | None) -> Duel:
        """Both sides' rates, and what was measured.

        Raises:
            StudioError: the peer is not installed, or the data do not fit.
        """


BENCHMARKS: Registry[Benchmark] = Registry("bench")
