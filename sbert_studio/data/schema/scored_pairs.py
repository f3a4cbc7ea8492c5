"""Pairs with a score: the scale, its direction, and missing-value codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ..findings import ExampleRow, Option, Question
from .evidence import Evidence, RankCorrelation
from .hypotheses import EXPLICIT, SchemaContext, complete_rows, example_rows
from .labels import find_classes
from .names import explained_reversal, explained_scale, has_open_direction, is_distance_name, is_similarity_name, rate_target_name
from .numbers import (
    describe_scale,
    detect_scale,
    find_outliers,
    is_usual_code,
    mixes_percentages,
    number_form,
    numbers_of,
    parse_number,
    without_codes,
)
from .roles import InferredSchema, Roles, option
from .targets import find_means

_BY_CHANCE = 0.05
_MOST_RATERS = 30
_OVERWHELMING = 0.65
_ERRORS = 3.0  # standard errors
_OUTLIER_ROWS, _LEAST_OUTLIER_ROWS = 150, 4
_SCALE_END = 0.2  # share of the scores at each end of the scale


def scored_pairs(context: SchemaContext, texts: tuple[str, str], target: str) -> InferredSchema:
    """Return pairs with the scores of a column.

    Raises:
        StudioError: the column contains words.
    """
    scores = numbers_of(context.table.column(target))
    good = scores[~np.isnan(scores)]
    if len(good) * 2 < len(scores) or not len(good):
        bad = context.table.lines[np.isnan(scores)][:100].tolist()
        raise StudioError(
            _("the column {target} contains words, not scores", target=repr(target)),
            "choose the kind labelled_pairs, or another column",
            bad,
        )
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
    check = _ScaleCheck(context, roles, target, low, high, scores, found)
    why: tuple[str, ...] = ()
    if rate_target_name(target) in ("certain", "likely"):
        why = (
            (
                _("the name {target} suggests a distance", target=repr(target))
                if is_distance_name(target)
                else _("the name {target} suggests a score", target=repr(target))
            ),
        )
    if found is not None:
        why = (*why, _("{=target}: {found}", target=target, found=found.describe()))
    question = None
    if context.scale is None:
        if mixes_percentages(context.table.column(target)):
            question, reason = check.ask_percentages()
            why = (*why, reason)
        if question is None and named_scale is None and len(outliers):
            question, reason = check.ask_outliers(outliers)
            why = (*why, reason)
        if question is None:
            question = check.ask_direction() or check.ask_zero()
    if question is None:
        return InferredSchema(roles, EXPLICIT, (*why, *context.describe_unused(roles)))
    return InferredSchema(roles, EXPLICIT, why, (question,))


def with_scale(roles: Roles, scale: tuple[float, float]) -> Roles:
    """Return the roles with a specified scale.

    Raises:
        StudioError: the roles are not those of scored pairs.
    """
    if roles.kind != "scored_pairs":
        raise StudioError(_("{kind} have no scale", kind=roles.kind.replace("_", " ")), "remove the scale, or choose the kind scored_pairs")
    return replace(roles, low=scale[0], high=scale[1], note=describe_scale(*scale))


def _ratings_behind(context: SchemaContext, target: str, scores: np.ndarray) -> np.ndarray:
    # If the scores are means of ratings, use the scale of the ratings.
    columns = {one.name: numbers_of(context.table.column(one.name)) for one in context.profiles if one.is_number}
    parts = find_means(columns).get(target, ()) if 2 < len(columns) <= _MOST_RATERS else ()
    return np.concatenate([columns[part][~np.isnan(columns[part])] for part in parts]) if parts else scores


def _is_reversed(target: str, low: float, high: float, correlation: RankCorrelation | None) -> bool:
    if (explained := explained_reversal(target, low, high)) is not None:
        return explained
    # The name does not imply a direction, and the model is very certain.
    is_negative = correlation is not None and correlation.strength == "strong" and correlation.rho <= -_OVERWHELMING
    return is_distance_name(target) or (is_negative and not is_similarity_name(target))


@dataclass(frozen=True)
class _ScaleCheck:
    """Questions about the scale of pairs; ``found`` is the association of the scores with the similarity, None if not computed."""

    context: SchemaContext
    roles: Roles
    target: str
    low: float
    high: float
    scores: np.ndarray
    found: RankCorrelation | None

    @property
    def evidence(self) -> Evidence:
        return self.context.evidence

    def ask_direction(self) -> Question | None:
        if not (why := self._doubt_direction()):
            return None
        is_negative = None if self.found is None or self.found.p >= _BY_CHANCE else self.found.rho < 0
        proposed = 1 if is_negative and not is_similarity_name(self.target) else None
        if self.low > self.high:  # decided by the name alone
            proposed = 0 if is_negative in (None, True) else None
        places = np.array([place for place in complete_rows(self.context.table, self.roles.texts) if not np.isnan(self.scores[place])], int)
        by_score = places[np.argsort(self.scores[places] * (1 if self.high > self.low else -1), kind="stable")].tolist()
        rows = (*self._rows(by_score[-1:], "most similar"), *self._rows(by_score[:1], "least similar"))
        options = (
            option("yes", scale=(self.low, self.high)),
            option("the other way round", scale=(self.high, self.low)),
        )
        text = _(
            "Does a {target} of {high} mean most similar, and one of {low} least similar?",
            target=self.target,
            high=f"{self.high:g}",
            low=f"{self.low:g}",
        )
        return Question("scale", text, options, why, rows, proposed)

    def _doubt_direction(self) -> str:
        """Return why the direction of the scale is uncertain; empty if it is certain."""
        target, found, is_reversed = self.target, self.found, self.low > self.high
        if found is None:
            if self.evidence.similar is not None:
                return ""
            if has_open_direction(target):
                return _("{target} may count from the best or from the worst value, and no model was used", target=repr(target))
            return _("the name {target} suggests a distance, and no model was used", target=repr(target)) if is_reversed else ""
        is_opposite = (found.rho < 0) != is_reversed
        if explained_reversal(target, min(self.low, self.high), max(self.low, self.high)) is not None:
            return (
                _("the column name suggests the scale, but {found}", found=found.describe())
                if found.strength == "strong" and is_opposite
                else ""
            )
        if (found.is_faint or found.strength in ("strong", "some")) and is_opposite:
            return (
                _("higher scores belong to more similar texts: {found}", found=found.describe())
                if is_reversed
                else _("higher scores belong to less similar texts: {found}", found=found.describe())
            )
        is_unconfirmed = is_reversed and is_distance_name(target) and found.rho > -0.15
        return _("the name {target} suggests a distance, but the model does not confirm it", target=repr(target)) if is_unconfirmed else ""

    def ask_percentages(self) -> tuple[Question | None, str]:
        """Ask whether 0.6 next to percentages means 60% or 0.6%, if neither values nor model decide; also return how scores are read."""
        cells, table = self.context.table.column(self.target), self.context.table
        reason = _("{target}: percentages and fractions are read on one scale: 60% as 0.6", target=self.target)
        as_written = self.evidence.rank_correlation(self.roles.texts, self.target, as_written=True)
        if self.found is None or as_written is None:
            if any(number_form(cell) == "number" and 0 < parse_number(cell) < 1 for cell in set(cells)):
                return None, reason
            why = "some are written as percentages, others as plain 0 or 1"
        else:
            rho, model = self.found.rho, self.found.model
            why = _(
                "the rank correlation with the similarity according to {model} is {rho} on one scale, and {rho2} as written",
                model=model,
                rho=f"{rho:.2f}",
                rho2=f"{as_written.rho:.2f}",
            )
            if self.found.effect > as_written.effect:
                return None, _("{reason}; {why}", reason=reason, why=why)
        complete = complete_rows(table, self.roles.texts)
        plain = [place for place in complete if number_form(cells[place]) == "number" and parse_number(cells[place])]
        percents = [place for place in complete if number_form(cells[place]) == "percent"]
        example = cells[plain[0]].strip() if plain else "1"
        share = 100 * parse_number(example)
        options = (
            option(_("{example} is {share}%", example=example, share=f"{share:g}"), scale=(self.low, self.high)),
            option(_("{example} is {example}%", example=example), scale=(100 * self.low, 100 * self.high)),
        )
        text = _(
            "Does a {target} of {example} mean {share}%, like the percentages?", target=self.target, example=example, share=f"{share:g}"
        )
        return Question("scale", text, options, why, self._rows([*plain[:2], *percents[:1]])), reason

    def ask_zero(self) -> Question | None:
        """Ask whether 0 means "don't know", if pairs rated 0 on an integer scale are far more similar than those rated 1."""
        values = set(np.unique(self.scores[~np.isnan(self.scores)]).tolist())
        if self.low != 0 or not 3 <= self.high <= 10 or not {0.0, 1.0} <= values or any(value % 1 for value in values):
            return None
        found = self.evidence.class_separation(self.roles.texts, self.target, find_classes(self.context.table.column(self.target)))
        means = {} if found is None else {float(numbers_of([one.label])[0]): one for one in found.means}
        zero, one = means.get(0.0), means.get(1.0)
        if zero is None or one is None or not zero.exceeds(one, _ERRORS):
            return None
        why = _(
            "pairs scored 0 are more similar than pairs scored 1: {mean} and {mean2} according to {model}",
            mean=f"{zero.mean:.2f}",
            mean2=f"{one.mean:.2f}",
            model=self.evidence.model,
        )
        options = (option("yes, skip these rows", scale=(1.0, self.high)), option("no, it is the lowest score", scale=(0.0, self.high)))
        return self._ask_missing([0.0], options, why, None)

    def ask_outliers(self, outliers: np.ndarray) -> tuple[Question | None, str]:
        """Ask whether outliers are scores or missing-value codes, unless the texts rule one out; also return the reason."""
        others = self.scores[~np.isnan(self.scores) & ~np.isin(self.scores, outliers)]
        sides = [side for side in (outliers[outliers > others.max()], outliers[outliers < others.min()]) if len(side)]
        contradictions = list(map(self._contradict_scale_end, sides))
        numbers = " and ".join(f"{one:g}" for one in outliers)
        if all(contradictions):
            return None, _(
                "{target}: {numbers} means no answer; {contradictions}",
                target=self.target,
                numbers=numbers,
                contradictions=", ".join(contradictions),
            )
        why = _(
            "{numbers} is far outside the range of all other scores, {others} to {others2}",
            numbers=numbers,
            others=f"{others.min():g}",
            others2=f"{others.max():g}",
        )
        is_direction_open, is_reversed = bool(self._doubt_direction()), self.low > self.high
        least, most = sorted((self.low, self.high))
        wide = (min(least, float(outliers.min())), max(most, float(outliers.max())))
        options = []
        for answer, ends in (("no answer: skip the rows", (least, most)), ("an ordinary score", wide)):
            for backwards in (is_reversed, not is_reversed)[: 2 if is_direction_open else 1]:
                low, high = ends[::-1] if backwards else ends
                options.append(
                    option(
                        _("{answer}; {high} is most similar", answer=answer, high=f"{high:g}") if is_direction_open else answer,
                        scale=(low, high),
                    )
                )
        return self._ask_missing(outliers, tuple(options), why, 0 if is_usual_code(outliers) else None), why

    def _contradict_scale_end(self, outliers: np.ndarray) -> str:
        """Return evidence that rows with outliers on one side are not as similar as their scores imply; empty if there is none.

        If an outlier were the highest score on a scale that rises with similarity, its pairs would be at least as similar as the highest
        fifth of the others (one-sided Mann–Whitney test).
        """
        scores, found = self.scores, self.found
        if self.evidence.similar is None or found is None or found.strength not in ("strong", "some"):
            return ""
        is_outlier = np.isin(scores, outliers)
        rest = np.flatnonzero(~is_outlier & ~np.isnan(scores))
        is_above = outliers.min() > scores[rest].max()
        if not is_above and outliers.max() > scores[rest].min():
            return ""
        by_score = rest[np.argsort(scores[rest], kind="stable")]
        size = max(_LEAST_OUTLIER_ROWS, round(_SCALE_END * len(rest)))
        odd, end = map(self._similarities, (np.flatnonzero(is_outlier), by_score[-size:] if is_above else by_score[:size]))
        if min(len(odd), len(end)) < _LEAST_OUTLIER_ROWS:
            return ""
        from scipy.stats import mannwhitneyu

        is_most_similar = is_above == (found.rho > 0)
        if mannwhitneyu(odd, end, alternative="less" if is_most_similar else "greater").pvalue >= 0.01:
            return ""
        which = "highest" if is_above else "lowest"
        return _(
            "the mean similarity is {odd} for its pairs, and {end} for pairs with the {which} other scores",
            odd=f"{odd.mean():.2f}",
            which=which,
            end=f"{end.mean():.2f}",
        )

    def _similarities(self, rows: np.ndarray) -> np.ndarray:
        some = rows[np.linspace(0, len(rows) - 1, min(_OUTLIER_ROWS, len(rows))).astype(np.int64)]
        part = self.context.table.select(some)
        cosines = self.evidence.compare(*([cell.strip() for cell in part.column(name)] for name in self.roles.texts))
        known: np.ndarray = cosines[~np.isnan(cosines)]
        return known

    def _ask_missing(self, numbers: Sequence[float] | np.ndarray, options: tuple[Option, ...], why: str, proposed: int | None) -> Question:
        text = _(
            "Does a {target} of {numbers} mean that there is no answer?",
            target=self.target,
            numbers=" or ".join(f"{one:g}" for one in numbers),
        )
        places = [place for place in complete_rows(self.context.table, self.roles.texts) if self.scores[place] in numbers][:3]
        return Question("scale", text, options, why, self._rows(places), proposed)

    def _rows(self, indices: Sequence[int], read_as: str = "") -> tuple[ExampleRow, ...]:
        return example_rows(self.context.table, self.roles.texts, indices, self.target, read_as)
