"""Compare and encode texts, and explain their scores."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data.samples import ASSETS
from ..data.schema.content import kept_as_texts
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..models.base import require_finite_vectors
from ..models.similarity import pair_similarity_note
from ..progress import checkpoint
from ..workspace import digest_texts
from .languages import ReadabilityWarning, check_readability, language_mismatch_notes, model_languages, unknown_word_notes
from .resources import Service
from .results import Agreement, EncodedFile, EncodedTexts, PairScore, PairScores, PairSuggestions, RankGap, Similarity

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.file_texts import FileTexts
    from ..data.loading.table import Table
    from ..explore.explain import ScoreDistribution, WordAlignment
    from ..models.base import Encoder
    from ..models.prompts import Role
    from ..progress import Progress
    from .data import DataService
    from .resources import Resources


_WORST, _MOST_RESAMPLED = 20, 20_000
_LONGEST = 100_000  # characters of a text that is typed


class _OldComparing(Service):
    """Texts → vectors, and how alike they are."""

    def __init__(self, services: Resources, read: DataService) -> None:
        super().__init__(services)
        self.read = read

    def similarity(self, a: str, b: str, model: str | None = None) -> Similarity:
        """Two texts compared."""
        encoder = self._encoder(model)
        vectors = require_finite_vectors(encoder.encode([require_text(a, "first"), require_text(b, "second")]))
        foreign, found = self.language_notes([a, b], model), encoder.coverage([a, b])
        doubtful = bool(foreign) or (found is not None and found.empty > 0)
        compared = _compare(vectors[:1], vectors[1:], encoder.similarity_name)[0]
        notes = (*pair_similarity_note(encoder.name, encoder.similarity_name), *foreign, *unknown_word_notes(found, 2))
        return replace(compared, notes=notes, doubtful=doubtful)

    def similarity_pairs(self, path: str | Path | Table, model: str | None = None, progress: Progress | None = None) -> PairScores:
        """Every row of a file of pairs compared that has both its texts; with the scores or labels that it holds, as far as it does."""
        from ..data.examples import build_examples
        from ..data.row_report import report_rows
        from ..data.schema.inference import infer_roles

        table = self.read.table(path)
        roles = infer_roles(table)
        if len(roles.texts) < 2:
            raise StudioError("this file has one column of texts, pairs need two", "put the two texts of a pair into two columns")
        examples, findings = build_examples(table, Roles("positive_pairs", roles.texts[:2]))
        lefts, rights = examples.texts[:2]
        encoder = self._encoder(model)
        vectors = require_finite_vectors(encoder.encode([*lefts, *rights], progress=progress))
        found = _compare(vectors[: len(lefts)], vectors[len(lefts) :], encoder.similarity_name)
        rows = (PairScore(int(line), a, b, one) for line, a, b, one in zip(examples.lines, lefts, rights, found, strict=True))
        account = report_rows(table, findings, examples.lines)
        agreement = _agreement(table, roles, np.array([one.score for one in found]))
        by = pair_similarity_note(encoder.name, encoder.similarity_name)
        notes = (*kept_as_texts(findings), *by, *self.reading_notes([*lefts, *rights], model))
        return PairScores(tuple(rows), (roles.texts[0], roles.texts[1]), account, agreement, notes)

    def similarity_matrix(self, texts: Sequence[str], model: str | None = None) -> np.ndarray:
        """Compare all texts with all, as the model does: (n, n), larger for more similar."""
        if not texts:
            raise StudioError("there is no text to compare", "write one text a line")
        from ..models.similarity import similarity

        shown = [require_text(text, f"{number}.") for number, text in enumerate(texts, 1)]
        encoder = self._encoder(model)
        vectors = require_finite_vectors(encoder.encode(shown))
        found = similarity(vectors, vectors, encoder.similarity_name)
        return np.asarray(np.clip(found, -1, 1) if encoder.similarity_name == "cosine" else found)

    def encode(
        self,
        texts: Sequence[str] | Corpus,
        model: str | None = None,
        precision: str = "float32",
        progress: Progress | None = None,
        *,
        role: Role = "plain",
    ) -> EncodedTexts:
        """Texts as vectors, past the cache, with the time it took; of a corpus a vector for each row of its file (see :class:`Encoded`).

        Args:
            role: what the texts are, for a model with prompts.
        """
        from ..data.row_report import RowReport

        chosen, why = self.catalog.precision(precision)
        encoder = self.catalog.load(model or self.settings.default_model, chosen).for_role(role)
        found = texts if isinstance(texts, Sequence) else texts.texts
        if not found:
            raise StudioError("there is no text to encode", "check the file and its column")
        start = time.perf_counter()
        vectors = require_finite_vectors(encoder.encode(found, progress=progress))
        seconds = time.perf_counter() - start
        rate, account = len(vectors) / max(seconds, 1e-9), RowReport(len(found), len(found))
        if not isinstance(texts, Sequence):
            vectors, account = _aligned(vectors, texts), texts.account
        return EncodedTexts(vectors, len(vectors), vectors.shape[1], seconds, rate, account, self.reading_notes(texts, model), chosen, why)

    def encode_to(
        self,
        found: FileTexts,
        out: Path,
        model: str | None = None,
        precision: str = "float32",
        progress: Progress | None = None,
        tell: Callable[[str], None] | None = None,
        *,
        role: Role = "plain",
    ) -> EncodedFile:
        """The texts of a file as vectors in the ``.npy`` file ``out``, written as they come; see :mod:`sbert_studio.shards.memmap_writer`.

        Past the cache both ways: a million vectors would take its place twice, and drive out all others.

        Args:
            tell: told in words what is there already, and what is kept where this is stopped.
            role: as :meth:`encode`.
        """
        from ..shards.memmap_writer import VectorFileSpec, write_vectors

        chosen, why = self.catalog.precision(precision)
        encoder = self.catalog.load(model or self.settings.default_model, chosen).for_role(role)
        done = write_vectors(out, VectorFileSpec.of(found, encoder, chosen), found, encoder, progress, tell)
        nan = tuple(np.setdiff1d(np.arange(found.rows), found.places).tolist())
        rate, notes = done.encoded / max(done.seconds, 1e-9), (*self.reading_notes(found.texts, model), *_unused_prompts(encoder, role))
        return EncodedFile(found.rows, encoder.dim, nan, done.resumed, done.seconds, rate, found.account, notes, chosen, why)

    def language_notes(self, texts: Sequence[str] | Corpus, model: str | None = None, what: str = "The texts") -> tuple[str, ...]:
        """A sentence where the texts are in a language that the model was not trained on."""
        from ..data.language import count_languages

        found = count_languages(texts) if isinstance(texts, Sequence) else texts.languages
        return language_mismatch_notes(self.catalog, model or self.settings.default_model, found, what, self.multilingual)

    def hardly_reads(self, corpus: Corpus, at_hand: Sequence[str], model: str | None = None) -> ReadabilityWarning | None:
        """What is to be known before the model is asked anything about the corpus; ``None`` where it reads it.

        Args:
            at_hand: models that may be proposed. The model itself is asked for its tokens where that fetches nothing from a hub.

        Raises:
            StudioError: there is no such model.
        """
        name = model or self.settings.default_model
        here = self.catalog.resolve(name).path is not None
        return check_readability(self.catalog, name, corpus, at_hand, self.catalog.load(name) if here else None, self.multilingual)

    def reading_notes(self, texts: Sequence[str] | Corpus, model: str | None = None) -> tuple[str, ...]:
        """:meth:`language_notes`, and a sentence where the model is a table that does not know all their words."""
        return (*self.language_notes(texts, model), *self._unknown(texts, self._encoder(model)))

    def _unknown(self, texts: Sequence[str] | Corpus, encoder: Encoder, what: str = "the texts") -> tuple[str, ...]:
        if isinstance(texts, Sequence):
            return unknown_word_notes(encoder.coverage(texts), len(texts), what)
        if encoder.coverage(()) is None:
            return ()

        def count() -> Coverage:
            return encoder.coverage(texts.texts) or Coverage(0, 0, 0)

        from ..models.static.tokens import Coverage

        found = self._services.coverages.get((texts.digest, encoder.fingerprint), count, checkpoint)
        return unknown_word_notes(found, len(texts.texts), what)

    def _notes(self, corpus: Corpus, model: str | None, encoder: Encoder) -> tuple[str, ...]:
        said = (*corpus.repeat_notes(), *kept_as_texts(corpus.notes))
        return (*said, *self.language_notes(corpus, model), *self._unknown(corpus, encoder))

    def _encoder(self, model: str | None, role: Role = "symmetric") -> Encoder:
        return self.catalog.load(model or self.settings.default_model).for_role(role)


def require_text(text: str, which: str) -> str:
    """The text, which must be neither empty nor a whole book; ``which`` names it.

    Raises:
        StudioError: it is.
    """
    if len(text) > _LONGEST:
        what = f"the query has {len(text):,} characters" if which == "query" else f"the {which} text has {len(text):,} characters"
        raise StudioError(what, f"at most {_LONGEST:,} are compared; upload long texts as a file")
    if not text.strip():
        raise StudioError(f"the {which} text is empty" if which != "query" else "the query is empty", "write a few words")
    return text


def _compare(left: np.ndarray, right: np.ndarray, by: str) -> list[Similarity]:
    """Matching rows of two (n, d) arrays by every measure."""
    from ..evaluation.encoding import MEASURES, pairwise_measures

    found = pairwise_measures(left, right)
    return [Similarity(*(float(found[name][row]) for name in MEASURES), similarity_fn_name=by) for row in range(len(left))]


def _aligned(vectors: np.ndarray, corpus: Corpus) -> np.ndarray:
    """The (n, d) vectors of a corpus as those of its file's rows, NaN where a row has no text."""
    places, rows = corpus.positions()
    if rows == len(vectors):
        return vectors
    found = np.full((rows, vectors.shape[1]), np.nan, dtype=vectors.dtype)
    found[places] = vectors
    return found


