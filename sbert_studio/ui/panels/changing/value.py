"""What changed, as the page and the saved file draw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....evaluation.report import natural_frequencies
from ...html_export import to_base64
from ...views import Value, to_json

if TYPE_CHECKING:
    from ....explore.model_diff import PairChange
    from ....services.results import CategoryChange, Changes, QueryChange

_MOST = 20  # texts that moved most, and are listed
_ROWS = 12  # pairs of categories
_LONG = 240
_HALF = 0.5


def changed_value(found: Changes, titles: tuple[str, str], key: str, *, typed: bool, outcome: Value | None = None) -> Value:
    """The value of a ``changed`` view; it holds no text of the corpus but those that are listed, the page fetches the rest by ``key``.

    Args:
        titles: what people call the two models.
        typed: whether the queries are a person's own.
        outcome: the scores of the run that made the second from the first, as a ``run`` view draws them.
    """
    near, moved = found.movement, found.moved
    column = [] if found.categories is None else [found.categories.column]
    # Where no neighbour changed, two pictures of the same would show differences that are none.
    after = found.points_after if moved.any() else found.points_before
    return to_json(  # type: ignore[no-any-return]
        {
            "key": key,
            "n": len(found.corpus),
            "k": near.before.shape[1],
            "titles": list(titles),
            "theirs": [*titles, *column],
            "points": [to_base64(points.astype("<f4")) for points in (found.points_before, after)],
            "moved": to_base64(moved.astype("<f4")),
            "near": [to_base64(rows.astype("<i4")) for rows in (near.before, near.after)],
            "changed": [to_base64(rows.astype("u1")) for rows in (near.lost, near.gained)],
            "most": np.argsort(-moved, kind="stable")[:_MOST].tolist(),
            "said": said(found, titles),
            "more": ["The maps are pictures, laid on each other; how far a text moved is measured in the models' own spaces."],
            "outcome": outcome,
            "queries": [_query(found, one) for one in found.queries],
            "typed": typed,
            "closer": [_pair(found, one) for one in found.closer],
            "apart": [_pair(found, one) for one in found.apart],
            "categories": None if found.categories is None else _categories(found, found.categories),
            "notes": list(found.notes),
        }
    )


def said(found: Changes, titles: Sequence[str]) -> str:
    """``From A to B, a text keeps 6.3 of its 10 nearest; 97 of 722 texts have mostly other neighbours.``; or that none changed."""
    k = found.movement.before.shape[1]
    if not found.moved.any():
        return (
            f"No neighbour changed from {titles[0]} to {titles[1]}: every text keeps its {k} nearest texts. "
            "Where a training brought no gain, the untuned model is kept."
        )
    kept = k * (1 - float(found.moved.mean()))
    mostly = int((found.moved > _HALF).sum())
    words = f"From {titles[0]} to {titles[1]}, a text keeps {kept:.1f} of its {k} nearest texts on average"
    if mostly == 1:
        return f"{words}; 1 of {len(found.corpus):,} texts has mostly other neighbours."
    return f"{words}; {mostly:,} of {len(found.corpus):,} texts have mostly other neighbours."


def categories_said(groups: CategoryChange) -> str:
    """``Of 100 texts, 68 → 74 lie nearest to one of their own category: better, beyond chance.``"""
    of, before, after = natural_frequencies(groups.before, groups.after)
    if groups.texts <= of or (before == after and groups.before != groups.after):  # all of them, counted
        of, before, after = groups.texts, round(groups.texts * groups.before), round(groups.texts * groups.after)
    words = f"Of {of:,} texts, {before:,} → {after:,} lie nearest to one of their own category"
    if groups.interval is None:
        return f"{words}; {groups.texts:,} texts are too few to tell a gain from chance."
    low, high = groups.interval
    verdict = "better, by more than chance" if low > 0 else "worse, by more than chance" if high < 0 else "that could be chance"
    verdict = "no difference" if groups.before == groups.after else verdict
    span = f"{low:+.3f} to {high:+.3f}".replace("-", "−")
    if groups.learned:
        flattered = f"{groups.texts:,} texts, of which a model was tuned on {groups.learned:,}: that flatters it"
        return f"{words}: {verdict} (95% interval of the gain: {span}; {flattered})."
    return f"{words}: {verdict} (95% interval of the gain: {span}; {groups.texts:,} texts that no model was tuned on)."


def _short(text: str) -> str:
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def _query(found: Changes, one: QueryChange) -> Value:
    def near(hits: Sequence[tuple[int, float]], others: frozenset[int]) -> list[Value]:
        texts = found.corpus.texts
        return [{"row": row, "text": _short(texts[row]), "score": score, "changed": row in others} for row, score in hits]

    lost = len(one.lost)
    words = "the same neighbours" if not lost else f"{lost} of {len(one.before)} neighbours lost, {len(one.gained)} gained"
    return {
        "text": _short(one.text),
        "row": one.row,
        "words": words,
        "before": near(one.before, one.lost),
        "after": near(one.after, one.gained),
    }


def _pair(found: Changes, one: PairChange) -> Value:
    return {"texts": [_short(found.corpus.texts[row]) for row in (one.a, one.b)], "before": one.before, "after": one.after}


def _categories(found: Changes, groups: CategoryChange) -> Value:
    changed = [one for one in groups.confused if one.before != one.after]
    # What went away first, and of the rows that are shown some that came.
    gone, came = [one for one in changed if one.after < one.before], [one for one in changed if one.after > one.before]
    shown = [*gone[: max(_ROWS - len(came), _ROWS // 2)], *came[::-1][: _ROWS - min(len(gone), _ROWS // 2)]][:_ROWS]
    rows: list[dict[str, Any]] = []
    for one in shown:
        texts = one.mended if one.after < one.before else one.broken
        theirs = [_short(found.corpus.texts[texts[0]]), found.corpus.fields[groups.column][texts[0]]] if texts else []
        example = f"such as “{theirs[0]}” ({theirs[1]})" if theirs else ""
        rows.append({"categories": list(one.categories), "before": one.before, "after": one.after, "example": example, "theirs": theirs})
    return {"column": groups.column, "said": categories_said(groups), "rows": rows}
