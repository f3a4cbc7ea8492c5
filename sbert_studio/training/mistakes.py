"""The held-out rows with the largest errors of a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..data.split import normalize_text
from ..evaluation.encoding import TIE, encode_columns, pair_similarities
from ..models.base import PairScorer
from ..models.similarity import similarity, unit
from ..workspace import write_json

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..models.base import Encoder
    from ..models.trainable import Trainable

MISTAKES = "mistakes.json"
MAX_MISTAKES = 10
_ROWS = 2_000  # of more, as many from everywhere: this is a look at the worst, not a score
_MAX_CHARACTERS = 400  # letters of a text

Mistake = dict[str, Any]
"""``texts`` of the row and its ``line``; ``gold``, what it says, and ``said``, what the model makes of it (both a score in [0, 1], a label,
or ``None``); ``beside``, the text that misled; ``by``, how wrong that is, for the order."""


def find_mistakes(model: Trainable, held: Examples, known: Examples | None = None, strength: float | None = None) -> dict[str, Any]:
    """Return ``{kind, rows, strength, worst}``: the :data:`MAX_MISTAKES` rows of ``held`` with the largest errors, largest first.

    Errors: a labelled text whose nearest text in ``known`` has another label; the rank difference of a scored pair; a triplet whose
    negative is closer; a partner that is not the nearest. ``said`` of a pair is the gold score at the rank the model gives it; it is
    missing for unordered labels and classifiers.
    """
    if len(held) > _ROWS:
        held = held.take(np.unique(np.linspace(0, len(held) - 1, _ROWS).round().astype(np.int64)))
    found = _find(model, held, known)
    listed = sorted((one for one in found if one["by"] > 0), key=lambda one: -one["by"])[:MAX_MISTAKES]
    return {"kind": held.kind, "rows": len(held), "strength": strength, "worst": listed}


def write_mistakes(folder: Path, found: dict[str, Any], name: str = MISTAKES) -> None:
    """Write the result of :func:`find_mistakes`."""
    write_json(folder / name, found)


def mistakes_file(strength: float) -> str:
    """Return the file name of a fold's mistakes at a strength."""
    return f"mistakes-{strength:g}.json"


def read_mistakes(path: Path) -> dict[str, Any] | None:
    """Read a file of mistakes; ``None`` if it is missing or damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        sound = isinstance(found["kind"], str) and all(_is_valid(one) for one in found["worst"])
        return {**found, "rows": int(found["rows"])} if sound else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def merge_mistakes(parts: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Merge the mistakes of several models on different rows; ``None`` if one is missing."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    listed = sorted((one for part in known for one in part["worst"]), key=lambda one: -one["by"])[:MAX_MISTAKES]
    return {**known[0], "rows": sum(part["rows"] for part in known), "worst": listed}


def _find(model: Trainable, held: Examples, known: Examples | None) -> list[Mistake]:
    if isinstance(model, PairScorer) and (model.labels != 1 or held.kind not in ("scored_pairs", "labelled_pairs")):
        return []
    if held.kind == "labelled_texts":
        return _category_mistakes(model, held, held if known is None else known)
    if held.kind == "scored_pairs" or (held.kind == "labelled_pairs" and held.ordered):
        return _rank_mistakes(model, held)
    if held.kind == "triplets":
        return _triplet_mistakes(model, held)
    return _retrieval_mistakes(model, held) if held.kind == "positive_pairs" else []


def _category_mistakes(model: Trainable, held: Examples, known: Examples) -> list[Mistake]:
    assert held.targets is not None and known.targets is not None
    new, old = (unit(vectors) for vectors in encode_columns(cast("Encoder", model), [held.texts[0], known.texts[0]]))
    theirs = np.array([known.labels[int(label)] for label in known.targets])
    same = [normalize_text(text) for text in known.texts[0]]
    found = []
    for place, (text, target) in enumerate(zip(held.texts[0], held.targets, strict=True)):
        gold, cosines = held.labels[int(target)], new[place] @ old.T
        cosines[[other == normalize_text(text) for other in same]] = -np.inf
        mine = theirs == gold
        nearest, other = cosines[mine].max(initial=-1.0), np.where(mine, -np.inf, cosines)
        misled = int(other.argmax())
        by = float(other[misled] - nearest)
        if np.isfinite(by):
            found.append(_row(held, place, by, gold, str(theirs[misled]), known.texts[0][misled]))
    return found


def _rank_mistakes(model: Trainable, held: Examples) -> list[Mistake]:
    from scipy.stats import rankdata

    assert held.targets is not None
    scores, targets = pair_similarities(model, held.texts[0], held.texts[1]), held.targets.astype(np.float64)
    given, own = (rankdata(values) for values in (targets, scores))
    at = np.sort(targets)[np.clip(np.rint(own).astype(int) - 1, 0, len(held) - 1)]

    def named(value: float) -> Any:
        return held.labels[int(value)] if held.labels else float(value)

    # A pair whose score stands at the rank that it has is right, however many share that score.
    by = np.where(at == targets, 0.0, np.abs(given - own) / len(held))
    return [_row(held, place, float(by[place]), named(targets[place]), named(at[place])) for place in range(len(held))]


def _triplet_mistakes(model: Trainable, held: Examples) -> list[Mistake]:
    anchors, rest = held.texts[0], held.texts[1:]
    scores = [pair_similarities(model, anchors, column, ("query", "document")) for column in rest]
    by = np.max(scores[1:], axis=0) - scores[0]
    misled = np.argmax(scores[1:], axis=0)
    return [
        _row(held, place, float(by[place]), beside=rest[1 + int(misled[place])][place], texts=(anchors[place], rest[0][place]))
        for place in range(len(held))
    ]


def _retrieval_mistakes(model: Trainable, held: Examples) -> list[Mistake]:
    encoder = cast("Encoder", model)
    left, right = encode_columns(encoder, list(held.texts[:2]), roles=("query", "document"))
    cosines, names = similarity(left, right, encoder.similarity_name), np.array([normalize_text(text) for text in held.texts[1]])
    own = np.diagonal(cosines).copy()
    other = np.where(names[None, :] == names[:, None], -np.inf, cosines)
    misled = other.argmax(axis=1)
    by = other[np.arange(len(held)), misled] - own - TIE
    return [_row(held, place, float(by[place]), beside=held.texts[1][int(misled[place])]) for place in range(len(held))]


def _row(
    held: Examples, place: int, by: float, gold: Any = None, said: Any = None, beside: str = "", texts: Sequence[str] | None = None
) -> Mistake:
    shown = [column[place] for column in held.texts] if texts is None else texts
    return {
        "texts": [text[:_MAX_CHARACTERS] for text in shown],
        "line": int(held.lines[place]),
        "gold": gold,
        "said": said,
        "beside": beside[:_MAX_CHARACTERS],
        "by": by,
    }


def _is_valid(one: Any) -> bool:
    texts = one["texts"]
    plain_texts = isinstance(texts, list) and texts and all(isinstance(text, str) for text in [*texts, one["beside"]])
    values = all(value is None or isinstance(value, str | float | int) for value in (one["gold"], one["said"]))
    return bool(plain_texts) and values and isinstance(one["line"], int) and isinstance(one["by"], float | int)
