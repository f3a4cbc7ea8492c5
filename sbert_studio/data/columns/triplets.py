"""Anchor, positive and negative: by their names, and by which text a model finds unlike the two others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from ...errors import StudioError
from ..choices import asking
from ..lexicon.label_words import squeeze
from ..lexicon.name_lexicon import FIRST
from ..lexicon.triplet_words import called_bad, called_good
from ..lexicon.vocabulary import is_anchor, is_aside, is_negative
from ..questions import Question
from ..values.profile import ColumnProfile
from .pairing import alike_named, triplet_by_names
from .reading import Reading, View, group_of, unused
from .roles import Kind, Roles
from .targets import ENOUGH, find_targets

_CLEARLY = 0.7  # the share of rows in which a negative must be the one unlike the others
_BELONG = 0.8
_LIKE_LENGTH = 2.5
_SHARED = 0.2
_MOST_TEXTS = 8
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
        return _by_names(view, named)
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
    favoured = nearer is not None and (nearer <= 0.3 or nearer >= 0.6)
    question = asking.about_kind(view.table, roles, [("triplets", order[1], None), pair], text, why, favoured=favoured)
    return Reading(roles, (question,), (why,))


def _by_names(view: View, named: tuple[str, ...]) -> Reading | None:
    """Triplets by what the columns are called, unless the model finds the negative nearer."""
    nearer = view.evidence.nearer(*named[:3])
    if not any(is_negative(name) for name in named[2:]) and (nearer is None or nearer < _CLEARLY):
        return _called_so(view, named, nearer)
    roles = Roles("triplets", named, group=group_of(view, named))
    if nearer is None or nearer > 0.35:
        return Reading(roles, (), ("a column is called negative", *unused(view, roles)))
    swapped = (named[0], named[2], named[1], *named[3:])
    why = f"the anchor is more like {named[2]!r} than like {named[1]!r} in {1 - nearer:.0%} of the rows looked at"
    return Reading(roles, (asking.about_columns(view.table, [named, swapped], why, favoured=False),), (why,))


def _called_so(view: View, named: tuple[str, ...], nearer: float | None) -> Reading | None:
    """Columns called good and bad, or the like, which may mean something else: asked, unless the model speaks against it."""
    if nearer is not None and nearer < 0.5:
        return None
    if any(one.total >= ENOUGH for one in find_targets(view.profiles, (named[0], named[1]), view.evidence) if one.name not in named):
        return None
    roles = Roles("triplets", named, group=group_of(view, named))
    pair: tuple[Kind, Sequence[str], str | None] = ("positive_pairs", named[:2], None)
    turned: tuple[Kind, Sequence[str], str | None] = ("triplets", (named[1], named[0], *named[2:]), None)
    why = "their names suggest it, and no model was asked" if nearer is None else f"the model finds it so in {nearer:.0%} of the rows only"
    text = f"Is {named[1]!r} like {named[0]!r}, and {named[2]!r} not?"
    question = asking.about_kind(view.table, roles, [turned, pair], text, why, favoured=nearer is not None)
    return Reading(roles, (question,), (why,))


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
    every = tuple(one.name for one in view.texts if one.name in texts or comparable(view, one, texts))
    if set(every) != {*texts, third}:
        others = [("triplets", every, None)]
    text = f"Is {third!r} a text that {texts[0]!r} is unlike, or has it no part?"
    why = f"{third!r} holds texts of the same sort, and nothing tells what they are there for"
    return roles, asking.about_kind(view.table, roles, others, text, why, (*texts, third), favoured=False)


def _by_evidence(view: View) -> Reading | None:
    """Columns of text of which two belong together row by row and the others do not, whatever they are called."""
    texts = [text.name for text in view.texts if not is_aside(text.name)]
    if not 3 <= len(texts) <= _MOST_TEXTS or view.evidence.similar is None:
        return None
    found = _unlike(view, texts)
    if found is None:
        return None
    share, first, second, negatives = found
    if any(one.total >= ENOUGH for one in find_targets(view.profiles, (first, second), view.evidence) if one.name not in negatives):
        return None
    if _leads(second) > _leads(first):
        first, second = second, first
    names = (first, second, *negatives)
    roles = Roles("triplets", names, group=group_of(view, names))
    called = " and ".join(map(repr, negatives))
    stands = "is the text" if len(negatives) == 1 else "are the texts"
    why = f"{called} {stands} unlike {first!r} and {second!r} in {share:.0%} of the rows looked at"
    shared = [_of_the_pool(view, name, texts) for name in negatives]
    if all(shared) or all(map(called_bad, negatives)) or (len(negatives) > 1 and len({_stem(name) for name in negatives}) == 1):
        told = f"{why}, and stands beside others as one of theirs" if all(shared) else why
        return Reading(roles, (), (told, *unused(view, roles)))
    pair: tuple[Kind, Sequence[str], str | None] = ("positive_pairs", (first, second), None)
    turned: tuple[Kind, Sequence[str], str | None] = ("triplets", (second, first, *negatives), None)
    text = f"Is {second!r} like {first!r}, and {called} not?"
    return Reading(roles, (asking.about_kind(view.table, roles, [pair, turned], text, why, favoured=True),), (why,))


def _unlike(view: View, texts: Sequence[str]) -> tuple[float, str, str, tuple[str, ...]] | None:
    """(the least share of rows that say so, the two that belong together, the others), where each other is unlike both and comparable."""
    best: tuple[float, str, str, tuple[str, ...]] | None = None
    for a, b in combinations(texts, 2):
        others = tuple(name for name in texts if name not in (a, b))
        both = [view.evidence.nearer(one, two, other) for other in others for one, two in ((a, b), (b, a))]
        share = min((found for found in both if found is not None), default=0.0)
        if best is None or share > best[0]:
            best = (share, a, b, others)
    if best is None or best[0] < _CLEARLY:
        return None
    aligned = view.evidence.aligned(best[1], best[2])
    fits = all(comparable(view, view.of(name), best[1:3]) for name in best[3])
    return best if aligned is not None and aligned >= _BELONG and fits else None


def _of_the_pool(view: View, name: str, texts: Sequence[str]) -> bool:
    """Whether a good part of a column's texts stand in the other columns too, beside other texts."""
    own = set(view.table.column(name))
    others = {cell for other in texts if other != name for cell in view.table.column(other)}
    return len(own & others) >= _SHARED * len(own)


def _stem(name: str) -> str:
    return squeeze(name).rstrip("0123456789abc")


def _leads(name: str) -> int:
    return 2 * is_anchor(name) + (squeeze(name) in FIRST) - 2 * called_good(name)


def _pieces(view: View, names: Sequence[str]) -> set[str]:
    """The words of some columns in the sample; of scripts without blanks their signs."""
    text = " ".join(cell for name in names for cell in view.evidence.cells(name)).casefold()
    words = set(re.findall(r"[^\W_]+", text))
    return {sign for word in words for sign in word} if sum(map(len, words)) > 12 * max(1, len(words)) or _HAN.search(text) else words
