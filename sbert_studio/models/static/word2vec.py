"""word2vec (Mikolov et al. 2013): skip-gram and CBOW with negative sampling, using gensim."""

from __future__ import annotations

import contextvars
import logging
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import StudioError
from ...progress import Progress, StoppedError, checkpoint
from ...registry import setting
from .learners import LEARNERS, SEED, Learner, LearnerParams
from .tokens import WordTokens
from .vectors import WordVectors

_LONGEST = 10_000  # maximum number of words of a text in gensim; longer texts are split
_TEXTS = 256  # texts between two checks for a stop


@dataclass(frozen=True)
class _Params(LearnerParams):
    window: int = setting(5, "Maximum number of context words on either side.", min=1, max=100)
    negative: int = setting(5, "Number of negative samples per context word.", min=1, max=50)
    sample: float = setting(1e-3, "Subsampling threshold: more frequent words are skipped at random; 0: none.", min=0, max=1)
    rate: float = setting(0.025, "Initial learning rate; it decays to near zero.", min=1e-6, max=1)


class _Word2Vec(Learner):
    unit = "epochs"
    Params = _Params
    skip_gram: bool

    def learn(self, texts: Sequence[str], seed: int = SEED, progress: Progress | None = None) -> WordVectors:
        model_class = _gensim()
        vocabulary = self.vocabulary(texts)
        ids, starts = WordTokens(vocabulary.words).flat(texts)
        if np.diff(starts).max(initial=0) < 2:
            raise StudioError("no text contains two known words", "use texts of several words, or keep rarer words")
        corpus = _WordLists(vocabulary.words, ids, starts)
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
            # Python's string hash differs between processes.
            hashfxn=lambda word: zlib.crc32(word.encode()),
        )
        model.build_vocab_from_freq(dict(zip(vocabulary.words, map(int, vocabulary.counts), strict=True)), corpus_count=len(corpus))
        callback = _epoch_callback(progress, self.params.epochs)
        model.train(corpus, total_examples=len(corpus), epochs=self.params.epochs, callbacks=[callback])
        rows = [model.wv.key_to_index[word] for word in vocabulary.words]
        return WordVectors(vocabulary.words, np.array(model.wv.vectors[rows], np.float32), vocabulary.counts, self.name)


@LEARNERS.register("skip_gram")
class SkipGram(_Word2Vec):
    """Skip-gram learner: predicts the neighbors of a word (Mikolov et al. 2013b, equation 4)."""

    title = "word2vec, skip-gram"
    summary = "Predicts the context of each word; good for rare words."
    skip_gram = True


@LEARNERS.register("cbow")
class Cbow(_Word2Vec):
    """CBOW learner: predicts a word from the mean of its neighbors (Mikolov et al. 2013a, section 3.1)."""

    title = "word2vec, CBOW"
    summary = "Predicts each word from its context; faster than skip-gram."
    skip_gram = False

    @dataclass(frozen=True)
    class Params(_Params):
        """Settings of CBOW, for which the authors' program uses twice the learning rate."""

        rate: float = setting(0.05, "Initial learning rate; it decays to near zero.", min=1e-6, max=1)


# gensim iterates over the lists in a separate thread. The stop request is a context variable of the calling thread, so its context is used.
# An exception in gensim's thread would make it hang, so the corpus ends early instead, and the callback after the epoch raises.
class _WordLists:
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
    # gensim warns about small corpora and about corpora that were stopped.
    logging.getLogger("gensim").setLevel(logging.ERROR)
    return Word2Vec


def _epoch_callback(progress: Progress | None, total: int) -> Any:
    from gensim.models.callbacks import CallbackAny2Vec

    class EpochCallback(CallbackAny2Vec):  # type: ignore[misc]
        def __init__(self) -> None:
            self.done = 0

        def on_epoch_end(self, model: Any) -> None:
            checkpoint()
            self.done += 1
            if progress is not None:
                progress(self.done, total)

    return EpochCallback()
