"""What every way of learning word vectors from texts has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..data.progress import Progress
from ..registry import Registry, setting
from .vectors import WordVectors
from .vocabulary import Vocabulary, count_words

SEED = 12


@dataclass(frozen=True)
class VocabularyParams:
    """Which words get a vector: a setting of every learner."""

    min_count: int = setting(2, "Rarer words are left out.", min=1, max=1_000_000)
    most_words: int = setting(50_000, "At most so many words, the commonest.", min=1, max=2_000_000)


@dataclass(frozen=True)
class LearnerParams(VocabularyParams):
    """Those of a learner that passes over the texts again and again, and looks at the neighbours of each word."""

    width: int = setting(100, "Components of a vector.", min=2, max=1000)
    epochs: int = setting(25, "Passes over the texts.", min=1, max=1000)
    window: int = setting(10, "How many words to either side are a word's neighbours.", min=1, max=100)


class Learner(ABC):
    """A way of learning word vectors. One file registers one.

    Args:
        params: its settings; None means those of ``Params``.

    Attributes:
        name: under which it is registered.
        title, summary: for people.
        unit: what its progress counts, in the plural.
        weighted: whether its vectors carry their words' weights, so that a text is the plain sum of them, brought to length 1.
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
        """The words that get a vector.

        Raises:
            StudioError: there are none.
        """
        return count_words(texts, self.params.min_count, self.params.most_words)

    @abstractmethod
    def learn(self, texts: Sequence[str], seed: int = SEED, progress: Progress | None = None) -> WordVectors:
        """The vectors of the words of ``texts``, the same for the same texts, settings and seed.

        Raises:
            StudioError: there is nothing to learn from.
            StoppedError: somebody wishes that it end.
        """


LEARNERS: Registry[Learner] = Registry("way of learning word vectors")
