"""Recommendation of a model to start from: the available models are compared on the user's data, with their time on this machine."""

from __future__ import annotations

import statistics
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from ..data.language import count_languages
from ..data.retrieval import RetrievalSet, beir_splits, retrieval_kind
from ..errors import StudioError
from ..evaluation.bootstrap import paired_gain
from ..evaluation.changes import format_score
from ..evaluation.ranking import MAIN, RankingScores
from ..evaluation.report import describe_metric
from ..evaluation.tasks import get_task, main_score
from ..i18n import _, ngettext
from ..progress import checkpoint
from ..runs.run import LOCAL_OWNER
from ..serialization import OMIT_EMPTY, Internal, JsonResult, doc
from ..workspace import existing_path
from .data import DataService
from .evaluation import INFLATES_SCORE, EvaluationService
from .jobs import BeginPhase
from .models import ModelService
from .resources import Resources, Service
from .results import EvaluationResult, RetrievalResult
from .retrieval import RetrievalOptions, RetrievalService

if TYPE_CHECKING:
    from ..data.schema.roles import SchemaOverrides

_FILE = Path(__file__).parents[1] / "models" / "starting_models.toml"
_MULTILINGUAL = "multi"
_MOST = {"run": 5, "fitted": 2}  # newest models of a kind that are compared
_TIMED, _TIMES = 64, 3  # texts that are encoded to measure the speed, and how often
_UNTIMED = (0.0, 0.0)
_FASTER = 1.5  # factor that makes a model preferable to one that is no better beyond chance


@dataclass(frozen=True)
class StartingModel(JsonResult):
    """A model of the Hugging Face Hub that is good to start from."""

    name: str
    parameters: Annotated[int, doc("millions of weights")]
    megabytes: Annotated[int, doc("download size")]
    languages: Annotated[tuple[str, ...], doc("ISO 639-1 codes; ``multi`` for 50 and more languages")]
    license: str
    tokens: Annotated[int, doc("tokens of a text that are read; 0 without a limit")]


@dataclass(frozen=True)
class RatedModel(JsonResult):
    """An available model with its score on the data and its time on this machine.

    Attributes:
        rank_value, resampled: its score, and that in every bootstrap resample; negated if lower is better.
    """

    name: str
    score: float
    interval: Annotated[tuple[float, float] | None, doc("95 % interval; none with too few rows")]
    seconds: Annotated[float, doc("seconds for 1,000 texts of the data on this machine: the median of three measurements")]
    spread: Annotated[tuple[float, float], doc("the least and the most of them")]
    inflated: Annotated[bool, doc("it was trained on rows of the data, so it is not recommended")] = False
    rank_value: Internal[float] = 0.0
    resampled: Internal[np.ndarray | None] = None
    ranking: Internal[RankingScores | None] = None


@dataclass(frozen=True, eq=False)
class Recommendation(JsonResult):
    """The model to start from, and the comparison behind it."""

    recommended: str
    why: Annotated[str, doc("the reasons in one sentence")]
    metric: str
    models: Annotated[tuple[RatedModel, ...], doc("the models at hand, best first")]
    not_downloaded: Annotated[tuple[StartingModel, ...], doc("models for its languages that are not on this machine"), OMIT_EMPTY]
    evaluation: Annotated[EvaluationResult | RetrievalResult, doc("all scores")]


def starting_models() -> list[StartingModel]:
    """Return the curated models of the Hub, in the order of the file."""
    with _FILE.open("rb") as file:
        found = tomllib.load(file)
    return [StartingModel(name, **{**one, "languages": tuple(one["languages"])}) for name, one in found.items()]


