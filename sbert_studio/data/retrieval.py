"""Retrieval sets: queries, documents and graded relevance, from a folder in the BEIR layout or from one table."""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import StudioError, describe_rows
from ..i18n import _, join, ngettext
from ..progress import checkpoint
from ..settings import temporary_prefix
from ..workspace import digest_texts
from .documents.document import Document, Section
from .judgments import NAMES, find_column, judgment_cells, split_judgments
from .loading.table import Table, read_table
from .schema.names import normalize
from .schema.numbers import parse_number
from .split import normalize_text

if TYPE_CHECKING:
    from .schema.roles import SchemaOverrides

SPLITS = ("test", "dev", "train")
"""Splits of the relevance judgments, the default first."""
Reader = Callable[[Path], Table]
_TABLES = (".jsonl", ".jsonl.gz", ".tsv", ".csv", ".parquet")
_ARCHIVED = re.compile(rf"(?:.*/)?((?:corpus|queries|qrels/(?:{'|'.join(SPLITS)}))(?:{'|'.join(map(re.escape, _TABLES))}))")
_BLOCK = 1 << 20
_GRADES = {word: float(grade) for grade in (0, 1) for word in NAMES[f"grade{grade}"]}


@dataclass(frozen=True, eq=False)
class RetrievalSet:
    """Queries, documents, and the documents that are relevant for each query.

    Attributes:
        name: display name.
        query_ids, queries: id and text of each of q queries; each has at least one relevant document.
        document_ids, documents: id and text of each of n documents.
        grades: for each query, the grade of every judged document by its index; documents with a grade above 0 are relevant.
        split: split of the judgments; empty for a table.
        titles: the title that each of the documents begins with; empty if none are known.
        owners: the document that each text is a section of, for known-item sets; empty for others.
        known_item: how queries and documents were made from documents without labels; empty for labelled sets.
        notes: remarks on skipped rows, one sentence each.
    """

    name: str
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    document_ids: tuple[str, ...]
    documents: tuple[str, ...]
    grades: tuple[Mapping[int, float], ...]
    split: str = ""
    known_item: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)
    titles: tuple[str, ...] = field(default=(), compare=False)
    owners: tuple[str, ...] = field(default=(), compare=False)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def digest(self) -> str:
        """32 hex digits that change with the texts and the judgments."""
        judged = (f"{sorted(grades.items())}" for grades in self.grades)
        return digest_texts([digest_texts(self.queries), digest_texts(self.documents), digest_texts(judged)])

    def take(self, queries: Sequence[int]) -> RetrievalSet:
        """Return the set with some of its queries, and all documents."""
        ids, texts = (tuple(column[query] for query in queries) for column in (self.query_ids, self.queries))
        return replace(self, query_ids=ids, queries=texts, grades=tuple(self.grades[query] for query in queries))

    def unseen(self, texts: Iterable[str]) -> list[int]:
        """Return the queries that are none of these training texts, ignoring case and spacing."""
        known = set(map(normalize_text, texts))
        return [place for place, query in enumerate(self.queries) if normalize_text(query) not in known]

    def sample(self, queries: int, documents: int) -> RetrievalSet:
        """Return at most ``queries`` evenly spaced queries with their judged documents, among about ``documents`` documents."""
        found = self.take(_evenly(range(len(self)), queries))
        judged = {row for grades in found.grades for row in grades}
        others = _evenly([row for row in range(len(self.documents)) if row not in judged], documents - len(judged))
        kept = sorted({*judged, *others})
        place = {row: number for number, row in enumerate(kept)}
        columns = self.document_ids, self.documents, self.titles, self.owners
        ids, texts, titles, owners = (tuple(column[row] for row in kept) if column else () for column in columns)
        grades = tuple({place[row]: grade for row, grade in own.items()} for own in found.grades)
        return replace(found, document_ids=ids, documents=texts, titles=titles, owners=owners, grades=grades)

    def to_json(self) -> dict[str, Any]:
        """Return the set as plain data for :meth:`from_json`."""
        names = ("name", "query_ids", "queries", "document_ids", "documents", "split", "known_item", "owners")
        return {name: getattr(self, name) for name in names} | {"grades": [sorted(own.items()) for own in self.grades]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RetrievalSet:
        """Return the set from :meth:`to_json`."""
        columns = {name: tuple(values[name]) for name in ("query_ids", "queries", "document_ids", "documents")}
        grades = tuple({int(row): float(grade) for row, grade in own} for own in values["grades"])
        owners = tuple(values.get("owners", ()))  # absent in earlier versions
        return cls(values["name"], **columns, grades=grades, split=values["split"], known_item=values["known_item"], owners=owners)

    def as_documents(self) -> list[Document]:
        """Return the documents, to be cut into passages; titles are kept as context."""
        titles = self.titles or ("",) * len(self.documents)
        texts = (text.removeprefix(title).lstrip() for title, text in zip(titles, self.documents, strict=True))
        rows = zip(self.document_ids, titles, texts, strict=True)
        return [Document(key, title, (Section((), text),) if text else (), self.name) for key, title, text in rows]

    def ignored(self) -> dict[int, list[int]]:
        """Return the documents to leave out of a query's ranking: its own text, unless it is judged (as in BEIR's question sets)."""
        own: dict[str, list[int]] = {}
        wanted = {normalize_text(query) for query in self.queries}
        for row, text in enumerate(self.documents):
            if (key := normalize_text(text)) in wanted:
                own.setdefault(key, []).append(row)
        found = ((query, own.get(normalize_text(text), [])) for query, text in enumerate(self.queries))
        return {query: kept for query, rows in found if (kept := [row for row in rows if row not in self.grades[query]])}


def _evenly(rows: Sequence[int], count: int) -> list[int]:
    """Return at most ``count`` evenly spaced items."""
    places = np.linspace(0, len(rows) - 1, max(0, min(count, len(rows)))).round().astype(int)
    return [rows[place] for place in places.tolist()]


def find_beir_file(folder: Path, stem: str) -> Path | None:
    """Return the file ``stem`` of a BEIR folder, such as ``corpus.jsonl``; ``None`` if it is missing."""
    return next((path for suffix in _TABLES if (path := folder / f"{stem}{suffix}").is_file()), None)


def beir_splits(folder: Path) -> list[str]:
    """Return the splits with judgments in a BEIR folder, the default first."""
    return [split for split in SPLITS if find_beir_file(folder / "qrels", split)]


def has_beir_files(folder: Path) -> bool:
    """Return True for a folder with judgments, or with a corpus and queries, whose judgments may be missing."""
    return bool(beir_splits(folder)) or all(find_beir_file(folder, stem) for stem in ("corpus", "queries"))


def is_beir_archive(path: Path) -> bool:
    """Return True for a zip archive with queries, a corpus and judgments."""
    stems = {name.split(".")[0].split("/")[0] for name in _archived_files(path)}
    return stems == {"corpus", "queries", "qrels"}


@contextmanager
def unpack_beir(path: Path, max_bytes: int) -> Iterator[Path]:
    """Unpack the retrieval set of a zip archive to a temporary folder with the archive's name; other members are ignored.

    Raises:
        StudioError: the files are larger than ``max_bytes`` together, or the archive is damaged or encrypted.
    """
    with tempfile.TemporaryDirectory(prefix=temporary_prefix()) as place:
        folder, left = Path(place) / path.stem, max_bytes
        try:
            with zipfile.ZipFile(path) as archive:
                for name, member in _archived_files(path).items():
                    target = folder / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(member) as packed, target.open("wb") as out:
                        while block := packed.read(_BLOCK):
                            checkpoint()
                            left -= len(block)
                            if left < 0:
                                raise StudioError(
                                    _("{name} is larger than the maximum of {limit} MiB", name=path.name, limit=f"{max_bytes >> 20:,}"),
                                    "use a smaller set",
                                )
                            out.write(block)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:  # RuntimeError: encrypted
            raise StudioError(_("{name} cannot be unpacked", name=path.name), "pack the folder again, without a password") from error
        yield folder


def _archived_files(path: Path) -> dict[str, str]:
    """Return the members of a zip archive that belong to a retrieval set, by their path in a BEIR folder."""
    if path.suffix.lower() != ".zip" or not zipfile.is_zipfile(path):
        return {}
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.startswith("__MACOSX")]
    except (zipfile.BadZipFile, ValueError):  # the reader of documents or tables says that it is damaged
        return {}
    found = [(match[1], name) for name in names if (match := _ARCHIVED.fullmatch(name.replace("\\", "/")))]
    folder = next((name.removesuffix(own) for own, name in found if own.startswith("corpus")), "")
    return {own: name for own, name in found if name.replace("\\", "/") == f"{folder}{own}".replace("\\", "/")}


