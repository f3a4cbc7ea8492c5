"""Main score of each evaluated model, and sentences that compare them: which is better, by how much, and whether it could be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....evaluation.changes import BETTER, decimals, describe_change, format_difference, format_score, interval_verdict, is_faster
from ....evaluation.report import SHARE_METRICS, describe_metric, natural_frequencies
from ....i18n import _, to_sentence, uncapitalize
from ....services.evaluation import INFLATES_SCORE
from ...views import Value

if TYPE_CHECKING:
    import numpy as np

    from ....evaluation.ranking import RankingScores
    from ....services.results import EvaluationResult

_MAX_DIGITS = 6


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
    rate_spread: Sequence[float] | None = None  # lowest and highest measurement
    ranking: RankingScores | None = None  # of retrieval, whose few differing queries need another test

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
        title, speed = titles.get(model.model, model.model), (model.rate, model.rate_spread)
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
            scores.append(MainScore(title, data, mean.task, mean.metric, mean.main, interval, mean.resampled, *speed))
            continue
        interval = report.scores.get("interval")
        scores.append(MainScore(title, data, report.task, *main_score(report), interval, report.resampled, *speed))
    return scores


def best_first(scores: Sequence[MainScore]) -> list[int]:
    return sorted(range(len(scores)), key=lambda index: -scores[index].rank_value)


def cautions(evaluation: EvaluationResult) -> list[str]:
    """Return warnings about models that were trained on rows of the evaluation."""
    notes = dict.fromkeys(note for model in evaluation.models for own in model.notes for note in own if INFLATES_SCORE in note)
    return [to_sentence(_("Note that {note}", note=uncapitalize(note))) for note in notes]


def verdict(first: MainScore, other: MainScore) -> str:
    """Compare a model with the first one by the 95 % interval of a paired bootstrap, such as ``better, +0.010 to +0.052``."""
    low, high = _gain_interval(first, other)
    if low is None or high is None:
        return "" if first.resampled is None or other.resampled is None else "too few rows to tell"
    word = interval_verdict((-high, -low) if first.lower_is_better else (low, high))
    change = describe_change(first.score, other.score, (low, high))
    return _("{verdict}, {low} to {high}", verdict=_(word), low=_minus(change.interval[0]), high=_minus(change.interval[1]))


def needed_digits(first: MainScore, other: MainScore) -> int:
    """Return the number of decimals that show the difference of a model from the first one."""
    return decimals(first.score, other.score, [end for end in _gain_interval(first, other) if end is not None])


def conclusion_view(scores: Sequence[MainScore], counts: str = "", warnings: Sequence[str] = ()) -> Value:
    """Return the value of the ``said`` view: warnings, the best model compared with each other model, and counts of correct rows."""
    best, *others = [scores[index] for index in best_first(scores)]
    titles = [score.title for score in scores]
    if not others:
        metric = describe_metric(best.metric)
        text = _("{=title}: {metric} {score}.", title=best.title, metric=metric, score=format_score(best.score))
        if best.interval:
            low, high = best.interval
            text = _(
                "{title}: {metric} {score} (95% interval {low} to {high}).",
                title=best.title,
                metric=metric,
                score=format_score(best.score),
                low=format_score(low),
                high=format_score(high),
            )
        return {"text": text, "more": list(warnings), "theirs": titles}
    comparisons = [_compare(best, other) for other in others]
    speeds = _compare_speed(best, others)
    more = [sentence for sentence in (*warnings, counts, *comparisons[1:], speeds) if sentence]
    return {"text": comparisons[0], "more": more, "theirs": titles, "speeds": speeds}


def _compare(best: MainScore, other: MainScore) -> str:
    if best.metric != other.metric:
        return _(
            "{title} is evaluated with a different metric ({metric} {score}).",
            title=other.title,
            metric=describe_metric(other.metric),
            score=format_score(other.score),
        )
    if best.rank_value == other.rank_value:
        return _("{title} and {title2} have the same score.", title=best.title, title2=other.title)
    return _compare_shares(best, other) if best.metric in SHARE_METRICS else _compare_scores(best, other)


def _compare_scores(best: MainScore, other: MainScore) -> str:
    a, b = best.title, other.title
    ends = _gain_interval(best, other) if best.lower_is_better else _gain_interval(other, best)
    change = describe_change(other.rank_value, best.rank_value, ends)
    gain = change.gain.lstrip("+")
    if not change.interval:
        return _("{a} is ahead of {b} by {gain}, but there are too few rows to distinguish this from chance.", a=a, b=b, gain=gain)
    interval = _("between {low} and {high}", low=_minus(change.interval[0]), high=_minus(change.interval[1]))
    if change.verdict == BETTER:
        return _(
            "{a} is better than {b} by {gain} ({interval}); the difference is beyond chance.",
            a=a,
            b=b,
            gain=gain,
            interval=interval,
        )
    return _(
        "{a} is ahead of {b} by {gain} ({interval}): no difference beyond chance.",
        a=a,
        b=b,
        gain=gain,
        interval=interval,
    )


def _compare_shares(best: MainScore, other: MainScore) -> str:
    a, b, (of, one, two) = best.title, other.title, natural_frequencies(best.score, other.score)
    interval, is_certain = _describe_counts(best, other, of, 0 if of == 100 else 1)
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
        "{a} is ahead of {b}: it gets {one} of {of} rows right instead of {two} ({interval}): no difference beyond chance.",
        **counts,
        interval=interval,
    )


def _describe_counts(best: MainScore, other: MainScore, factor: int, digits: int) -> tuple[str, bool]:
    """Return a description of the 95 % interval of the gain in rows of ``factor`` (empty without one), and whether it is above zero.

    It has more than ``digits`` decimals if these do not show the signs of its ends.
    """
    low, high = _gain_interval(best, other) if best.lower_is_better else _gain_interval(other, best)
    if low is None or high is None:
        return "", False
    ends = factor * low, factor * high
    needed = next((more for more in range(digits, _MAX_DIGITS) if all(round(end, more) for end in ends if end)), _MAX_DIGITS)
    words = [_minus(format_difference(end, needed)) for end in ends]
    return _("between {low} and {high}", low=words[0], high=words[1]), interval_verdict((low, high)) == BETTER


def _minus(number: str) -> str:
    return number.replace("-", "−")


def _gain_interval(first: MainScore, other: MainScore) -> tuple[float, float] | tuple[None, None]:
    from ....evaluation.bootstrap import paired_gain

    if first.ranking is not None and other.ranking is not None and paired_gain(first.resampled, other.resampled):
        low, high = other.ranking.interval_of_gain(first.ranking)
        return low, high
    return paired_gain(first.resampled, other.resampled).get("gain_interval") or (None, None)


def _compare_speed(best: MainScore, others: Sequence[MainScore]) -> str:
    fastest = max((score for score in (best, *others) if score.rate), key=lambda score: score.rate, default=None)
    if fastest is None or fastest is best or not best.rate:
        return ""
    is_different = is_faster(fastest.rate_spread, best.rate_spread)
    if is_different is None:
        return "Speeds were measured only once: whether they differ is unknown."
    if not is_different:
        return _("The speeds of {title} and {title2} do not differ beyond their spread.", title=fastest.title, title2=best.title)
    factor = fastest.rate / best.rate
    shown = f"{factor:,.0f}" if factor >= 10 else f"{factor:.1f}" if factor >= 1.1 else f"{factor:.2f}"
    return _("{title} encodes {shown} times as many sentences per second.", title=fastest.title, shown=shown)
