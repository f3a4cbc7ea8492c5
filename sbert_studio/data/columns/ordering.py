"""The order of classes, least alike first: what their words mean, what a model says, and whether the owner must say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from ..evidence.apart import ClassMean, Separated
from ..lexicon.label_words import NamedOrder, neutral_of_three, nli_class, order_by_words, rising
from ..values.scales import label_key

_FAR = 0.3  # as far against the words as to be asked
_FAINTLY = 0.1
_SAYS = 0.01  # the probability by chance below which the model speaks for an order
_OVERWHELMING, _ALONE = 0.5, 0.4  # as far as to be read against numbers, and where neither words nor names say anything
_TURNED_BY_A_NAME = ("yes/no", "numbers", "degrees", "steps")


@dataclass(frozen=True)
class Ordering:
    """Classes in their order.

    Attributes:
        labels: least alike first, or, where they have no order, as they came.
        ordered: whether they have one.
        certain: whether nobody need be asked.
        why: a sentence on what tells so.
        favoured: whether words or evidence speak for this order, and neither against it.
    """

    labels: tuple[str, ...]
    ordered: bool
    certain: bool
    why: str
    favoured: bool = True


def order_classes(
    names: Sequence[str],
    evidence: Separated | None,
    *,
    named: bool = True,
    inference: bool = False,
    reversed_name: bool = False,
    claims: bool = True,
) -> Ordering:
    """Decide the order of classes.

    Args:
        names: the classes, numbers rising.
        evidence: the similarity of each class by a model; None: there is none.
        named: the column is called something that labels are called.
        inference: the texts are premise and hypothesis.
        reversed_name: the column is called a difference, so that yes means unlike.
        claims: the column is called something of which more means more alike; else numbers say nothing of their direction.
    """
    if inference and {label_key(name) for name in names} == {"0", "1", "2"}:
        return _numbered_inference(tuple(names), evidence)
    words = order_by_words(names) if all(names) else None
    if words is None:
        return _without_words(tuple(names), evidence, named and not inference)
    if words.family == "relations":
        return Ordering(words.order, False, True, "the labels are kinds of relations")
    return _by_words(words, names, evidence, named, reversed_name, claims)


def _by_words(
    words: NamedOrder, names: Sequence[str], evidence: Separated | None, named: bool, reversed_name: bool, claims: bool
) -> Ordering:
    order = words.order[::-1] if reversed_name and words.family in _TURNED_BY_A_NAME else words.order
    against, agrees = _contrary(order, evidence, words.family), _agrees(order, evidence, words.family)
    if against:
        assert evidence is not None
        told = f"the words say {' < '.join(order)}, but {evidence.in_words()}"
        doubtful = words.sure == "guess" and evidence.strength == "strong" and words.family not in ("nli", "yes/no")
        silent = words.family in ("numbers", "steps") and not (claims or reversed_name) and evidence.order == order[::-1]
        certain = doubtful and silent and evidence.effect >= _OVERWHELMING and evidence.distinct
        why = evidence.in_words() if certain else told
        return Ordering(_covering(evidence.order, names) if doubtful else order, True, certain, why, favoured=doubtful)
    leans = not _leans_against(order, evidence)
    if words.sure == "certain" and (named or agrees or words.family in ("nli", "yes/no")):
        return Ordering(order, True, not reversed_name or agrees, f"what the labels mean{_and(agrees, evidence)}", favoured=leans)
    if agrees:
        return Ordering(order, True, True, f"what the labels suggest{_and(agrees, evidence)}")
    return Ordering(order, True, False, "the labels suggest it, and nothing confirms it", favoured=leans)


def _without_words(names: tuple[str, ...], evidence: Separated | None, named: bool) -> Ordering:
    if evidence is None:
        return Ordering(names, True, False, "the labels' words are not known, and no model was asked", favoured=False)
    if (middle := neutral_of_three(names)) is not None:
        return _around_neutral(names, middle, evidence)
    order = _covering(evidence.order, names)
    apart = evidence.distinct and len(evidence.means) == len(names)
    # Three may be those of inference, of which contradictions can be more alike than what is neutral.
    many = evidence.effect >= 0.6 and (len(names) > 3 or evidence.far_apart)
    enough = evidence.effect >= (0.3 if named else _ALONE) if len(names) == 2 else many or rising(order)
    certain = evidence.strength == "strong" and apart and enough
    return Ordering(order, True, certain, evidence.in_words(), favoured=evidence.p < _SAYS)


def _around_neutral(names: tuple[str, ...], middle: str, evidence: Separated) -> Ordering:
    """Three classes of which one is neutral: the other two are put on its sides."""
    ends = [name for name in names if name != middle]
    means = [evidence.mean_of(name) for name in ends]
    if None in means:
        return Ordering((ends[0], middle, ends[1]), True, False, "too few rows of a class to tell", favoured=False)
    low, high = sorted((one for one in means if one is not None), key=lambda one: one.mean)
    gap, error = high.mean - low.mean, (high.error**2 + low.error**2) ** 0.5
    order = (low.label, middle, high.label)
    return Ordering(order, True, gap > 3 * error, f"{middle} stands in the middle; {evidence.in_words()}", favoured=gap > 2 * error)


def _numbered_inference(names: tuple[str, ...], evidence: Separated | None) -> Ordering:
    order = names[::-1]
    why = "0, 1, 2 read as entailment, neutral, contradiction"
    if evidence is None or evidence.strength in ("open", "none"):
        return Ordering(order, True, evidence is None, why, favoured=not _leans_against(order, evidence))
    top = evidence.mean_of(order[-1])
    highest = top is not None and all(one.mean <= top.mean for one in evidence.means)
    if highest:
        return Ordering(order, True, True, why)
    return Ordering(_covering(evidence.order, names), True, False, evidence.in_words(), favoured=False)


def _agrees(order: Sequence[str], evidence: Separated | None, family: str) -> bool:
    """Whether the model says the same by more than chance: the ends stand apart, and no two classes the other way round.

    Of entailment only the ends count (see :func:`_contrary`).
    """
    if evidence is None or evidence.p >= 0.01:
        return False
    known = [one for label in order if (one := evidence.mean_of(label)) is not None]
    if family == "nli" and len(order) == 3:
        known = [one for one in known if one.label in (order[0], order[-1])]
    if len(known) < 2 or not _above(known[0], known[-1], 2.0):
        return False
    return not any(_above(high, low, 2.0) for low, high in combinations(known, 2))


def _above(low: ClassMean, high: ClassMean, errors: float) -> bool:
    """Whether a mean lies above another by more than so many standard errors."""
    return bool(high.mean - low.mean > errors * (low.error**2 + high.error**2) ** 0.5)


def _leans_against(order: Sequence[str], evidence: Separated | None) -> bool:
    """Whether the model, however faintly, finds the ends of an order the other way round."""
    if evidence is None or evidence.p >= _FAINTLY:
        return False
    found = [one.mean for label in order if (one := evidence.mean_of(label)) is not None]
    return len(found) > 1 and found[0] > found[-1]


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
    if len(known) == 2 and family in ("nli", "yes/no", "numbers", "steps"):
        low, high = known
        return low.label != high.label and evidence.effect >= _FAR and low.mean - high.mean > 3 * (low.error**2 + high.error**2) ** 0.5
    return any(low.mean - high.mean > 3 * (low.error**2 + high.error**2) ** 0.5 for low, high in pairwise(known))


def _covering(order: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The order that was found, with the classes of too few rows before it."""
    return (*(name for name in names if name not in order), *order)


def _and(agrees: bool, evidence: Separated | None) -> str:
    return f"; {evidence.in_words()}" if agrees and evidence is not None else ""
