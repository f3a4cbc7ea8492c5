"""Anchor, positive and negative: by their names, and by which text the untuned model finds unlike the two others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...errors import StudioError
from .. import asking
from ..pairing import alike_named, triplet_by_names
from ..profile import ColumnProfile
from ..questions import Question
from ..roles import Kind, Roles
from ..targets import ENOUGH, find_targets
from ..vocabulary import FIRST, is_anchor, is_aside, squeeze
from .reading import Reading, View, group_of, unused

_CLEARLY = 0.7  # the share of rows in which a negative must be the one unlike the others
_BELONG = 0.8
_LIKE_LENGTH = 2.5
_SHARED = 0.2
_HAN = re.compile(r"[\u3040-\u9fff\uac00-\ud7a3]")


def triplets(view: View, columns: Sequence[str] | None) -> Roles:
    """Triplets, as somebody asked for.

    Raises:
        StudioError: there are fewer than three columns of text.
    """
    texts = tuple(columns) if columns else triplet_by_names(view.texts)
    if not texts:
        found = [text.name for text in view.texts if not is_aside(text.name)] or [text.name for text in view.texts]
        if len(found) < 3:
            raise StudioError(
                f"{view.table.name} has {len(view.texts)} columns of text; triplets need anchor, positive and negative",
                "name three columns, or convert pairs or entailment labels to triplets",
            )
        texts = tuple(found[:3])
    return Roles("triplets", texts, group=group_of(view, texts))


def found_triplets(view: View) -> Reading | None:
    """Triplets that nobody asked for: a column is called negative, or three are called alike and no column is a target."""
    texts = view.texts
    if named := triplet_by_names(texts):
        nearer = view.evidence.nearer(*named[:3])
        roles = Roles("triplets", named, group=group_of(view, named))
        if nearer is None or nearer > 0.35:
            return Reading(roles, (), ("a column is called negative", *unused(view, roles)))
        swapped = (named[0], named[2], named[1], *named[3:])
        why = f"the anchor is more like {named[2]!r} than like {named[1]!r} in {1 - nearer:.0%} of the rows looked at"
        return Reading(roles, (asking.about_columns(view.table, [named, swapped], why),), (why,))
    if not alike_named(texts):
        return _by_evidence(view)
    names = tuple(text.name for text in texts)
    if any(one.total >= ENOUGH for one in find_targets(view.profiles, (names[0], names[1]), view.evidence) if one.name not in names):
        return None
    nearer = view.evidence.nearer(*names[:3])
    roles = Roles("triplets", names, group=group_of(view, names))
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


def comparable(view: View, third: ColumnProfile, texts: Sequence[str]) -> bool:
    """Whether a further column holds texts like the two: of such length, as many of them, and of their words or about the same."""
    pair = [view.of(name) for name in texts]
    if is_aside(third.name) or third.distinct < 0.3 * min(text.distinct for text in pair):
        return False
    if not any(1 / _LIKE_LENGTH <= (third.words + 1) / (text.words + 1) <= _LIKE_LENGTH for text in pair):
        return False
    own = _pieces(view, [third.name])
    if len(own & _pieces(view, texts)) >= 0.3 * len(own):
        return True
    aligned = [view.evidence.aligned(name, third.name) for name in texts]
    return any(one is None or one > 0.6 for one in aligned)


def ask_third(view: View, texts: tuple[str, str], third: str) -> tuple[Roles, Question]:
    """Pairs beside which a further text stands, and the question whether it is what the anchor is unlike."""
    roles = Roles("positive_pairs", texts, group=group_of(view, texts))
    others: list[tuple[Kind, Sequence[str], str | None]] = [("triplets", (*texts, third), None)]
    text = f"Is {third!r} a text that {texts[0]!r} is unlike, or has it no part?"
    why = f"{third!r} holds texts of the same sort, and nothing tells what they are there for"
    return roles, asking.about_kind(view.table, roles, others, text, why, (*texts, third))


def _by_evidence(view: View) -> Reading | None:
    """Three columns of text of which one is, row by row, unlike the two others, whatever they are called."""
    texts = [text.name for text in view.texts if not is_aside(text.name)]
    if len(texts) != 3 or view.evidence.similar is None:
        return None
    shares = []
    for negative in texts:
        a, b = (name for name in texts if name != negative)
        both = view.evidence.nearer(a, b, negative), view.evidence.nearer(b, a, negative)
        shares.append((min((share for share in both if share is not None), default=0.0), negative, a, b))
    share, negative, first, second = max(shares)
    aligned = view.evidence.aligned(first, second)
    if share < _CLEARLY or aligned is None or aligned < _BELONG or not comparable(view, view.of(negative), (first, second)):
        return None
    if any(one.total >= ENOUGH for one in find_targets(view.profiles, (first, second), view.evidence) if one.name != negative):
        return None
    if _leads(second) > _leads(first):
        first, second = second, first
    names = (first, second, negative)
    roles = Roles("triplets", names, group=group_of(view, names))
    why = f"{negative!r} is the text unlike {first!r} and {second!r} in {share:.0%} of the rows looked at"
    pool = set(view.table.column(first)) | set(view.table.column(second))
    own = set(view.table.column(negative))
    if len(own & pool) >= _SHARED * len(own):
        return Reading(roles, (), (f"{why}, and stands beside others as one of theirs", *unused(view, roles)))
    pair: tuple[Kind, Sequence[str], str | None] = ("positive_pairs", (first, second), None)
    turned: tuple[Kind, Sequence[str], str | None] = ("triplets", (second, first, negative), None)
    text = f"Is {second!r} like {first!r}, and {negative!r} not?"
    return Reading(roles, (asking.about_kind(view.table, roles, [pair, turned], text, why),), (why,))


def _leads(name: str) -> int:
    return 2 * is_anchor(name) + (squeeze(name) in FIRST)


def _pieces(view: View, names: Sequence[str]) -> set[str]:
    """The words of some columns in the sample; of scripts without blanks their signs."""
    text = " ".join(cell for name in names for cell in view.evidence.cells(name)).casefold()
    words = set(re.findall(r"[^\W_]+", text))
    return {sign for word in words for sign in word} if sum(map(len, words)) > 12 * max(1, len(words)) or _HAN.search(text) else words
