"""Hypotheses about rows with three texts or more: which one is the anchor, which the positive, and which are negatives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ...errors import StudioError
from ...i18n import _
from .content import ColumnProfile
from .hypotheses import ACCEPT, BY_EVIDENCE, EXPLICIT, Reading, SchemaContext, ask_columns, ask_kind
from .names import ANCHOR, FIRST, is_anchor_name, is_bad_name, is_comment_name, is_good_name, is_negative_name, normalize
from .pairs import are_comparable
from .roles import InferredSchema, Roles
from .targets import find_pair_targets

_CLEAR = 0.7  # minimum share of rows in which the negative is less similar than the positive
_ALIGNED = 0.8
_MOST_TEXTS = 8
_SHARED = 0.2


def triplet_hypotheses(context: SchemaContext) -> list[InferredSchema]:
    """Return interpretations of the rows as triplets."""
    texts = context.texts
    if named := _triplet_by_names(texts):
        found = _check_names(context, named)
    elif len(texts) == 3 and len({text.key.rstrip("0123456789") for text in texts}) == 1:
        found = _check_numbered(context, tuple(text.name for text in texts))
    else:
        found = _triplet_by_evidence(context)
    return [] if found is None else [found]


def specified_triplets(context: SchemaContext, columns: Sequence[str] | None) -> InferredSchema:
    """Return triplets of the specified columns, else of columns with matching names, else of the first three.

    Raises:
        StudioError: there are fewer than three text columns.
    """
    texts = tuple(columns) if columns else _triplet_by_names(context.texts)
    if not texts:
        found = [text.name for text in context.texts if not is_comment_name(text.name)] or [text.name for text in context.texts]
        if len(found) < 3:
            raise StudioError(
                _(
                    "{name} has {texts} text columns; triplets need an anchor, a positive and a negative",
                    name=context.table.name,
                    texts=len(context.texts),
                ),
                "specify three columns, or convert pairs or entailment labels to triplets",
            )
        texts = tuple(found[:3])
    return InferredSchema(_triplets(context, texts), EXPLICIT)


def _triplets(context: SchemaContext, texts: tuple[str, ...]) -> Roles:
    return Roles("triplets", texts, group=context.find_group(texts))


def _triplet_by_names(texts: Sequence[ColumnProfile]) -> tuple[str, ...]:
    """Return anchor, positive and negatives if a column is named as a negative, or one as bad and another as good."""
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


def _check_names(context: SchemaContext, named: tuple[str, ...]) -> InferredSchema | None:
    share = context.evidence.positive_share(*named[:3])
    roles = _triplets(context, named)
    swapped = (named[0], named[2], named[1], *named[3:])
    if not any(is_negative_name(name) for name in named[2:]) and (share is None or share < _CLEAR):
        # Names such as good and bad may mean something else.
        if (share is not None and share < 0.5) or _has_target(context, named):
            return None
        why = "the column names suggest triplets, and no model was used"
        if share is not None:
            why = _("the model agrees in only {share} of the sampled rows", share=f"{share:.0%}")
        others: list[Reading] = [("triplets", (named[1], named[0], *named[2:]), None), ("positive_pairs", named[:2], None)]
        return _ask_negative(context, roles, others, why, is_favored=share is not None)
    if share is None or share > 0.35:
        return InferredSchema(roles, EXPLICIT, ("a column is named as a negative", *context.describe_unused(roles)))
    why = _(
        "the anchor is more similar to {named} than to {named2} in {share} of the sampled rows",
        named=repr(named[2]),
        named2=repr(named[1]),
        share=f"{1 - share:.0%}",
    )
    return InferredSchema(roles, EXPLICIT, (why,), (ask_columns(context.table, [named, swapped], why, is_favored=False),))


def _check_numbered(context: SchemaContext, names: tuple[str, ...]) -> InferredSchema | None:
    # Three texts whose names differ only in a number, or without names.
    if _has_target(context, names):
        return None
    share = context.evidence.positive_share(*names[:3])
    if share is not None and share >= _CLEAR:
        why = _(
            "{names} is more similar to {names2} than to {names3} in {share} of the sampled rows",
            names=repr(names[0]),
            names2=repr(names[1]),
            names3=repr(names[2]),
            share=f"{share:.0%}",
        )
        return InferredSchema(_triplets(context, names), BY_EVIDENCE, (why,))
    why = "nothing indicates which text is the negative"
    if share is not None:
        why = _("the second text is more similar to the first than the third is in {share} of the sampled rows", share=f"{share:.0%}")
    order, other = names, (names[0], names[2], names[1])
    if share is not None and share <= 0.3:
        order, other = other, order
    others: list[Reading] = [("triplets", other, None), ("positive_pairs", names[:2], None)]
    is_favored = share is not None and (share <= 0.3 or share >= 0.6)
    return _ask_negative(context, _triplets(context, order), others, why, is_favored=is_favored)


def _triplet_by_evidence(context: SchemaContext) -> InferredSchema | None:
    """Find two columns that are aligned row by row, and others that are not, regardless of their names."""
    texts = [text.name for text in context.texts if not is_comment_name(text.name)]
    if not 3 <= len(texts) <= _MOST_TEXTS or context.evidence.similar is None:
        return None
    share, first, second, negatives = max((_split_texts(context, a, b, texts) for a, b in combinations(texts, 2)), key=lambda one: one[0])
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
    why = _(
        "{first} and {second} are more similar to each other than to {quoted} in {share} of the sampled rows",
        first=repr(first),
        second=repr(second),
        quoted=quoted,
        share=f"{share:.0%}",
    )
    is_shared = all(_shares_texts(context, name, texts) for name in negatives)
    stems = {normalize(name).rstrip("0123456789abc") for name in negatives}
    if is_shared or all(map(is_bad_name, negatives)) or (len(negatives) > 1 and len(stems) == 1):
        reason = _("{why}, and its texts recur in the other columns", why=why) if is_shared else why
        return InferredSchema(roles, BY_EVIDENCE, (reason, *context.describe_unused(roles)))
    others: list[Reading] = [("positive_pairs", (first, second), None), ("triplets", (second, first, *negatives), None)]
    return _ask_negative(context, roles, others, why, is_favored=True)


def _ask_negative(context: SchemaContext, roles: Roles, others: Sequence[Reading], why: str, *, is_favored: bool) -> InferredSchema:
    anchor, positive, *negatives = roles.texts
    text = _(
        "Is {positive} similar to {anchor}, and {negatives} not?",
        positive=repr(positive),
        anchor=repr(anchor),
        negatives=" and ".join(map(repr, negatives)),
    )
    return InferredSchema(roles, BY_EVIDENCE, (why,), (ask_kind(context.table, roles, others, text, why, is_favored=is_favored),))


def _has_target(context: SchemaContext, names: tuple[str, ...]) -> bool:
    targets = find_pair_targets(context.profiles, (names[0], names[1]), context.evidence)
    return any(one.score >= ACCEPT for one in targets if one.column not in names)


def _split_texts(context: SchemaContext, a: str, b: str, texts: Sequence[str]) -> tuple[float, str, str, tuple[str, ...]]:
    """Return the minimum share of rows in which ``a`` and ``b`` are more similar to each other than to any other text, and the roles."""
    others = tuple(name for name in texts if name not in (a, b))
    shares = [context.evidence.positive_share(one, two, other) for other in others for one, two in ((a, b), (b, a))]
    return min((share for share in shares if share is not None), default=0.0), a, b, others


def _shares_texts(context: SchemaContext, name: str, texts: Sequence[str]) -> bool:
    # Many texts of a column also occur in the other columns, as negatives sampled from the same pool do.
    own = set(context.table.column(name))
    others = {cell for other in texts if other != name for cell in context.table.column(other)}
    return len(own & others) >= _SHARED * len(own)


def _anchor_points(name: str) -> int:
    return 2 * is_anchor_name(name) + (normalize(name) in FIRST) - 2 * is_good_name(name)
