"""Anchor, positive and negative: by their names, and by which text the untuned model finds unlike the two others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import StudioError
from .. import asking
from ..pairing import alike_named, triplet_by_names
from ..roles import Kind, Roles
from ..targets import ENOUGH, find_targets
from ..vocabulary import is_aside
from .reading import Reading, View, group_of, unused


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
        return None
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