def _agreement(table: Table, roles: Roles, cosines: np.ndarray) -> Agreement | None:
    """How the cosines of the rows that have both their texts go with the scores or labels beside them."""
    from ..data.examples import build_examples
    from ..evaluation.bootstrap import percentile_interval, resample_clusters
    from ..evaluation.tasks.sts import bootstrap_pearson, bootstrap_spearman, pearson, spearman

    if roles.kind not in ("scored_pairs", "labelled_pairs") or roles.target is None:
        return None
    # Rows that were spread from one line of the file share its number: they are told apart by their place in the table.
    placed = replace(table, lines=np.arange(len(table)))
    compared = build_examples(placed, Roles("positive_pairs", roles.texts[:2]))[0].lines
    try:
        told, _ = build_examples(placed, roles)
    except StudioError:
        return None  # No compared row holds one.
    found = cosines[np.searchsorted(compared, told.lines)]
    targets = np.asarray(told.targets)
    places = np.searchsorted(compared, told.lines)
    if roles.kind == "scored_pairs":
        drawn = (bootstrap_spearman, bootstrap_pearson) if len(told) <= _MOST_RESAMPLED else ()
        with resample_clusters(*told.texts):
            intervals = [tuple(percentile_interval(draw(found, targets))) for draw in drawn] or [(), ()]
        low, high = (0.0 if roles.low is None else roles.low), (1.0 if roles.high is None else roles.high)
        gaps = _gaps(places, found, targets, [float(f"{low + float(target) * (high - low):.6g}") for target in targets])
        return Agreement(
            roles.target,
            len(told),
            spearman(found, targets),
            pearson(found, targets),
            spearman_interval=intervals[0],
            pearson_interval=intervals[1],
            worst=_worst(gaps),
            gaps=gaps,
            scale=(low, high),
        )
    means = {label: float(found[targets == number].mean()) for number, label in enumerate(roles.labels) if (targets == number).any()}
    said = [roles.labels[int(number)] for number in targets]
    gaps = _gaps(places, found, np.array([means[label] for label in said]), said)
    return Agreement(roles.target, len(told), mean_by_label=means, worst=_worst(gaps) if len(means) > 1 else (), gaps=gaps)


