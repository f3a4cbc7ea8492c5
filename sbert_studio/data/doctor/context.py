"""Input of the checks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..examples import Examples
from ..loading.table import Table
from ..schema.labels import inference_class
from ..schema.roles import Roles

_SCORE_TOLERANCE = 0.2
_NON_WORD = re.compile(r"[\W_]+")
# Translation table that fold_texts applies to ASCII texts, joined by NUL.
_FOLD_ASCII = bytes(ord(sign.lower()) if (sign := chr(code)).isalnum() or not code else ord(" ") for code in range(128)) + bytes(128)


@dataclass(frozen=True)
class CheckContext:
    """A table with its roles and examples, plus information on the model and the held-out file.

    Attributes:
        table: the file as read.
        roles: the roles of its columns.
        examples: its usable rows.
        dev: the examples of the held-out file, if any.
        tokenize: returns the number of tokens of each text, including special tokens.
        max_tokens: the maximum sequence length of the model.
        languages: the ISO 639-1 codes of the model's languages; None: unknown or all.
        multilingual: a multilingual model that needs no download; empty if none is available.
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
    def is_directed(self) -> bool:
        """True if (a, b) and (b, a) are different examples, as in entailment and triplets but not in similarity."""
        if self.roles.kind == "labelled_pairs":
            return any(inference_class(label) == "entailment" for label in self.roles.labels) or "entailment" in self.roles.note
        return self.roles.kind in ("triplets", "sentences", "labelled_texts")

    @property
    def target_tolerance(self) -> float:
        """Maximum difference between two targets that agree: a fifth of the scale for scores, 0 for classes."""
        return _SCORE_TOLERANCE if self.roles.kind == "scored_pairs" else 0.0

    @property
    def all_rows(self) -> tuple[int, ...]:
        return tuple(self.examples.lines.tolist())

    def rows(self, indices: np.ndarray | Sequence[int]) -> tuple[int, ...]:
        return tuple(self.examples.lines[np.asarray(indices)].tolist()) if len(indices) else ()

    @cached_property
    def exact_keys(self) -> np.ndarray:
        """(n,) int64 keys; equal for examples with identical texts."""
        return self._keys(lambda texts: texts)

    @cached_property
    def folded_keys(self) -> np.ndarray:
        """(n,) int64 keys; equal for examples whose texts differ only in case, spacing or punctuation."""
        return self._keys(fold_texts)

    def _keys(self, normalize: Callable[[Sequence[str]], Sequence[str]]) -> np.ndarray:
        columns = self.examples.texts
        names: dict[str, int] = {}
        texts = list(dict.fromkeys(text for column in columns for text in column))
        code = {text: names.setdefault(name, len(names)) for text, name in zip(texts, normalize(texts), strict=True)}
        codes = np.array([[code[text] for text in column] for column in columns], dtype=np.int64)
        if not self.is_directed:
            codes.sort(axis=0)
        key: np.ndarray = codes[0]
        for other in codes[1:]:
            key = np.unique(key * len(names) + other, return_inverse=True)[1]
        return key


def fold_text(text: str) -> str:
    """Normalize case, punctuation, character width and spacing."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _NON_WORD.sub(" ", text.casefold()).strip() or text


def fold_texts(texts: Sequence[str]) -> list[str]:
    """Apply :func:`fold_text` to each text, to all ASCII texts in a single pass. Texts never contain NUL, which the readers remove."""
    folded = [text if text.isascii() else fold_text(text) for text in texts]
    places = [place for place, text in enumerate(texts) if text.isascii()]
    joined = "\0".join([texts[place] for place in places]).encode("ascii").translate(_FOLD_ASCII).decode("ascii")
    while "  " in joined:
        joined = joined.replace("  ", " ")
    for place, part in zip(places, joined.split("\0"), strict=False):
        folded[place] = part.strip() or texts[place]
    return folded
