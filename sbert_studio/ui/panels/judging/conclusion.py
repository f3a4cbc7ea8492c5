"""Which model is better, by how much, and whether it could be chance, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....errors import ended
from ....evaluation.report import SHARE_METRICS, describe_metric, natural_frequencies
from ....services.evaluation import FLATTERS
from ...views import Value
from .lines import Line, Resampled, names_of

if TYPE_CHECKING:
    from ....services.results import Evaluation

_MOST_PLACES = 6
_TWICE = 2.0  # each model is timed once: on a busy machine two runs of the very same one differ by a third and more


def verdict(first: Resampled, other: Resampled) -> str:
    """Whether a model is better than the first by more than which rows the file happens to hold (paired bootstrap)."""
    from ....evaluation.bootstrap import paired_gain
    from ....evaluation.tasks import get_task

    low, high = paired_gain(first.resampled, other.resampled).get("gain_interval") or (None, None)
    if low is None or high is None:
        return "" if first.resampled is None or other.resampled is None else "too few rows to tell"
    more, less = ("worse", "better") if get_task(first.task).lower_is_better else ("better", "worse")
    word = more if low > 0 else less if high < 0 else "within the noise"
    return f"{word}, {low:+.4f} to {high:+.4f}".replace("-", "−")


def ranked(lines: Sequence[Line]) -> list[int]:
    """The places of the models, the best one first."""
    return sorted(range(len(lines)), key=lambda place: -lines[place].worth)


def cautions_of(found: Evaluation) -> list[str]:
    """That a model was tuned on rows that it is judged by, which no verdict should be read without."""
    told = dict.fromkeys(note for model in found.models for own in model.notes for note in own if FLATTERS in note)
    return [f"But {note[:1].lower()}{ended(note[1:])}" for note in told]


def conclusion(lines: Sequence[Line], counts: str = "", cautions: Sequence[str] = ()) -> Value:
    """The value of a ``said`` view: which model is better, by how much, and whether it could be chance; and how their speeds compare.

    Args:
        counts: on how many rows the best and the next one are right, in words.
        cautions: what is to be known before.
    """
    order = [lines[place] for place in ranked(lines)]
    best = order[0]
    metric = describe_metric(best.metric)
    if len(lines) == 1:
        text = f"{best.title}: {metric} {best.score:.4f}."
        if best.interval:
            low, high = best.interval
            text = f"{best.title}: {metric} {best.score:.4f}, between {low:.4f} and {high:.4f} in 95 of 100 draws of such rows."
        return {"text": text, "more": list(cautions), "theirs": names_of(lines)}
    others = order[1:]
    said = [_against(best, other) for other in others]
    rest = [words for words in (*cautions, counts, *said[1:], _paces(best, others)) if words]
    return {"text": said[0], "more": rest, "theirs": names_of(lines)}


def _against(best: Line, other: Line) -> str:
    """``A is better than B by 0.0312 (between 0.0101 and 0.0523): more than chance.``"""
    if best.metric != other.metric:
        return f"{other.title} is judged by another number ({describe_metric(other.metric)} {other.score:.4f})."
    if best.worth == other.worth:
        return f"{best.title} and {other.title} get the same score."
    return _by_share(best, other) if best.metric in SHARE_METRICS else _by_score(best, other)


def _by_score(best: Line, other: Line) -> str:
    a, b, by = best.title, other.title, best.worth - other.worth
    span, sure = _span(best, other, 1, 4)
    if not span:
        return f"{a} is ahead of {b} by {by:.4f}; the rows are too few to tell this from chance."
    if sure:
        return f"{a} is better than {b} by {by:.4f} ({span}); that is more than chance."
    return f"{a} is ahead of {b} by {by:.4f} ({span}); that could be chance."


def _by_share(best: Line, other: Line) -> str:
    """The same of a score that is a share of rows, in rows."""
    a, b, (of, one, two) = best.title, other.title, natural_frequencies(best.score, other.score)
    span, sure = _span(best, other, of, 0 if of == 100 else 1)
    if not span:
        few = "the rows are too few to tell this from chance"
        return f"{a} is ahead of {b}: of {of:,} rows it gets {one:,} right instead of {two:,}; {few}."
    if sure:
        return f"{a} is better than {b}: of {of:,} rows it gets {one:,} right instead of {two:,} ({span}); that is more than chance."
    return f"{a} is ahead of {b}: of {of:,} rows it gets {one:,} right instead of {two:,} ({span}); that could be chance."


def _span(best: Line, other: Line, times: int, places: int) -> tuple[str, bool]:
    """The 95% interval of the difference in words, empty where there is none; and whether it lies above zero.

    It has as many places as asked for, or more: as many as show on which side of zero its ends lie.
    """
    from ....evaluation.bootstrap import paired_gain

    drawn = (best.resampled, other.resampled) if best.smaller else (other.resampled, best.resampled)
    low, high = paired_gain(*drawn).get("gain_interval") or (None, None)
    if low is None or high is None:
        return "", False
    ends = times * low, times * high
    enough = next((more for more in range(places, _MOST_PLACES) if all(round(end, more) for end in ends if end)), _MOST_PLACES)
    return f"between {ends[0]:+.{enough}f} and {ends[1]:+.{enough}f}".replace("-", "−"), low > 0


def _paces(best: Line, others: Sequence[Line]) -> str:
    """How much faster the fastest is, where it is another than the best and the difference is more than one timing can be off."""
    fastest = max((line for line in (best, *others) if line.rate), key=lambda line: line.rate, default=None)
    if fastest is None or fastest is best or not best.rate:
        return ""
    times = fastest.rate / best.rate
    shown = f"{times:,.0f}" if times >= 10 else f"{times:.1f}"
    return f"{fastest.title} reads {shown} times as many sentences a second." if times >= _TWICE else ""
