"""The roles of a table's columns, found out from their names, what they hold, and what a model says of both."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import StudioError
from ..evidence.similarity import Evidence, Similar
from ..loading.table import Table
from ..values.profile import ColumnProfile, profile_table
from .one_text import labelled_texts, one_text, sentences
from .pairing import SURE, pairings
from .pairs import pairs
from .reading import WORDS_OF_A_NAME, Reading, View
from .roles import KINDS, Kind, Roles
from .triplets import found_triplets, triplets

__all__ = ["Reading", "detect_roles", "read_columns"]


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
        similar: the cosines of a model; None: names and values only, which leaves more questions.

    Raises:
        StudioError: a column is not there, or the kind cannot be had from this table.
    """
    if kind is not None and kind not in KINDS:
        raise StudioError(f"there is no kind of examples called {kind!r}", f"choose one of {', '.join(KINDS)}")
    table.require(*(columns or ()), *((target,) if target else ()))
    if columns is not None and target in columns:
        raise StudioError(f"the column {target!r} is chosen for two parts", "choose a column of its own for each part")
    view = View(table, profile_table(table), Evidence(table, similar), order, scale)
    if kind is None and columns is not None and len(columns) != 2:
        kind = "triplets" if len(columns) > 2 else "labelled_texts" if target else "sentences"
    if kind in ("sentences", "labelled_texts", "triplets"):
        return _of_a_kind(view, kind, columns, target)
    texts = [text for text in view.texts if text.name != target]
    if kind is None and columns is None and target is None and (reading := found_triplets(view)):
        return reading
    if kind is None and columns is None and (len(texts) < 2 or (target is None and _a_name_and_a_text(view, texts))):
        return one_text(view, target)
    return pairs(view, columns, kind, target)


def _of_a_kind(view: View, kind: Kind, columns: Sequence[str] | None, target: str | None) -> Reading:
    if kind == "labelled_texts":
        return labelled_texts(view, columns, target)
    return Reading(sentences(view, columns, target) if kind == "sentences" else triplets(view, columns))


def _a_name_and_a_text(view: View, texts: Sequence[ColumnProfile]) -> bool:
    """Whether of two columns one holds a few words that have nothing to do with the text beside them."""
    if len(texts) != 2:
        return False
    short, long = sorted(texts, key=lambda text: text.words)
    if short.words > WORDS_OF_A_NAME or long.words < 2 * short.words or pairings(texts)[0].names >= SURE:
        return False
    aligned = view.evidence.aligned(short.name, long.name)
    return aligned is not None and aligned < 0.6
