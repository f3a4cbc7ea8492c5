"""Similarity service: compare and encode texts, explain scores, suggest pairs to label."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data.corpus import Corpus, FileTexts
from ..data.examples import build_examples
from ..data.loading.table import Table
from ..data.row_report import RowReport, report_rows
from ..data.samples import ASSETS
from ..data.schema.content import kept_as_texts
from ..data.schema.inference import infer_roles
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..evaluation.answers import rank_differences
from ..evaluation.bootstrap import percentile_interval, resample_clusters
from ..evaluation.encoding import MEASURES, pair_similarities, pairwise_measures
from ..evaluation.tasks.sts import bootstrap_pearson, bootstrap_spearman, pearson, spearman
from ..i18n import _
from ..models.base import Encoder, require_finite_vectors
from ..models.prompts import Role
from ..models.similarity import pair_similarity_note, similarity
from ..progress import Progress, checkpoint
from ..workspace import digest_texts
from .data import DataService
from .languages import LanguageService, model_languages, unknown_word_notes
from .resources import Resources, Service
from .results import Agreement, EncodedFile, EncodedTexts, PairScore, PairScores, PairSuggestions, RankGap, Similarity

if TYPE_CHECKING:
    from ..explore.explain import ScoreDistribution, WordAlignment

_MAX_CHARACTERS = 100_000  # maximum characters of a typed text
_MAX_BOOTSTRAP_ROWS = 20_000
_WORST_PAIRS = 20
_ROWS_FOR_ROLES = 2_000  # rows by which the columns of pairs are recognized
_MAX_ALIGNED_WORDS = 160
_DEFAULT_BOUNDARY = 0.99  # quantile of random pairs used as the decision boundary until enough pairs are labelled
_EVERYDAY = "everyday sentences"


class SimilarityService(Service):
    """Encodes texts and scores their similarity."""

    def __init__(self, resources: Resources, data: DataService, languages: LanguageService) -> None:
        super().__init__(resources)
        self._data, self._languages = data, languages

    def compare(self, a: str, b: str, model: str | None = None) -> Similarity:
        """Compare two texts."""
        encoder = self._languages.load(model)
        vectors = require_finite_vectors(encoder.encode([require_text(a, "first"), require_text(b, "second")]))
        mismatch, coverage = self._languages.language_notes([a, b], model), encoder.coverage([a, b])
        doubtful = bool(mismatch) or (coverage is not None and coverage.empty > 0)
        notes = (*pair_similarity_note(encoder.name, encoder.similarity_name), *mismatch, *unknown_word_notes(coverage, 2))
        found = _compare(vectors[:1], vectors[1:], encoder.similarity_name)[0]
        return replace(found, notes=notes, doubtful=doubtful, model=model or self.settings.default_model)

    def has_pairs(self, table: Table) -> bool:
        """Return whether a table has two columns of texts, judged by its first rows."""
        try:
            return len(infer_roles(table.select(np.arange(min(len(table), _ROWS_FOR_ROLES)))).texts) > 1
        except StudioError:
            return False

    def compare_file(self, path: str | Path | Table, model: str | None = None, progress: Progress | None = None) -> PairScores:
        """Compare every complete row of a file of pairs, and compare the similarities with the file's own scores or labels, if any."""
        table = self._data.read_table(path)
        roles = infer_roles(table)
        if len(roles.texts) < 2:
            raise StudioError("this file has only one text column, but pairs need two", "put the two texts of a pair into two columns")
        examples, findings = build_examples(table, Roles("positive_pairs", roles.texts[:2]))
        lefts, rights = examples.texts[:2]
        encoder = self._languages.load(model)
        vectors = require_finite_vectors(encoder.encode([*lefts, *rights], progress=progress))
        scores = _compare(vectors[: len(lefts)], vectors[len(lefts) :], encoder.similarity_name)
        rows = (PairScore(int(line), a, b, score) for line, a, b, score in zip(examples.lines, lefts, rights, scores, strict=True))
        agreement = _agreement(table, roles, np.array([score.score for score in scores]))
        measure = pair_similarity_note(encoder.name, encoder.similarity_name)
        notes = (*kept_as_texts(findings), *measure, *self._languages.reading_notes([*lefts, *rights], model))
        columns = (roles.texts[0], roles.texts[1])
        return PairScores(tuple(rows), columns, report_rows(table, findings, examples.lines), agreement, notes)

    def compare_all(self, texts: Sequence[str], model: str | None = None) -> np.ndarray:
        """Return the (n, n) similarity matrix of all texts with the model's similarity function; larger is more similar."""
        if not texts:
            raise StudioError("there is no text to compare", "write one text per line")

        encoder = self._languages.load(model)
        vectors = require_finite_vectors(encoder.encode([require_text(text, f"{number}.") for number, text in enumerate(texts, 1)]))
        scores = similarity(vectors, vectors, encoder.similarity_name)
        return np.asarray(np.clip(scores, -1, 1) if encoder.similarity_name == "cosine" else scores)

    def encode(
        self,
        texts: Sequence[str] | Corpus,
        model: str | None = None,
        precision: str = "float32",
        progress: Progress | None = None,
        *,
        role: Role = "plain",
    ) -> EncodedTexts:
        """Encode texts without the cache, and measure the time. For a corpus, return one vector for each row of its file.

        Args:
            role: role of the texts for a model with prompts.
        """
        precision, reason = self.catalog.precision(precision)
        encoder = self.catalog.load(model or self.settings.default_model, precision).for_role(role)
        plain = texts if isinstance(texts, Sequence) else texts.texts
        if not plain:
            raise StudioError("there is no text to encode", "check the file and its column")
        start = time.perf_counter()
        vectors = require_finite_vectors(encoder.encode(plain, progress=progress))
        seconds = time.perf_counter() - start
        rate, account = len(vectors) / max(seconds, 1e-9), RowReport(len(plain), len(plain))
        if not isinstance(texts, Sequence):
            vectors, account = _spread_to_rows(vectors, texts), texts.account
        notes = self._languages.reading_notes(texts, model)
        return EncodedTexts(vectors, len(vectors), vectors.shape[1], seconds, rate, account, notes, precision, reason)

    def encode_file(
        self,
        texts: FileTexts,
        out: Path,
        model: str | None = None,
        precision: str = "float32",
        progress: Progress | None = None,
        on_message: Callable[[str], None] | None = None,
        *,
        role: Role = "plain",
    ) -> EncodedFile:
        """Encode a file's texts into the ``.npy`` file ``out``, resumably; see :mod:`sbert_studio.shards.memmap_writer`.

        The cache is bypassed, because a million vectors would be stored twice and evict all others.

        Args:
            on_message: called with messages on what was resumed, replaced or kept.
            role: see :meth:`encode`.
        """
        from ..shards.memmap_writer import VectorFileSpec, write_vectors

        precision, reason = self.catalog.precision(precision)
        encoder = self.catalog.load(model or self.settings.default_model, precision).for_role(role)
        done = write_vectors(out, VectorFileSpec.of(texts, encoder, precision), texts, encoder, progress, on_message)
        nan = tuple(np.setdiff1d(np.arange(texts.rows), texts.places).tolist())
        rate = done.encoded / max(done.seconds, 1e-9)
        notes = (*self._languages.reading_notes(texts.texts, model), *_unused_prompt_notes(encoder, role))
        return EncodedFile(texts.rows, encoder.dim, nan, done.resumed, done.seconds, rate, texts.account, notes, precision, reason)

    def baseline(self, corpus: Corpus | None = None, model: str | None = None) -> ScoreDistribution:
        """Return the distribution of the model's scores on random pairs, from at most 300 texts of the corpus.

        Without a corpus of at least 20 distinct texts, everyday sentences are used, in the languages listed in the model's card, or in
        English if there are none.
        """
        from ..explore.explain import MIN_TEXTS, ScoreDistribution, random_pair_cosines, sample_texts

        encoder = self._languages.load(model)
        texts, source = (sample_texts(corpus.texts), corpus.name) if corpus is not None else ([], "")
        if len(texts) < MIN_TEXTS:
            languages = model_languages(self.catalog, model or self.settings.default_model) or ("en",)
            sentences = everyday_sentences()
            known = [text for language, text in sentences if language in languages]
            texts, source = sample_texts(known if len(known) >= MIN_TEXTS else [text for _, text in sentences]), _EVERYDAY
        key = digest_texts(texts), encoder.fingerprint

        def measure() -> ScoreDistribution:
            return ScoreDistribution(random_pair_cosines(require_finite_vectors(encoder.encode(texts))), source)

        found = self._resources.baselines.get(key, measure, checkpoint)
        return found if found.of == source else ScoreDistribution(found.cosines, source)

    def align_words(self, a: str, b: str, model: str | None = None) -> WordAlignment:
        """Align two texts word by word; see :func:`sbert_studio.explore.explain.align_words`."""
        from ..explore.explain import align_words
        from ..models.word_encoder import token_states

        encoder = self._languages.load(model)
        left, right = (token_states(encoder, require_text(text, which)) for text, which in ((a, "first"), (b, "second")))
        if left is None or right is None:
            raise StudioError(_("{name} has no word vectors", name=encoder.name), "choose a transformer or a static embedding model")
        if max(len(left.words), len(right.words)) > _MAX_ALIGNED_WORDS:
            raise StudioError(
                _("a text has more than {max_aligned_words} words and punctuation marks", max_aligned_words=_MAX_ALIGNED_WORDS),
                "compare shorter texts to see the contribution of each word",
            )
        found = align_words(left, right)
        if found is None:
            raise StudioError("a text contains no known words", "use other words, or another model")
        return found

    def suggest_pairs(
        self,
        corpus: Corpus,
        model: str | None = None,
        compare_model: str | None = None,
        count: int = 12,
        labelled: Sequence[tuple[str, str, bool]] = (),
        progress: Progress | None = None,
    ) -> PairSuggestions:
        """Suggest pairs worth labelling, from at most 3,000 texts of the corpus.

        Args:
            compare_model: suggest pairs on which the two models disagree; without it, pairs near the model's decision boundary.
            labelled: (text, text, is similar) pairs labelled so far. They are not suggested again. With at least four of each kind they
                determine the boundary; otherwise it is the 99 % quantile of random pairs.
        """
        from ..explore.pair_suggestions import decision_boundary, disputed_pairs, sample_rows, uncertain_pairs

        rows = sample_rows(corpus.texts)
        if len(rows) < 2:
            raise StudioError("the corpus has fewer than two different texts", "choose another one")
        texts = [corpus.texts[row] for row in rows.tolist()]
        vectors, baseline = self._cached_vectors(texts, model, progress), self.baseline(corpus, model)
        index = {text: place for place, text in enumerate(texts)}
        pairs = [(index[a], index[b]) for a, b, _ in labelled if a in index and b in index]
        skipped = {(min(pair), max(pair)) for pair in pairs}
        line = None
        if compare_model is not None:
            others, other_baseline = self._cached_vectors(texts, compare_model, progress), self.baseline(corpus, compare_model)
            found = disputed_pairs(vectors, others, baseline.shares, other_baseline.shares, count, skipped, progress)
        else:
            line = self._boundary(labelled, model, decision_boundary) if labelled else None
            line = baseline.quantile(_DEFAULT_BOUNDARY) if line is None else line
            found = uncertain_pairs(vectors, line, count, skipped, progress)
        return PairSuggestions(tuple((texts[a], texts[b], cosine) for a, b, cosine in found), line)

    def _cached_vectors(self, texts: Sequence[str], model: str | None, progress: Progress | None) -> np.ndarray:
        return self._resources.vectors.get(texts, digest_texts(texts), self._languages.load(model), progress)

    def _boundary(
        self, labelled: Sequence[tuple[str, str, bool]], model: str | None, boundary: Callable[[np.ndarray, np.ndarray], float | None]
    ) -> float | None:
        lefts, rights, similar = zip(*labelled, strict=True)
        return boundary(pair_similarities(self._languages.load(model), list(lefts), list(rights)), np.array(similar, bool))


