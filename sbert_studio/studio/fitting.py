"""The verb by which word vectors are learned from a corpus."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..workspace import existing, file_name
from .part import Part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..data.progress import Progress
    from .reading import Reading
    from .services import Services

KINDS = {"word2vec": "skip_gram", "skipgram": "skip_gram", "cbow": "cbow", "glove": "glove"}


@dataclass(frozen=True)
class Fitted:
    """An encoder on word vectors that were learned.

    Attributes:
        model: its folder, by which every verb takes it.
        kind: what was asked for.
        words: how many have a vector.
        dim: the components of a vector.
        texts: what was learned from.
        seconds: of the learning.
        notes: what was left out.
    """

    model: Path
    kind: str
    words: int
    dim: int
    texts: int
    seconds: float
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        return {**self.__dict__, "model": str(self.model), "notes": list(self.notes)}


class Fitting(Part):
    """Texts → word vectors → an encoder."""

    def __init__(self, services: Services, read: Reading) -> None:
        super().__init__(services)
        self.read = read

    def fit(
        self,
        file: str | Path,
        kind: str = "glove",
        *,
        columns: Sequence[str] = (),
        out: Path | None = None,
        weighting: str = "sif",
        common: int = 0,
        settings: Mapping[str, Any] | None = None,
        seed: int = 12,
        progress: Progress | None = None,
    ) -> Fitted:
        """Learn word vectors from the texts of ``file``, or take those that others learned, and write the encoder that averages them.

        Args:
            kind: ``word2vec`` or ``skipgram``, ``cbow``, ``glove``; or a table that is there, such as ``glove-6B-50d`` or a file in
                word2vec's or GloVe's format, of which only the weights and the common components are fitted to the texts.
            columns: of texts; none: every column that looks like text.
            out: the encoder's folder; by default one below the home folder.
            weighting: ``plain``, ``tfidf`` or ``sif``.
            common: how many directions that all texts have in common are taken away.
            settings: of the learner, by their names.

        Raises:
            StudioError: there is no such kind, column or setting, or there is nothing to learn from.
        """
        from ..data.corpus import text_columns
        from ..encoders.averages import averaged
        from ..registry import parse_params
        from ..wordvectors import LEARNERS, PACKAGED, load_pretrained

        known = [*KINDS, *PACKAGED]
        if kind not in known and (existing(kind) is None or not Path(kind).is_file()):
            raise StudioError(f"there is no kind of word vectors {kind!r}", f"choose one of {', '.join(known)}, or a file of them")
        if kind not in KINDS and settings:
            raise StudioError(f"the vectors of {kind} are learned already", "leave --set out")
        table = self.read.table(file)
        names = list(columns) or text_columns(table)
        if absent := [name for name in names if name not in table.columns]:
            raise StudioError(f"{table.name} has no column {absent[0]!r}", f"choose from {', '.join(table.columns[:20])}")
        texts = [text for name in names for text in table.column(name) if text.strip()]
        began = time.perf_counter()
        if kind in KINDS:
            learner = LEARNERS[KINDS[kind]]
            vectors = learner(parse_params(learner.Params, settings or {})).learn(texts, seed, progress)
        else:
            vectors = load_pretrained(kind)
        encoder = averaged(vectors, texts, weighting=weighting, common=common)
        seconds = time.perf_counter() - began
        encoder.name = f"{Path(table.name).stem}-{Path(kind).stem if kind not in known else kind}"
        folder = out or self.workspace.home / "fitted" / file_name(encoder.name)
        encoder.save(folder)
        found = encoder.coverage(texts)
        why = "they are too rare" if kind in KINDS else "the table does not know them"
        left = f"{found.unknown:,} of {found.known + found.unknown:,} words of the texts have no vector: {why}"
        return Fitted(folder, kind, len(vectors), encoder.dim, len(texts), seconds, (left,) if found.unknown else ())