RetrievalKind = Literal["labelled", "known-item"]


def retrieval_kind(table: Table, path: Path | None = None) -> RetrievalKind | None:
    """Return how retrieval can be evaluated on data; ``None`` if it has no documents, or no column whose name can only mean grades.

    Args:
        table: the table, or the passages of documents.
        path: its file, which may be an archive with queries and judgments.
    """
    if table.places:
        return "labelled" if path is not None and is_beir_archive(path) else "known-item"
    grade = find_column(table, "grade", required=False)
    return "labelled" if has_judgments(table) and grade and normalize(grade) not in NAMES["common"] else None


def read_beir(folder: Path, split: str = "", read: Reader = read_table, *, titles: bool = True) -> RetrievalSet:
    """Read ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``.

    Args:
        split: ``test``, ``dev`` or ``train``; by default the first of these that exists.
        titles: put the title of a document before its text, as BEIR does.

    Raises:
        StudioError: a file is missing or incomplete, or no query has a relevant document.
    """
    chosen, paths = _beir_paths(folder, split)
    documents, queries = (_read_titled(path, read) for path in paths[:2])
    title = _title_column(documents) if titles else ""
    documents, document_notes, _unused = _complete_rows(documents, _title_column(documents))
    queries, query_notes, unasked = _complete_rows(queries)
    document_texts, query_texts = _texts_by_id(documents, title), _texts_by_id(queries)
    judged = split_judgments(read(paths[2]), {*query_texts, *unasked})
    judged_cells, has_grades = judgment_cells(judged)
    judgments, unknown, example = [], 0, ""
    for query, document, grade, line in zip(*judged_cells, judged.lines.tolist(), strict=True):
        if query in query_texts and document in document_texts:
            judgments.append((query, document, _parse_grade(grade, judged.name, line)))
        elif query not in unasked:
            unknown += 1
            example = example or f"{query!r} → {document!r}"
    if unknown and not judgments:
        raise StudioError(
            _("no judgment in {name} names a query and a document of the folder, for example {example}", name=judged.name, example=example),
            "use the ids of the column _id in queries and corpus",
        )
    notes = [note.describe() for table in (documents, queries, judged) for note in table.notes if note.severity != "info"]
    notes += [*document_notes, *query_notes]
    if not has_grades:
        notes.append(_("{name} has no grades: every judged document counts as relevant with grade 1", name=judged.name))
    if unknown:
        notes.append(
            ngettext(
                "{n} judgment names a query or document that is not in the folder or has no text, and is ignored",
                "{n} judgments name queries or documents that are not in the folder or have no text, and are ignored",
                unknown,
            )
        )
    found = build_set(folder.name, query_texts, document_texts, judgments, notes=notes, split=chosen)
    return replace(found, titles=tuple(cell.strip() for cell in documents.column(title))) if title else found


