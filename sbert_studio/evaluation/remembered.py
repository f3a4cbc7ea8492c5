"""An encoder that remembers: a text that it was asked for before is not encoded again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encoders.base import Encoder
from .pace import Pace

if TYPE_CHECKING:
    from ..data.progress import Progress, ShouldStop
    from ..encoders.prompts import Role


class Remembered(Encoder):
    """An encoder's vectors, each text's kept for as long as this lives: for work in several steps on the same texts.

    Args:
        encoder: what encodes; its own vectors are returned unchanged.

    Attributes:
        pace: what it has encoded, and how long that took.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.pace = encoder, Pace()
        self.name, self.normalizes = encoder.name, encoder.normalizes
        self.similarity_fn_name, self.truncate_dim = encoder.similarity_fn_name, encoder.truncate_dim
        self._known: dict[str, np.ndarray] = {}
        self._readers: dict[str, Remembered] = {}

    @property
    def dim(self) -> int:
        """As the encoder's."""
        return self.encoder.dim

    @property
    def max_length(self) -> int:
        """As the encoder's."""
        return self.encoder.max_length

    @property
    def fingerprint(self) -> str:
        """As the encoder's."""
        return self.encoder.fingerprint

    def prompt_of(self, role: Role) -> str:
        """As the encoder's."""
        return self.encoder.prompt_of(role)

    def for_role(self, role: Role) -> Remembered:
        """Return the encoder as it reads texts of a role, which remembers those by itself; the pace is one."""
        reader = self.encoder.for_role(role)
        if reader is self.encoder:
            return self
        found = self._readers.setdefault(self.prompt_of(role), Remembered(reader))
        found.pace = self.pace
        return found

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None, should_stop: ShouldStop | None = None) -> np.ndarray:
        """See :meth:`~sbert_studio.encoders.base.Encoder.encode`; progress is told of the new texts alone."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            with self.pace.reading(progress) as show:
                self._known.update(zip(new, self.encoder.encode(new, progress=show, should_stop=should_stop), strict=True))
        return np.stack([self._known[text] for text in texts]) if len(texts) else np.empty((0, self.dim), np.float32)

    def describe(self) -> dict[str, Any]:
        """As the encoder's."""
        return self.encoder.describe()
