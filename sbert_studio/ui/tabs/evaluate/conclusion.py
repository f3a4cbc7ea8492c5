"""Main score of each evaluated model, and sentences that compare them: which is better, by how much, and whether it could be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....evaluation.report import SHARE_METRICS, describe_metric, natural_frequencies
from ....i18n import _, to_sentence, uncapitalize
from ....services.evaluation import INFLATES_SCORE
from ...views import Value

if TYPE_CHECKING:
    import numpy as np

    from ....services.results import EvaluationResult

_MAX_DIGITS = 6
_MIN_SPEEDUP = 2.0  # each model is timed once, and on a busy machine two runs of the same model differ by a third or more


@dataclass(frozen=True, eq=False)
class MainScore:
    title: str
    data: str  # the file, a suite's rows as one set, the mean over a suite's files, or the average over suites
    task: str
    metric: str
    score: float
    interval: Sequence[float] | None  # 95 % interval, if there is one
    resampled: np.ndarray | None
    rate: float  # sentences per second; 0 if nothing was encoded

    @property
    def lower_is_better(self) -> bool:
        from ....evaluation.tasks import get_task

        return get_task(self.task).lower_is_better

    @property
    def rank_value(self) -> float:
        """The score, negated if lower is better."""
        return -self.score if self.lower_is_better else self.score


def main_scores(evaluation: EvaluationResult, titles: Mapping[str, str]) -> list[MainScore]:
    """Return the main score of each model: the average over suites if available, else that of a suite, else that of the file."""
    from ....evaluation.bootstrap import percentile_interval
    from ....evaluation.tasks import main_score

    scores = []
    for model in evaluation.models:
        title = titles.get(model.model, model.model)
        means = [
            (_("{name}, average", name=one.name), mean)
            for one, mean in zip(evaluation.averages, model.averages, strict=True)
            if mean is not None
        ]
        groups = [(one.name, mean) for one, mean in zip(evaluation.groups, model.groups, strict=True) if mean is not None]
        report = model.reports[0]
        data = evaluation.files[0].name
        if not means and groups and groups[0][1].pooled is not None:
            data, report = _("{groups}, all rows as one set", groups=groups[0][0]), groups[0][1].pooled
        elif means or groups:
            data, mean = (means or [(_("{name}, mean over its files", name=name), mean) for name, mean in groups])[0]
            interval = None if mean.resampled is None else percentile_interval(mean.resampled)
            scores.append(MainScore(title, data, mean.task, mean.metric, mean.main, interval, mean.resampled, model.rate))
            continue
        scores.append(MainScore(title, data, report.task, *main_score(report), report.scores.get("interval"), report.resampled, model.rate))
    return scores


def best_first(scores: Sequence[MainScore]) -> list[int]:
    return sorted(range(len(scores)), key=lambda index: -scores[index].rank_value)


def cautions(evaluation: EvaluationResult) -> list[str]:
    """Return warnings about models that were trained on rows of the evaluation."""
    notes = dict.fromkeys(note for model in evaluation.models for own in model.notes for note in own if INFLATES_SCORE in note)
    return [to_sentence(_("Note that {note}", note=uncapitalize(note))) for note in notes]


def verdict(first: MainScore, other: MainScore) -> str:
    """Compare a model with the first one by the 95 % interval of a paired bootstrap, such as ``better, +0.0101 to +0.0523``."""
    from ....evaluation.tasks import get_task

    low, high = _gain_interval(first, other)
    if low is None or high is None:
        return "" if first.resampled is None or other.resampled is None else "too few rows to tell"
    higher, lower = ("worse", "better") if get_task(first.task).lower_is_better else ("better", "worse")
    word = higher if low > 0 else lower if high < 0 else "not significant"
    return _("{verdict}, {low} to {high}", verdict=word, low=_signed(low, 4), high=_signed(high, 4))


def conclusion_view(scores: Sequence[MainScore], counts: str = "", warnings: Sequence[str] = ()) -> Value:
    """Return the value of the ``said`` view: warnings, the best model compared with each other model, and counts of correct rows."""
    best, *others = [scores[index] for index in best_first(scores)]
    titles = [score.title for score in scores]
    if not others:
        metric = describe_metric(best.metric)
        text = _("{=title}: {metric} {score}.", title=best.title, metric=metric, score=f"{best.score:.4f}")
        if best.interval:
            low, high = best.interval
            text = _(
                "{title}: {metric} {score} (95% interval {low} to {high}).",
                title=best.title,
                metric=metric,
                score=f"{best.score:.4f}",
                low=f"{low:.4f}",
                high=f"{high:.4f}",
            )
        return {"text": text, "more": list(warnings), "theirs": titles}
    comparisons = [_compare(best, other) for other in others]
    more = [sentence for sentence in (*warnings, counts, *comparisons[1:], _compare_speed(best, others)) if sentence]
    return {"text": comparisons[0], "more": more, "theirs": titles}


def _compare(best: MainScore, other: MainScore) -> str:
    if best.metric != other.metric:
        return _(
            "{title} is evaluated with a different metric ({metric} {score}).",
            title=other.title,
            metric=describe_metric(other.metric),
            score=f"{other.score:.4f}",
        )
    if best.rank_value == other.rank_value:
        return _("{title} and {title2} have the same score.", title=best.title, title2=other.title)
    return _compare_shares(best, other) if best.metric in SHARE_METRICS else _compare_scores(best, other)


def _compare_scores(best: MainScore, other: MainScore) -> str:
    a, b, gain = best.title, other.title, best.rank_value - other.rank_value
    interval, is_certain = _describe_gain(best, other, 1, 4)
    if not interval:
        return _("{a} is ahead of {b} by {gain}, but there are too few rows to distinguish this from chance.", a=a, b=b, gain=f"{gain:.4f}")
    if is_certain:
        return _(
            "{a} is better than {b} by {gain} ({interval}); the difference is beyond chance.",
            a=a,
            b=b,
            gain=f"{gain:.4f}",
            interval=interval,
        )
    return _(
        "{a} is ahead of {b} by {gain} ({interval}); the difference could be due to chance.",
        a=a,
        b=b,
        gain=f"{gain:.4f}",
        interval=interval,
    )


def _compare_shares(best: MainScore, other: MainScore) -> str:
    a, b, (of, one, two) = best.title, other.title, natural_frequencies(best.score, other.score)
    interval, is_certain = _describe_gain(best, other, of, 0 if of == 100 else 1)
    counts = {"a": a, "b": b, "of": f"{of:,}", "one": f"{one:,}", "two": f"{two:,}"}
    if not interval:
        return _(
            "{a} is ahead of {b}: it gets {one} of {of} rows right instead of {two}; there are too few rows to "
            "distinguish this from chance.",
            **counts,
        )
    if is_certain:
        return _(
            "{a} is better than {b}: it gets {one} of {of} rows right instead of {two} ({interval}); the difference is beyond chance.",
            **counts,
            interval=interval,
        )
    return _(
        "{a} is ahead of {b}: it gets {one} of {of} rows right instead of {two} ({interval}); the difference could be due to chance.",
        **counts,
        interval=interval,
    )


def _describe_gain(best: MainScore, other: MainScore, factor: int, digits: int) -> tuple[str, bool]:
    """Return a description of the 95 % interval of the gain (empty without one), and whether it is above zero.

    It has more than ``digits`` decimals if these do not show the signs of its ends.
    """
    low, high = _gain_interval(best, other) if best.lower_is_better else _gain_interval(other, best)
    if low is None or high is None:
        return "", False
    ends = factor * low, factor * high
    needed = next((more for more in range(digits, _MAX_DIGITS) if all(round(end, more) for end in ends if end)), _MAX_DIGITS)
    return _("between {low} and {high}", low=_signed(ends[0], needed), high=_signed(ends[1], needed)), low > 0


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _gain_interval(first: MainScore, other: MainScore) -> tuple[float, float] | tuple[None, None]:
    from ....evaluation.bootstrap import paired_gain

    return paired_gain(first.resampled, other.resampled).get("gain_interval") or (None, None)


def _compare_speed(best: MainScore, others: Sequence[MainScore]) -> str:
    fastest = max((score for score in (best, *others) if score.rate), key=lambda score: score.rate, default=None)
    if fastest is None or fastest is best or not best.rate:
        return ""
    factor = fastest.rate / best.rate
    shown = f"{factor:,.0f}" if factor >= 10 else f"{factor:.1f}"
    return (
        _("{title} encodes {shown} times as many sentences per second.", title=fastest.title, shown=shown) if factor >= _MIN_SPEEDUP else ""
    )