def _read_titled(path: Path, read: Reader) -> Table:
    """Read a table. Of a corpus in JSON Lines, titles stay a column of their own, which the reader of tables joins with the texts."""
    table = read(path)
    if path.suffix != ".jsonl" or "title" in table.columns or "_id" not in table.columns:
        return table
    try:
        with path.open(encoding="utf-8-sig") as lines:
            rows = [json.loads(line) for line in lines if line.strip()]
    except ValueError:  # a damaged line, which the table's notes report
        return table
    rows = [row if isinstance(row, dict) else {} for row in rows]
    if len(rows) != len(table) or not any(row.get("title") for row in rows):
        return table
    columns = {name: [str(row.get(name) or "") for row in rows] for name in ("title", "text")}
    return table.with_column("title", columns["title"]).with_column("text", columns["text"])


def _beir_paths(folder: Path, split: str) -> tuple[str, list[Path]]:
    """Return the split, by default the first with judgments, and the files of the corpus, the queries and the judgments.

    Raises:
        StudioError: a file is missing.
    """
    splits = beir_splits(folder)
    chosen = split or next(iter(splits), SPLITS[0])
    wanted = {"corpus.jsonl": (folder, "corpus"), "queries.jsonl": (folder, "queries"), f"qrels/{chosen}.tsv": (folder / "qrels", chosen)}
    paths = {name: find_beir_file(*place) for name, place in wanted.items()}
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        message = _("the folder {name} has no {missing}", name=folder.name, missing=join(", ", missing))
        if splits and chosen not in splits and len(missing) == 1:
            raise StudioError(message, _("the folder has judgments for: {splits}", splits=", ".join(splits)))
        layout = _(
            "a BEIR folder contains corpus.jsonl and queries.jsonl, with _id and text in each line, and qrels/{split}.tsv with the "
            "columns query-id, corpus-id and score",
            split=chosen,
        )
        raise StudioError(message, layout)
    return chosen, [path for path in paths.values() if path is not None]


