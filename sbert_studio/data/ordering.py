"""The order of classes, least alike first: what their words mean, what the untuned model says, and whether the owner must say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .evidence import Separated
from .label_words import NamedOrder, neutral_of_three, nli_class, order_by_words, rising
from .scales import label_key

_FAR = 0.3  # as far against the words as to be asked


@dataclass(frozen=True)
class Ordering:
    """Classes in their order.

    Attributes:
        labels: least alike first, or, where they have no order, as they came.
        ordered: whether they have one.
        certain: whether nobody need be asked.
        why: a sentence on what tells so.
    """

    labels: tuple[str, ...]
    ordered: bool
    certain: bool
    why: str


def order_classes(
    names: Sequence[str], evidence: Separated | None, *, named: bool = True, inference: bool = False, reversed_name: bool = False
) -> Ordering:
    """Decide the order of classes.

    Args:
        names: the classes, numbers rising.
        evidence: the similarity of each class by the untuned model; None: there is none.
        named: the column is called something that labels are called.
        inference: the texts are premise and hypothesis.
        reversed_name: the column is called a difference, so that yes means unlike.
    """
    if inference and {label_key(name) for name in names} == {"0", "1", "2"}:
        return _numbered_inference(tuple(names), evidence)
    words = order_by_words(names) if all(names) else None
    if words is None:
        return _without_words(tuple(names), evidence, named and not inference)
    if words.family == "relations":
        return Ordering(words.order, False, True, "the labels are kinds of relations")
    return _by_words(words, names, evidence, named, reversed_name)


def _by_words(words: NamedOrder, names: Sequence[str], evidence: Separated | None, named: bool, reversed_name: bool) -> Ordering:
    order = words.order[::-1] if reversed_name and words.family in ("yes/no", "numbers") else words.order
    against, agrees = _contrary(order, evidence, words.family), _agrees(order, evidence)
    if against:
        assert evidence is not None
        told = f"the words say {' < '.join(order)}, but {evidence.in_words()}"
        doubtful = words.sure == "guess" and evidence.strength == "strong" and words.family not in ("nli", "yes/no")
        return Ordering(_covering(evidence.order, names) if doubtful else order, True, False, told)
    if words.sure == "certain" and (named or agrees or words.family in ("nli", "yes/no")):
        return Ordering(order, True, not reversed_name or agrees, f"what the labels mean{_and(agrees, evidence)}")
    if agrees:
        return Ordering(order, True, True, f"what the labels suggest{_and(agrees, evidence)}")
    return Ordering(order, True, False, "the labels suggest it, and nothing confirms it")


def _without_words(names: tuple[str, ...], evidence: Separated | None, named: bool) -> Ordering:
    if evidence is None:
        return Ordering(names, True, False, "the labels' words are not known, and no model was asked")
    if (middle := neutral_of_three(names)) is not None:
        return _around_neutral(names, middle, evidence)
    order = _covering(evidence.order, names)
    apart = evidence.distinct and len(evidence.means) == len(names)
    # Three may be those of inference, of which contradictions can be more alike than what is neutral.
    many = evidence.effect >= 0.6 and (len(names) > 3 or rising(order) or evidence.far_apart)
    enough = evidence.effect >= (0.3 if named else 0.5) if len(names) == 2 else many
    certain = evidence.strength == "strong" and apart and enough
    return Ordering(order, True, certain, evidence.in_words())


def _around_neutral(names: tuple[str, ...], middle: str, evidence: Separated) -> Ordering:
    """Three classes of which one is neutral: the other two are put on its sides."""
    ends = [name for name in names if name != middle]
    means = [evidence.mean_of(name) for name in ends]
    if None in means:
        return Ordering((ends[0], middle, ends[1]), True, False, "too few rows of a class to tell")
    low, high = sorted((one for one in means if one is not None), key=lambda one: one.mean)
    apart = (high.mean - low.mean) > 3 * (high.error**2 + low.error**2) ** 0.5
    return Ordering((low.label, middle, high.label), True, apart, f"{middle} stands in the middle; {evidence.in_words()}")


def _numbered_inference(names: tuple[str, ...], evidence: Separated | None) -> Ordering:
    order = names[::-1]
    why = "0, 1, 2 read as entailment, neutral, contradiction"
    if evidence is None or evidence.strength in ("open", "none"):
        return Ordering(order, True, evidence is None, why)
    top = evidence.mean_of(order[-1])
    highest = top is not None and all(one.mean <= top.mean for one in evidence.means)
    return Ordering(order if highest else _covering(evidence.order, names), True, highest, why if highest else evidence.in_words())


def _agrees(order: Sequence[str], evidence: Separated | None) -> bool:
    """Whether the model says the same, by more than chance."""
    if evidence is None or evidence.p >= 0.01:
        return False
    found = [label for label in order if label in evidence.order]
    return len(found) > 1 and found == list(evidence.order)


def _contrary(order: Sequence[str], evidence: Separated | None, family: str) -> bool:
    """Whether the model says another order, and says it clearly.

    Of entailment only the ends count: contradictions are often about the same thing in the same words (SICK), and stand
    above what is neutral; and of degrees each step that is significantly backward. Of few rows the ends tell, and less is clear enough.
    """
    if evidence is None or not (evidence.faint or (evidence.p < 1e-3 and evidence.effect >= 0.15)):
        return False
    means = {one.label: one for one in evidence.means}
    known = [means[label] for label in order if label in means]
    if family == "nli":
        known = [one for one in known if nli_class(one.label) != "neutral"] or known
        known = [known[0], known[-1]]
    if evidence.faint and len(known) > 1 and known[0].mean > known[-1].mean:
        return True
    if len(known) == 2 and family in ("nli", "yes/no", "numbers"):
        low, high = known
        return low.label != high.label and evidence.effect >= _FAR and low.mean - high.mean > 3 * (low.error**2 + high.error**2) ** 0.5
    return any(low.mean - high.mean > 3 * (low.error**2 + high.error**2) ** 0.5 for low, high in pairwise(known))


def _covering(order: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The order that was found, with the classes of too few rows before it."""
    return (*(name for name in names if name not in order), *order)


def _and(agrees: bool, evidence: Separated | None) -> str:
    return f"; {evidence.in_words()}" if agrees and evidence is not None else ""