def require_text(text: str, which: str) -> str:
    """Return a typed text; errors refer to it as ``which`` (``first``, ``query``).

    Raises:
        StudioError: the text is blank or too long.
    """
    if len(text) > _MAX_CHARACTERS:
        what = (
            _("the query has {text} characters", text=f"{len(text):,}")
            if which == "query"
            else _("the {which} text has {text} characters", which=which, text=f"{len(text):,}")
        )
        raise StudioError(
            what,
            _("at most {max_characters} characters are compared; upload longer texts as a file", max_characters=f"{_MAX_CHARACTERS:,}"),
        )
    if not text.strip():
        raise StudioError("the query is empty" if which == "query" else _("the {which} text is empty", which=which), "write a few words")
    return text


@lru_cache(maxsize=1)
def everyday_sentences() -> tuple[tuple[str, str], ...]:
    """Return (language, sentence) pairs of everyday language: the first sentence of each pair of the bundled probe."""
    with (ASSETS / "probe" / "general.csv").open(encoding="utf-8", newline="") as source:
        return tuple((row["language"], row["sentence1"]) for row in csv.DictReader(source))


def _compare(left: np.ndarray, right: np.ndarray, name: str) -> list[Similarity]:
    found = pairwise_measures(left, right)
    return [Similarity(*(float(found[measure][row]) for measure in MEASURES), similarity_fn_name=name) for row in range(len(left))]