def _complete_rows(table: Table, title: str = "") -> tuple[Table, list[str], frozenset[str]]:
    """Return the rows of a corpus or of queries that have an id and a text, notes on the others, and the ids without a text.

    Raises:
        StudioError: no row has both.
    """
    ids, texts = table.column(find_column(table, "id")), table.column(find_column(table, "text"))
    titles = table.column(title) if title else [""] * len(table)
    has_text = np.array([bool(text.strip() or heading.strip()) for text, heading in zip(texts, titles, strict=True)], dtype=bool)
    has_id = np.array([bool(key.strip()) for key in ids], dtype=bool)
    complete = has_text & has_id
    if not complete.any():
        raise StudioError(_("{name} has no row with an id and a text", name=table.name), "write the ids as _id and the texts as text")
    if complete.all():
        return table, [], frozenset()
    lines = table.lines[~complete].tolist()
    note = ngettext(
        "{n} row of {name} without an id or a text is skipped ({rows})",
        "{n} rows of {name} without an id or a text are skipped ({rows})",
        len(lines),
        name=table.name,
        rows=describe_rows(lines),
    )
    return table.select(np.flatnonzero(complete)), [note], frozenset(ids[place] for place in np.flatnonzero(has_id & ~has_text).tolist())


def _title_column(table: Table) -> str:
    return next((name for name in table.columns if normalize(name) == "title"), "")


def _texts_by_id(table: Table, title: str = "") -> dict[str, str]:
    """Return the texts of a corpus or of queries by id, after the cells of the column ``title``, if there is one."""
    ids, texts = table.column(find_column(table, "id")), table.column(find_column(table, "text"))
    if title:
        texts = [f"{heading.strip()} {text}".strip() for heading, text in zip(table.column(title), texts, strict=True)]
    found: dict[str, str] = {}
    for key, text, line in zip(ids, texts, table.lines.tolist(), strict=True):
        if key in found:
            raise StudioError(
                _("the id {key} occurs twice in {name}", key=repr(key[:80]), name=table.name), "give each text its own id", [line]
            )
        found[key] = text
    return found


def has_judgments(table: Table) -> bool:
    """Return True if a table has columns for queries and documents, by their names."""
    query, document = (find_column(table, role, required=False) for role in ("query", "document"))
    return bool(query and document) and query != document


