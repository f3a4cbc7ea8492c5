"""Lists and objects in JSON and Parquet, flattened into rows and columns.

Supports common training formats: FlagEmbedding's ``{"query", "pos": […], "neg": […]}``, sentence-transformers'
``{"set": […]}``, ``{"query", "pos": […]}`` and ``{"texts": [a, b], "score"}``, ``{"anchor", "positive", "negatives": […]}``, the Hub's
``{"translation": {"en", "de"}}`` and ``{"row": {…}}``, MS MARCO's passages, BEIR's corpora, and the annotations of Argilla, Label Studio
and Prodigy. For lists with other names, the content of the first rows decides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, islice, zip_longest
from typing import Any

from ...errors import StudioError
from ...i18n import _
from ..cells import cell_text
from ..findings import Finding, Severity, count
from ..schema.content import count_words
from ..schema.names import NEGATIVE, POSITIVE, normalize, rate_target_name
from ..schema.numbers import parse_number
from .annotations import agree, answer_of, answers_of, is_beir_corpus, read_conventions
from .content import WORDS, ColumnBuilder, Content
from .headers import is_familiar

Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

_SAMPLE = 50
_NESTED = (Mapping, list, tuple)
_WRAPPER_KEYS = {"row", "row_idx", "truncated_cells"}
_TEXT_KEYS = ("text", "content", "sentence", "passage", "body", "title")
_SPEAKER_KEYS = ("role", "from", "speaker", "author")
_POSITIVES = POSITIVE | WORDS["positive_lists"]
_PAIRS, _DOCUMENTS, _IGNORED = WORDS["pair_lists"], WORDS["document_lists"], WORDS["ignored_lists"]
_WORDS_OF_TEXT = 2.0
_MOST_SIDE_BY_SIDE = 3

# Event → severity, message given the keys and the number of lines, and whether one finding lists all keys.
_NOTES: dict[str, tuple[Severity, str, bool]] = {
    "rows": ("info", "each text in a list of {keys} became a separate row ({n}); rows from the same line share its number", True),
    "same_meaning": (
        "info",
        "the texts in a list of {keys} are assumed to be similar: each is paired with the first text of its "
        "list ({n}); rows from the same line share its number",
        False,
    ),
    "parallel": ("info", "the elements of {keys} at the same position form a row ({n}); rows from the same line share its number", True),
    "columns": ("info", "the lists of {keys} became columns", True),
    "objects": ("info", "the parts of {keys} became columns", True),
    "ignored": ("info", "{keys} belong to the texts of other lists and were skipped", True),
    "annotated": ("info", "annotations read: {keys} (the mean of numbers, or the label that most annotators chose)", True),
    "disagreeing": ("warning", "annotators disagree about {keys}; the cells were left empty", False),
    "kept": ("warning", "{keys} contains lists or objects that cannot be flattened; they are kept as JSON text", False),
}


def collect_rows(values: Iterable[tuple[int, Any]]) -> Content:
    """Return the content of (row number, value) pairs, with columns in order of first occurrence.

    If the rows are lists and the first one contains well-known names, it is the header.

    Raises:
        StudioError: there are no rows.
    """
    source = iter(values)
    sample = list(islice(source, _SAMPLE))
    spreader = _Spreader([value for _, value in sample])
    numbered = chain(sample, source)
    header: list[str] = []
    first = sample[0][1] if sample else None
    if isinstance(first, list) and len(first) > 1 and all(isinstance(cell, str) and is_familiar(cell) for cell in first):
        header = first
        next(numbered)
    places: dict[str, int] = {}
    columns = ColumnBuilder(0)
    for line, value in numbered:
        named = dict(zip(header, value, strict=False)) if isinstance(value, list) and len(value) <= len(header) else value
        for row in spreader.spread(line, named):
            if new := [key for key in row if key not in places]:
                for key in new:
                    places[key] = len(places)
                columns.widen(len(places))
            cells = [""] * len(places)
            for key, cell in row.items():
                cells[places[key]] = cell_text(cell)
            columns.append(line, cells)
    if not places:
        raise StudioError("the file contains no rows", 'write one JSON object per line, such as {"text": "…"}')
    names = [cell_text(key) or "column_1" for key in places]
    data, lines = columns.finish(names)
    notes = (Finding("info", "this is the corpus of a BEIR dataset: each text was prefixed with its title"),) if spreader.is_beir else ()
    return read_conventions(Content(tuple(names), data, lines, (*spreader.notes(), *notes)))


class _Spreader:
    """Flatten nested values into rows and columns, and count them for the notes.

    ``sample``, the first values of the file, determines the use of lists with unknown names.
    """

    def __init__(self, sample: Sequence[Any]) -> None:
        self.is_beir = bool(sample) and is_beir_corpus(sample)
        self._forget_events()
        rows = [self._flatten(0, value) for value in sample]
        self._labelled = _find_labelled_objects(rows)
        self._uses = _find_list_uses([_unpack(row, self._labelled) for row in rows])
        self._forget_events()

    def _forget_events(self) -> None:
        self._times: dict[str, Counter[str]] = {event: Counter() for event in _NOTES}
        self._rows: dict[tuple[str, str], dict[int, None]] = {}
        self._lines_spread = 0

    def spread(self, line: int, value: Any) -> Iterator[Row]:
        if type(value) is dict and not self.is_beir and not any(isinstance(cell, (dict, list, tuple)) for cell in value.values()):
            yield _as_row(value)  # fast path: most rows are flat
            return
        flat = self._flatten(line, value)
        row = _unpack({key: cell for key, cell in flat.items() if cell is not None or _squeeze(key) not in _IGNORED}, self._labelled)
        uses = {key: self._use(key, cell, len(row) == 1) for key, cell in row.items()}
        parallel = [key for key, use in uses.items() if use == "parallel"]
        elements = zip_longest(*(map(_text, row[key]) for key in parallel), fillvalue="")
        rows: list[Row] = [dict(zip(parallel, parts, strict=True)) for parts in elements] or [{}]
        shared: Row = {}
        for key, use in uses.items():
            if use == "unknown":
                shared[key] = row[key]
                continue
            texts = [_text(part) for part in row[key]]
            own = _own_rows(use, key, texts) if use != "rows" or len(rows) == 1 else []
            if own:
                rows, event = own, "rows" if use == "pairs_with_first" else use
                shared |= dict.fromkeys(own[0], "")  # before the columns that follow
            elif use in ("parallel", "ignored"):
                event = use
                shared |= {key: ""} if use == "parallel" else {}
            else:
                event, first = "columns", "text1" if use == "side_by_side" else key
                name = "text" if use == "side_by_side" else f"{key}_"
                shared |= {(first if at == 1 else f"{name}{at}"): text for at, text in enumerate(texts or [""], start=1)}
            self._note(event, key, line)
        self._lines_spread += len(rows) > 1
        for part in rows:
            plain = {key: _single(cell) for key, cell in (shared | part).items()}
            for key, cell in plain.items():
                if isinstance(cell, _NESTED):
                    self._note("kept", key, line)
            yield plain

    def notes(self) -> tuple[Finding, ...]:
        notes = []
        for event, (severity, template, together) in _NOTES.items():
            keys = self._times[event]
            if event == "rows" and not self._lines_spread:
                continue  # every list had a single text
            for group in [list(keys)] if together and keys else [[key] for key in keys]:
                lines = count(self._lines_spread if together else keys[group[0]], "line")
                message = _(template, keys=", ".join(map(repr, group)), n=lines)
                notes.append(Finding(severity, message, tuple(self._rows.get((event, group[0]), ()))))
        return tuple(notes)

    def _note(self, event: str, key: str, line: int) -> None:
        self._times[event][key] += 1
        if _NOTES[event][0] == "warning":
            self._rows.setdefault((event, key), {})[line] = None

    def _flatten(self, line: int, value: Any) -> Row:
        row = _as_row(value)
        if isinstance(row.get("row"), Mapping) and set(row) <= _WRAPPER_KEYS:
            return self._flatten(line, row["row"])
        if self.is_beir:
            row["text"] = f"{row.pop('title') or ''} {row['text'] or ''}".strip()
        flat = _without_objects(row, partial(self._note, line=line))
        for key, cell in list(flat.items()):
            is_annotated = isinstance(cell, list) and cell and (isinstance(cell[0], Mapping) or ".responses" in key)
            if is_annotated and (found := answers_of(key, cell)):
                answers, complete = found
                if complete:
                    del flat[key]
                for name, given in answers.items():
                    agreed = agree(given)
                    self._note("annotated" if agreed is not None else "disagreeing", name, line)
                    flat[name] = agreed or ""
        return flat

    def _use(self, key: str, cell: Any, alone: bool) -> str:
        """Return the use of a cell: known from the sample, else inferred from its name (see :func:`_use_by_name`)."""
        use = self._uses.get(key, "") if isinstance(cell, list) else "unknown"
        if use in ("parallel", "unknown"):
            return use
        if _is_conversation(cell) or (use and not _are_texts(cell)):
            return "unknown"
        if (use == "same_meaning" and cell) or use == "rows":
            return use
        return _use_by_name(_squeeze(key), cell, alone)


def _own_rows(use: str, key: str, texts: Sequence[Any]) -> list[Row]:
    if use == "rows":
        return [{key: text} for text in texts]
    if use == "pairs_with_first":
        return [{"text1": texts[0], "text2": text} for text in texts[1:]]
    return [{key: texts[0], f"{key}_2": text} for text in texts[1:] or [""]] if use == "same_meaning" else []


def _without_objects(row: Row, note: Callable[[str, str], None]) -> Row:
    """Flatten objects: ``translation: {en, de}`` → ``en``, ``de``, prefixed with the object's name if names clash."""
    flat: Row = {}
    for key, cell in row.items():
        if not isinstance(cell, Mapping) or not cell:
            flat[key] = "" if isinstance(cell, Mapping) else cell
        elif len(cell) == 1 and "choices" in cell and (answer := answer_of(cell)) is not None:
            note("annotated", key)
            flat[key] = answer
        else:
            note("objects", key)
            text = _text_of(cell) if len(cell) <= 3 else None
            for name, part in cell.items() if text is None else [(key, text)]:
                clash = name != key and (name in row or name in flat)
                flat[f"{key}_{name}" if clash else str(name)] = list(part) if isinstance(part, tuple) else part
    return flat


