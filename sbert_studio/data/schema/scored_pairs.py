"""Pairs with a score: the scale, its direction, and the numbers that stand for no answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import StudioError
from ..questions import Question
from .evidence import Evidence, RankCorrelation
from .hypotheses import EXPLICIT, Hypothesis, SchemaContext
from .labels import find_classes
from .names import explained_reversal, explained_scale, has_open_direction, is_distance_name, is_similarity_name, rate_target_name
from .numbers import mixes_percentages, number_form, numbers_of, parse_number
from .questions import ask_direction, ask_missing_code, ask_percentages, ask_zero
from .roles import Roles
from .scales import describe_scale, detect_scale, find_outliers, is_usual_code, without_codes
from .targets import find_means

_BY_CHANCE = 0.05
_MOST_RATERS = 30
_OVERWHELMING = 0.65
_ERRORS = 3.0  # standard errors
_OUTLIER_ROWS, _LEAST_OUTLIER_ROWS = 150, 4
_SCALE_END = 0.2  # the share of the scores that counts as their end


def scored_pairs(context: SchemaContext, texts: tuple[str, str], target: str) -> Hypothesis:
    """Return pairs with the scores of a column.

    Raises:
        StudioError: it holds words.
    """
    scores = numbers_of(context.table.column(target))
    good = scores[~np.isnan(scores)]
    if len(good) * 2 < len(scores) or not len(good):
        bad = context.table.lines[np.isnan(scores)][:100].tolist()
        raise StudioError(f"the column {target!r} contains words, not scores", "choose the kind labelled_pairs, or another column", bad)
    found = context.evidence.rank_correlation(texts, target)
    outliers = find_outliers(good)
    known = without_codes(good[~np.isin(good, outliers)])
    named_scale = explained_scale(target, float(known.min()), float(known.max()))
    low, high = context.scale or named_scale or detect_scale(_ratings_behind(context, target, good))
    if low == high:
        low, high = (0.0, 1.0) if 0 <= low <= 1 else (0.0, abs(high)) if high > 0 else (low, 0.0)
    if context.scale is None and _is_reversed(target, low, high, found):
        low, high = high, low
    group = context.find_group((*texts, target))
    roles = Roles("scored_pairs", texts, target, low, high, group=group, note=describe_scale(low, high))
    why: tuple[str, ...] = ()
    if rate_target_name(target) in ("certain", "likely"):
        why = (f"{target!r} is the name of a {'distance' if is_distance_name(target) else 'score'}",)
    if found is not None:
        why = (*why, f"{target}: {found.describe()}")
    question = None
    if context.scale is None:
        if mixes_percentages(context.table.column(target)):
            question, reason = _check_percentages(context, roles, found)
            why = (*why, reason)
        if question is None and named_scale is None and len(outliers):
            question, reason = _check_outliers(context, roles, scores, outliers, found)
            why = (*why, reason)
        if question is None:
            question = _check_direction(context, roles, found) or _check_zero(context, roles, good)
    if question is None:
        return Hypothesis(roles, EXPLICIT, (*why, *context.describe_unused(roles)))
    return Hypothesis(roles, EXPLICIT, why, (question,))


def _ratings_behind(context: SchemaContext, target: str, scores: np.ndarray) -> np.ndarray:
    """Return the ratings that the scores are the means of, whose scale is theirs; the scores themselves if there are none."""
    columns = {one.name: numbers_of(context.table.column(one.name)) for one in context.profiles if one.is_number}
    parts = find_means(columns).get(target, ()) if 2 < len(columns) <= _MOST_RATERS else ()
    return np.concatenate([columns[part][~np.isnan(columns[part])] for part in parts]) if parts else scores


def _is_reversed(target: str, low: float, high: float, found: RankCorrelation | None) -> bool:
    if (explained := explained_reversal(target, low, high)) is not None:
        return explained
    # The name leaves the direction open, and the model is very sure.
    is_negative = found is not None and found.strength == "strong" and found.rho <= -_OVERWHELMING
    return is_distance_name(target) or (is_negative and not is_similarity_name(target))


def _check_direction(context: SchemaContext, roles: Roles, found: RankCorrelation | None) -> Question | None:
    why = _doubt_of_direction(context.evidence, roles, found)
    return ask_direction(context.table, roles, why, _favored_direction(found, roles)) if why else None


def _doubt_of_direction(evidence: Evidence, roles: Roles, found: RankCorrelation | None) -> str:
    assert roles.target is not None and roles.low is not None and roles.high is not None
    target, is_reversed = roles.target, roles.low > roles.high
    if found is None:
        return _doubt_without_model(target, is_reversed) if evidence.similar is None else ""
    is_opposite = (found.rho < 0) != is_reversed
    if explained_reversal(target, min(roles.low, roles.high), max(roles.low, roles.high)) is not None:
        return f"its name explains the scale, but {found.describe()}" if found.strength == "strong" and is_opposite else ""
    if (found.is_faint or found.strength in ("strong", "some")) and is_opposite:
        return f"higher scores belong to {'more' if is_reversed else 'less'} similar texts: {found.describe()}"
    is_unconfirmed = is_reversed and is_distance_name(target) and found.rho > -0.15
    return f"{target!r} is the name of a distance, and the model does not confirm it" if is_unconfirmed else ""


def _doubt_without_model(target: str, is_reversed: bool) -> str:
    if has_open_direction(target):
        return f"{target!r} may begin at the best or at the worst, and no model was used"
    return f"{target!r} is the name of a distance, and no model was used" if is_reversed else ""


def _favored_direction(found: RankCorrelation | None, roles: Roles) -> int | None:
    """Return 0 for the direction of the roles, 1 for the opposite, None if name and model contradict each other."""
    assert roles.target is not None and roles.low is not None and roles.high is not None
    is_negative = None if found is None or found.p >= _BY_CHANCE else found.rho < 0
    if roles.low > roles.high:  # by its name alone
        return 0 if is_negative in (None, True) else None
    return 1 if is_negative and not is_similarity_name(roles.target) else None


def _check_percentages(context: SchemaContext, roles: Roles, found: RankCorrelation | None) -> tuple[Question | None, str]:
    """Return the question whether 0.6 is 60% or 0.6%, unless values or model decide it; and how the scores are read."""
    assert roles.target is not None
    cells = context.table.column(roles.target)
    reason = f"{roles.target}: percentages and fractions are read on one scale: 60% as 0.6"
    as_written = context.evidence.rank_correlation(roles.texts, roles.target, as_written=True)
    if found is None or as_written is None:
        is_clear = any(number_form(cell) == "number" and 0 < parse_number(cell) < 1 for cell in set(cells))
        why = "some are written as percentages, others as plain 0 or 1"
        return (None if is_clear else ask_percentages(context.table, roles, why)), reason
    why = f"read so, the rank correlation with the similarity by {found.model} is {found.rho:.2f}, as they are written {as_written.rho:.2f}"
    if found.effect > as_written.effect:
        return None, f"{reason}; {why}"
    return ask_percentages(context.table, roles, why), reason


def _check_zero(context: SchemaContext, roles: Roles, scores: np.ndarray) -> Question | None:
    """Return the question whether 0 means "do not know", if pairs of 0 among whole marks are far more similar than those of 1."""
    values = set(np.unique(scores).tolist())
    is_mark = all(value % 1 == 0 for value in values) and {0.0, 1.0} <= values
    if roles.target is None or roles.low != 0 or roles.high is None or not 3 <= roles.high <= 10 or not is_mark:
        return None
    found = context.evidence.class_separation(roles.texts, roles.target, find_classes(context.table.column(roles.target)))
    means = {} if found is None else {float(numbers_of([one.label])[0]): one for one in found.means}
    zero, one = means.get(0.0), means.get(1.0)
    if zero is None or one is None or not zero.exceeds(one, _ERRORS):
        return None
    why = f"pairs of 0 are more similar than pairs of 1: {zero.mean:.2f} and {one.mean:.2f} by {context.evidence.model}"
    return ask_zero(context.table, roles, why)


def _check_outliers(
    context: SchemaContext, roles: Roles, scores: np.ndarray, outliers: np.ndarray, found: RankCorrelation | None
) -> tuple[Question | None, str]:
    """Return the question whether numbers far beyond all others are scores, unless the texts rule it out; and the reason."""
    others = scores[~np.isnan(scores) & ~np.isin(scores, outliers)]
    sides = [side for side in (outliers[outliers > others.max()], outliers[outliers < others.min()]) if len(side)]
    contradictions = [_contradict_scale_end(context.evidence, roles.texts, scores, side, found) for side in sides]
    numbers = " and ".join(f"{one:g}" for one in outliers)
    if all(contradictions):
        return None, f"{roles.target}: {numbers} means no answer; {', '.join(contradictions)}"
    why = f"{numbers} is far outside all other scores, {others.min():g} to {others.max():g}"
    is_open = bool(_doubt_of_direction(context.evidence, roles, found))
    return (
        ask_missing_code(context.table, roles, outliers, why, is_direction_open=is_open, is_favored=is_usual_code(outliers)),
        why,
    )


def _contradict_scale_end(
    evidence: Evidence, texts: Sequence[str], scores: np.ndarray, outliers: np.ndarray, found: RankCorrelation | None
) -> str:
    """Return why rows with a number are not as similar as its place on the scale would have them, if so.

    If the number were the highest score of scores that rise with the similarity, its pairs would be as similar as those of the
    highest fifth of the others, or more (a one-sided Mann–Whitney test).

    Args:
        outliers: the numbers, all on one side of the others.
        found: how the other scores follow the similarity.
    """
    if evidence.similar is None or found is None or found.strength not in ("strong", "some"):
        return ""
    is_outlier = np.isin(scores, outliers)
    rest = np.flatnonzero(~is_outlier & ~np.isnan(scores))
    is_above = outliers.min() > scores[rest].max()
    if not is_above and outliers.max() > scores[rest].min():
        return ""
    by_score = rest[np.argsort(scores[rest], kind="stable")]
    size = max(_LEAST_OUTLIER_ROWS, round(_SCALE_END * len(rest)))
    odd, end = (
        _similarities(evidence, texts, places) for places in (np.flatnonzero(is_outlier), by_score[-size:] if is_above else by_score[:size])
    )
    if min(len(odd), len(end)) < _LEAST_OUTLIER_ROWS:
        return ""
    from scipy.stats import mannwhitneyu

    is_most_similar = is_above == (found.rho > 0)
    if mannwhitneyu(odd, end, alternative="less" if is_most_similar else "greater").pvalue >= 0.01:
        return ""
    which = "highest" if is_above else "lowest"
    return f"mean similarity of its pairs {odd.mean():.2f}, of pairs with the {which} other scores {end.mean():.2f}"


def _similarities(evidence: Evidence, texts: Sequence[str], places: np.ndarray) -> np.ndarray:
    some = places[np.linspace(0, len(places) - 1, min(_OUTLIER_ROWS, len(places))).astype(np.int64)]
    part = evidence.table.select(some)
    found = evidence.compare(*([cell.strip() for cell in part.column(name)] for name in texts))
    known: np.ndarray = found[~np.isnan(found)]
    return known


def with_scale(roles: Roles, scale: tuple[float, float]) -> Roles:
    """Return the roles with a scale that was specified.

    Raises:
        StudioError: they have no scores.
    """
    if roles.kind != "scored_pairs":
        raise StudioError(f"{roles.kind.replace('_', ' ')} have no scale", "remove the scale, or choose the kind scored_pairs")
    return replace(roles, low=scale[0], high=scale[1], note=describe_scale(*scale))
