"""Base class of word-vector learners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...progress import Progress
from ...registry import Registry, setting
from .tokens import Vocabulary, count_words
from .vectors import WordVectors

SEED = 12
LEARNERS: Registry[Learner] = Registry("learner")


@dataclass(frozen=True)
class VocabularyParams:
    """Vocabulary settings shared by all learners."""

    min_count: int = setting(2, "Words that occur less often are skipped.", min=1, max=1_000_000)
    most_words: int = setting(50_000, "Maximum vocabulary size; the most frequent words are kept.", min=1, max=2_000_000)


@dataclass(frozen=True)
class LearnerParams(VocabularyParams):
    """Settings of learners that iterate over the texts and use the neighbors of each word."""

    width: int = setting(100, "Number of vector components.", min=2, max=1000)
    epochs: int = setting(25, "Passes over the texts.", min=1, max=1000)
    window: int = setting(10, "Number of context words on either side.", min=1, max=100)


class Learner(ABC):
    """A method for training word vectors; one registered class per method.

    Args:
        params: settings; ``None`` for the defaults of ``Params``.

    Attributes:
        name: registered name.
        title, summary: for display.
        unit: unit of its progress, in the plural.
        weighted: its vectors include the weights of the words, so that the vector of a text is their sum, scaled to unit length.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    unit: ClassVar[str]
    weighted: ClassVar[bool] = False
    Params: ClassVar[type[VocabularyParams]] = LearnerParams

    def __init__(self, params: Any = None) -> None:
        self.params: Any = self.Params() if params is None else params

    def vocabulary(self, texts: Sequence[str]) -> Vocabulary:
        """Return the words that get a vector."""
        return count_words(texts, self.params.min_count, self.params.most_words)

    @abstractmethod
    def learn(self, texts: Sequence[str], seed: int = SEED, progress: Progress | None = None) -> WordVectors:
        """Return vectors for the words of ``texts``, deterministic given texts, settings and seed."""