def _use_by_name(name: str, cell: Any, alone: bool) -> str:
    """Return the use of a list by its normalized name.

    ``rows``: one row per text; ``pairs_with_first``: one row for each text after the first, paired with the first; ``columns``: one
    column per text; ``side_by_side``: columns of texts; ``ignored``; ``unknown`` if it is not a list of texts.
    """
    if name in _IGNORED or not _are_texts(cell):
        return "ignored" if name in _IGNORED else "unknown"
    if _is_negative(name) or (name in _POSITIVES and not alone):
        return "columns" if _is_negative(name) else "rows"
    if len(cell) < 2 or not (name in _PAIRS or alone):
        return "unknown"
    if len(cell) == 2 or (len(cell) == 3 and name not in _PAIRS):
        return "side_by_side"
    return "pairs_with_first" if name in _PAIRS - _DOCUMENTS else "rows"


def _find_list_uses(rows: Rows) -> dict[str, str]:
    """Return the use of each list with an ambiguous name, by key; lists without evidence are omitted.

    ``same_meaning``: its texts are paraphrases of each other; ``rows``: each of its texts belongs to the text in another column;
    ``parallel``: elements at the same index of several lists belong together; ``turns``: a conversation.
    """
    lists = list(dict.fromkeys(key for row in rows for key, cell in row.items() if isinstance(cell, list) and cell))
    uses = {key: "turns" for key in lists if any(_is_conversation(row.get(key)) for row in rows)}
    texts = [key for key in lists if key not in uses and _holds_texts(key, rows)]
    values = [key for key in lists if key not in uses and key not in texts and _holds_values(key, rows)]
    lengths = {key: [len(cell) if isinstance(cell := row.get(key), list) else -1 for row in rows] for key in (*texts, *values)}
    wordy = (any(isinstance(cell, str) and count_words(cell) >= _WORDS_OF_TEXT for cell in row.values()) for row in rows)
    beside_text = sum(wordy) > 0.5 * len(rows)
    for key in texts:
        others = [other for other in (*texts, *values) if other != key and lengths[other] == lengths[key] and min(lengths[key]) >= 0]
        labelled = any(other in texts or rate_target_name(other) != "never" for other in others)
        if labelled and (len(set(lengths[key])) > 1 or max(lengths[key]) > 2 or beside_text):
            return {**uses, **dict.fromkeys((key, *others), "parallel")}
    if len(texts) == 1:
        (key,) = texts
        sizes = set(lengths[key]) - {-1}
        same = _squeeze(key) in WORDS["same_meaning_lists"]
        alone = len({other for row in rows for other in row}) == 1
        columns = len(sizes) == 1 and max(sizes) <= _MOST_SIDE_BY_SIDE
        if beside_text:
            uses |= {key: "rows"} if same else {}
        elif _squeeze(key) not in _DOCUMENTS and (same or not alone or not columns):
            uses[key] = "same_meaning"
    return uses


