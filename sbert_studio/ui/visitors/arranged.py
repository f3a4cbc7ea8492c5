"""What a visitor did on the map of a corpus: seen in the corpus of all tabs, kept beside its file, and there again after a reload."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import StudioError
from .kept import ChangedElsewhereError
from .session import Chosen, Drawn, Earlier
from .visits import session

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...explore.map_edits import EditHistory, MapEdit, MapState
    from .kept import KeptFiles

MOST_POINTS = 100_000
LABELS = "label"
DAMAGED = "What you did on the map of this file can no longer be read, and is left out: its labels and changes are gone."
_FILE = "file:"


def drawable(corpus: Corpus) -> tuple[Corpus, tuple[int, ...] | None]:
    """The corpus, or an even sample of its rows where a browser could not draw them all, and which these are."""
    total = len(corpus.texts)
    if total <= MOST_POINTS:
        return corpus, None
    rows = np.unique(np.linspace(0, total - 1, MOST_POINTS).astype(int)).tolist()
    return corpus.subset(rows, f"{corpus.name} ({MOST_POINTS:,} of {total:,} rows)", "more than a browser can draw"), tuple(rows)


def label_column(chosen: Chosen) -> str:
    """What the column of the labels is called: as no other of the file."""
    name, number = chosen.labels or LABELS, 2
    while name in chosen.corpus.fields:
        name, number = f"{LABELS} {number}", number + 1
    return name


def without_labels(chosen: Chosen) -> tuple[Chosen, tuple[str, ...]]:
    """The corpus as the file has it, and the labels that the visitor gave on an earlier map."""
    fields = dict(chosen.corpus.fields)
    labels = fields.pop(chosen.labels, ()) if chosen.labels else ()
    return (replace(chosen, corpus=replace(chosen.corpus, fields=fields)), labels) if labels else (chosen, ())


def edited(drawn: Drawn) -> Chosen:
    """The visitor's corpus with the labels as a column and without the removed texts; as it was where there are neither."""
    made = _arranged(drawn.chosen, drawn.rows, drawn.edits.now)
    start = _arranged(drawn.chosen, drawn.rows, drawn.edits.start)
    steps = drawn.edits.steps
    return replace(made, earlier=Earlier(start, steps, clusters_of(drawn.edits)) if steps else None)


def begun(start: EditHistory, earlier: Earlier | None) -> tuple[EditHistory, tuple[str, ...]]:
    """A map that was drawn anew, with what was done to it earlier; and what had to be left out, in words.

    Changes of clusters are left out where the clusters are others than they were.
    """
    from ...explore.map_edits import CLUSTER_EDITS

    if earlier is None:
        return start, ()
    same, edits, lost = earlier.clusters == clusters_of(start), start, 0
    for step in earlier.steps:
        if not same and isinstance(step, CLUSTER_EDITS):
            lost += 1
            continue
        try:
            edits = edits.then(step)
        except StudioError:  # a file that somebody wrote to names what there is not
            lost += 1
    if not lost:
        return edits, ()
    what = "1 change that you made to them is" if lost == 1 else f"{lost} changes that you made to them are"
    return edits, (f"The clusters are not those of before, so {what} left out here. Labels and removed texts are as you left them.",)


def clusters_of(edits: EditHistory) -> str:
    """Names the clusters that a map begins with: who is with whom."""
    return hashlib.sha256(np.ascontiguousarray(edits.start.ids, np.int64).tobytes()).hexdigest()[:32]


def remember(kept: KeptFiles, owner: str, drawn: Drawn) -> bool:
    """Keep what was done to a map beside its file; a sample is kept for it.

    Returns:
        whether it is kept; otherwise, as where there is no room, it lasts as long as the page.

    Raises:
        ChangedElsewhereError: another page of the visitor's changed this map meanwhile.
    """
    from ...explore.map_edits import edits_to_json

    chosen, start, steps = drawn.chosen, drawn.edits.start, drawn.edits.steps
    nothing = not (steps or chosen.removed or any(start.labels))
    file_id = _file_of(kept, owner, chosen)
    if not file_id and not nothing and chosen.id and not chosen.id.startswith(_FILE):
        sample = kept.keep(owner, chosen.path, chosen.path.name, chosen.column, chosen.id)
        file_id = sample.id if sample else ""
    if not file_id:
        return nothing
    labels: dict[str, list[int]] = {}
    for line, label in zip(drawn.corpus.lines, start.labels, strict=True):
        if label:
            labels.setdefault(label, []).append(line)
    value = {
        "removed": list(chosen.removed),
        "labels": labels,
        "drawn": drawn.corpus.digest,
        "clusters": clusters_of(drawn.edits),
        "steps": edits_to_json(steps),
    }
    try:
        return kept.put_beside(owner, file_id, _name(chosen.column), None if nothing else value, session())
    except ChangedElsewhereError:
        raise
    except StudioError:
        return nothing  # deleted meanwhile


