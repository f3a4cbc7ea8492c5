"""The roles of a table's columns, found out from their names, what they hold, and what the untuned model says of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import StudioError
from . import asking
from .categories import Category, find_categories
from .evidence import Evidence, Ranked, Similar
from .ordering import Ordering, order_classes
from .pairing import SURE, Pairing, alike_named, judged, pairings, triplet_by_names
from .profile import ColumnProfile, numbers_of, profile_table
from .questions import Option, Question
from .roles import KINDS, Kind, Roles
from .scales import describe_labels, describe_scale, detect_scale, find_classes, same_class
from .tables import Table
from .targets import ENOUGH, WORTH_ASKING, Target, find_targets, reads_as_scores
from .vocabulary import CATEGORY, FIRST, GROUP, LABEL, NEGATIVE, category_standing, is_aside, is_reversed, target_standing

_INFERENCE = ({"premise", "hypothesis"}, {"前提", "假设"}, {"前提", "假設"}, {"前提", "仮説"}, {"전제", "가설"})
_FEW_CLASSES = 12
_WORDS_OF_A_NAME = 3


@dataclass(frozen=True)
class Reading:
    """What a table is.

    Attributes:
        roles: its columns' parts.
        questions: what only its owner can say; none where the reading is certain.
        why: what tells so, a sentence each.
    """

    roles: Roles
    questions: tuple[Question, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether nothing is left to ask."""
        return not self.questions


@dataclass(frozen=True)
class _View:
    table: Table
    profiles: tuple[ColumnProfile, ...]
    evidence: Evidence
    order: tuple[str, ...] | None = None
    scale: tuple[float, float] | None = None

    def of(self, name: str) -> ColumnProfile:
        return self.profiles[self.table.columns.index(name)]

    @property
    def texts(self) -> list[ColumnProfile]:
        return [profile for profile in self.profiles if profile.is_text and not _a_name(profile)]


def _a_name(profile: ColumnProfile) -> bool:
    """Whether a column of a few words holds persons, places and the like, by what it is called."""
    return profile.words <= _WORDS_OF_A_NAME and not profile.named_text and target_standing(profile.name) == "never"


def detect_roles(
    table: Table,
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    similar: Similar | None = None,
) -> Roles:
    """What the columns are; see :func:`read_columns`, of which this is the roles alone."""
    return read_columns(table, kind, columns, target, similar=similar).roles


def read_columns(
    table: Table,
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    order: tuple[str, ...] | None = None,
    scale: tuple[float, float] | None = None,
    *,
    similar: Similar | None = None,
) -> Reading:
    """Decide what the columns are; whatever is given is kept and not asked, the rest is found out.

    Args:
        table: the training file.
        kind: the kind of examples wanted.
        columns: the text columns, in the order of their parts.
        target: the column of scores, labels or categories.
        order: the labels from least to most alike; an empty tuple: they have no order.
        scale: the score of what is least alike, and of what is most alike.
        similar: the untuned model; None: names and values only, which leaves more questions.

    Raises:
        StudioError: a column is not there, or the kind cannot be had from this table.
    """
    if kind is not None and kind not in KINDS:
        raise StudioError(f"there is no kind of examples called {kind!r}", f"choose one of {', '.join(KINDS)}")
    table.require(*(columns or ()), *((target,) if target else ()))
    if columns is not None and target in columns:
        raise StudioError(f"the column {target!r} is chosen for two parts", "choose a column of its own for each part")
    view = _View(table, profile_table(table), Evidence(table, similar), order, scale)
    if kind is None and columns is not None and len(columns) != 2:
        kind = "triplets" if len(columns) > 2 else "labelled_texts" if target else "sentences"
    if kind in ("sentences", "labelled_texts", "triplets"):
        return _of_a_kind(view, kind, columns, target)
    texts = [text for text in view.texts if text.name != target]
    if kind is None and columns is None and target is None and (reading := _found_triplets(view)):
        return reading
    if kind is None and columns is None and (len(texts) < 2 or (target is None and _a_name_and_a_text(view, texts))):
        return _one_text(view, target)
    return _pairs(view, columns, kind, target)