class RecommendationService(Service):
    """Compares the available models on the user's data, and recommends one."""

    def __init__(
        self, resources: Resources, data: DataService, models: ModelService, evaluation: EvaluationService, retrieval: RetrievalService
    ) -> None:
        super().__init__(resources)
        self._data, self._models, self._evaluation, self._retrieval = data, models, evaluation, retrieval

    def models_at_hand(self, owner: str | None = None) -> list[str]:
        """Return the names of the models that need no download: bundled ones, an owner's newest, and downloaded ones."""
        counts: Counter[str] = Counter()
        found = list[str]()
        for one in self._models.list_available(owner)[0]:
            counts[one.kind] += 1
            if one.reads == "texts" and not one.damaged and (one.kind == "bundled" or counts[one.kind] <= _MOST.get(one.kind, 0)):
                found.append(one.name)
        return [*found, *(one.name for one in starting_models() if self.catalog.is_downloaded(one.name))]

    def models_to_download(self, texts: Sequence[str]) -> tuple[StartingModel, ...]:
        """Return the curated models for the languages of some texts that are not on this machine; nothing is downloaded."""
        known = {*count_languages(texts), _MULTILINGUAL}
        offered = (one for one in starting_models() if known & set(one.languages))
        return tuple(one for one in offered if not self.catalog.is_downloaded(one.name))

    def searches_documents(self, source: str | Path) -> bool:
        """Return True if data is for the evaluation of retrieval: documents, or queries with grades."""
        place = existing_path(source)
        if place is None or (place.is_dir() and beir_splits(place)) or self._data.documents.is_source(place):
            return place is not None
        try:
            return retrieval_kind(self._data.read_table(place), place) is not None
        except StudioError:
            return False  # the evaluation reports it

    def recommend(
        self,
        source: str | Path | RetrievalSet,
        models: Sequence[str] = (),
        *,
        task: str = "auto",
        options: RetrievalOptions | None = None,
        overrides: SchemaOverrides | None = None,
        owner: str = LOCAL_OWNER,
        visitor: str | None = None,
        begin_phase: BeginPhase = lambda phase, unit: None,
    ) -> Recommendation:
        """Compare the available models, and recommend the fastest of those that none is better than beyond chance.

        Args:
            source: data for any task; retrieval is evaluated on documents and on queries with grades.
            models: further models to compare.
            task: the task, if it is not retrieval.
            options: evaluate retrieval with these options, whatever the data.
            owner: owner of the leaderboard entries.
            visitor: compare only this visitor's own models.

        Raises:
            StudioError: the data cannot be read or evaluated.
        """
        names = list(dict.fromkeys([*models, *self.models_at_hand(visitor)]))
        found: EvaluationResult | RetrievalResult
        if isinstance(source, RetrievalSet) or options is not None or self.searches_documents(source):
            data = source if isinstance(source, RetrievalSet) else self._retrieval.read(source, options)
            found = self._retrieval.evaluate(names, data, options, owner=owner, begin_phase=begin_phase)
            texts: Sequence[str] = data.documents
        else:
            found = self._evaluation.evaluate_models(names, [source], task, overrides=overrides, owner=owner, begin_phase=begin_phase)
            texts = [text for column in found.files[0].rows.examples.texts for text in column]
        begin_phase("measuring the speed", "texts")
        rated = tuple(sorted(self._rate(found, texts), key=lambda one: -one.rank_value))
        metric = MAIN if isinstance(found, RetrievalResult) else main_score(found.models[0].reports[0])[0]
        return Recommendation(choose_model(rated).name, explain_choice(rated, metric), metric, rated, self.models_to_download(texts), found)

    def _rate(self, result: EvaluationResult | RetrievalResult, texts: Sequence[str]) -> Iterator[RatedModel]:
        if isinstance(result, RetrievalResult):
            for model in result.models:
                score = model.metric(MAIN)
                drawn = None if model.scores is None or not len(model.scores.resampled) else model.scores.resampled[:, 0]
                ends = model.intervals[MAIN]
                interval = (ends[0], ends[1]) if ends else None
                inflated = _is_inflated(model.notes)
                yield self._rated(RatedModel(model.name, score, interval, 0.0, _UNTIMED, inflated, score, drawn, model.scores), texts)
            return
        for one in result.models:
            report = one.reports[0]
            sign = -1 if get_task(report.task).lower_is_better else 1
            low, high = report.scores.get("interval") or (None, None)
            interval = None if low is None or high is None else (low, high)
            drawn = None if report.resampled is None else sign * report.resampled
            score = main_score(report)[1]
            yield self._rated(RatedModel(one.model, score, interval, 0.0, _UNTIMED, _is_inflated(one.notes[0]), sign * score, drawn), texts)

    def _rated(self, one: RatedModel, texts: Sequence[str]) -> RatedModel:
        """Return the model with the time that a sample of the texts takes."""
        encoder, sample = self.catalog.load(one.name), list(texts[:: max(1, len(texts) // _TIMED)])[:_TIMED]
        found = []
        for _unused in range(_TIMES):
            checkpoint()
            began = time.perf_counter()
            encoder.encode(sample)
            found.append(max(1_000 * (time.perf_counter() - began) / len(sample), 1e-6))
        return replace(one, seconds=statistics.median(found), spread=(min(found), max(found)))


def _is_inflated(notes: Iterable[str]) -> bool:
    return any(INFLATES_SCORE in note for note in notes)


def choose_model(rated: Sequence[RatedModel]) -> RatedModel:
    """Return the fastest of the models that the best one does not beat beyond chance, unless it is hardly faster than the best one.

    It is faster only if its slowest measurement is faster than the fastest one of the best model.

    Args:
        rated: best first. Models with an inflated score are only chosen if there are no others.
    """
    fair = [one for one in rated if not one.inflated] or list(rated)
    best = fair[0]
    fastest = min((one for one in fair if not _is_worse(one, best)), key=lambda one: one.seconds)
    is_faster = best.spread[0] > fastest.spread[1] and best.seconds > _FASTER * fastest.seconds
    return fastest if is_faster else best


def _is_worse(one: RatedModel, best: RatedModel) -> bool:
    """Return True unless the difference may be chance; with too few rows to tell, the lower score counts as worse."""
    if one is best or one.rank_value == best.rank_value:
        return False
    interval = _gain_interval(one, best)
    return not interval or interval[0] > 0


def _gain_interval(one: RatedModel, best: RatedModel) -> list[float]:
    """Return the 95 % interval of the better model's lead; empty with too few rows."""
    interval = list(paired_gain(one.resampled, best.resampled).get("gain_interval", ()))
    if interval and one.ranking is not None and best.ranking is not None:
        return best.ranking.interval_of_gain(one.ranking)
    return interval


def explain_choice(rated: Sequence[RatedModel], metric: str, titles: Mapping[str, str] | None = None) -> str:
    """Return the reasons for :func:`choose_model` in one sentence; ``titles``: titles of models by name."""
    chosen, titles = choose_model(rated), titles or {}
    fair = [one for one in rated if not one.inflated] or list(rated)
    best, others = fair[0], [one for one in fair if one is not chosen]
    values = {
        "model": titles.get(chosen.name, chosen.name),
        "metric": describe_metric(metric),
        "score": format_score(chosen.score),
        "seconds": f"{chosen.seconds:.2g}" if chosen.seconds < 10 else f"{chosen.seconds:,.0f}",
    }
    if not others:
        return _("Start from {model}: {metric} {score}, and 1,000 texts take {seconds} s here; no other model is at hand.", **values)
    if chosen is not best:
        values |= {
            "best": titles.get(best.name, best.name),
            "other": format_score(best.score),
            "factor": f"{best.seconds / chosen.seconds:.1f}",
        }
        return _(
            "Start from {model}: its {metric} of {score} does not differ beyond chance from the {other} of {best}, and it is {factor} "
            "times as fast (1,000 texts take {seconds} s here).",
            **values,
        )
    if not all(_gain_interval(one, best) for one in others):
        return _(
            "Start from {model}: its {metric} of {score} is the best of the models at hand, on too few rows to rule out chance (1,000 "
            "texts take {seconds} s here).",
            **values,
        )
    if all(_is_worse(one, best) for one in others):
        return ngettext(
            "Start from {model}: its {metric} of {score} is better beyond chance than that of the other model at hand; 1,000 texts "
            "take {seconds} s here.",
            "Start from {model}: its {metric} of {score} is better beyond chance than those of the other {n} models at hand; 1,000 texts "
            "take {seconds} s here.",
            len(others),
            **values,
        )
    return _(
        "Start from {model}: its {metric} of {score} is the best of the models at hand, though not beyond chance, and none as good is much "
        "faster (1,000 texts take {seconds} s here).",
        **values,
    )