def _spread_to_rows(vectors: np.ndarray, corpus: Corpus) -> np.ndarray:
    """Return one vector for each row of the corpus' file, NaN for rows without text."""
    places, rows = corpus.positions()
    if rows == len(vectors):
        return vectors
    spread = np.full((rows, vectors.shape[1]), np.nan, dtype=vectors.dtype)
    spread[places] = vectors
    return spread


def _agreement(table: Table, roles: Roles, scores: np.ndarray) -> Agreement | None:
    """Compare the scores of the complete rows with the file's own scores or labels; ``None`` if it has none."""
    if roles.kind not in ("scored_pairs", "labelled_pairs") or roles.target is None:
        return None
    # Rows expanded from one line of the file share its number, so identify them by their position in the table.
    numbered = replace(table, lines=np.arange(len(table)))
    compared = build_examples(numbered, Roles("positive_pairs", roles.texts[:2]))[0].lines
    try:
        gold, _ = build_examples(numbered, roles)
    except StudioError:
        return None  # no compared row has a score or label
    rows = np.searchsorted(compared, gold.lines)
    scores, targets = scores[rows], np.asarray(gold.targets)
    if roles.kind == "scored_pairs":
        measures = (bootstrap_spearman, bootstrap_pearson) if len(gold) <= _MAX_BOOTSTRAP_ROWS else ()
        with resample_clusters(*gold.texts):
            intervals = [tuple(percentile_interval(measure(scores, targets))) for measure in measures] or [(), ()]
        low, high = (0.0 if roles.low is None else roles.low), (1.0 if roles.high is None else roles.high)
        gaps = _rank_gaps(rows, scores, targets, [float(f"{low + float(target) * (high - low):.6g}") for target in targets])
        return Agreement(
            roles.target,
            len(gold),
            spearman(scores, targets),
            pearson(scores, targets),
            spearman_interval=intervals[0],
            pearson_interval=intervals[1],
            worst=_worst(gaps),
            gaps=gaps,
            scale=(low, high),
        )
    means = {label: float(scores[targets == number].mean()) for number, label in enumerate(roles.labels) if (targets == number).any()}
    labels = [roles.labels[int(number)] for number in targets]
    gaps = _rank_gaps(rows, scores, np.array([means[label] for label in labels]), labels)
    return Agreement(roles.target, len(gold), mean_by_label=means, worst=_worst(gaps) if len(means) > 1 else (), gaps=gaps)


def _rank_gaps(rows: np.ndarray, scores: np.ndarray, gold: np.ndarray, values: Sequence[float | str]) -> tuple[RankGap, ...]:
    return tuple(RankGap(int(row), value, float(gap)) for row, value, gap in zip(rows, values, rank_differences(scores, gold), strict=True))


def _worst(gaps: Sequence[RankGap]) -> tuple[RankGap, ...]:
    return tuple(sorted(gaps, key=lambda one: -abs(one.gap))[:_WORST_PAIRS])


def _unused_prompt_notes(encoder: Encoder, role: Role) -> tuple[str, ...]:
    if role != "plain" or encoder.default_prompt or not any(encoder.prompts.values()):
        return ()
    return (_("{name} has prompts, but none was used: add --role query or --role document to encode for search", name=encoder.name),)
