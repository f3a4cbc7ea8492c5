"""Hypotheses of triplets: by the names of the columns, and by which text a model finds unlike the two others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from ...errors import StudioError
from ..questions import Question
from .hypotheses import ACCEPT, BY_EVIDENCE, EXPLICIT, Hypothesis, SchemaContext
from .names import ANCHOR, FIRST, is_anchor_name, is_bad_name, is_comment_name, is_good_name, is_negative_name
from .profile import ColumnProfile
from .questions import Reading, ask_columns, ask_kind
from .roles import Roles
from .targets import find_pair_targets
from .words import CJK, normalize

_CLEAR = 0.7  # the share of rows in which a negative must be less similar than the positive
_ALIGNED = 0.8
_MOST_TEXTS = 8
_LENGTH_RATIO = 2.5
_SHARED = 0.2


def triplet_hypotheses(context: SchemaContext) -> list[Hypothesis]:
    """Return what the rows may be as triplets."""
    texts = context.texts
    if named := _triplet_by_names(texts):
        found = _judge_names(context, named)
    elif len(texts) == 3 and len({text.key.rstrip("0123456789") for text in texts}) == 1:
        found = _judge_numbered(context, tuple(text.name for text in texts))
    else:
        found = _find_by_evidence(context)
    return [] if found is None else [found]


def specified_triplets(context: SchemaContext, columns: Sequence[str] | None) -> Hypothesis:
    """Return triplets of columns that are specified, or else named so, or else the first three.

    Raises:
        StudioError: there are fewer than three text columns.
    """
    texts = tuple(columns) if columns else _triplet_by_names(context.texts)
    if not texts:
        found = [text.name for text in context.texts if not is_comment_name(text.name)] or [text.name for text in context.texts]
        if len(found) < 3:
            raise StudioError(
                f"{context.table.name} has {len(context.texts)} columns of text; triplets need anchor, positive and negative",
                "name three columns, or convert pairs or entailment labels to triplets",
            )
        texts = tuple(found[:3])
    return Hypothesis(_triplets(context, texts), EXPLICIT)


def are_comparable(context: SchemaContext, third: ColumnProfile, texts: Sequence[str]) -> bool:
    """Return True if a further column holds texts like the two: of such length, as many, and of their words or similar."""
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


def ask_third_text(context: SchemaContext, roles: Roles, third: str) -> Question:
    """Ask whether a further text beside pairs is a negative."""
    texts = roles.texts
    every = tuple(one.name for one in context.texts if one.name in texts or are_comparable(context, one, texts))
    negatives = (*texts, third) if set(every) == {*texts, third} else every
    others: list[Reading] = [("triplets", negatives, None)]
    text = f"Is {third!r} a negative of {texts[0]!r}, or should it be ignored?"
    why = f"{third!r} contains similar texts, and nothing tells their role"
    return ask_kind(context.table, roles, others, text, why, (*texts, third), is_favored=False)


def _triplets(context: SchemaContext, texts: tuple[str, ...]) -> Roles:
    return Roles("triplets", texts, group=context.find_group(texts))


def _triplet_by_names(texts: Sequence[ColumnProfile]) -> tuple[str, ...]:
    """Return anchor, positive and negatives if a column is called negative, or bad beside a good one."""
    negatives = [text for text in texts if is_negative_name(text.name)]
    if not negatives and any(is_good_name(text.name) for text in texts):
        negatives = [text for text in texts if is_bad_name(text.name)]
    rest = [text for text in texts if text not in negatives]
    if not negatives or len(rest) < 2:
        return ()
    named = [text for text in rest if is_anchor_name(text.name) or is_good_name(text.name)]
    rest = named if len(named) >= 2 else rest
    plain = [text for text in rest if not is_good_name(text.name)]
    anchors = [text for text in rest if text.key in ANCHOR] or [text for text in plain if is_anchor_name(text.name)] or plain or rest
    others = [text for text in rest if text is not anchors[0]]
    positive = next((text for text in others if is_good_name(text.name)), others[0])
    return (anchors[0].name, positive.name, *(text.name for text in negatives))


def _judge_names(context: SchemaContext, named: tuple[str, ...]) -> Hypothesis | None:
    share = context.evidence.positive_share(*named[:3])
    roles = _triplets(context, named)
    if not any(is_negative_name(name) for name in named[2:]) and (share is None or share < _CLEAR):
        # Called good and bad, which may mean something else.
        if (share is not None and share < 0.5) or _has_target(context, named):
            return None
        why = "the column names suggest triplets, and no model was used"
        if share is not None:
            why = f"the model agrees in only {share:.0%} of the sampled rows"
        others: list[Reading] = [("triplets", (named[1], named[0], *named[2:]), None), ("positive_pairs", named[:2], None)]
        return _ask_negative(context, roles, others, why, is_favored=share is not None)
    if share is None or share > 0.35:
        return Hypothesis(roles, EXPLICIT, ("a column is named as a negative", *context.describe_unused(roles)))
    swapped = (named[0], named[2], named[1], *named[3:])
    why = f"the anchor is more similar to {named[2]!r} than to {named[1]!r} in {1 - share:.0%} of the sampled rows"
    return Hypothesis(roles, EXPLICIT, (why,), (ask_columns(context.table, [named, swapped], why, is_favored=False),))


def _judge_numbered(context: SchemaContext, names: tuple[str, ...]) -> Hypothesis | None:
    """Judge three texts of one name but for a number, or without names of their own."""
    if _has_target(context, names):
        return None
    share = context.evidence.positive_share(*names[:3])
    if share is not None and share >= _CLEAR:
        why = f"{names[0]!r} is more similar to {names[1]!r} than to {names[2]!r} in {share:.0%} of the sampled rows"
        return Hypothesis(_triplets(context, names), BY_EVIDENCE, (why,))
    why = "nothing tells which text is the negative"
    if share is not None:
        why = f"the second text is more similar to the first than the third is in {share:.0%} of the sampled rows"
    order, other = names, (names[0], names[2], names[1])
    if share is not None and share <= 0.3:
        order, other = other, order
    others: list[Reading] = [("triplets", other, None), ("positive_pairs", names[:2], None)]
    is_favored = share is not None and (share <= 0.3 or share >= 0.6)
    return _ask_negative(context, _triplets(context, order), others, why, is_favored=is_favored)


def _find_by_evidence(context: SchemaContext) -> Hypothesis | None:
    """Find two columns that belong together row by row and others that do not, whatever they are called."""
    texts = [text.name for text in context.texts if not is_comment_name(text.name)]
    if not 3 <= len(texts) <= _MOST_TEXTS or context.evidence.similar is None:
        return None
    share, first, second, negatives = max(
        (_share_of_split(context, a, b, texts) for a, b in combinations(texts, 2)), key=lambda one: one[0]
    )
    alignment = context.evidence.alignment(first, second)
    is_found = share >= _CLEAR and alignment is not None and alignment >= _ALIGNED
    is_found = is_found and all(are_comparable(context, context.profile(name), (first, second)) for name in negatives)
    if not is_found or _has_target(context, (first, second, *negatives)):
        return None
    if _anchor_points(second) > _anchor_points(first):
        first, second = second, first
    names = (first, second, *negatives)
    roles = _triplets(context, names)
    quoted = " and ".join(map(repr, negatives))
    why = f"{first!r} and {second!r} are more similar to each other than to {quoted} in {share:.0%} of the sampled rows"
    is_shared = all(_shares_texts(context, name, texts) for name in negatives)
    stems = {normalize(name).rstrip("0123456789abc") for name in negatives}
    if is_shared or all(map(is_bad_name, negatives)) or (len(negatives) > 1 and len(stems) == 1):
        reason = f"{why}, and its texts recur in the other columns" if is_shared else why
        return Hypothesis(roles, BY_EVIDENCE, (reason, *context.describe_unused(roles)))
    others: list[Reading] = [("positive_pairs", (first, second), None), ("triplets", (second, first, *negatives), None)]
    return _ask_negative(context, roles, others, why, is_favored=True)


def _ask_negative(context: SchemaContext, roles: Roles, others: Sequence[Reading], why: str, *, is_favored: bool) -> Hypothesis:
    anchor, positive, *negatives = roles.texts
    text = f"Is {positive!r} similar to {anchor!r}, and {' and '.join(map(repr, negatives))} not?"
    question = ask_kind(context.table, roles, others, text, why, is_favored=is_favored)
    return Hypothesis(roles, BY_EVIDENCE, (why,), (question,))


def _has_target(context: SchemaContext, names: tuple[str, ...]) -> bool:
    """Return True if a further column holds scores or labels of the first two."""
    targets = find_pair_targets(context.profiles, (names[0], names[1]), context.evidence)
    return any(one.score >= ACCEPT for one in targets if one.column not in names)


def _share_of_split(context: SchemaContext, a: str, b: str, texts: Sequence[str]) -> tuple[float, str, str, tuple[str, ...]]:
    """Return the least share of rows in which ``a`` and ``b`` are more similar than each other text is to them, and the parts."""
    others = tuple(name for name in texts if name not in (a, b))
    shares = [context.evidence.positive_share(one, two, other) for other in others for one, two in ((a, b), (b, a))]
    return min((share for share in shares if share is not None), default=0.0), a, b, others


def _shares_texts(context: SchemaContext, name: str, texts: Sequence[str]) -> bool:
    """Return True if many texts of a column also occur in the other columns, as negatives drawn from the same pool do."""
    own = set(context.table.column(name))
    others = {cell for other in texts if other != name for cell in context.table.column(other)}
    return len(own & others) >= _SHARED * len(own)


def _anchor_points(name: str) -> int:
    return 2 * is_anchor_name(name) + (normalize(name) in FIRST) - 2 * is_good_name(name)


def _vocabulary(context: SchemaContext, names: Sequence[str]) -> set[str]:
    """Return the words of some columns in the sample; of scripts without blanks their characters."""
    text = " ".join(cell for name in names for cell in context.evidence.cells(name)).casefold()
    words = set(re.findall(r"[^\W_]+", text))
    return {sign for word in words for sign in word} if sum(map(len, words)) > 12 * max(1, len(words)) or CJK.search(text) else words