def forget(kept: KeptFiles, owner: str, chosen: Chosen) -> None:
    """Keep no longer what was done to the map of a corpus."""
    if file_id := _file_of(kept, owner, chosen):
        kept.put_beside(owner, file_id, _name(chosen.column), None)


def restored(kept: KeptFiles, owner: str, chosen: Chosen) -> tuple[Chosen, str]:
    """A corpus as it was read, with what its visitor did on its map; and what to say where that can no longer be read."""
    try:
        file_id = _file_of(kept, owner, chosen)
        value = kept.beside(owner, file_id, _name(chosen.column), session()) if file_id else None
        return (chosen if value is None else _restored(chosen, value)), ""
    except (StudioError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        return chosen, DAMAGED


def _restored(chosen: Chosen, value: Any) -> Chosen:
    from ...explore.map_edits import EditHistory, LabelEdit, RemoveEdit, edits_from_json

    removed = {int(line) for line in value["removed"]}
    of_line = {int(line): str(label) for label, lines in value["labels"].items() for line in lines}
    whole = chosen.corpus
    left = [row for row, line in enumerate(whole.lines) if line not in removed]
    if removed:
        chosen = replace(chosen, corpus=whole.subset(left, whole.name, "removed on the map"), removed=tuple(sorted(removed)))
    corpus, rows = drawable(chosen.corpus)
    if corpus.digest != value["drawn"]:
        raise StudioError("these are not the texts that the map was drawn of", "draw it again")
    total = len(corpus)
    begin = EditHistory.create(np.zeros(total, np.int64), {0: ""}, tuple(of_line.get(line, "") for line in corpus.lines))
    steps: tuple[MapEdit, ...] = edits_from_json(value["steps"], total)
    now = begin
    for step in steps:
        now = now.then(step) if isinstance(step, (LabelEdit, RemoveEdit)) else now
    earlier = Earlier(_arranged(chosen, rows, begin.now), steps, str(value["clusters"]))
    return replace(_arranged(chosen, rows, now.now), earlier=earlier if steps else None)


def _arranged(chosen: Chosen, drawn: Sequence[int] | None, now: MapState) -> Chosen:
    """``chosen``, which has no labels yet, with those that stand now, and without the texts that are removed now."""
    whole = chosen.corpus
    rows = np.arange(len(whole)) if drawn is None else np.asarray(drawn)
    made = replace(chosen, labels="", earlier=None)
    if any(now.labels):
        cells = [""] * len(whole)
        for row, label in zip(rows.tolist(), now.labels, strict=True):
            cells[row] = label
        name = label_column(chosen)
        made = replace(made, corpus=replace(whole, fields={**whole.fields, name: tuple(cells)}), labels=name)
    if now.removed.any():
        gone = np.zeros(len(whole), bool)
        gone[rows[now.removed]] = True
        lines = tuple(whole.lines[row] for row in np.flatnonzero(gone).tolist())
        part = made.corpus.subset(np.flatnonzero(~gone).tolist(), whole.name, "removed on the map")
        made = replace(made, corpus=part, removed=(*chosen.removed, *lines))
    return made


def _file_of(kept: KeptFiles, owner: str, chosen: Chosen) -> str:
    """The id of the kept file that a corpus came from, or of the sample that was kept for its labels; empty where there is none."""
    if chosen.id.startswith(_FILE):
        return chosen.id.removeprefix(_FILE)
    return next((one.id for one in kept.of(owner) if chosen.id and one.use == chosen.id), "")


def _name(column: str) -> str:
    return f"map-{hashlib.sha256(column.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"