def _find_labelled_objects(rows: Rows) -> dict[str, str]:
    """Map each list of unknown name that contains objects with a text and a label or score to the key of the label or score."""
    found: dict[str, str] = {}
    for key in dict.fromkeys(key for row in rows for key, cell in row.items() if isinstance(cell, list)):
        parts = _elements(key, rows)
        if parts and all(isinstance(part, Mapping) and _text_of(part) is not None for part in parts) and _is_unknown(key):
            names = [name for name, value in parts[0].items() if name not in _TEXT_KEYS and not isinstance(value, _NESTED)]
            targets = [name for name in names if rate_target_name(name) in ("certain", "likely") and all(name in part for part in parts)]
            if len(targets) == 1 and not any(targets[0] in row for row in rows):
                found[key] = targets[0]
    return found


def _unpack(row: Row, labelled: Mapping[str, str]) -> Row:
    """Return the row with each list of labelled objects replaced by two lists of equal length: texts, and labels or scores."""
    unpacked = dict(row)
    for key, name in labelled.items():
        cell = row.get(key)
        if isinstance(cell, list) and all(isinstance(part, Mapping) for part in cell):
            unpacked[key] = [_text_of(part) or "" for part in cell]
            unpacked[name] = [part.get(name, "") for part in cell]
    return unpacked


