"""Example pairs and a query whose scores are tracked during training; they are not trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StudioError
from ..evaluation.encoding import pair_similarities
from ..models.base import PairScorer
from .events import Pinned

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..models.base import Encoder
    from ..models.trainable import Trainable

MAX_PAIRS, MAX_CHARACTERS, NEAREST = 5, 1_000, 5
_MAX_TEXTS = 512  # texts, so that a look at them takes a second or two on two busy cores, at every evaluation of every fold


@dataclass(frozen=True)
class TrackedExamples:
    """Tracked pairs and query.

    Attributes:
        pairs: at most :data:`MAX_PAIRS` pairs.
        query: a query ranked against the texts ``among``; empty for none.
        among: distinct texts of the file; ``of`` is the number of distinct texts in the file.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    query: str = ""
    among: tuple[str, ...] = ()
    of: int = 0

    @classmethod
    def parse(cls, pairs: Sequence[tuple[str, str]], query: str) -> TrackedExamples | None:
        """Create from user input, skipping blank pairs; ``None`` if everything is blank.

        Raises:
            StudioError: one text of a pair is blank, a text is too long, or there are too many pairs.
        """
        named = [(number, left.strip(), right.strip()) for number, (left, right) in enumerate(pairs, start=1)]
        filled = [(number, left, right) for number, left, right in named if left or right]
        for number, left, right in filled:
            if not (left and right):
                raise StudioError(f"only one text of pinned pair {number} is there", "write the other one, or empty both")
        if len(filled) > MAX_PAIRS:
            raise StudioError(f"{len(filled)} pairs are pinned", f"pin at most {MAX_PAIRS}")
        if any(len(text) > MAX_CHARACTERS for text in (query.strip(), *(text for _, *both in filled for text in both))):
            raise StudioError(f"a pinned text is longer than {MAX_CHARACTERS:,} characters", "shorten it")
        found = cls(tuple((left, right) for _, left, right in filled), query.strip())
        return found if found.pairs or found.query else None

    def with_texts(self, examples: Examples) -> TrackedExamples:
        """Add evenly sampled texts of ``examples`` for the query."""
        if not self.query:
            return self
        texts = list(dict.fromkeys(text for row in zip(*examples.texts, strict=True) for text in row if text != self.query))
        places = np.unique(np.linspace(0, len(texts) - 1, min(len(texts), _MAX_TEXTS)).round().astype(np.int64))
        return replace(self, among=tuple(texts[place] for place in places.tolist()) if texts else (), of=len(texts))

    def to_json(self) -> dict[str, Any]:
        """Return ``{pairs, query, among, of}``."""
        return {"pairs": [list(pair) for pair in self.pairs], "query": self.query, "among": list(self.among), "of": self.of}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TrackedExamples | None:
        """Read :meth:`to_json`; ``None`` if empty or damaged."""
        try:
            pairs = tuple((str(left), str(right)) for left, right in values.get("pairs") or ())
            found = cls(pairs, str(values.get("query") or ""), tuple(map(str, values.get("among") or ())), int(values.get("of") or 0))
        except (TypeError, ValueError):
            return None
        return found if found.pairs or found.query else None

    def score(self, model: Encoder | PairScorer | Trainable, step: int, *, kept: bool = False) -> Pinned | None:
        """Return the event with a model's current scores; ``None`` for classifiers.

        Args:
            step: training steps of the model.
            kept: True for the final model.
        """
        if isinstance(model, PairScorer) and model.labels != 1:
            return None
        left = [*(one for one, _ in self.pairs), *([self.query] * len(self.among))]
        right = [*(two for _, two in self.pairs), *self.among]
        many = len(self.pairs)
        of_pairs = pair_similarities(model, left[:many], right[:many]) if many else np.array([])
        of_texts = pair_similarities(model, left[many:], right[many:], ("query", "document")) if self.among else np.array([])
        order = np.argsort(-of_texts, kind="stable")
        nearest = tuple(of_texts[order[:NEAREST]].tolist())
        return Pinned(step, tuple(of_pairs.tolist()), tuple(order.tolist()), nearest, kept)
