"""Edits of a map (labels, clusters, removed texts): applied to the corpus of all tabs, and stored with its file for the next visit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import StudioError
from ...i18n import _, ngettext
from ..state import DOCUMENTS, DrawnMap, EarlierEdits, SelectedCorpus
from .file_store import EditConflictError
from .tasks import session_id

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...explore.map_edits import EditHistory, MapEdit, MapState
    from .file_store import FileStore

MAX_POINTS = 1_000_000
LABELS = "label"
DAMAGED_WARNING = "Your changes on the map of this file can no longer be read and are ignored: labels and edits are lost."
_FILE = "file:"


def sample_for_map(corpus: Corpus) -> tuple[Corpus, tuple[int, ...] | None]:
    """Return the corpus and ``None`` if a browser can draw all of it, else an evenly spaced sample and its row numbers."""
    total = len(corpus.texts)
    if total <= MAX_POINTS:
        return corpus, None
    rows = np.unique(np.linspace(0, total - 1, MAX_POINTS).astype(int)).tolist()
    return corpus.subset(
        rows,
        _("{name} ({max_points} of {total} rows)", name=corpus.name, max_points=f"{MAX_POINTS:,}", total=f"{total:,}"),
        "more than a browser can draw",
    ), tuple(rows)


def label_column(chosen: SelectedCorpus) -> str:
    name, number = chosen.labels or LABELS, 2
    while name in chosen.corpus.fields:
        name, number = f"{LABELS} {number}", number + 1
    return name


def without_labels(chosen: SelectedCorpus) -> tuple[SelectedCorpus, tuple[str, ...]]:
    """Remove the label column of an earlier map; return the corpus without it, and the labels."""
    fields = dict(chosen.corpus.fields)
    labels = fields.pop(chosen.labels, ()) if chosen.labels else ()
    return (replace(chosen, corpus=replace(chosen.corpus, fields=fields)), labels) if labels else (chosen, ())


def apply_edits(drawn: DrawnMap) -> SelectedCorpus:
    edited = _with_edits(drawn.chosen, drawn.rows, drawn.edits.now)
    start = _with_edits(drawn.chosen, drawn.rows, drawn.edits.start)
    steps = drawn.edits.steps
    return replace(edited, earlier=EarlierEdits(start, steps, cluster_digest(drawn.edits)) if steps else None)


def replay_edits(start: EditHistory, earlier: EarlierEdits | None) -> tuple[EditHistory, tuple[str, ...]]:
    """Repeat earlier edits on a map that was drawn again; return it with notes on edits that do not apply to the new clusters."""
    from ...explore.map_edits import CLUSTER_EDITS

    if earlier is None:
        return start, ()
    same, edits, lost = earlier.clusters == cluster_digest(start), start, 0
    for step in earlier.steps:
        if not same and isinstance(step, CLUSTER_EDITS):
            lost += 1
            continue
        try:
            edits = edits.then(step)
        except StudioError:  # the stored file was edited manually
            lost += 1
    if not lost:
        return edits, ()
    note = ngettext(
        "The topics have changed, so {n} change that you made to them is not applied. Labels and removed texts are unchanged.",
        "The topics have changed, so {n} changes that you made to them are not applied. Labels and removed texts are unchanged.",
        lost,
    )
    return edits, (note,)


def cluster_digest(edits: EditHistory) -> str:
    return hashlib.sha256(np.ascontiguousarray(edits.start.ids, np.int64).tobytes()).hexdigest()[:32]


def save_edits(files: FileStore, owner: str, drawn: DrawnMap) -> bool:
    """Store the edits of a map with its file; a sample is first copied to the visitor's files. Return whether there was enough space.

    Raises:
        EditConflictError: another page of the visitor has changed this map.
    """
    from ...explore.map_edits import edits_to_json

    chosen, start, steps = drawn.chosen, drawn.edits.start, drawn.edits.steps
    is_unedited = not (steps or chosen.removed or any(start.labels))
    file_id = _file_id(files, owner, chosen)
    if not file_id and not is_unedited and chosen.id and not chosen.id.startswith(_FILE):
        sample = files.save(owner, chosen.path, chosen.path.name, chosen.column, chosen.id)
        file_id = sample.id if sample else ""
    if not file_id:
        return is_unedited
    labels: dict[str, list[int]] = {}
    for line, label in zip(drawn.corpus.lines, start.labels, strict=True):
        if label:
            labels.setdefault(label, []).append(line)
    value = {
        "removed": list(chosen.removed),
        "labels": labels,
        "drawn": drawn.corpus.digest,
        "clusters": cluster_digest(drawn.edits),
        "steps": edits_to_json(steps),
    }
    try:
        return files.write_extra(owner, file_id, _extra_name(chosen), None if is_unedited else value, session_id())
    except EditConflictError:
        raise
    except StudioError:
        return is_unedited  # deleted in the meantime


def delete_edits(files: FileStore, owner: str, chosen: SelectedCorpus) -> None:
    if file_id := _file_id(files, owner, chosen):
        files.write_extra(owner, file_id, _extra_name(chosen), None)


def restore_edits(files: FileStore, owner: str, chosen: SelectedCorpus) -> tuple[SelectedCorpus, str]:
    """Return a corpus with the stored edits of its map, and a warning if they cannot be read (otherwise empty)."""
    try:
        file_id = _file_id(files, owner, chosen)
        value = files.read_extra(owner, file_id, _extra_name(chosen), session_id()) if file_id else None
        return (chosen if value is None else _restore(chosen, value)), ""
    except (StudioError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        return chosen, DAMAGED_WARNING


def _restore(chosen: SelectedCorpus, value: Any) -> SelectedCorpus:
    from ...explore.map_edits import EditHistory, LabelEdit, RemoveEdit, edits_from_json

    removed = {int(line) for line in value["removed"]}
    label_of = {int(line): str(label) for label, lines in value["labels"].items() for line in lines}
    whole = chosen.corpus
    left = [row for row, line in enumerate(whole.lines) if line not in removed]
    if removed:
        chosen = replace(chosen, corpus=whole.subset(left, whole.name, "removed on the map"), removed=tuple(sorted(removed)))
    corpus, rows = sample_for_map(chosen.corpus)
    if corpus.digest != value["drawn"]:
        raise StudioError("the map was drawn from other texts", "draw it again")
    total = len(corpus)
    begin = EditHistory.create(np.zeros(total, np.int64), {0: ""}, tuple(label_of.get(line, "") for line in corpus.lines))
    steps: tuple[MapEdit, ...] = edits_from_json(value["steps"], total)
    now = begin
    for step in steps:
        now = now.then(step) if isinstance(step, (LabelEdit, RemoveEdit)) else now
    earlier = EarlierEdits(_with_edits(chosen, rows, begin.now), steps, str(value["clusters"]))
    return replace(_with_edits(chosen, rows, now.now), earlier=earlier if steps else None)


def _with_edits(chosen: SelectedCorpus, drawn: Sequence[int] | None, now: MapState) -> SelectedCorpus:
    whole = chosen.corpus
    rows = np.arange(len(whole)) if drawn is None else np.asarray(drawn)
    edited = replace(chosen, labels="", earlier=None)
    if any(now.labels):
        cells = [""] * len(whole)
        for row, label in zip(rows.tolist(), now.labels, strict=True):
            cells[row] = label
        name = label_column(chosen)
        edited = replace(edited, corpus=replace(whole, fields={**whole.fields, name: tuple(cells)}), labels=name)
    if now.removed.any():
        gone = np.zeros(len(whole), bool)
        gone[rows[now.removed]] = True
        lines = tuple(whole.lines[row] for row in np.flatnonzero(gone).tolist())
        part = edited.corpus.subset(np.flatnonzero(~gone).tolist(), whole.name, "removed on the map")
        edited = replace(edited, corpus=part, removed=(*chosen.removed, *lines))
    return edited


def _file_id(files: FileStore, owner: str, chosen: SelectedCorpus) -> str:
    if chosen.id.startswith(_FILE):
        return chosen.id.removeprefix(_FILE)
    return next((one.id for one in files.list_files(owner) if chosen.id and one.use == chosen.id), "")


def _extra_name(chosen: SelectedCorpus) -> str:
    """Return the name of the file of edits: each text column has its own map, and documents have another one than their passages."""
    texts = chosen.column + (f" {DOCUMENTS}" if chosen.unit == DOCUMENTS else "")
    return f"map-{hashlib.sha256(texts.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"
