"""What a check gets to see."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...examples import Examples
from ...loading.table import Table
from ...schema.labels import inference_class
from ...schema.roles import Roles

_MARKS = re.compile(r"[\W_]+")
# What near makes of each byte of a text in ASCII; a NUL stands between texts that are put together.
_PLAIN = bytes(ord(sign.lower()) if (sign := chr(code)).isalnum() or not code else ord(" ") for code in range(128)) + bytes(128)


@dataclass(frozen=True)
class CheckContext:
    """A table with its roles and its examples, and what is known about the model and the held-out part.

    Attributes:
        table: the file as read.
        roles: its columns' parts.
        examples: its usable rows.
        dev: the held-out examples, if there is a file of them.
        tokenize: gives the number of tokens of each text, special tokens included.
        max_tokens: the most tokens that the model reads.
        languages: the ISO 639-1 codes that the model was trained on; None: unknown or all.
        multilingual: a multilingual model that needs no download; empty where there is none.
    """

    table: Table
    roles: Roles
    examples: Examples
    dev: Examples | None = None
    tokenize: Callable[[Sequence[str]], list[int]] | None = None
    max_tokens: int | None = None
    languages: tuple[str, ...] | None = None
    multilingual: str = ""

    @property
    def directed(self) -> bool:
        """Whether (a, b) and (b, a) are different examples: entailment and triplets are, similarity is not."""
        if self.roles.kind == "labelled_pairs":
            return any(inference_class(label) == "entailment" for label in self.roles.labels) or "entailment" in self.roles.note
        return self.roles.kind in ("triplets", "sentences", "labelled_texts")

    def rows(self, chosen: np.ndarray | Sequence[int]) -> tuple[int, ...]:
        """The row numbers of examples, chosen by place or by a mask."""
        return tuple(self.examples.lines[np.asarray(chosen)].tolist()) if len(chosen) else ()

    def keys(self, normalise: Callable[[Sequence[str]], Sequence[str]]) -> np.ndarray:
        """(n,) int64, equal for examples whose texts, normalised, are the same, in either order where direction means nothing."""
        columns = self.examples.texts
        names: dict[str, int] = {}
        texts = list(dict.fromkeys(text for column in columns for text in column))
        code = {text: names.setdefault(name, len(names)) for text, name in zip(texts, normalise(texts), strict=True)}
        codes = np.array([[code[text] for text in column] for column in columns], dtype=np.int64)
        if not self.directed:
            codes.sort(axis=0)
        key: np.ndarray = codes[0]
        for other in codes[1:]:
            key = np.unique(key * len(names) + other, return_inverse=True)[1]
        return key

    @cached_property
    def exact_keys(self) -> np.ndarray:
        """:meth:`keys` of the texts as they are."""
        return self.keys(lambda texts: texts)

    @cached_property
    def near_keys(self) -> np.ndarray:
        """:meth:`keys` by :func:`near`."""
        return self.keys(near_all)

    def same_target(self, a: int, b: int) -> bool:
        """Whether two examples have the same class, or scores within a fifth of the scale."""
        targets = self.examples.targets
        return targets is None or abs(float(targets[a]) - float(targets[b])) <= (0.2 if self.roles.kind == "scored_pairs" else 0.0)


def near(text: str) -> str:
    """A text without case, punctuation and the differences of width and blanks."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _MARKS.sub(" ", text.casefold()).strip() or text


def near_all(texts: Sequence[str]) -> list[str]:
    """:func:`near` of each text; those in ASCII together, in one pass. No text holds a NUL: the readers take them out."""
    found = [text if text.isascii() else near(text) for text in texts]
    places = [place for place, text in enumerate(texts) if text.isascii()]
    joined = "\0".join([texts[place] for place in places]).encode("ascii").translate(_PLAIN).decode("ascii")
    while "  " in joined:
        joined = joined.replace("  ", " ")
    for place, cut in zip(places, joined.split("\0"), strict=False):
        found[place] = cut.strip() or texts[place]
    return found
