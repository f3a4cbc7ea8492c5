"""The protocol of every encoder: texts in, one float32 vector each out, in the order of the texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import StudioError
from ..progress import StoppedError
from .prompts import require_prompts

if TYPE_CHECKING:
    from ..progress import Progress, ShouldStop
    from .prompts import Role
    from .sentence_encoder import TextTokens
    from .static.tokens import Coverage


class EncodingStoppedError(StoppedError):
    """``should_stop`` said so in the middle of :meth:`Encoder.encode`."""


class Encoder(ABC):
    """Text → vector.

    Attributes:
        name: what the catalogue calls it.
        normalizes: whether its vectors have unit length.
        takes_prompts: whether prompts can be put before its texts.
        prompts: what may be put before a text, by name.
        similarity_fn_name: how the model says that its vectors are compared: ``cosine``, ``dot``, ``euclidean`` or ``manhattan``.
        truncate_dim: how many components of a vector are kept; None: all.
        tokens: texts → the ids that it reads; None where nobody can say.
    """

    name: str
    normalizes: bool
    takes_prompts: ClassVar[bool] = False
    prompts: Mapping[str, str] = MappingProxyType({})
    similarity_fn_name: str = "cosine"
    truncate_dim: int | None = None
    tokens: TextTokens | None = None

    @property
    @abstractmethod
    def dim(self) -> int:
        """The number of components of a vector."""

    @property
    @abstractmethod
    def max_length(self) -> int:
        """The most tokens of a text that are read, special tokens included."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """16 hex digits that change with the weights, the configuration and the precision."""

    @property
    def default_prompt(self) -> str:
        """The prompt of a text of no role."""
        return "" if self.tokens is None else self.tokens.prompt

    def for_role(self, role: Role) -> Encoder:
        """This encoder, as it reads texts of a role: with the prompt that the model has for it, and a fingerprint of its own."""
        return self

    def prompt_of(self, role: Role) -> str:
        """Return the prompt that :meth:`for_role` puts before a text; empty for an encoder without prompts."""
        return ""

    def with_settings(self, prompt: str | None = None, truncate_dim: int = 0) -> Encoder:
        """Return this encoder with settings of a person's own in the place of the model's; for inference alone.

        Args:
            prompt: put before every text; None: as it is.
            truncate_dim: how many components of a vector are kept; 0: as it is.

        Raises:
            StudioError: the model takes no prompts, or its vectors cannot be shortened.
        """
        if prompt is not None:
            require_prompts(self)
        if truncate_dim:
            raise StudioError(f"the vectors of {self.name} cannot be shortened here", "leave truncate_dim out, or choose another model")
        return self

    @property
    def similarity_name(self) -> str:
        """Return by what its vectors are compared: :attr:`similarity_fn_name`, or the cosine, which is the dot product of unit vectors."""
        same = self.similarity_fn_name == "dot" and self.normalizes and self.truncate_dim is None
        return "cosine" if same else self.similarity_fn_name

    @property
    def memory(self) -> int:
        """About the bytes that it takes in memory; 0 where it is not kept there."""
        return 0

    def coverage(self, texts: Sequence[str]) -> Coverage | None:
        """How many words of ``texts`` it knows; None of an encoder that reads every word."""
        return None

    @abstractmethod
    def encode(self, texts: Sequence[str], *, progress: Progress | None = None, should_stop: ShouldStop | None = None) -> np.ndarray:
        """Vectors of ``texts``: (n, dim) float32, C order, row i for text i.

        Raises:
            EncodingStoppedError: ``should_stop`` returned true.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Plain data for lists and cards: name kind dim parameters max_length pooling normalizes precision device note base."""


def finite(vectors: np.ndarray) -> np.ndarray:
    """``vectors`` as they are.

    Raises:
        StudioError: one holds NaN or infinity, as those of a model whose training diverged do.
    """
    if not np.isfinite(vectors).all():
        raise StudioError(
            "the model returns vectors that are not finite numbers",
            "if it was trained here, its training diverged: lower the learning rate and train it again; else copy its folder again",
        )
    return vectors