def _gaps(places: np.ndarray, found: np.ndarray, gold: np.ndarray, said: Sequence[float | str]) -> tuple[RankGap, ...]:
    """By how much the cosine and the gold score of each pair disagree."""
    from ..evaluation.answers import rank_differences

    return tuple(RankGap(int(place), of, float(gap)) for place, of, gap in zip(places, said, rank_differences(found, gold), strict=True))


def _worst(gaps: Sequence[RankGap]) -> tuple[RankGap, ...]:
    """The pairs on which the cosines and the gold scores disagree most."""
    return tuple(sorted(gaps, key=lambda one: -abs(one.gap))[:_WORST])


def _unused_prompts(encoder: Encoder, role: Role) -> tuple[str, ...]:
    """Say that a model has prompts, and that none of them was put before the texts."""
    if role != "plain" or encoder.default_prompt or not any(encoder.prompts.values()):
        return ()
    return (f"{encoder.name} has prompts, and none was put before the texts: a search needs the one for queries or for documents",)


_EVERYDAY = "everyday sentences"
_MOST_WORDS = 160
_NEAR = 0.99


class SimilarityService(_OldComparing):
    """What stands behind a score."""

    def usual(self, corpus: Corpus | None = None, model: str | None = None) -> ScoreDistribution:
        """How alike texts are by the model that were taken at random: 300 at most of the corpus, every pair of them.

        Everyday sentences take its place where there is none, or where it has fewer than 20 different texts. They are in the languages
        that the model's card names; in English where it names none.
        """
        from ..explore.explain import MIN_TEXTS, ScoreDistribution, random_pair_cosines, sample_texts

        encoder = self._encoder(model)
        texts, of = (sample_texts(corpus.texts), corpus.name) if corpus is not None else ([], "")
        if len(texts) < MIN_TEXTS:
            known = model_languages(self.catalog, model or self.settings.default_model)
            sentences = everyday_sentences()
            spoken = [text for language, text in sentences if language in (known or ("en",))]
            texts, of = sample_texts(spoken if len(spoken) >= MIN_TEXTS else [text for _, text in sentences]), _EVERYDAY
        key = digest_texts(texts), encoder.fingerprint

        def measure() -> ScoreDistribution:
            return ScoreDistribution(random_pair_cosines(require_finite_vectors(encoder.encode(texts))), of)

        found = self._services.usuals.get(key, measure, checkpoint)
        return found if found.of == of else ScoreDistribution(found.cosines, of)

    def alignment(self, a: str, b: str, model: str | None = None) -> WordAlignment:
        """Two texts word by word; see :func:`sbert_studio.explore.explain.align_words`.

        Raises:
            StudioError: the model has no vectors of words, or a text has no word that it reads, or too many.
        """
        from ..explore.explain import align_words
        from ..models.word_encoder import token_states

        encoder = self._encoder(model)
        states = [token_states(encoder, require_text(text, which)) for text, which in ((a, "first"), (b, "second"))]
        left, right = states
        if left is None or right is None:
            raise StudioError(f"{encoder.name} gives no vectors of single words", "choose a transformer, or a table of words")
        if max(len(left.words), len(right.words)) > _MOST_WORDS:
            raise StudioError(
                f"a text has more than {_MOST_WORDS} words and punctuation marks", "compare shorter texts to see which words make the score"
            )
        found = align_words(left, right)
        if found is None:
            raise StudioError("a text holds no word that the model knows", "use other words, or another model")
        return found

    def worth_labelling(
        self,
        corpus: Corpus,
        model: str | None = None,
        other: str | None = None,
        count: int = 12,
        judged: Sequence[tuple[str, str, bool]] = (),
        progress: Progress | None = None,
    ) -> PairSuggestions:
        """Pairs of the corpus that are worth a person's word; of a large one 3,000 texts are looked at.

        Args:
            other: a second model: the pairs on which both disagree. Without one, those of which the model is least sure.
            judged: pairs that were judged already, and whether they belong together. They are not asked for again, and with four of
                either kind they say where the model's line between alike and not alike lies; before that it is where 99 of 100
                random pairs are less alike.

        Raises:
            StudioError: the corpus has fewer than two different texts.
        """
        from ..explore.pair_suggestions import decision_boundary, disputed_pairs, sample_rows, uncertain_pairs

        rows = sample_rows(corpus.texts)
        if len(rows) < 2:
            raise StudioError("the corpus has fewer than two different texts", "choose another one")
        texts = [corpus.texts[row] for row in rows.tolist()]
        vectors = self._of_texts(texts, model, progress)
        places = {text: place for place, text in enumerate(texts)}
        known = {(min(pair), max(pair)) for a, b, _ in judged if a in places and b in places for pair in [(places[a], places[b])]}
        usual = self.usual(corpus, model)
        if other is not None:
            found = disputed_pairs(
                vectors, self._of_texts(texts, other, progress), usual.shares, self.usual(corpus, other).shares, count, known, progress
            )
            line = None
        else:
            line = self._line(judged, model, decision_boundary) if judged else None
            line = usual.quantile(_NEAR) if line is None else line
            found = uncertain_pairs(vectors, line, count, known, progress)
        return PairSuggestions(tuple((texts[a], texts[b], cosine) for a, b, cosine in found), line)

    def _of_texts(self, texts: Sequence[str], model: str | None, progress: Progress | None) -> np.ndarray:
        """The vectors of some texts, from the cache."""
        return self._services.vectors.get(texts, digest_texts(texts), self._encoder(model), progress)

    def _line(
        self, judged: Sequence[tuple[str, str, bool]], model: str | None, boundary: Callable[[np.ndarray, np.ndarray], float | None]
    ) -> float | None:
        from ..evaluation.encoding import pair_similarities

        lefts, rights, together = zip(*judged, strict=True)
        return boundary(pair_similarities(self._encoder(model), list(lefts), list(rights)), np.array(together, bool))


@lru_cache(maxsize=1)
def everyday_sentences() -> tuple[tuple[str, str], ...]:
    """The (language, sentence) pairs of the probe of everyday language, the first sentence of each of its pairs."""
    with (ASSETS / "probe" / "general.csv").open(encoding="utf-8", newline="") as source:
        return tuple((row["language"], row["sentence1"]) for row in csv.DictReader(source))
