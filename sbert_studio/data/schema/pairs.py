"""Hypotheses about rows with two texts: which columns form a pair, and the role of a third."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from ...errors import StudioError
from ...i18n import _
from ..findings import Question
from .content import WORDS_OF_A_NAME, ColumnProfile, is_code
from .evidence import Evidence
from .hypotheses import (
    ACCEPT,
    ASK,
    PAIRS,
    Reading,
    SchemaContext,
    ask_columns,
    ask_kind,
    category_option,
    rows_with_values,
)
from .labelled_pairs import are_inference_texts, labelled_pairs
from .labels import is_blank_class
from .names import (
    CJK,
    FIRST,
    KEYWORDS,
    POSITIVE,
    SECOND,
    are_sides,
    is_comment_name,
    is_negative_name,
    is_topic_name,
    rate_target_name,
    split_words,
)
from .roles import InferredSchema, Kind, Roles, option
from .scored_pairs import scored_pairs
from .targets import PairTarget, find_pair_targets, reads_as_scores

NAMED, SIDES = 2.0, 3.0
"""Minimum name scores of columns named as a pair, and of two sides such as sentence1 and sentence2."""
_AT_CHANCE = 0.6  # alignment below which the two texts of a row are no more similar than random texts
_MOST_PAIRS = 6
_MOST_LABELS = 30
_CLOSE, _CLOSE_DESPITE_NAME = 0.3, 0.5

_LENGTH_RATIO = 2.5


@dataclass(frozen=True)
class ColumnPair:
    """Two text columns.

    Attributes:
        texts: their names, in the order of their roles.
        name_score: points for their names.
        alignment: how much more similar they are row by row than after shuffling (AUC); None if not computed.
    """

    texts: tuple[str, str]
    name_score: float
    alignment: float | None = None


def pair_hypotheses(context: SchemaContext) -> list[InferredSchema]:
    """Return interpretations of the rows as pairs; empty unless there are two comparable text columns."""
    texts = context.texts
    if len(texts) < 2 or _are_name_and_text(context, texts):
        return []
    pairs = find_pairs(context)
    targets = find_targets(context, pairs[0].texts)
    return [_with_question(_ask_which_pair(context, pairs), _with_best_target(context, pairs[0], targets))]


def specified_pairs(context: SchemaContext, columns: Sequence[str] | None, kind: Kind | None, target: str | None) -> InferredSchema:
    """Return pairs with the specified columns, kind or target.

    Raises:
        StudioError: the table contains no such pairs.
    """
    question: Question | None = None
    if columns:
        if len(columns) != 2:
            Roles(kind or "positive_pairs", tuple(columns))  # raises
        pair = ColumnPair((columns[0], columns[1]), NAMED)
    else:
        pairs = find_pairs(context, kind, target)
        pair, question = pairs[0], _ask_which_pair(context, pairs)
    if kind == "positive_pairs":
        roles = _positive_pairs(context, pair.texts)
        found = InferredSchema(roles, PAIRS, context.describe_unused(roles))
    elif target is None and kind is None:
        found = _with_best_target(context, pair, find_targets(context, pair.texts))
    else:
        found = _with_target(context, pair.texts, target or _target_of_kind(context, pair.texts, kind), kind)
    return _with_question(question, found)


def _with_question(question: Question | None, hypothesis: InferredSchema) -> InferredSchema:
    return hypothesis if question is None else replace(hypothesis, questions=(question, *hypothesis.questions))


def _with_target(context: SchemaContext, texts: tuple[str, str], target: str, kind: Kind | None = None) -> InferredSchema:
    is_scored = kind == "scored_pairs"
    if kind is None:
        is_scored = reads_as_scores(context.profile(target), are_inference_texts(context, texts))
        is_scored = is_scored and not is_blank_class(context.table.column(target))
    return scored_pairs(context, texts, target) if is_scored else labelled_pairs(context, texts, target)


# --- which columns


def find_pairs(context: SchemaContext, kind: Kind | None = None, target: str | None = None) -> list[ColumnPair]:
    """Return all pairs of text columns, each in its more plausible order, most likely first."""
    texts = [text for text in context.texts if text.name != target]
    if len(texts) < 2:
        found = _("one text column ({name})", name=repr(texts[0].name)) if texts else "no text column"
        names = ", ".join(context.table.columns[:20])
        raise StudioError(
            _("{name} has {found}, but pairs need two", name=context.table.name, found=found),
            _(
                "add a second text column, or specify two of its columns: {names}; to use a single column, choose the"
                " kind sentences{elsewhere}",
                names=names,
                elsewhere=context.table.elsewhere,
            ),
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


def _rank_by_name(texts: Sequence[ColumnProfile]) -> list[ColumnPair]:
    found = []
    for one, other in combinations(texts, 2):
        orders = [ColumnPair((a.name, b.name), _rate_names(a, b)) for a, b in permutations((one, other))]
        found.append(max(orders, key=lambda pair: pair.name_score))
    return sorted(found, key=lambda pair: -pair.name_score)


def _rank_by_evidence(pairs: list[ColumnPair], evidence: Evidence, effect: Callable[[tuple[str, str]], float]) -> list[ColumnPair]:
    # Rank pairs with ambiguous names by their alignment according to the model, and by the effect of their targets.
    best = pairs[0].name_score
    rivals = [one for one in pairs if one.name_score > best - 1.0][:_MOST_PAIRS]
    if len(rivals) < 2 or evidence.similar is None or (best >= NAMED and rivals[1].name_score < best):
        return pairs
    rivals = [replace(one, alignment=evidence.alignment(*one.texts) or 0.5) for one in rivals]
    return sorted(rivals, key=lambda one: -(one.name_score + 3 * effect(one.texts) + 2 * ((one.alignment or 0.5) - 0.5)))


def _rate_names(first: ColumnProfile, second: ColumnProfile) -> float:
    bare_first, bare_second = (one.key.rstrip("0123456789") for one in (first, second))
    leads, follows = first.key in FIRST, second.key in SECOND or bare_second in POSITIVE
    if are_sides(first.name, second.name):
        score = SIDES + 0.5 * (leads and follows) - 1.0 * (bare_first in POSITIVE)
    elif leads and follows:
        score = 2.5
    else:
        score = 0.75 * leads + 0.75 * follows + 0.25 * (first.is_named_text + second.is_named_text)
    for one in (first, second):
        if is_comment_name(one.name) and not (one.key in FIRST | SECOND and score >= NAMED):
            score -= 1.5
    return score - 1.0 * (is_negative_name(first.name) or is_negative_name(second.name))


def _are_name_and_text(context: SchemaContext, texts: Sequence[ColumnProfile]) -> bool:
    """Return True if one of two columns contains a few words unrelated to the text in the other."""
    if len(texts) != 2:
        return False
    short, long = sorted(texts, key=lambda text: text.words)
    if short.words > WORDS_OF_A_NAME or long.words < 2 * short.words or _rank_by_name(texts)[0].name_score >= NAMED:
        return False
    alignment = context.evidence.alignment(short.name, long.name)
    return alignment is not None and alignment < _AT_CHANCE


def _ask_which_pair(context: SchemaContext, pairs: Sequence[ColumnPair]) -> Question | None:
    """Ask which columns to use, if names and model leave it open."""
    if len(pairs) < 2:
        return None
    first, second = pairs[:2]
    if second.name_score < (first.name_score if first.name_score >= NAMED else first.name_score - 1.0):
        return None
    one, other = (0.0 if pair.alignment is None else pair.alignment for pair in (first, second))
    has_evidence = first.alignment is not None and second.alignment is not None
    if has_evidence and one - other > 0.1:
        return None
    is_favored = (not has_evidence or one >= other) and (first.name_score > second.name_score or one > other)
    return ask_columns(context.table, [pair.texts for pair in pairs[:3]], "more than two columns contain texts", is_favored=is_favored)


# --- which target


def find_targets(context: SchemaContext, texts: tuple[str, str]) -> list[PairTarget]:
    """Return the result of :func:`~.targets.find_pair_targets` for two text columns."""
    return find_pair_targets(context.profiles, texts, context.evidence, is_inference=are_inference_texts(context, texts))


def _target_of_kind(context: SchemaContext, texts: tuple[str, str], kind: Kind | None) -> str:
    targets = [one for one in find_targets(context, texts) if one.name_score > -2]
    if kind == "scored_pairs":
        targets = [one for one in targets if context.profile(one.column).is_number]
    else:
        targets.sort(key=lambda one: (one.is_scores and context.profile(one.column).distinct > 3, -one.score))
    if not targets:
        what = "scores" if kind == "scored_pairs" else "labels"
        raise StudioError(
            _("{name} has no column of {what}", name=context.table.name, what=what), "specify the column, or choose the kind positive_pairs"
        )
    return targets[0].column


def _with_best_target(context: SchemaContext, pair: ColumnPair, targets: Sequence[PairTarget]) -> InferredSchema:
    if targets and targets[0].score >= ACCEPT:
        return _with_accepted_target(context, pair.texts, targets)
    doubtful = [one for one in targets if _is_worth_asking(context, one)]
    if not doubtful:
        return _without_target(context, pair)
    why, names = _describe_doubt(doubtful[0]), [one.column for one in doubtful[:3]]
    if context.evidence.similar is None:
        found = _with_target(context, pair.texts, names[0])
        return replace(_with_question(_ask_target(context, pair.texts, names, why, is_favored=False), found), score=PAIRS)
    can_be_category = not doubtful[0].is_scores and context.profile(names[0]).distinct > 1
    is_favored = all(one.model_score < 0 for one in doubtful)
    question = _ask_target(context, pair.texts, names, why, is_used=False, can_be_category=can_be_category, is_favored=is_favored)
    return InferredSchema(_positive_pairs(context, pair.texts), PAIRS, (why,), (question,))


def _with_accepted_target(context: SchemaContext, texts: tuple[str, str], targets: Sequence[PairTarget]) -> InferredSchema:
    best, rest = targets[0], targets[1:]
    found = replace(_with_target(context, texts, best.column), score=best.score)
    rivals = [one for one in rest if one.score >= ACCEPT and one.score > best.score - 0.5 and one.is_scores == best.is_scores]
    if best.rating == "certain" and all(one.rating != "certain" for one in rivals):
        rivals = []
    if best.is_contradicted:  # a column that follows the model closely may be the target, regardless of its name
        rivals += [one for one in rest if one not in rivals and one.effect >= _CLOSE and one.score >= ASK]
    if not rivals and best.is_certain:
        return found
    why = _describe_doubt(best) if best.is_contradicted or not rivals else "more than one column may contain it"
    points = best.name_score + best.model_score
    is_favored = best.model_score >= 0 and best.name_score >= 0 and points > 0
    is_favored = is_favored and all(points > one.name_score + one.model_score and best.effect >= one.effect for one in rivals)
    names = [best.column, *(one.column for one in rivals[:3])]
    found = _with_question(_ask_target(context, texts, names, why, is_favored=is_favored), found)
    return replace(found, why=(why, *found.why))


def _is_worth_asking(context: SchemaContext, one: PairTarget) -> bool:
    if one.model_score <= 0 and not one.is_scores and (is_topic_name(one.column) or set(split_words(one.column)) & KEYWORDS):
        return False  # a group
    if one.score >= ASK:
        return True
    is_strong = one.association is not None and one.association.strength == "strong" and one.rating != "mixed"
    if is_strong and one.effect >= (_CLOSE_DESPITE_NAME if one.rating == "never" else _CLOSE):
        return True
    # A few values under an unknown name may be labels, even if the model does not separate them.
    profile = context.profile(one.column)
    if one.rating in ("never", "mixed") or one.name_score <= -2.0 or is_comment_name(one.column) or profile.is_year:
        return False
    return 2 <= profile.distinct <= _MOST_LABELS and profile.has_few_values and not all(map(is_code, profile.values))


def _describe_doubt(one: PairTarget) -> str:
    evidence = _("; {association}", association=one.association.describe()) if one.association is not None else ""
    if one.rating == "unknown":
        return _(
            "the name of the column {column} does not suggest a score or a label{evidence}", column=repr(one.column), evidence=evidence
        )
    return _("the column {column} may be neither a score nor a label{evidence}", column=repr(one.column), evidence=evidence)


def _ask_target(
    context: SchemaContext,
    texts: tuple[str, str],
    names: Sequence[str],
    why: str,
    *,
    is_used: bool = True,
    can_be_category: bool = False,
    is_favored: bool,
) -> Question:
    """Ask which column contains the scores or labels of pairs.

    Args:
        names: the candidate columns, most likely first.
        is_used: whether the first one is the default; otherwise the default is none, and the texts of a row are positive pairs.
        can_be_category: whether the first one may also be a category of the longer text.
        is_favored: whether name and evidence support the default, and nothing contradicts it.
    """
    options = [option(name, target=name) for name in names]
    options.insert(len(options) if is_used else 0, option("none of them: the two texts in each row belong together", kind="positive_pairs"))
    if can_be_category:
        options.append(category_option(context.longest_text(texts), names[0]))
    text = "Which column contains the score or the label?"
    if len(names) == 1:
        text = _("Does the column {names} say how similar the two texts are?", names=repr(names[0]))
    rows = rows_with_values(context.table, texts, names)
    return Question("target", text, tuple(options), why, rows, 0 if is_favored else None)


# --- positive pairs


def _positive_pairs(context: SchemaContext, texts: tuple[str, str]) -> Roles:
    return Roles("positive_pairs", texts, group=context.find_group(texts))


def _doubt_pairs(context: SchemaContext, texts: tuple[str, str], alignment: float | None) -> str:
    """Return the reason why the two texts of a row may not be a pair; empty if there is none."""
    named = [one for one in context.profiles if rate_target_name(one.name) in ("certain", "likely")]
    if empty := [one.name for one in named if not one.filled]:
        return _(
            "the column {empty} is empty; formulas have no value until a spreadsheet has calculated and saved them", empty=repr(empty[0])
        )
    if nested := [one.name for one in named if one.is_nested]:
        return _("the column {nested} contains lists or objects, which cannot be scores or labels", nested=repr(nested[0]))
    if rejected := [name for name in texts if is_negative_name(name)]:
        return _("the column {rejected} is named like a negative, but no column is named like its anchor", rejected=repr(rejected[0]))
    if alignment is not None and alignment < _AT_CHANCE:
        return _(
            "according to {model}, the two texts in a row are hardly more similar than texts from different rows",
            model=context.evidence.model,
        )
    if few := [one for name in texts if (one := context.profile(name)).is_category]:
        return _("the column {name} contains only {distinct} different texts", name=repr(few[0].name), distinct=f"{few[0].distinct:,}")
    return ""


def _without_target(context: SchemaContext, pair: ColumnPair) -> InferredSchema:
    texts = pair.texts
    roles = _positive_pairs(context, texts)
    alignment = context.evidence.alignment(*texts)
    if doubt := _doubt_pairs(context, texts, alignment):
        text = context.main_text()
        others: list[Reading] = [("sentences", (text,), None)]
        category = next((name for name in texts if context.profile(name).is_category and name != text), None)
        if category is not None:
            others.insert(0, ("labelled_texts", (text,), category))
        question = ask_kind(context.table, roles, others, "Do the two texts in each row belong together?", doubt, is_favored=False)
        return InferredSchema(roles, PAIRS, (doubt,), (question,))
    third = next((one.name for one in context.texts if one.name not in texts and are_comparable(context, one, texts)), None)
    if third is not None:
        question = _ask_third_text(context, roles, third)
        return InferredSchema(roles, PAIRS, (question.why,), (question,))
    why = context.describe_unused(roles)
    if alignment is not None:
        why = (
            _(
                "the two texts in a row are more similar than texts from different rows in {alignment} of comparisons",
                alignment=f"{alignment:.0%}",
            ),
            *why,
        )
    return InferredSchema(roles, PAIRS, why)


def are_comparable(context: SchemaContext, third: ColumnProfile, texts: Sequence[str]) -> bool:
    """Return True if a third column contains texts similar to the two: in length, number and vocabulary or similarity."""
    pair = [context.profile(name) for name in texts]
    if is_comment_name(third.name) or third.distinct < 0.3 * min(text.distinct for text in pair):
        return False
    if not any(1 / _LENGTH_RATIO <= (third.words + 1) / (text.words + 1) <= _LENGTH_RATIO for text in pair):
        return False
    own = _vocabulary(context, [third.name])
    if len(own & _vocabulary(context, texts)) >= 0.3 * len(own):
        return True
    alignments = [context.evidence.alignment(name, third.name) for name in texts]
    return any(one is None or one > 0.6 for one in alignments)


def _vocabulary(context: SchemaContext, names: Sequence[str]) -> set[str]:
    """Return the words of some columns in the sample; for scripts without spaces, their characters."""
    text = " ".join(cell for name in names for cell in context.evidence.cells(name)).casefold()
    words = set(re.findall(r"[^\W_]+", text))
    return {sign for word in words for sign in word} if sum(map(len, words)) > 12 * max(1, len(words)) or CJK.search(text) else words


def _ask_third_text(context: SchemaContext, roles: Roles, third: str) -> Question:
    texts = roles.texts
    every = tuple(one.name for one in context.texts if one.name in texts or are_comparable(context, one, texts))
    negatives = (*texts, third) if set(every) == {*texts, third} else every
    text = _("Is {third} a negative of {texts}, or should it be ignored?", third=repr(third), texts=repr(texts[0]))
    why = _("{third} contains similar texts, and nothing indicates its role", third=repr(third))
    return ask_kind(context.table, roles, [("triplets", negatives, None)], text, why, (*texts, third), is_favored=False)
