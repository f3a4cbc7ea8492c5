"""Pairs with a score or a label: the scale, the order of the classes, and what of them must be asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import StudioError
from .. import asking
from ..evidence import Evidence, Ranked
from ..ordering import Ordering, order_classes
from ..profile import numbers_of
from ..roles import Kind, Roles
from ..scales import blank_is_a_class, classes_of, describe_labels, describe_scale, detect_scale, same_class
from ..targets import reads_as_scores
from ..vocabulary import is_reversed, target_standing
from .reading import Reading, View, group_of, unused

_INFERENCE = ({"premise", "hypothesis"}, {"前提", "假设"}, {"前提", "假設"}, {"前提", "仮説"}, {"전제", "가설"})
_FEW_CLASSES = 12


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
    low, high = view.scale or detect_scale(good)
    if low == high:
        low, high = (0.0, 1.0) if 0 <= low <= 1 else (0.0, abs(high) * 1.0) if high > 0 else (low, 0.0)
    said = view.evidence.ranked(texts, target)
    if view.scale is None and is_reversed(target):
        low, high = high, low
    roles = Roles("scored_pairs", texts, target, low, high, group=group_of(view, (*texts, target)), note=describe_scale(low, high))
    told = () if said is None else (f"{target}: {said.in_words()}",)
    if view.scale is None and (why := _wrong_way(view, said, roles)):
        return Reading(roles, (asking.about_direction(view.table, roles, why),), told)
    return Reading(roles, (), (*told, *unused(view, roles)))


def _wrong_way(view: View, said: Ranked | None, roles: Roles) -> str:
    """Why the direction of a scale must be asked for; empty where it need not."""
    assert roles.low is not None and roles.high is not None
    turned = roles.low > roles.high
    if said is None:
        return f"{roles.target!r} is the name of a distance, and no model was asked" if turned and view.evidence.similar is None else ""
    if (said.faint or said.strength in ("strong", "some")) and (said.rho < 0) != turned:
        return f"higher scores stand beside {'more' if turned else 'less'} alike texts: {said.in_words()}"
    return f"{roles.target!r} is the name of a distance, and the model does not confirm it" if turned and said.rho > -0.15 else ""


def _labelled(view: View, texts: tuple[str, str], target: str) -> Reading:
    cells = view.table.column(target)
    classes = classes_of(cells)
    evidence = view.evidence
    inference = is_inference(view, texts)
    named = target_standing(target) in ("certain", "likely")

    def ordering(by: Evidence) -> Ordering:
        said = by.separated(texts, target, classes)
        return order_classes(classes, said, named=named, inference=inference, reversed_name=is_reversed(target))

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
        return Reading(roles, (asking.about_order(view.table, roles, found.why, _other_orders(view, roles)),), told)
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
