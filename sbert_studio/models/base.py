"""Protocols of models: encoders, which map texts to vectors, and pair scorers, which score two texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from ..errors import StudioError
from ..i18n import _
from ..progress import StoppedError, checkpoint
from .prompts import require_prompts

if TYPE_CHECKING:
    from ..progress import Progress, ShouldStop
    from .prompts import Role
    from .static.tokens import Coverage


class EncodingStoppedError(StoppedError):
    """:meth:`Encoder.encode` was interrupted by ``should_stop``."""


def check_stop(should_stop: ShouldStop | None) -> None:
    """Raise if the work was stopped, or if ``should_stop`` returns True."""
    checkpoint()
    if should_stop and should_stop():
        raise EncodingStoppedError


class TextTokens(Protocol):
    """Tokenizer of an encoder: maps texts to token ids."""

    @property
    def max_length(self) -> int:
        """Maximum number of ids per text."""

    @property
    def prompt(self) -> str:
        """Prefix of every text."""

    @property
    def pad(self) -> int:
        """Padding id."""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, truncated but not padded; no list is empty."""

    def word_spans(self, text: str) -> list[tuple[int, int] | None] | None:
        """Return the (start, end) of each token's word within the text (``None`` for special tokens), or ``None`` if unknown."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text without truncation."""

    def unknown_share(self, texts: Sequence[str]) -> float:
        """Return the share of unknown tokens in ``texts``, 0 to 1."""

    def words(self) -> list[str]:
        """Return the whole words of the vocabulary, in vocabulary order."""


class Encoder(ABC):
    """Maps texts to vectors.

    Attributes:
        name: name in the catalog.
        normalizes: vectors have unit length.
        takes_prompts: prompts can be prepended to texts.
        prompts: the model's prompts by name.
        similarity_fn_name: the model's similarity function: ``cosine``, ``dot``, ``euclidean`` or ``manhattan``.
        truncate_dim: number of components kept; ``None`` for all.
        tokens: tokenizer; ``None`` if unknown.
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
        """Number of components of a vector."""

    @property
    @abstractmethod
    def max_length(self) -> int:
        """Maximum number of tokens per text, including special tokens."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """16 hex digits that change with weights, configuration and precision."""

    @property
    def uses_cpu(self) -> bool:
        """False if texts are encoded on another device, where larger calls are faster."""
        return True

    @property
    def default_prompt(self) -> str:
        return "" if self.tokens is None else self.tokens.prompt

    def for_role(self, role: Role) -> Encoder:
        """Return this encoder with the model's prompt for ``role`` and its own fingerprint."""
        return self

    def prompt_for_role(self, role: Role) -> str:
        """Return the prompt that :meth:`for_role` prepends; empty for an encoder without prompts."""
        return ""

    def with_settings(self, prompt: str | None = None, truncate_dim: int = 0) -> Encoder:
        """Return this encoder with settings other than the model's; for inference only.

        Args:
            prompt: prepended to every text; ``None`` keeps the current one.
            truncate_dim: number of components kept; 0 keeps the current one.
        """
        if prompt is not None:
            require_prompts(self)
        if truncate_dim:
            raise StudioError(_("the vectors of {name} cannot be truncated", name=self.name), "omit truncate_dim, or choose another model")
        return self

    @property
    def similarity_name(self) -> str:
        """Similarity function of the vectors; ``cosine`` if the vectors are normalized and the function is the dot product."""
        same = self.similarity_fn_name == "dot" and self.normalizes and self.truncate_dim is None
        return "cosine" if same else self.similarity_fn_name

    @property
    def memory(self) -> int:
        return 0

    def coverage(self, texts: Sequence[str]) -> Coverage | None:
        """Count the known words of ``texts``; ``None`` for an encoder without unknown words."""
        return None

    @abstractmethod
    def encode(self, texts: Sequence[str], *, progress: Progress | None = None, should_stop: ShouldStop | None = None) -> np.ndarray:
        """Return the vectors of ``texts``: (n, dim) float32, C order, row i for text i.

        Raises:
            EncodingStoppedError: ``should_stop`` returned True.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return plain data for lists and cards.

        The keys are name, kind, dim, parameters, max_length, pooling, normalizes, precision, device, note and base.
        """


def require_finite_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return ``vectors`` unchanged.

    Raises:
        StudioError: they contain NaN or infinity, for example because training diverged.
    """
    if not np.isfinite(vectors).all():
        raise StudioError(
            "the model returns vectors that are not finite numbers",
            "if it was trained here, its training diverged: lower the learning rate and train it again; otherwise copy its folder again",
        )
    return vectors


class PairScorer(ABC):
    """Maps pairs of texts to a score, or to a logit per class.

    Attributes:
        labels: number of scores per pair; a single one increases with similarity.
    """

    labels: int

    @property
    @abstractmethod
    def class_names(self) -> tuple[str, ...]:
        """Class names in the order of their ids; empty for a single score."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """16 hex digits that change with weights and configuration."""

    @abstractmethod
    def predict(
        self, pairs: Sequence[tuple[str, str]], *, progress: Progress | None = None, should_stop: ShouldStop | None = None
    ) -> np.ndarray:
        """Return the scores of ``pairs`` in order: (n,) float32 for one label, else logits (n, labels).

        Args:
            progress: called with the number of pairs done, or of texts if there is a :attr:`candidate_encoder`.

        Raises:
            EncodingStoppedError: ``should_stop`` returned True.
        """

    @property
    def candidate_encoder(self) -> Encoder | None:
        """Encoder of second texts, whose vectors can be cached and reused for every query; ``None`` if pairs are encoded jointly."""
        return None

    def score_candidates(self, queries: Sequence[str], candidates: np.ndarray) -> np.ndarray:
        """Return the scores (q, c) float32 of every query with every candidate, given as vectors (c, d) of :attr:`candidate_encoder`.

        Raises:
            StudioError: the model encodes pairs jointly.
        """
        raise StudioError("this model encodes pairs jointly and has no vectors of single texts", "use pairs")
