"""What a sentence encoder has behind its backbone, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EncoderConfig:
    """What stands behind the backbone.

    Attributes:
        pooling: see :class:`~sbert_studio.encoders.modules.pooling.Pooling`.
        normalize: vectors of unit length.
        projection: the width of a new linear projection, or None.
        activation: of that projection: a name of :data:`~sbert_studio.encoders.modules.dense.ACTIVATIONS`.
        max_length: tokens of a text that are read; None: as many as the backbone can.
        prompt: put before every text.
        include_prompt: whether the prompt's tokens are pooled with the text's.
    """

    pooling: str = "mean"
    normalize: bool = True
    projection: int | None = None
    activation: str = "gelu"
    max_length: int | None = None
    prompt: str = ""
    include_prompt: bool = True
