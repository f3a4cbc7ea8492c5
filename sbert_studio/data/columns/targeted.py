"""Pairs with a score or a label: the scale, the order of the classes, and what of them must be asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import StudioError
from ..choices import asking
from ..evidence.apart import Ranked
from ..evidence.similarity import Evidence
from ..lexicon.explained import explained_direction, explained_scale
from ..lexicon.vocabulary import claims_likeness, either_way, is_reversed, target_standing
from ..questions import Question
from ..values.codes import without_codes
from ..values.derived import means
from ..values.numbers import number_form, parse_number
from ..values.profile import numbers_of
from ..values.scales import blank_is_a_class, classes_of, describe_labels, describe_scale, detect_scale, same_class, stray_scores
from ..values.written import one_scale
from .answers import unlike_their_end, usual
from .ordering import Ordering, order_classes
from .reading import Reading, View, group_of, unused
from .roles import Kind, Roles
from .targets import reads_as_scores

_INFERENCE = ({"premise", "hypothesis"}, {"前提", "假设"}, {"前提", "假設"}, {"前提", "仮説"}, {"전제", "가설"})
_FEW_CLASSES = 12
_BY_CHANCE = 0.05
_MOST_MARKS = 30
_OVERWHELMING = 0.65
_SURELY = 3.0  # standard errors


def is_inference(view: View, texts: Sequence[str]) -> bool:
    """Whether the texts are called premise and hypothesis."""
    names = {view.of(text).key for text in texts}
    return any(pair <= names for pair in _INFERENCE) or any("hypoth" in name or "hypót" in name for name in names)


def with_target(view: View, texts: tuple[str, str], target: str, kind: Kind | None) -> Reading:
    """Pairs whose target is known: read as scores or as labels."""
    scored = kind == "scored_pairs" if kind is not None else reads_as_scores(view.of(target), is_inference(view, texts))
    scored = scored and not (kind is None and blank_is_a_class(view.table.column(target)))
    return _scored(view, texts, target) if scored else _labelled(view, texts, target)


def _scored(view: View, texts: tuple[str, str], target: str) -> Reading:
    scores = numbers_of(view.table.column(target))
    good = scores[~np.isnan(scores)]
    if len(good) * 2 < len(scores) or not len(good):
        bad = view.table.lines[np.isnan(scores)][:100].tolist()
        raise StudioError(f"the column {target!r} holds words, not scores", "choose the kind labelled_pairs, or another column", bad)
    strays = stray_scores(good)
    known = without_codes(good[~np.isin(good, strays)])
    told_ends = explained_scale(target, float(known.min()), float(known.max()))
    low, high = view.scale or told_ends or detect_scale(_marks_behind(view, target, good))
    if low == high:
        low, high = (0.0, 1.0) if 0 <= low <= 1 else (0.0, abs(high) * 1.0) if high > 0 else (low, 0.0)
    said = view.evidence.ranked(texts, target)
    explained = explained_direction(target, low, high)
    turned = (is_reversed(target) or _turned_by_evidence(target, said)) if explained is None else explained
    if view.scale is None and turned:
        low, high = high, low
    roles = Roles("scored_pairs", texts, target, low, high, group=group_of(view, (*texts, target)), note=describe_scale(low, high))
    named = target_standing(target) in ("certain", "likely")
    told: tuple[str, ...] = (f"{target!r} is the name of a {'distance' if is_reversed(target) else 'score'}",) if named else ()
    told += () if said is None else (f"{target}: {said.in_words()}",)
    if view.scale is None and one_scale(view.table.column(target)):
        question, shown = _of_one_scale(view, roles, said)
        told += (shown,)
        if question is not None:
            return Reading(roles, (question,), told)
    if view.scale is None and told_ends is None and len(strays):
        question, shown = _no_answer(view, roles, scores, strays, said)
        told += (shown,)
        if question is not None:
            return Reading(roles, (question,), told)
    if view.scale is None and (why := _wrong_way(view, said, roles)):
        return Reading(roles, (asking.about_direction(view.table, roles, why, _favoured_direction(said, roles)),), told)
    if view.scale is None and (question := _nought_is_no_answer(view, roles, good)) is not None:
        return Reading(roles, (question,), told)
    return Reading(roles, (), (*told, *unused(view, roles)))


def _no_answer(view: View, roles: Roles, scores: np.ndarray, strays: np.ndarray, said: Ranked | None) -> tuple[Question | None, str]:
    """(the question whether numbers far beyond all others are scores, None where the texts tell that they are none; why, in a sentence)."""
    others = scores[~np.isnan(scores) & ~np.isin(scores, strays)]
    sides = [side for side in (strays[strays > others.max()], strays[strays < others.min()]) if len(side)]
    shown = [unlike_their_end(view.evidence, roles.texts, scores, side, said) for side in sides]
    named = " and ".join(f"{stray:g}" for stray in strays)
    if all(shown):
        return None, f"{roles.target}: {named} stands for no answer; {', '.join(shown)}"
    why = f"{named} lies far beyond all other scores, {others.min():g} to {others.max():g}"
    open_direction = bool(_wrong_way(view, said, roles))
    return asking.about_no_answer(view.table, roles, strays, why, either_way=open_direction, favoured=usual(strays)), why


def _of_one_scale(view: View, roles: Roles, said: Ranked | None) -> tuple[Question | None, str]:
    """(the question whether 0.6 is 60% or 0.6%, None where nothing speaks against the former; how it is read, in a sentence)."""
    assert roles.target is not None
    cells = view.table.column(roles.target)
    shown = f"{roles.target}: percentages and parts of 1 are read as one scale: 60% as 0.6"
    other = view.evidence.ranked(roles.texts, roles.target, as_written=True)
    if said is None or other is None:
        settled = any(number_form(cell) == "number" and 0 < parse_number(cell) < 1 for cell in set(cells))
        why = "some are written as percentages, and 0 or 1 beside them as plain numbers"
    else:
        settled = abs(said.rho) > abs(other.rho)
        why = f"so read the rank correlation with the similarity by {said.model} is {said.rho:.2f}, as they are written {other.rho:.2f}"
    return (None if settled else asking.about_percentages(view.table, roles, why)), (f"{shown}; {why}" if said and settled else shown)


def _nought_is_no_answer(view: View, roles: Roles, scores: np.ndarray) -> Question | None:
    """Whether 0 stands for "do not know": where it is among whole marks, and its pairs are far more alike than those of the next mark."""
    low, high = roles.low, roles.high
    values = np.unique(scores)
    if roles.target is None or low != 0 or high is None or not 3 <= high <= 10 or (values % 1 != 0).any() or not {0.0, 1.0} <= set(values):
        return None
    said = view.evidence.separated(roles.texts, roles.target, classes_of(view.table.column(roles.target)))
    means = {} if said is None else {float(numbers_of([one.label])[0]): one for one in said.means}
    nought, first = means.get(0.0), means.get(1.0)
    if nought is None or first is None or nought.mean - first.mean <= _SURELY * (nought.error**2 + first.error**2) ** 0.5:
        return None
    why = f"pairs of 0 are more alike than those of 1: {nought.mean:.2f} and {first.mean:.2f} by {view.evidence.model}"
    return asking.about_nought(view.table, roles, why)


def _marks_behind(view: View, target: str, scores: np.ndarray) -> np.ndarray:
    """The marks that the scores are the means of, whose scale is theirs; the scores themselves where there are none."""
    columns = {profile.name: numbers_of(view.table.column(profile.name)) for profile in view.profiles if profile.is_number}
    parts = means(columns).get(target, ()) if 2 < len(columns) <= _MOST_MARKS else ()
    marks = [columns[part][~np.isnan(columns[part])] for part in parts]
    return np.concatenate(marks) if marks else scores


def _turned_by_evidence(target: str, said: Ranked | None) -> bool:
    """Whether the highest score is the least alike: the name leaves it open (a mark, a rank, a degree), and the model is very sure."""
    return said is not None and not claims_likeness(target) and said.strength == "strong" and said.rho <= -_OVERWHELMING


def _wrong_way(view: View, said: Ranked | None, roles: Roles) -> str:
    """Why the direction of a scale must be asked for; empty where it need not."""
    assert roles.low is not None and roles.high is not None
    turned = roles.low > roles.high
    if said is None and view.evidence.similar is None and either_way(str(roles.target)):
        return f"{roles.target!r} may begin at the best or at the worst, and no model was asked"
    if said is None:
        return f"{roles.target!r} is the name of a distance, and no model was asked" if turned and view.evidence.similar is None else ""
    if explained_direction(str(roles.target), min(roles.low, roles.high), max(roles.low, roles.high)) is not None:
        against = said.strength == "strong" and (said.rho < 0) != turned
        return f"its name explains the scale, but {said.in_words()}" if against else ""
    if (said.faint or said.strength in ("strong", "some")) and (said.rho < 0) != turned:
        return f"higher scores stand beside {'more' if turned else 'less'} alike texts: {said.in_words()}"
    doubtful = turned and is_reversed(str(roles.target)) and said.rho > -0.15
    return f"{roles.target!r} is the name of a distance, and the model does not confirm it" if doubtful else ""


def _favoured_direction(said: Ranked | None, roles: Roles) -> int | None:
    """The answer that name or model favour: 0 as it is read, 1 the other way round; None where they contradict each other."""
    assert roles.target is not None and roles.low is not None and roles.high is not None
    turned = roles.low > roles.high
    for_turned = None if said is None or said.p >= _BY_CHANCE else said.rho < 0
    if turned:  # which the name alone has said
        return 0 if for_turned in (None, True) else None
    return 1 if for_turned and not claims_likeness(str(roles.target)) else None


def _labelled(view: View, texts: tuple[str, str], target: str) -> Reading:
    cells = view.table.column(target)
    classes = classes_of(cells)
    evidence = view.evidence
    inference = is_inference(view, texts)
    named = target_standing(target) in ("certain", "likely")
    numbers = numbers_of(classes)
    explained = None if np.isnan(numbers).any() or len(classes) < 2 else explained_direction(target, numbers.min(), numbers.max())

    def ordering(by: Evidence) -> Ordering:
        said = by.separated(texts, target, classes)
        return order_classes(
            classes,
            said,
            named=named,
            inference=inference,
            reversed_name=is_reversed(target) if explained is None else explained,
            claims=claims_likeness(target) or explained is not None,
        )

    if view.order is not None:
        found = _given(classes, view.order, target)
    elif len(classes) < 2:
        found = Ordering(classes, True, True, "")
    elif len(classes) > _FEW_CLASSES:
        found = Ordering(classes, False, True, "so many labels have no order")
    else:
        found = ordering(evidence)
        if not found.certain and evidence.closer is not evidence:
            found = ordering(evidence.closer)
    note = describe_labels(found.labels, found.ordered)
    if (
        inference
        and len(found.labels) == 3
        and {same_class(label, ("0", "1", "2")) for label in found.labels} == {0, 1, 2}
        and found.labels[0] == "2"
    ):
        note = "labels 0, 1, 2 read as entailment, neutral, contradiction"
    roles = Roles(
        "labelled_pairs", texts, target, labels=found.labels, group=group_of(view, (*texts, target)), note=note, ordered=found.ordered
    )
    told = (f"{target}: {found.why}",) if found.why else ()
    if not found.certain:
        question = asking.about_order(view.table, roles, found.why, _other_orders(view, roles), favoured=found.favoured)
        return Reading(roles, (question,), told)
    return Reading(roles, (), (*told, *unused(view, roles)))


def _other_orders(view: View, roles: Roles) -> list[tuple[str, ...]]:
    """Orders with two neighbours exchanged that the model hardly tells apart."""
    assert roles.target is not None
    said = view.evidence.closer.separated(roles.texts, roles.target, roles.labels)
    orders = said.swapped if said is not None and set(said.order) == set(roles.labels) else ()
    return [order for order in orders if order not in (roles.labels, roles.labels[::-1])]


def _given(classes: Sequence[str], order: Sequence[str], target: str) -> Ordering:
    """The order that was said, in the spelling of the file."""
    if not order:
        return Ordering(tuple(classes), False, True, "said to have no order")
    places = [same_class(label, classes) for label in order]
    if sorted(places) != list(range(len(classes))):
        raise StudioError(
            f"the order {', '.join(order)} does not name each label of {target!r} once",
            f"its labels are: {asking.in_one_line(list(classes))}; write all of them, least alike first",
        )
    return Ordering(tuple(classes[place] for place in places), True, True, "as said")