def read_judgments(table: Table, overrides: SchemaOverrides | None = None, corpus: Sequence[str] = ()) -> RetrievalSet:
    """Read a table with the columns query, document and grade; without grades, every row is relevant with grade 1.

    A row with a document alone adds it to the documents that are searched.

    Args:
        overrides: the columns of queries and documents, and the target column, if set by the user.
        corpus: further documents, which are not judged.

    Raises:
        StudioError: a column is missing, a grade is not a number, or no query has a relevant document.
    """
    named = () if overrides is None or overrides.columns is None else overrides.columns
    if named and len(named) != 2:
        raise StudioError("a retrieval set has two text columns", "specify the column of the queries, then that of the documents")
    query_column, document_column = named or (find_column(table, "query"), find_column(table, "document"))
    target = overrides.target if overrides is not None and overrides.target else find_column(table, "grade", required=False)
    table.require(query_column, document_column, *([target] if target else []))
    cells = table.column(target) if target else ["1"] * len(table)
    judgments, unjudged, skipped = [], list[str](), 0
    rows = zip(table.column(query_column), table.column(document_column), cells, table.lines.tolist(), strict=True)
    for query, document, cell, line in rows:
        if document.strip() and not query.strip() and (not cell.strip() or not target):
            unjudged.append(document)
        elif not query.strip() or not document.strip() or not cell.strip():
            skipped += 1
        else:
            judgments.append((query.strip(), document.strip(), _parse_grade(cell, table.name, line)))
    notes = [note.describe() for note in table.notes if note.severity != "info"]
    if skipped:
        notes.append(
            ngettext(
                "{n} row without a query, document or grade is skipped", "{n} rows without a query, document or grade are skipped", skipped
            )
        )
    queries = dict.fromkeys(query for query, _, _ in judgments)
    documents = dict.fromkeys((*(document for _, document, _ in judgments), *(text.strip() for text in (*unjudged, *corpus))))
    texts = [{text: text for text in found if text} for found in (queries, documents)]
    found = build_set(table.name, texts[0], texts[1], judgments, notes=notes)
    numbered = (tuple(map(str, range(1, len(side) + 1))) for side in (found.queries, found.documents))
    return replace(found, query_ids=next(numbered), document_ids=next(numbered))


def _parse_grade(cell: str, name: str, line: int) -> float:
    grade = _GRADES.get(normalize(cell), parse_number(cell))
    if not np.isfinite(grade):
        raise StudioError(
            _("the grade {cell} in {name} is not a number", cell=repr(cell[:40]), name=name),
            "use 0 for documents that are not relevant, and larger numbers for more relevant ones",
            [line],
        )
    return float(grade)


def build_set(
    name: str,
    queries: Mapping[str, str],
    documents: Mapping[str, str],
    judgments: Iterable[tuple[str, str, float]],
    *,
    notes: Iterable[str] = (),
    split: str = "",
    known_item: str = "",
) -> RetrievalSet:
    """Return the retrieval set of texts by id and (query id, document id, grade).

    Queries without a relevant document are left out, with a note. If a pair has several grades, the highest counts.

    Raises:
        StudioError: no query has a relevant document.
    """
    places = {key: row for row, key in enumerate(documents)}
    grades: dict[str, dict[int, float]] = {key: {} for key in queries}
    several = 0
    for query, document, grade in judgments:
        own, row = grades[query], places[document]
        several += own.get(row, grade) != grade
        own[row] = max(grade, own.get(row, grade))
    kept = [key for key, own in grades.items() if any(grade > 0 for grade in own.values())]
    if not kept:
        raise StudioError(_("no query of {name} has a relevant document", name=name), "give relevant documents a grade above 0")
    notes = list(notes)
    if several:
        notes.append(
            ngettext(
                "{n} pair of query and document has several grades; the highest counts",
                "{n} pairs of query and document have several grades; the highest counts",
                several,
            )
        )
    if missing := len(grades) - len(kept):
        notes.append(
            ngettext("{n} query without a relevant document is left out", "{n} queries without a relevant document are left out", missing)
        )
    texts = tuple(queries[key] for key in kept)
    graded = tuple(grades[key] for key in kept)
    return RetrievalSet(name, tuple(kept), texts, tuple(documents), tuple(documents.values()), graded, split, known_item, tuple(notes))
