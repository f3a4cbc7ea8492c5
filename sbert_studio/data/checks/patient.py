"""What a check gets to see."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..examples import Examples
from ..roles import Roles
from ..tables import Table
from ..vocabulary import nli_class

_MARKS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Patient:
    """A table with its roles and its examples, and what is known about the model and the held-out part.

    Attributes:
        table: the file as read.
        roles: its columns' parts.
        examples: its usable rows.
        dev: the held-out examples, if there is a file of them.
        tokenize: gives the number of tokens of each text, special tokens included.
        max_tokens: the most tokens that the model reads.
        languages: the ISO 639-1 codes that the model was trained on; None: unknown or all.
    """

    table: Table
    roles: Roles
    examples: Examples
    dev: Examples | None = None
    tokenize: Callable[[Sequence[str]], list[int]] | None = None
    max_tokens: int | None = None
    languages: tuple[str, ...] | None = None

    @property
    def directed(self) -> bool:
        """Whether (a, b) and (b, a) are different examples: entailment and triplets are, similarity is not."""
        if self.roles.kind == "labelled_pairs":
            return any(nli_class(label) == "entailment" for label in self.roles.labels) or "entailment" in self.roles.note
        return self.roles.kind in ("triplets", "sentences")

    def rows(self, chosen: np.ndarray | Sequence[int]) -> tuple[int, ...]:
        """The row numbers of examples, chosen by place or by a mask."""
        return tuple(self.examples.lines[np.asarray(chosen)].tolist()) if len(chosen) else ()

    def keys(self, normalise: Callable[[str], str]) -> list[tuple[str, ...]]:
        """What makes examples the same: their texts, normalised, in an order of their own where direction means nothing."""
        columns = []
        for column in self.examples.texts:
            known = {text: normalise(text) for text in set(column)}
            columns.append([known[text] for text in column])
        pairs = zip(*columns, strict=True)
        return list(pairs) if self.directed else [tuple(sorted(pair)) for pair in pairs]

    @cached_property
    def near_keys(self) -> list[tuple[str, ...]]:
        """:meth:`keys` by :func:`near`."""
        return self.keys(near)

    def same_target(self, a: int, b: int) -> bool:
        """Whether two examples have the same class, or scores within a fifth of the scale."""
        targets = self.examples.targets
        return targets is None or abs(float(targets[a]) - float(targets[b])) <= (0.2 if self.roles.kind == "scored_pairs" else 0.0)


def near(text: str) -> str:
    """A text without case, punctuation and the differences of width and blanks."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _MARKS.sub(" ", text.casefold()).strip() or text