def _of_a_kind(view: _View, kind: Kind, columns: Sequence[str] | None, target: str | None) -> Reading:
    if kind == "labelled_texts":
        return _labelled_texts(view, columns, target)
    return Reading(_sentences(view, columns, target) if kind == "sentences" else _triplets(view, columns))


def _a_name_and_a_text(view: _View, texts: Sequence[ColumnProfile]) -> bool:
    """Whether of two columns one holds a few words that have nothing to do with the text beside them."""
    if len(texts) != 2:
        return False
    short, long = sorted(texts, key=lambda text: text.words)
    if short.words > _WORDS_OF_A_NAME or long.words < 2 * short.words or pairings(texts)[0].names >= SURE:
        return False
    aligned = view.evidence.aligned(short.name, long.name)
    return aligned is not None and aligned < 0.6


# ---------------------------------------------------------------------------------------------------------------- one column of text


def _sentences(view: _View, columns: Sequence[str] | None, target: str | None) -> Roles:
    texts = tuple(columns) if columns else (_main_text(view, target),)
    return Roles("sentences", texts, group=target or _group(view, texts, labels=True))


def _main_text(view: _View, target: str | None = None) -> str:
    found = [text for text in view.texts if text.name != target]
    longest = max((text.words for text in found), default=0.0)
    texts = sorted(found, key=lambda text: (is_aside(text.name), not text.named_text, text.words < longest / 2))
    if not texts:
        names = ", ".join(view.table.columns[:20])
        raise StudioError(f"no column of {view.table.name} looks like text", f"name one of its columns: {names}")
    return texts[0].name


def _labelled_texts(view: _View, columns: Sequence[str] | None, target: str | None) -> Reading:
    text = columns[0] if columns else _main_text(view, target)
    if columns and len(columns) > 1:
        Roles("labelled_texts", tuple(columns), target or "")
    if target is None:
        found = find_categories(view.profiles, text, view.evidence)
        if not found:
            raise StudioError(f"{view.table.name} has no column of categories", "name the column, or choose the kind sentences")
        target = found[0].name
    return Reading(_categorised(view, text, target))


def _categorised(view: _View, text: str, target: str) -> Roles:
    counted: dict[str, int] = {}
    for cell in view.table.column(target):
        if cell.strip():
            counted[cell.strip()] = counted.get(cell.strip(), 0) + 1
    if len(counted) < 2:
        raise StudioError(f"the column {target!r} holds fewer than two categories", "choose another column or kind")
    if max(counted.values()) < 2:
        raise StudioError(f"every category of the column {target!r} has a single text", "choose another column or kind")
    labels = tuple(sorted(counted, key=lambda name: (len(name), name) if name.isdigit() else (0, name)))
    note = f"{len(labels):,} categories"
    return Roles("labelled_texts", (text,), target, labels=labels, group=_group(view, (text, target)), note=note, ordered=False)


def _one_text(view: _View, target: str | None) -> Reading:
    text = _main_text(view, target)
    if target is not None:
        return Reading(_categorised(view, text, target))
    found = [one for one in find_categories(view.profiles, text, view.evidence) if one.total >= WORTH_ASKING]
    if not found:
        roles = _sentences(view, None, None)
        return Reading(roles, (), _unused(view, roles))
    best = found[0]
    if best.total < ENOUGH:
        roles = Roles("sentences", (text,), group=best.name)
        return Reading(roles, (_ask_category(view, roles, best),), (best.in_words(),))
    roles = _categorised(view, text, best.name)
    rivals = [one for one in found[1:] if one.total > best.total - 0.6]
    questions: tuple[Question, ...] = ()
    if rivals:
        names = [best.name, *(one.name for one in rivals)]
        why = "more than one column may hold them"
        question = asking.about_target(view.table, (text,), names, why, what="categories of the texts")
        alone = Option("none of them: they are texts alone", "--kind sentences", {"kind": "sentences"})
        questions = (replace(question, options=(*question.options[:-1], alone)),)
    elif not best.certain:
        questions = (_ask_category(view, roles, best),)
    return Reading(roles, questions, (best.in_words(), *_unused(view, roles)))


