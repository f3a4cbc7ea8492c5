"""Two columns of text: which they are, and whether a third column says how alike they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import StudioError
from ..choices import asking
from ..lexicon.name_lexicon import FIRST
from ..lexicon.vocabulary import is_aside, is_topic, parts, target_standing
from ..questions import Question
from ..values.forms import is_code
from .categories import find_categories
from .one_text import categorised, main_text
from .pairing import SURE, Pairing, judged, pairings
from .reading import Reading, View, group_of, unused
from .roles import Kind, Roles
from .targeted import is_inference, with_target
from .targets import ENOUGH, WORTH_ASKING, Target, find_targets
from .triplets import ask_third, comparable


def pairs(view: View, columns: Sequence[str] | None, kind: Kind | None, target: str | None) -> Reading:
    """Two texts: those that were named or belong together, and the score or label beside them.

    Raises:
        StudioError: the kind cannot be had from this table.
    """
    questions: list[Question] = []
    if columns:
        pairing = Pairing((columns[0], columns[1]), SURE)
        candidates = [pairing]
    else:
        candidates = _candidates(view, kind, target)
        pairing = candidates[0]
        if (question := _ask_columns(view, candidates)) is not None:
            questions.append(question)
    texts = pairing.texts
    if kind == "positive_pairs":
        roles = Roles("positive_pairs", texts, group=group_of(view, texts))
        return Reading(roles, tuple(questions), unused(view, roles))
    if target is not None:
        reading = with_target(view, texts, target, kind)
        return replace(reading, questions=(*questions, *reading.questions))
    targets = _fitting(find_targets(view.profiles, texts, view.evidence, inference=is_inference(view, texts)), view, kind)
    if kind is not None:
        if not targets:
            what = "scores" if kind == "scored_pairs" else "labels"
            raise StudioError(f"{view.table.name} has no column of {what}", "name the column, or choose the kind positive_pairs")
        reading = with_target(view, texts, targets[0].name, kind)
        return replace(reading, questions=(*questions, *reading.questions))
    if columns is None and (category := _rather_category(view, pairing, targets)) is not None:
        return category
    reading = _of_targets(view, pairing, targets)
    return replace(reading, questions=(*questions, *reading.questions))


def _candidates(view: View, kind: Kind | None, target: str | None) -> list[Pairing]:
    texts = [text for text in view.texts if text.name != target]
    if len(texts) < 2:
        found = f"one column of text ({texts[0].name!r})" if texts else "no column of text"
        names = ", ".join(view.table.columns[:20])
        raise StudioError(
            f"{view.table.name} has {found}; pairs need two",
            f"add the second text, or name two of its columns: {names}; one column trains as the kind sentences{view.table.elsewhere}",
        )
    found_pairs = pairings(texts)

    def follows(pair: tuple[str, str]) -> float:
        if target is not None:
            said = view.evidence.ranked(pair, target) if view.of(target).is_number else None
            return abs(said.rho) if said else 0.0
        if kind == "positive_pairs":
            return 0.0
        return max((one.size for one in find_targets(view.profiles, pair, view.evidence) if one.names >= -1), default=0.0)

    return judged(found_pairs, view.evidence, follows)


def _ask_columns(view: View, candidates: Sequence[Pairing]) -> Question | None:
    """Where the names leave open which texts are meant, and the model does not tell them apart."""
    if len(candidates) < 2 or (candidates[0].names >= SURE and candidates[1].names < candidates[0].names):
        return None
    first, second = candidates[:2]
    if second.names < first.names - 1.0:
        return None
    if first.aligned is not None and second.aligned is not None and first.aligned - second.aligned > 0.1:
        return None
    nearer = first.aligned is None or second.aligned is None or first.aligned >= second.aligned
    favoured = nearer and (first.names > second.names or (first.aligned or 0) > (second.aligned or 0))
    return asking.about_columns(view.table, [one.texts for one in candidates[:3]], "more than two columns hold texts", favoured=favoured)


def _fitting(targets: list[Target], view: View, kind: Kind | None) -> list[Target]:
    if kind == "scored_pairs":
        return [one for one in targets if view.of(one.name).is_number and one.names > -2]
    if kind == "labelled_pairs":
        return sorted(
            (one for one in targets if one.names > -2), key=lambda one: (one.scores and not view.of(one.name).distinct <= 3, -one.total)
        )
    return targets


def _rather_category(view: View, pairing: Pairing, targets: Sequence[Target]) -> Reading | None:
    """A title, a text and a category: what differs with the category is what the texts are about, not how alike the two are."""
    if pairing.names >= 3.0 or view.evidence.similar is None:
        return None
    text = max(pairing.texts, key=lambda name: view.of(name).words)
    found = [one for one in find_categories(view.profiles, text, view.evidence) if one.total >= ENOUGH and one.standing == "certain"]
    if not found or found[0].said is None or found[0].said.strength not in ("strong", "some"):
        return None
    own = next((one for one in targets if one.name == found[0].name), None)
    if (own is not None and own.evidence > 0) or any(one.total >= ENOUGH and one.name != found[0].name for one in targets):
        return None
    if pairing.names >= SURE and (
        pairing.texts[0] in view.table.columns and view.of(pairing.texts[0]).key in FIRST and view.of(pairing.texts[0]).key not in _TITLES
    ):
        return None  # a question and its answer, and what they are about
    roles = categorised(view, text, found[0].name)
    question = asking.about_kind(
        view.table,
        roles,
        [("positive_pairs", pairing.texts, None)],
        f"{found[0].classes:,} categories in the column {found[0].name!r}: should texts of one category lie together?",
        found[0].in_words(),
        favoured=found[0].favoured,
    )
    return Reading(roles, (question,), (found[0].in_words(),))


_LABELS = 30
_CLOSELY = 0.3
_NO_TARGET = -2.0  # weight of a name below which a column is something else
_ABOUT = frozenset(["tags", "keywords", "schlagworte", "schlagwörter", "stichworte", "étiquettes", "etiquetas", "etichette", "теги"])
_FOLLOWS, _FOLLOWS_DESPITE = 0.3, 0.5
_TITLES = frozenset(["title", "titel", "titre", "título", "titolo", "标题", "headline", "subject"])


def _of_targets(view: View, pairing: Pairing, targets: Sequence[Target]) -> Reading:
    texts = pairing.texts
    if targets and targets[0].total >= ENOUGH:
        best = targets[0]
        reading = with_target(view, texts, best.name, None)
        rivals = [one for one in targets[1:] if one.total >= ENOUGH and one.total > best.total - 0.5 and one.scores == best.scores]
        rivals = [] if best.standing == "certain" and all(one.standing != "certain" for one in rivals) else rivals
        if best.contradicted:  # what the model follows closely may be it, whatever it is called
            rivals += [one for one in targets[1:] if one not in rivals and one.size >= _CLOSELY and one.total >= WORTH_ASKING]
        if rivals or not best.certain:
            names = [best.name, *(one.name for one in rivals[:3])]
            why = _doubt(best) if best.contradicted or not rivals else "more than one column may hold it"
            question = asking.about_target(view.table, texts, names, why, favoured=_favoured(best, rivals))
            return replace(reading, questions=(question, *reading.questions), why=(why, *reading.why))
        return reading
    roles = Roles("positive_pairs", texts, group=group_of(view, texts))
    maybe = [one for one in targets if (one.total >= WORTH_ASKING or _follows(one) or _says_nothing(view, one)) and not _a_group(one)]
    if maybe:
        why = _doubt(maybe[0])
        if view.evidence.similar is None:
            reading = with_target(view, texts, maybe[0].name, None)
            question = asking.about_target(view.table, texts, [one.name for one in maybe[:3]], why)
            return replace(reading, questions=(question, *reading.questions))
        names = [one.name for one in maybe[:3]]
        favoured = all(one.evidence < 0 for one in maybe)
        return Reading(roles, (asking.about_target(view.table, texts, names, why, none=True, favoured=favoured),), (why,))
    return _without_target(view, pairing, roles)


def _without_target(view: View, pairing: Pairing, roles: Roles) -> Reading:
    """Pairs that belong together, if nothing speaks against it."""
    texts = pairing.texts
    empty = [one.name for one in view.profiles if not one.filled and target_standing(one.name) in ("certain", "likely")]
    if empty:
        why = f"the column {empty[0]!r} holds no value; formulas do not, before a spreadsheet has calculated and saved them"
        question = asking.about_kind(
            view.table, roles, [("sentences", (main_text(view),), None)], "Do the two texts of a row belong together?", why, favoured=False
        )
        return Reading(roles, (question,), (why,))
    aligned = view.evidence.aligned(*texts)
    if aligned is not None and aligned < 0.6 and pairing.names < SURE:
        why = f"by {view.evidence.model} the two texts of a row are hardly more alike than any others"
        question = asking.about_kind(
            view.table, roles, [("sentences", (main_text(view),), None)], "Do the two texts of a row belong together?", why, favoured=False
        )
        return Reading(roles, (question,), (why,))
    if (third := _unread(view, texts)) is not None:
        roles, question = ask_third(view, texts, third)
        return Reading(roles, (question,), (question.why,))
    told = () if aligned is None else (f"the two texts of a row are more alike than those of two rows in {aligned:.0%} of comparisons",)
    return Reading(roles, (), (*told, *unused(view, roles)))


def _unread(view: View, texts: tuple[str, str]) -> str | None:
    """A further column of texts like the two that are read."""
    return next((text.name for text in view.texts if text.name not in texts and comparable(view, text, texts)), None)


def _favoured(best: Target, rivals: Sequence[Target]) -> bool:
    """Whether name or model speak for a column, neither against it, and neither more for another."""
    if best.evidence < 0 or best.names < 0 or best.names + best.evidence <= 0:
        return False
    return all(best.names + best.evidence > one.names + one.evidence and best.size >= one.size for one in rivals)


def _follows(one: Target) -> bool:
    """Whether a column follows the similarity so closely that it is never passed over, whatever it is called."""
    least = _FOLLOWS_DESPITE if one.standing == "never" else _FOLLOWS
    return one.said is not None and one.said.strength == "strong" and one.size >= least and one.standing != "mixed"


def _says_nothing(view: View, one: Target) -> bool:
    """Whether a column of few values, of a name that says nothing, may hold labels although the model does not tell them apart."""
    profile = view.of(one.name)
    if (
        one.standing in ("never", "mixed")
        or one.names <= _NO_TARGET
        or is_aside(one.name)
        or not 2 <= profile.distinct <= _LABELS
        or profile.is_year
    ):
        return False
    return profile.few and not all(map(is_code, profile.values))


def _a_group(one: Target) -> bool:
    return one.evidence <= 0 and not one.scores and (is_topic(one.name) or bool(set(parts(one.name)) & _ABOUT))


def _doubt(one: Target) -> str:
    told = f"; {one.said.in_words()}" if one.said is not None else ""
    if one.standing == "unknown":
        return f"the column {one.name!r} is not called a score or a label{told}"
    return f"the column {one.name!r} may be something else{told}"
