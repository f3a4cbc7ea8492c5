"""Pairs with a label: the order of the classes by their wording and by a model, and whether to ask the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ..findings import ExampleRow, Question
from .evidence import ClassMean, ClassSeparation, Evidence
from .hypotheses import EXPLICIT, SchemaContext, category_option, complete_rows, example_rows
from .labels import (
    BLANK,
    WordOrder,
    are_rising,
    class_index,
    describe_labels,
    find_classes,
    inference_class,
    label_key,
    neutral_of_three,
    order_by_words,
)
from .names import explained_reversal, is_distance_name, is_similarity_name, rate_target_name
from .numbers import numbers_of
from .roles import InferredSchema, Roles, format_names, option

_INFERENCE_NAMES = ({"premise", "hypothesis"}, {"前提", "假设"}, {"前提", "假設"}, {"前提", "仮説"}, {"전제", "가설"})
_MOST_ORDERED, _MOST_NAMED = 12, 8
_BY_CHANCE = 0.05
_FAR = 0.3  # minimum contradicting effect for which the user is asked
_OVERWHELMING, _WITHOUT_NAME = 0.5, 0.4  # minimum effects that override numbers, and that decide without evidence from wording or names
_REVERSED_BY_NAME = ("yes/no", "numbers", "degrees", "steps")


@dataclass(frozen=True)
class LabelOrder:
    """Ordered classes.

    Attributes:
        labels: from least to most similar; in the original order if they are unordered.
        is_ordered: whether they have an order.
        is_certain: whether the user need not be asked.
        why: the reason, one sentence.
        is_favored: whether wording or evidence supports this order, and neither contradicts it.
    """

    labels: tuple[str, ...]
    is_ordered: bool
    is_certain: bool
    why: str
    is_favored: bool = True


def labelled_pairs(context: SchemaContext, texts: tuple[str, str], target: str) -> InferredSchema:
    """Return pairs with the labels of a column, in order."""
    classes = find_classes(context.table.column(target))
    is_inference = are_inference_texts(context, texts)
    if context.order is not None:
        found = _specified_order(classes, context.order, target)
    elif len(classes) < 2:
        found = LabelOrder(classes, True, True, "")
    elif len(classes) > _MOST_ORDERED:
        found = LabelOrder(classes, False, True, "too many labels to be ordered")
    else:
        evidence = context.evidence
        found = _order_of_column(evidence, texts, target, classes, is_inference)
        if not found.is_certain and evidence.larger is not evidence:
            found = _order_of_column(evidence.larger, texts, target, classes, is_inference)
    note = describe_labels(found.labels, found.is_ordered)
    if is_inference and found.labels[:1] == ("2",) and {label_key(label) for label in found.labels} == {"0", "1", "2"}:
        note = "labels 0, 1, 2 read as entailment, neutral, contradiction"
    group = context.find_group((*texts, target))
    roles = Roles("labelled_pairs", texts, target, labels=found.labels, group=group, note=note, ordered=found.is_ordered)
    why = (_("{=target}: {why}", target=target, why=found.why),) if found.why else ()
    if found.is_certain:
        return InferredSchema(roles, EXPLICIT, (*why, *context.describe_unused(roles)))
    return InferredSchema(roles, EXPLICIT, why, (_ask_order(context, roles, target, found),))


def _ask_order(context: SchemaContext, roles: Roles, target: str, label_order: LabelOrder) -> Question:
    labels, texts, evidence = label_order.labels, roles.texts, context.evidence
    quoted = {label: repr(label) if label else BLANK for label in labels}
    names = ", ".join(list(quoted.values())[:_MOST_NAMED]) + (" …" if len(labels) > _MOST_NAMED else "")
    text = _("Is this the order from least to most similar: {names}?", names=names)
    if not roles.ordered:
        text = _("Do the labels {names} have no order, like types of relations?", names=names)
    elif len(labels) == 2:
        text = _(
            "Are pairs labelled {quoted} more similar than pairs labelled {quoted2}?", quoted=quoted[labels[1]], quoted2=quoted[labels[0]]
        )
    options = [option("yes", order=labels), option("the other way round", order=labels[::-1])]
    larger = evidence.larger.class_separation(texts, target, labels)  # two adjacent classes may differ by chance alone
    for order in larger.alternative_orders if larger is not None and set(larger.order) == set(labels) else ():
        if order not in (labels, labels[::-1]):
            options.append(option(_("no, {order}", order=" < ".join(quoted[label] for label in order)), order=order))
    options.insert(len(options) if roles.ordered else 0, option("they have no order", order=()))
    separation = evidence.class_separation(texts, target, find_classes(context.table.column(target)))
    if len(labels) > 2 and separation is not None and separation.strength in ("open", "none") and separation.p >= _BY_CHANCE:
        options.append(category_option(context.longest_text(texts), target))
    cells = context.table.column(target)
    index = {cell: class_index(cell, labels) for cell in set(cells)}
    rows: list[ExampleRow] = []
    for wanted, read_as in ((len(labels) - 1, "most similar"), (0, "least similar")):
        places = [row for row in complete_rows(context.table, texts) if index[cells[row]] == wanted][:1]
        rows += example_rows(context.table, texts, places, target, read_as)
    return Question("order", text, tuple(options), label_order.why, tuple(rows), 0 if label_order.is_favored else None)


def are_inference_texts(context: SchemaContext, texts: Sequence[str]) -> bool:
    """Return True if the columns are named premise and hypothesis."""
    names = {context.profile(text).key for text in texts}
    return any(pair <= names for pair in _INFERENCE_NAMES) or any("hypoth" in name or "hypót" in name for name in names)


def _order_of_column(evidence: Evidence, texts: tuple[str, str], target: str, classes: tuple[str, ...], is_inference: bool) -> LabelOrder:
    found = evidence.class_separation(texts, target, classes)
    if is_inference and {label_key(name) for name in classes} == {"0", "1", "2"}:
        return _order_inference_numbers(classes, found)
    is_named = rate_target_name(target) in ("certain", "likely")
    words = order_by_words(classes) if all(classes) else None
    if words is None:
        return _order_by_evidence(classes, found, is_named and not is_inference)
    if words.family == "relations":
        return LabelOrder(words.labels, False, True, "the labels are types of relations")
    numbers = numbers_of(classes)
    explained = None if np.isnan(numbers).any() else explained_reversal(target, numbers.min(), numbers.max())
    is_reversed = is_distance_name(target) if explained is None else explained
    is_similarity = is_similarity_name(target) or explained is not None
    return _order_by_words(words, classes, found, is_named=is_named, is_reversed=is_reversed, is_similarity=is_similarity)


def _specified_order(classes: Sequence[str], order: Sequence[str], target: str) -> LabelOrder:
    if not order:
        return LabelOrder(tuple(classes), False, True, "specified as unordered")
    places = [class_index(label, classes) for label in order]
    if sorted(places) != list(range(len(classes))):
        raise StudioError(
            _("the order {order} does not list each label of {target} exactly once", order=", ".join(order), target=repr(target)),
            _("its labels are: {names}; list all of them, least similar first", names=format_names(list(classes))),
        )
    return LabelOrder(tuple(classes[place] for place in places), True, True, "as specified")


def _order_by_words(
    words: WordOrder, names: Sequence[str], evidence: ClassSeparation | None, *, is_named: bool, is_reversed: bool, is_similarity: bool
) -> LabelOrder:
    order = words.labels[::-1] if is_reversed and words.family in _REVERSED_BY_NAME else words.labels
    confirms = _confirms(order, evidence, words.family)
    if evidence is not None and _contradicts(order, evidence, words.family):
        is_doubtful = not words.is_certain and evidence.strength == "strong" and words.family not in ("nli", "yes/no")
        is_silent = words.family in ("numbers", "steps") and not (is_similarity or is_reversed) and evidence.order == order[::-1]
        is_certain = is_doubtful and is_silent and evidence.effect >= _OVERWHELMING and evidence.is_distinct
        why = (
            evidence.describe()
            if is_certain
            else _("the wording suggests {order}, but {evidence}", order=" < ".join(order), evidence=evidence.describe())
        )
        return LabelOrder(_add_rare(evidence.order, names) if is_doubtful else order, True, is_certain, why, is_favored=is_doubtful)
    is_favored = not _leans_against(order, evidence)
    confirmation = _("; {evidence}", evidence=evidence.describe()) if confirms and evidence is not None else ""
    if words.is_certain and (is_named or confirms or words.family in ("nli", "yes/no")):
        is_certain = not is_reversed or confirms
        return LabelOrder(
            order, True, is_certain, _("the meaning of the labels{confirmation}", confirmation=confirmation), is_favored=is_favored
        )
    if confirms:
        return LabelOrder(order, True, True, _("the wording of the labels suggests this order{confirmation}", confirmation=confirmation))
    return LabelOrder(order, True, False, "the wording of the labels suggests this order, but nothing confirms it", is_favored=is_favored)


def _order_by_evidence(names: tuple[str, ...], evidence: ClassSeparation | None, is_named: bool) -> LabelOrder:
    if evidence is None:
        return LabelOrder(names, True, False, "the labels are not recognized words, and no model was used", is_favored=False)
    if (middle := neutral_of_three(names)) is not None:
        return _order_around_neutral(names, middle, evidence)
    order = _add_rare(evidence.order, names)
    is_apart = evidence.is_distinct and len(evidence.means) == len(names)
    # Three labels may be inference labels, where contradictions can be more similar than neutral pairs.
    is_graded = evidence.effect >= 0.6 and (len(names) > 3 or evidence.is_graded)
    is_large = evidence.effect >= (_FAR if is_named else _WITHOUT_NAME) if len(names) == 2 else is_graded or are_rising(order)
    is_certain = evidence.strength == "strong" and is_apart and is_large
    return LabelOrder(order, True, is_certain, evidence.describe(), is_favored=evidence.p < 0.01)


def _order_around_neutral(names: tuple[str, ...], middle: str, evidence: ClassSeparation) -> LabelOrder:
    ends = [name for name in names if name != middle]
    means = [mean for name in ends if (mean := evidence.mean_of(name)) is not None]
    if len(means) < 2:
        return LabelOrder((ends[0], middle, ends[1]), True, False, "too few rows of one class", is_favored=False)
    low, high = sorted(means, key=lambda one: one.mean)
    why = _("{middle} is the middle class; {evidence}", middle=middle, evidence=evidence.describe())
    return LabelOrder((low.label, middle, high.label), True, high.exceeds(low, 3.0), why, is_favored=high.exceeds(low, 2.0))


def _order_inference_numbers(names: tuple[str, ...], evidence: ClassSeparation | None) -> LabelOrder:
    order = names[::-1]
    why = "0, 1, 2 read as entailment, neutral, contradiction"
    if evidence is None or evidence.strength in ("open", "none"):
        return LabelOrder(order, True, evidence is None, why, is_favored=not _leans_against(order, evidence))
    top = evidence.mean_of(order[-1])
    if top is not None and all(one.mean <= top.mean for one in evidence.means):
        return LabelOrder(order, True, True, why)
    return LabelOrder(_add_rare(evidence.order, names), True, False, evidence.describe(), is_favored=False)


def _confirms(order: Sequence[str], evidence: ClassSeparation | None, family: str) -> bool:
    if evidence is None or evidence.p >= 0.01:
        return False
    known = _known_means(order, evidence)
    if family == "nli" and len(order) == 3:
        known = [one for one in known if one.label in (order[0], order[-1])]
    if len(known) < 2 or not known[-1].exceeds(known[0], 2.0):
        return False
    return not any(low.exceeds(high, 2.0) for low, high in combinations(known, 2))


def _leans_against(order: Sequence[str], evidence: ClassSeparation | None) -> bool:
    if evidence is None or evidence.p >= 0.1:
        return False
    known = _known_means(order, evidence)
    return len(known) > 1 and known[0].mean > known[-1].mean


def _contradicts(order: Sequence[str], evidence: ClassSeparation | None, family: str) -> bool:
    """Return True if the model clearly finds another order.

    For inference labels only the ends are compared: contradictions are often about the same thing in the same words (SICK), and more
    similar than neutral pairs. For degrees, each significantly reversed step counts. With few rows, only the ends are compared, with a
    lower threshold.
    """
    if evidence is None or not (evidence.is_faint or (evidence.p < 1e-3 and evidence.effect >= 0.15)):
        return False
    known = _known_means(order, evidence)
    if family == "nli":
        known = [one for one in known if inference_class(one.label) != "neutral"] or known
        known = [known[0], known[-1]]
    if evidence.is_faint and len(known) > 1 and known[0].mean > known[-1].mean:
        return True
    if len(known) == 2 and family in ("nli", "yes/no", "numbers", "steps"):
        low, high = known
        return low.label != high.label and evidence.effect >= _FAR and low.exceeds(high, 3.0)
    return any(low.exceeds(high, 3.0) for low, high in pairwise(known))


def _known_means(order: Sequence[str], evidence: ClassSeparation) -> list[ClassMean]:
    return [mean for label in order if (mean := evidence.mean_of(label)) is not None]


def _add_rare(order: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    return (*(name for name in names if name not in order), *order)
