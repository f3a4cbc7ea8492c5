"""Hypotheses of two texts a row: which columns belong together, and whether a third column holds a score or a label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from ...errors import StudioError
from ..questions import Question
from .content import is_code
from .evidence import Evidence
from .hypotheses import ACCEPT, ASK, PAIRS, Hypothesis, SchemaContext
from .labelled_pairs import are_inference_texts, labelled_pairs
from .labels import is_blank_class
from .names import FIRST, KEYWORDS, POSITIVE, SECOND, TITLE, are_sides, is_comment_name, is_negative_name, is_topic_name, rate_target_name
from .profile import WORDS_OF_A_NAME, ColumnProfile
from .questions import Reading, ask_columns, ask_kind, ask_target
from .roles import Kind, Roles
from .scored_pairs import scored_pairs
from .targets import CategoryTarget, PairTarget, find_categories, find_pair_targets, reads_as_scores
from .texts import ask_category_kind, labelled_texts, main_text
from .triplets import are_comparable, ask_third_text
from .words import split_words

NAMED = 2.0
"""The name score from which two columns are meant as a pair."""
_SIDES = 3.0
_AT_CHANCE = 0.6  # an alignment below which two texts of a row are no more similar than others
_MOST_PAIRS = 6
_MOST_LABELS = 30
_CLOSE = 0.3
_CLOSE_DESPITE_NAME = 0.5


@dataclass(frozen=True)
class TextPair:
    """Two text columns.

    Attributes:
        texts: their names, in the order of their parts.
        name_score: points for their names; from :data:`NAMED` on they are meant as a pair.
        alignment: how much more similar they are row by row than shuffled (AUC); None if that was not examined.
    """

    texts: tuple[str, str]
    name_score: float
    alignment: float | None = None


def pair_hypotheses(context: SchemaContext) -> list[Hypothesis]:
    """Return what the rows may be as pairs; none unless there are two comparable text columns."""
    texts = context.texts
    if len(texts) < 2 or _are_name_and_text(context, texts):
        return []
    pairs = find_pairs(context)
    question = _ask_columns(context, pairs)
    targets = _find_targets(context, pairs[0].texts)
    category = _category_instead(context, pairs[0], targets)
    if category is not None:
        return [category]
    found = _with_best_target(context, pairs[0], targets)
    return [found if question is None else replace(found, questions=(question, *found.questions))]


def specified_pairs(context: SchemaContext, columns: Sequence[str] | None, kind: Kind | None, target: str | None) -> Hypothesis:
    """Return pairs with specified columns, kind or target.

    Raises:
        StudioError: the table has no such pairs.
    """
    question: Question | None = None
    if columns:
        pair = TextPair((columns[0], columns[1]), NAMED)
    else:
        pairs = find_pairs(context, kind, target)
        pair, question = pairs[0], _ask_columns(context, pairs)
    if kind == "positive_pairs":
        roles = _positive_pairs(context, pair.texts)
        found = Hypothesis(roles, PAIRS, context.describe_unused(roles))
    elif target is not None:
        found = with_target(context, pair.texts, target, kind)
    elif kind is not None:
        found = with_target(context, pair.texts, _target_of_kind(context, pair.texts, kind), kind)
    else:
        found = _with_best_target(context, pair, _find_targets(context, pair.texts))
    return found if question is None else replace(found, questions=(question, *found.questions))


def with_target(context: SchemaContext, texts: tuple[str, str], target: str, kind: Kind | None = None) -> Hypothesis:
    """Return pairs with the scores or labels of a column, depending on its values unless ``kind`` is given."""
    if kind is not None:
        is_scored = kind == "scored_pairs"
    else:
        is_scored = reads_as_scores(context.profile(target), are_inference_texts(context, texts))
        is_scored = is_scored and not is_blank_class(context.table.column(target))
    return scored_pairs(context, texts, target) if is_scored else labelled_pairs(context, texts, target)


# --- which columns


def find_pairs(context: SchemaContext, kind: Kind | None = None, target: str | None = None) -> list[TextPair]:
    """Return all pairs of text columns, each in the better order of its two, the likeliest first.

    Raises:
        StudioError: there are fewer than two.
    """
    texts = [text for text in context.texts if text.name != target]
    if len(texts) < 2:
        found = f"one column of text ({texts[0].name!r})" if texts else "no column of text"
        names = ", ".join(context.table.columns[:20])
        raise StudioError(
            f"{context.table.name} has {found}, but pairs need two",
            f"add the second text, or name two of its columns: {names}; "
            f"a single column can be used as kind sentences{context.table.elsewhere}",
        )

    def effect(pair: tuple[str, str]) -> float:
        if target is not None:
            found = context.evidence.rank_correlation(pair, target) if context.profile(target).is_number else None
            return found.effect if found else 0.0
        if kind == "positive_pairs":
            return 0.0
        targets = find_pair_targets(context.profiles, pair, context.evidence)
        return max((one.effect for one in targets if one.name_score >= -1), default=0.0)

    return _rank_by_evidence(_rank_by_name(texts), context.evidence, effect)


def _rank_by_name(texts: Sequence[ColumnProfile]) -> list[TextPair]:
    places = {profile.name: place for place, profile in enumerate(texts)}
    found: dict[frozenset[str], TextPair] = {}
    for first, second in permutations(texts, 2):
        pair = TextPair((first.name, second.name), _rate_names(first, second))
        known = found.get(frozenset(pair.texts))
        if known is None or pair.name_score > known.name_score:
            found[frozenset(pair.texts)] = pair
    return sorted(found.values(), key=lambda pair: (-pair.name_score, *sorted(places[name] for name in pair.texts)))


def _rank_by_evidence(pairs: list[TextPair], evidence: Evidence, effect: Callable[[tuple[str, str]], float]) -> list[TextPair]:
    """Rank pairs whose names leave it open by how well the model finds them aligned, and by the ``effect`` of their targets."""
    best = pairs[0].name_score
    rivals = [one for one in pairs if one.name_score > best - 1.0][:_MOST_PAIRS]
    if len(rivals) < 2 or evidence.similar is None or (best >= NAMED and rivals[1].name_score < best):
        return pairs
    rated = []
    for one in rivals:
        alignment = evidence.alignment(*one.texts) or 0.5
        rated.append((one.name_score + 3 * effect(one.texts) + 2 * (alignment - 0.5), replace(one, alignment=alignment)))
    rated.sort(key=lambda item: -item[0])
    return [one for _, one in rated]


def _rate_names(first: ColumnProfile, second: ColumnProfile) -> float:
    bare_first, bare_second = (one.key.rstrip("0123456789") for one in (first, second))
    leads, follows = first.key in FIRST, second.key in SECOND or bare_second in POSITIVE
    if are_sides(first.name, second.name):
        score = _SIDES + 0.5 * (leads and follows) - 1.0 * (bare_first in POSITIVE)
    elif leads and follows:
        score = 2.5
    else:
        score = 0.75 * leads + 0.75 * follows + 0.25 * (first.is_named_text + second.is_named_text)
    for one in (first, second):
        if is_comment_name(one.name) and not (one.key in FIRST | SECOND and score >= NAMED):
            score -= 1.5
    return score - 1.0 * (is_negative_name(first.name) or is_negative_name(second.name))


def _are_name_and_text(context: SchemaContext, texts: Sequence[ColumnProfile]) -> bool:
    """Return True if one of two columns holds a few words that have nothing to do with the text beside them."""
    if len(texts) != 2:
        return False
    short, long = sorted(texts, key=lambda text: text.words)
    if short.words > WORDS_OF_A_NAME or long.words < 2 * short.words or _rank_by_name(texts)[0].name_score >= NAMED:
        return False
    alignment = context.evidence.alignment(short.name, long.name)
    return alignment is not None and alignment < _AT_CHANCE


def _ask_columns(context: SchemaContext, pairs: Sequence[TextPair]) -> Question | None:
    """Return the question which columns are meant, if names and model leave it open."""
    if len(pairs) < 2 or (pairs[0].name_score >= NAMED and pairs[1].name_score < pairs[0].name_score):
        return None
    first, second = pairs[:2]
    if second.name_score < first.name_score - 1.0:
        return None
    one, other = (0.0 if pair.alignment is None else pair.alignment for pair in (first, second))
    has_evidence = first.alignment is not None and second.alignment is not None
    if has_evidence and one - other > 0.1:
        return None
    is_favored = (not has_evidence or one >= other) and (first.name_score > second.name_score or one > other)
    why = "more than two columns contain texts"
    return ask_columns(context.table, [pair.texts for pair in pairs[:3]], why, is_favored=is_favored)


# --- which target


def _find_targets(context: SchemaContext, texts: tuple[str, str]) -> list[PairTarget]:
    return find_pair_targets(context.profiles, texts, context.evidence, is_inference=are_inference_texts(context, texts))


def _target_of_kind(context: SchemaContext, texts: tuple[str, str], kind: Kind) -> str:
    targets = [one for one in _find_targets(context, texts) if one.name_score > -2]
    if kind == "scored_pairs":
        targets = [one for one in targets if context.profile(one.column).is_number]
    else:
        targets.sort(key=lambda one: (one.is_scores and context.profile(one.column).distinct > 3, -one.score))
    if not targets:
        what = "scores" if kind == "scored_pairs" else "labels"
        raise StudioError(f"{context.table.name} has no column of {what}", "name the column, or choose the kind positive_pairs")
    return targets[0].column


def _with_best_target(context: SchemaContext, pair: TextPair, targets: Sequence[PairTarget]) -> Hypothesis:
    if targets and targets[0].score >= ACCEPT:
        return _with_accepted_target(context, pair.texts, targets)
    doubtful = [one for one in targets if _is_worth_asking(context, one)]
    if not doubtful:
        return _without_target(context, pair)
    why, names = _doubt(doubtful[0]), [one.column for one in doubtful[:3]]
    if context.evidence.similar is None:
        found = with_target(context, pair.texts, names[0])
        question = ask_target(context.table, pair.texts, names, why, is_favored=False)
        return replace(found, score=PAIRS, questions=(question, *found.questions))
    is_favored = all(one.model_score < 0 for one in doubtful)
    can_be_category = not doubtful[0].is_scores and context.profile(names[0]).distinct > 1
    category_of = max(pair.texts, key=lambda name: context.profile(name).words) if can_be_category else None
    question = ask_target(context.table, pair.texts, names, why, is_used=False, category_of=category_of, is_favored=is_favored)
    return Hypothesis(_positive_pairs(context, pair.texts), PAIRS, (why,), (question,))


def _with_accepted_target(context: SchemaContext, texts: tuple[str, str], targets: Sequence[PairTarget]) -> Hypothesis:
    best, rest = targets[0], targets[1:]
    found = replace(with_target(context, texts, best.column), score=best.score)
    rivals = [one for one in rest if one.score >= ACCEPT and one.score > best.score - 0.5 and one.is_scores == best.is_scores]
    if best.rating == "certain" and all(one.rating != "certain" for one in rivals):
        rivals = []
    if best.is_contradicted:  # what follows the model closely may be meant, whatever it is called
        rivals += [one for one in rest if one not in rivals and one.effect >= _CLOSE and one.score >= ASK]
    if not rivals and best.is_certain:
        return found
    why = _doubt(best) if best.is_contradicted or not rivals else "more than one column may contain it"
    points = best.name_score + best.model_score
    is_favored = best.model_score >= 0 and best.name_score >= 0 and points > 0
    is_favored = is_favored and all(points > one.name_score + one.model_score and best.effect >= one.effect for one in rivals)
    names = [best.column, *(one.column for one in rivals[:3])]
    question = ask_target(context.table, texts, names, why, is_favored=is_favored)
    return replace(found, questions=(question, *found.questions), why=(why, *found.why))


def _is_worth_asking(context: SchemaContext, one: PairTarget) -> bool:
    if one.model_score <= 0 and not one.is_scores and (is_topic_name(one.column) or set(split_words(one.column)) & KEYWORDS):
        return False  # a group
    if one.score >= ASK:
        return True
    is_strong = one.association is not None and one.association.strength == "strong" and one.rating != "mixed"
    if is_strong and one.effect >= (_CLOSE_DESPITE_NAME if one.rating == "never" else _CLOSE):
        return True
    # A few values under an unknown name may be labels even if the model does not separate them.
    profile = context.profile(one.column)
    if one.rating in ("never", "mixed") or one.name_score <= -2.0 or is_comment_name(one.column) or profile.is_year:
        return False
    return 2 <= profile.distinct <= _MOST_LABELS and profile.has_few_values and not all(map(is_code, profile.values))


def _doubt(one: PairTarget) -> str:
    evidence = f"; {one.association.describe()}" if one.association is not None else ""
    if one.rating == "unknown":
        return f"the column {one.column!r} does not have the name of a score or a label{evidence}"
    return f"the column {one.column!r} may be neither a score nor a label{evidence}"


def _category_instead(context: SchemaContext, pair: TextPair, targets: Sequence[PairTarget]) -> Hypothesis | None:
    """Return texts with a category, if that is what a column beside a title and a text holds, rather than their similarity."""
    if pair.name_score >= _SIDES or context.evidence.similar is None:
        return None
    text = max(pair.texts, key=lambda name: context.profile(name).words)
    found = [one for one in find_categories(context.profiles, text, context.evidence) if one.score >= ACCEPT and one.rating == "certain"]
    if not found or found[0].association is None or found[0].association.strength not in ("strong", "some"):
        return None
    best: CategoryTarget = found[0]
    if any(one.model_score > 0 if one.column == best.column else one.score >= ACCEPT for one in targets):
        return None
    first = context.profile(pair.texts[0]).key
    if pair.name_score >= NAMED and first in FIRST and first not in TITLE:
        return None  # a question and its answer, and what they are about
    roles = labelled_texts(context, text, best.column)
    others: list[Reading] = [("positive_pairs", pair.texts, None)]
    question = ask_category_kind(context, roles, best, others)
    return Hypothesis(roles, best.score, (best.describe(),), (question,))


# --- pairs that belong together


def _positive_pairs(context: SchemaContext, texts: tuple[str, str]) -> Roles:
    return Roles("positive_pairs", texts, group=context.find_group(texts))


def _doubt_of_pairs(context: SchemaContext, texts: tuple[str, str], alignment: float | None) -> str:
    """Return why the two texts of a row may not belong together; empty if nothing speaks against it."""
    named = [one for one in context.profiles if rate_target_name(one.name) in ("certain", "likely")]
    if empty := [one.name for one in named if not one.filled]:
        return f"the column {empty[0]!r} is empty; formulas have no value until a spreadsheet has calculated and saved them"
    if nested := [one.name for one in named if one.is_nested]:
        return f"the column {nested[0]!r} holds lists or objects, of which no score or label was read"
    if rejected := [name for name in texts if is_negative_name(name)]:
        return f"the column {rejected[0]!r} is named like a negative, and no column holds its anchor"
    if alignment is not None and alignment < _AT_CHANCE:
        return f"by {context.evidence.model}, the two texts of a row are hardly more similar than texts of different rows"
    if few := [one for name in texts if (one := context.profile(name)).is_category]:
        return f"the column {few[0].name!r} holds only {few[0].distinct:,} different texts"
    return ""


def _without_target(context: SchemaContext, pair: TextPair) -> Hypothesis:
    texts = pair.texts
    roles = _positive_pairs(context, texts)
    alignment = context.evidence.alignment(*texts)
    if doubt := _doubt_of_pairs(context, texts, alignment):
        text = main_text(context)
        others: list[Reading] = [("sentences", (text,), None)]
        category = next((name for name in texts if context.profile(name).is_category and name != text), None)
        if category is not None:
            others.insert(0, ("labelled_texts", (text,), category))
        question = ask_kind(context.table, roles, others, "Do the two texts of a row belong together?", doubt, is_favored=False)
        return Hypothesis(roles, PAIRS, (doubt,), (question,))
    third = next((one.name for one in context.texts if one.name not in texts and are_comparable(context, one, texts)), None)
    if third is not None:
        question = ask_third_text(context, roles, third)
        return Hypothesis(roles, PAIRS, (question.why,), (question,))
    why = context.describe_unused(roles)
    if alignment is not None:
        why = (f"the two texts of a row are more similar than texts of different rows in {alignment:.0%} of comparisons", *why)
    return Hypothesis(roles, PAIRS, why)
