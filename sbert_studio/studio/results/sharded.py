"""What the verbs over shards return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ShardsEncoded:
    """A folder of vectors.

    Attributes:
        rows: texts that have a vector; left_out: blank ones.
        shards: how many; resumed: how many of them were there already.
        seconds: what the others took, the model's loading included; encoded: how many rows these have.
        text, id: the columns that were read; no id: rows are numbered.
    """

    folder: str
    rows: int
    left_out: int
    shards: int
    resumed: int
    dim: int
    seconds: float
    encoded: int
    text: str
    id: str | None

    @property
    def sentences_per_second(self) -> float:
        """Of what was encoded now."""
        return self.encoded / self.seconds if self.encoded else 0.0

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {**vars(self), "sentences_per_second": self.sentences_per_second}


@dataclass(frozen=True)
class ShardedPair:
    """Two texts with their ids, and their cosine."""

    id_a: Any
    a: str
    id_b: Any
    b: str
    score: float

    def to_json(self) -> dict[str, Any]:
        """``{a, b, id_a, id_b, score}``."""
        return {"a": self.a, "b": self.b, "id_a": self.id_a, "id_b": self.id_b, "score": self.score}


@dataclass(frozen=True)
class ShardsMined:
    """The most similar pairs of ``rows`` texts, best first; ``resumed``: how many shards were compared before."""

    pairs: tuple[ShardedPair, ...]
    rows: int
    resumed: int
    seconds: float
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """``{pairs, rows, resumed, seconds, notes}``."""
        found = {"rows": self.rows, "resumed": self.resumed, "seconds": self.seconds, "notes": list(self.notes)}
        return {"pairs": [pair.to_json() for pair in self.pairs], **found}
