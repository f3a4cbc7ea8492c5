"""Base class of word-vector learners; word2vec (Mikolov et al. 2013): skip-gram and CBOW with negative sampling, by gensim."""

from __future__ import annotations

import contextvars
import logging
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import StudioError
from ...progress import Progress, StoppedError, checkpoint
from ...registry import Registry, setting
from .tokens import Vocabulary, WordTokens, count_words
from .vectors import WordVectors

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


_LONGEST = 10_000  # words of a text that gensim reads; the rest it would leave out
_TEXTS = 256  # between two questions whether to go on


@dataclass(frozen=True)
class _Params(LearnerParams):
    """Those of negative sampling."""

    window: int = setting(5, "How many words to either side are a word's neighbours, at most.", min=1, max=100)
    negative: int = setting(5, "Words drawn at random against each true neighbour.", min=1, max=50)
    sample: float = setting(1e-3, "Words more frequent than this are passed over at random; 0: none.", min=0, max=1)
    rate: float = setting(0.025, "The learning rate at the beginning; it falls to near zero.", min=1e-6, max=1)


class _Word2Vec(Learner):
    """Both ways: by one thread, so that the same seed gives the same vectors."""

    unit = "epochs"
    Params = _Params
    skip_gram: bool

    def learn(self, texts: Sequence[str], seed: int = SEED, progress: Progress | None = None) -> WordVectors:
        """``progress`` is told epochs.

        Raises:
            StudioError: gensim is not installed; or there is nothing to learn from.
        """
        model_class = _gensim()
        vocabulary = self.vocabulary(texts)
        ids, starts = WordTokens(vocabulary.words).flat(texts)
        if np.diff(starts).max(initial=0) < 2:
            raise StudioError("no two known words stand in one text", "give texts of several words, or keep rarer words")
        corpus = _Corpus(vocabulary.words, ids, starts)
        model = model_class(
            vector_size=self.params.width,
            window=self.params.window,
            negative=self.params.negative,
            sample=self.params.sample,
            alpha=self.params.rate,
            sg=int(self.skip_gram),
            min_count=1,
            workers=1,
            seed=seed,
            # Python's own hash of a string differs from one process to the next.
            hashfxn=lambda word: zlib.crc32(word.encode()),
        )
        model.build_vocab_from_freq(dict(zip(vocabulary.words, map(int, vocabulary.counts), strict=True)), corpus_count=len(corpus))
        callback = _epochs(progress, self.params.epochs)
        model.train(corpus, total_examples=len(corpus), epochs=self.params.epochs, callbacks=[callback])
        rows = [model.wv.key_to_index[word] for word in vocabulary.words]
        return WordVectors(vocabulary.words, np.array(model.wv.vectors[rows], np.float32), vocabulary.counts, self.name)


@LEARNERS.register("skip_gram")
class SkipGram(_Word2Vec):
    """From a word its neighbours (Mikolov et al. 2013b, equation 4)."""

    title = "word2vec, skip-gram"
    summary = "Learns to tell from a word which others stand near it; good for rare words."
    skip_gram = True


@LEARNERS.register("cbow")
class Cbow(_Word2Vec):
    """From the mean of its neighbours a word (Mikolov et al. 2013a, section 3.1)."""

    title = "word2vec, CBOW"
    summary = "Learns to tell a word from those near it; faster than skip-gram."
    skip_gram = False

    @dataclass(frozen=True)
    class Params(_Params):
        """The authors' program begins CBOW with twice the rate."""

        rate: float = setting(0.05, "The learning rate at the beginning; it falls to near zero.", min=1e-6, max=1)


class _Corpus:
    """Lists of words, as often as they are asked for; gensim does so in a thread of its own.

    Whether to go on is a matter of the thread that called (a context variable), so its context is taken along. An error in gensim's
    thread would leave it waiting: the corpus ends early instead, and the callback behind the epoch raises.
    """

    def __init__(self, words: tuple[str, ...], ids: np.ndarray, starts: np.ndarray) -> None:
        self._words, self._ids = words, ids
        self._pieces = [
            (begin, min(begin + _LONGEST, end))
            for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
            for begin in range(start, end, _LONGEST)
        ]
        self._context = contextvars.copy_context()

    def __len__(self) -> int:
        return len(self._pieces)

    def __iter__(self) -> Iterator[list[str]]:
        for number, (begin, end) in enumerate(self._pieces):
            if number % _TEXTS == 0:
                try:
                    self._context.run(checkpoint)
                except StoppedError:
                    return
            yield [self._words[place] for place in self._ids[begin:end].tolist()]


def _gensim() -> Any:
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise StudioError(
            "word2vec needs gensim, which is not installed", "run: pip install 'sbert-studio[words]'; or choose GloVe"
        ) from error
    # It warns of small corpora, and of one that ended early because it was asked to.
    logging.getLogger("gensim").setLevel(logging.ERROR)
    return Word2Vec


def _epochs(progress: Progress | None, total: int) -> Any:
    from gensim.models.callbacks import CallbackAny2Vec

    class Epochs(CallbackAny2Vec):  # type: ignore[misc]
        """Tells how many are done."""

        def __init__(self) -> None:
            self.done = 0

        def on_epoch_end(self, model: Any) -> None:
            checkpoint()
            self.done += 1
            if progress is not None:
                progress(self.done, total)

    return Epochs()
