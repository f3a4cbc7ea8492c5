"""What must never be: the same text on both sides of a split."""

from __future__ import annotations

from sbert_studio.data.examples import Examples


def leakage(train: Examples, dev: Examples) -> tuple[str, ...]:
    """The texts of ``dev`` that are in ``train`` too, each once, in the order of ``dev``."""
    seen = {text for column in train.texts for text in column}
    return tuple(dict.fromkeys(text for row in zip(*dev.texts, strict=True) for text in row if text in seen))