def _ask_category(view: _View, roles: Roles, best: Category) -> Question:
    text = f"{best.classes:,} categories in the column {best.name!r}: should texts of one category lie together?"
    other: tuple[Kind, Sequence[str], str | None]
    other = ("sentences", roles.texts, None) if roles.kind == "labelled_texts" else ("labelled_texts", roles.texts, best.name)
    return asking.about_kind(view.table, roles, [other], text, best.in_words())


# ------------------------------------------------------------------------------------------------------------------------- triplets


def _triplets(view: _View, columns: Sequence[str] | None) -> Roles:
    texts = tuple(columns) if columns else triplet_by_names(view.texts)
    if not texts:
        found = [text.name for text in view.texts if not is_aside(text.name)] or [text.name for text in view.texts]
        if len(found) < 3:
            raise StudioError(
                f"{view.table.name} has {len(view.texts)} columns of text; triplets need anchor, positive and negative",
                "name three columns, or convert pairs or entailment labels to triplets",
            )
        texts = tuple(found[:3])
    return Roles("triplets", texts, group=_group(view, texts))


def _found_triplets(view: _View) -> Reading | None:
    """Triplets that nobody asked for: a column is called negative, or three are called alike and no column is a target."""
    texts = view.texts
    if named := triplet_by_names(texts):
        nearer = view.evidence.nearer(*named[:3])
        roles = Roles("triplets", named, group=_group(view, named))
        if nearer is None or nearer > 0.35:
            return Reading(roles, (), ("a column is called negative", *_unused(view, roles)))
        swapped = (named[0], named[2], named[1], *named[3:])
        why = f"the anchor is more like {named[2]!r} than like {named[1]!r} in {1 - nearer:.0%} of the rows looked at"
        return Reading(roles, (asking.about_columns(view.table, [named, swapped], why),), (why,))
    if not alike_named(texts):
        return None
    names = tuple(text.name for text in texts)
    if any(one.total >= ENOUGH for one in find_targets(view.profiles, (names[0], names[1]), view.evidence) if one.name not in names):
        return None
    nearer = view.evidence.nearer(*names[:3])
    roles = Roles("triplets", names, group=_group(view, names))
    if nearer is not None and nearer >= 0.7:
        return Reading(roles, (), (f"{names[0]!r} is more like {names[1]!r} than like {names[2]!r} in {nearer:.0%} of the rows looked at",))
    why = (
        "nothing says which text is unlike the others"
        if nearer is None
        else f"the second text is nearer than the third in {nearer:.0%} of the rows"
    )
    swapped = (names[0], names[2], names[1])
    order = [swapped, names] if nearer is not None and nearer <= 0.3 else [names, swapped]
    roles = replace(roles, texts=tuple(order[0]))
    pair: tuple[Kind, Sequence[str], str | None] = ("positive_pairs", names[:2], None)
    text = f"Is {order[0][1]!r} like {order[0][0]!r}, and {order[0][2]!r} not?"
    return Reading(roles, (asking.about_kind(view.table, roles, [("triplets", order[1], None), pair], text, why),), (why,))


# ---------------------------------------------------------------------------------------------------------------------------- pairs


def _pairs(view: _View, columns: Sequence[str] | None, kind: Kind | None, target: str | None) -> Reading:
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
        roles = Roles("positive_pairs", texts, group=_group(view, texts))
        return Reading(roles, tuple(questions), _unused(view, roles))
    if target is not None:
        reading = _with_target(view, texts, target, kind)
        return replace(reading, questions=(*questions, *reading.questions))
    targets = _fitting(find_targets(view.profiles, texts, view.evidence, inference=_inference(view, texts)), view, kind)
    if kind is not None:
        if not targets:
            what = "scores" if kind == "scored_pairs" else "labels"
            raise StudioError(f"{view.table.name} has no column of {what}", "name the column, or choose the kind positive_pairs")
        reading = _with_target(view, texts, targets[0].name, kind)
        return replace(reading, questions=(*questions, *reading.questions))
    if columns is None and (category := _rather_category(view, pairing, targets)) is not None:
        return category
    reading = _of_targets(view, pairing, targets)
    return replace(reading, questions=(*questions, *reading.questions))