def _as_row(value: Any) -> Row:
    if isinstance(value, list | tuple):
        value = {f"column_{at}": cell for at, cell in enumerate(value, start=1)}
    elif not isinstance(value, Mapping):
        value = {"text": value}
    return {str(key).strip() or "column_1": list(cell) if type(cell) is tuple else cell for key, cell in value.items()} or {"text": ""}


def _single(cell: Any) -> Any:
    """Return the only value of a list or object written as text, ``""`` for an empty one, and any other value unchanged."""
    if isinstance(cell, Mapping) and 0 < len(cell) <= 3 and (text := _text_of(cell)) is not None:
        return text
    if isinstance(cell, list) and len(cell) == 1 and not isinstance(cell[0], _NESTED):
        return cell[0]
    return cell or "" if isinstance(cell, _NESTED) else cell


def _is_conversation(cell: Any) -> bool:
    turns = cell if isinstance(cell, list) else []
    return bool(turns) and all(isinstance(turn, Mapping) and len(turn) > 1 and any(key in turn for key in _SPEAKER_KEYS) for turn in turns)


def _are_texts(cell: Any) -> bool:
    return isinstance(cell, list) and all(isinstance(_text(part), str) for part in cell)


def _text_of(cell: Mapping[str, Any]) -> str | None:
    return next((text for key in _TEXT_KEYS if isinstance(text := cell.get(key), str)), None)


def _text(part: Any) -> Any:
    return _text_of(part) if isinstance(part, Mapping) else part


def _elements(key: str, rows: Rows) -> list[Any]:
    return [part for row in rows if isinstance(cell := row.get(key), list) for part in cell]


def _holds_texts(key: str, rows: Rows) -> bool:
    """Return whether a list of unknown name contains texts: several words each, and mostly distinct."""
    cells = [cell for row in rows if (cell := row.get(key)) not in (None, "", [])]
    if not _is_unknown(key) or not cells or not all(map(_are_texts, cells)) or max(map(len, cells)) < 2:
        return False
    texts = [text for cell in cells for part in cell if (text := _text(part).strip())]
    numbers = sum(not math.isnan(parse_number(text)) for text in texts)
    wordy = sum(map(count_words, texts)) >= _WORDS_OF_TEXT * len(texts) or _squeeze(key) in WORDS["same_meaning_lists"]
    return bool(texts) and numbers <= 0.5 * len(texts) <= len(set(texts)) and wordy


def _holds_values(key: str, rows: Rows) -> bool:
    named = _squeeze(key) in _IGNORED | _POSITIVES | WORDS["negative_lists"] | _PAIRS
    return not named and not any(isinstance(part, _NESTED) for part in _elements(key, rows))


def _is_unknown(key: str) -> bool:
    name = _squeeze(key)
    return name not in _POSITIVES | _IGNORED | (_PAIRS - _DOCUMENTS) and not _is_negative(name)


def _is_negative(name: str) -> bool:
    return name in WORDS["negative_lists"] or bool(NEGATIVE.fullmatch(name))


_squeeze = lru_cache(maxsize=4096)(normalize)