def _candidates(view: _View, kind: Kind | None, target: str | None) -> list[Pairing]:
    texts = [text for text in view.texts if text.name != target]
    if len(texts) < 2:
        found = f"one column of text ({texts[0].name!r})" if texts else "no column of text"
        names = ", ".join(view.table.columns[:20])
        raise StudioError(
            f"{view.table.name} has {found}; pairs need two",
            f"add the second text, or name two of its columns: {names}; one column trains as the kind sentences",
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


def _ask_columns(view: _View, candidates: Sequence[Pairing]) -> Question | None:
    """Where the names leave open which texts are meant, and the model does not tell them apart."""
    if len(candidates) < 2 or (candidates[0].names >= SURE and candidates[1].names < candidates[0].names):
        return None
    first, second = candidates[:2]
    if second.names < first.names - 1.0:
        return None
    if first.aligned is not None and second.aligned is not None and first.aligned - second.aligned > 0.1:
        return None
    return asking.about_columns(view.table, [one.texts for one in candidates[:3]], "more than two columns hold texts")


def _fitting(targets: list[Target], view: _View, kind: Kind | None) -> list[Target]:
    if kind == "scored_pairs":
        return [one for one in targets if view.of(one.name).is_number and one.names > -2]
    if kind == "labelled_pairs":
        return sorted(
            (one for one in targets if one.names > -2), key=lambda one: (one.scores and not view.of(one.name).distinct <= 3, -one.total)
        )
    return targets


def _rather_category(view: _View, pairing: Pairing, targets: Sequence[Target]) -> Reading | None:
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
    roles = _categorised(view, text, found[0].name)
    question = asking.about_kind(
        view.table,
        roles,
        [("positive_pairs", pairing.texts, None)],
        f"{found[0].classes:,} categories in the column {found[0].name!r}: should texts of one category lie together?",
        found[0].in_words(),
    )
    return Reading(roles, (question,), (found[0].in_words(),))


_TITLES = frozenset(["title", "titel", "titre", "título", "titolo", "标题", "headline", "subject"])


def _of_targets(view: _View, pairing: Pairing, targets: Sequence[Target]) -> Reading:
    texts = pairing.texts
    if targets and targets[0].total >= ENOUGH:
        best = targets[0]
        reading = _with_target(view, texts, best.name, None)
        rivals = [one for one in targets[1:] if one.total >= ENOUGH and one.total > best.total - 0.5 and one.scores == best.scores]
        rivals = [] if best.standing == "certain" and all(one.standing != "certain" for one in rivals) else rivals
        if rivals or not best.certain:
            names = [best.name, *(one.name for one in rivals)]
            why = "more than one column may hold it" if rivals else _doubt(best)
            question = asking.about_target(view.table, texts, names, why)
            return replace(reading, questions=(question, *reading.questions), why=(why, *reading.why))
        return reading
    roles = Roles("positive_pairs", texts, group=_group(view, texts))
    maybe = [one for one in targets if one.total >= WORTH_ASKING and not _a_group(one)]
    if maybe:
        why = _doubt(maybe[0])
        if view.evidence.similar is None:
            reading = _with_target(view, texts, maybe[0].name, None)
            question = asking.about_target(view.table, texts, [one.name for one in maybe[:3]], why)
            return replace(reading, questions=(question, *reading.questions))
        return Reading(roles, (asking.about_target(view.table, texts, [one.name for one in maybe[:3]], why, none=True),), (why,))
    aligned = view.evidence.aligned(*texts)
    if aligned is not None and aligned < 0.6 and pairing.names < SURE:
        why = "the untuned model finds the two texts of a row hardly more alike than any others"
        question = asking.about_kind(
            view.table, roles, [("sentences", (_main_text(view),), None)], "Do the two texts of a row belong together?", why
        )
        return Reading(roles, (question,), (why,))
    told = () if aligned is None else (f"the two texts of a row are more alike than those of two rows in {aligned:.0%} of comparisons",)
    return Reading(roles, (), (*told, *_unused(view, roles)))


def _a_group(one: Target) -> bool:
    return one.evidence <= 0 and not one.scores and category_standing(one.name) == "certain"


def _doubt(one: Target) -> str:
    told = f"; {one.said.in_words()}" if one.said is not None else ""
    if one.standing == "unknown":
        return f"the column {one.name!r} is not called a score or a label{told}"
    return f"the column {one.name!r} may be something else{told}"


def _inference(view: _View, texts: Sequence[str]) -> bool:
    names = {view.of(text).key for text in texts}
    return any(pair <= names for pair in _INFERENCE) or any("hypoth" in name or "hypót" in name for name in names)


def _with_target(view: _View, texts: tuple[str, str], target: str, kind: Kind | None) -> Reading:
    scored = kind == "scored_pairs" if kind is not None else reads_as_scores(view.of(target), _inference(view, texts))
    return _scored(view, texts, target) if scored else _labelled(view, texts, target)


def _scored(view: _View, texts: tuple[str, str], target: str) -> Reading:
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
    roles = Roles("scored_pairs", texts, target, low, high, group=_group(view, (*texts, target)), note=describe_scale(low, high))
    told = () if said is None else (f"{target}: {said.in_words()}",)
    if view.scale is None and (why := _wrong_way(view, said, roles)):
        return Reading(roles, (asking.about_direction(view.table, roles, why),), told)
    return Reading(roles, (), (*told, *_unused(view, roles)))


def _wrong_way(view: _View, said: Ranked | None, roles: Roles) -> str:
    """Why the direction of a scale must be asked for; empty where it need not."""
    assert roles.low is not None and roles.high is not None
    turned = roles.low > roles.high
    if said is None:
        return f"{roles.target!r} is the name of a distance, and no model was asked" if turned and view.evidence.similar is None else ""
    if said.strength in ("strong", "some") and (said.rho < 0) != turned:
        return f"higher scores stand beside {'more' if turned else 'less'} alike texts: {said.in_words()}"
    return f"{roles.target!r} is the name of a distance, and the model does not confirm it" if turned and said.rho > -0.15 else ""


def _labelled(view: _View, texts: tuple[str, str], target: str) -> Reading:
    cells = view.table.column(target)
    classes = find_classes(cells)
    evidence = view.evidence
    inference = _inference(view, texts)
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
        "labelled_pairs", texts, target, labels=found.labels, group=_group(view, (*texts, target)), note=note, ordered=found.ordered
    )
    told = (f"{target}: {found.why}",) if found.why else ()
    if not found.certain:
        return Reading(roles, (asking.about_order(view.table, roles, found.why),), told)
    return Reading(roles, (), (*told, *_unused(view, roles)))


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


# --------------------------------------------------------------------------------------------------------------------------- the rest


def _group(view: _View, used: Sequence[str], labels: bool = False) -> str | None:
    """The column of topics: by its name; for sentences a column of labels will do too."""
    for names in (GROUP, LABEL | CATEGORY) if labels else (GROUP, CATEGORY - LABEL):
        for profile in view.profiles:
            small = profile.is_category or (profile.is_number and profile.distinct <= max(2, 0.2 * profile.filled))
            if profile.name not in used and profile.key in names and small and not profile.sequence:
                return profile.name
    if labels:
        return next((profile.name for profile in view.profiles if profile.name not in used and profile.is_category), None)
    return None


def _unused(view: _View, roles: Roles) -> tuple[str, ...]:
    """The columns that have no part, in a sentence."""
    parts = (*roles.texts, roles.target, roles.group)
    left = [
        profile.name for profile in view.profiles if profile.name not in parts and profile.filled and not NEGATIVE.fullmatch(profile.key)
    ]
    if not left:
        return ()
    shown = ", ".join(left[:8]) + (" …" if len(left) > 8 else "")
    return (f"not learned from: {shown}",)
