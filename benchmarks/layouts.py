"""Read 650 table layouts and report how many are read right, asked about, misread, or misread silently.

    python benchmarks/layouts.py DATA [--only ID ...] [--no-model] [--json] [--write FOLDER]

DATA is a folder of public sets as CSV: {stsb,stsb-zh,sick,snli,mrpc}/train.csv (text pairs) and {banking77,trec}/train.csv (texts with a
category). ``layouts/tables.jsonl`` describes a table a line, ``layouts/expected.jsonl`` what its author meant; see ``layouts/README.md``.
Each table is filled from 400 rows of its set, written as a file, read with all-MiniLM-L6-v2 and compared:

right     no question was asked, and kind, columns, target, labels and scale are as expected
asked     a question was asked, and one of its answers, or of the next question's, leads to what is expected
misread   an error, or a question without such an answer
silent    another reading than expected, without a question

``--only`` selects layouts whose id or name starts so, and prints every reading. ``--write`` writes the files and stops: for another reader.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

LAYOUTS = Path(__file__).with_suffix("")
VERDICTS = ("right", "asked", "misread", "silent")
_SAMPLE_SIZE, _MAX_QUESTIONS = 400, 3
_DELIMITERS = {"csv": ",", "tsv": "\t", "semicolon": ";", "pipe": "|"}
_TYPES = {"str": str, "int": int, "float": float}


@dataclass(frozen=True)
class Sample:
    """Rows of a public set; ``b`` is empty for texts with a category, ``score`` and ``label`` where the set has none."""

    a: Sequence[str]
    b: Sequence[str]
    score: Sequence[float]
    label: Sequence[str]

    def row(self, number: int) -> dict[str, Any]:
        """Return the fields of one row; numbers past the end start again at the first row."""
        columns = {"a": self.a, "b": self.b, "score": self.score, "label": self.label}
        return {name: column[number % len(column)] for name, column in columns.items() if column}


@dataclass(frozen=True)
class Layout:
    """A table and the reading its author meant.

    Attributes:
        id, name: unique, and a few words.
        file: name of the file that is written.
        kind, columns, target: the expected reading.
        labels: the classes from least to most similar; None: not compared.
        ordered: whether the labels have an order; None: not compared.
        scale: the scores of the least and the most similar texts; None: not compared.
        table: the line of ``tables.jsonl``.
        known_names: columns and target of a headerless file of a public set, for readers that know the set; None: it is none.
    """

    id: str
    name: str
    file: str
    kind: str
    columns: tuple[str, ...]
    target: str | None
    labels: tuple[str, ...] | None
    ordered: bool | None
    scale: tuple[float, float] | None
    table: Mapping[str, Any]
    known_names: Mapping[str, Any] | None = None


def load_layouts() -> list[Layout]:
    """Return all layouts in the order of ``expected.jsonl``."""
    tables = {table["id"]: table for table in _read_lines("tables.jsonl")}
    layouts = []
    for expected in _read_lines("expected.jsonl"):
        for name in ("columns", "labels", "scale"):
            expected[name] = None if expected[name] is None else tuple(expected[name])
        layouts.append(Layout(**expected, table=tables[expected["id"]]))
    return layouts


def _read_lines(name: str) -> list[dict[str, Any]]:
    with (LAYOUTS / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@cache
def load_sample(data: Path, source: str) -> Sample:
    """Return 400 rows of a public set, the same ones each time; of BANKING77, rows of every fourth category."""
    with (data / source / "train.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if source == "banking77":
        categories = sorted({row["category"] for row in rows})[::4]
        rows = [row for row in rows if row["category"] in categories]
    rows = random.Random(12).sample(rows, min(_SAMPLE_SIZE, len(rows)))
    if "text" in rows[0]:
        return Sample([row["text"] for row in rows], [], [], [row.get("category") or row["label"] for row in rows])
    first, second = ("premise", "hypothesis") if source == "snli" else ("sentence1", "sentence2")
    return Sample(
        [row[first] for row in rows],
        [row[second] for row in rows],
        [float(row["score"]) for row in rows] if "score" in rows[0] else [],
        [row["label"] for row in rows] if "label" in rows[0] else [],
    )


def build_columns(table: Mapping[str, Any], data: Path) -> dict[str, list[Any]]:
    """Return a table's columns filled from its public set (the cell formats of ``layouts/README.md``)."""
    sample = load_sample(data, table["source"])
    rows = _select_rows(table.get("rows"), sample)
    return {name: _fill(cells, sample, rows) for name, cells in table["columns"].items()}


def _select_rows(condition: Any, sample: Sample) -> list[int]:
    rows = range(len(sample.a))
    match condition:
        case None:
            return list(rows)
        case list():
            return condition
        case {"first": count}:
            return list(rows[:count])
        case {"label": labels}:
            return [row for row in rows if sample.label[row] in labels]
        case {"score_at_least": least}:
            return [row for row in rows if sample.score[row] >= least]
        case {"score_outside": [low, high]}:
            return [row for row in rows if sample.score[row] <= low or sample.score[row] >= high]
    raise ValueError(f"unknown condition {condition!r}")


def _fill(cells: Any, sample: Sample, rows: Sequence[int]) -> list[Any]:
    if not isinstance(cells, dict):
        cells = {"values": cells if isinstance(cells, list) else [cells]}
    if "items" in cells:
        return [list(item) for item in zip(*(_fill(part, sample, rows) for part in cells["items"]), strict=True)]
    if "object" in cells:
        parts = {key: _fill(part, sample, rows) for key, part in cells["object"].items()}
        return [dict(zip(parts, values, strict=True)) for values in zip(*parts.values(), strict=True)]
    sources = cells.get("rows") or [rows[(at + cells.get("shift", 0)) % len(rows)] for at in range(len(rows))]
    filled = [_cell(cells, at, sample.row(source)) for at, source in enumerate(sources)]
    return [*cells.get("head", []), *filled, *cells.get("tail", [])]


def _cell(cells: Mapping[str, Any], at: int, row: dict[str, Any]) -> Any:
    match cells:
        case {"score_up_to": steps}:
            value = next(value for limit, value in steps if row["score"] <= limit)
        case {"by": field, "values": values}:
            value = values[str(row[field])]
        case {"order": order, "values": values}:
            value = values[int(order[at], 36)]
        case {"values": values}:
            value = values[at % len(values)]
    if not isinstance(value, str):
        return value
    texts = {name: _normalize(row[name], cells) for name in ("a", "b") if name in row}
    number = cells.get("start", 0) + at * cells.get("step", 1)
    return _TYPES[cells.get("type", "str")](value.format(**row | texts, n=number))


def _normalize(text: str, cells: Mapping[str, Any]) -> str:
    for old, new in cells.get("replace", {}).items():
        text = text.replace(old, new)
    if cells.get("ascii"):
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    text = text.rstrip(cells.get("strip_end", ""))
    return text.lower() if cells.get("lower") else text


def write_table(layout: Layout, data: Path, folder: Path) -> Path:
    """Write a layout's file into ``folder`` and return its path."""
    table, path = layout.table, folder / layout.file
    columns = build_columns(table, data)
    file_format, encoding = table["format"], table.get("encoding", "utf-8")
    if file_format == "parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), path)
        return path
    rows = list(zip(*columns.values(), strict=True))
    with path.open("w", encoding=encoding, newline="") as file:
        if file_format == "json":
            json.dump([dict(zip(columns, row, strict=True)) for row in rows], file, ensure_ascii=False, indent=1)
        elif file_format == "jsonl":
            file.writelines(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
        else:
            writer = csv.writer(file, delimiter=_DELIMITERS[file_format])
            file.writelines(f"{line}\r\n" for line in table.get("lines_above", ()))
            if table.get("header", True):
                writer.writerow(columns)
            writer.writerows(rows)
    return path


def read(path: Path, overrides: Any, similar: Any) -> Any:
    """Read a file with our reader; with another one, replace this function and :func:`is_expected`."""
    from sbert_studio.data.loading.table import read_table
    from sbert_studio.data.schema.inference import infer_schema

    table = read_table(path, encoding=overrides.encoding, delimiter=overrides.delimiter, header=overrides.header)
    return infer_schema(table, overrides, (), similar)


def is_expected(layout: Layout, roles: Any) -> bool:
    """Return whether the roles of a table are those its author meant; two texts without ordered labels may be in either order."""
    columns, target = layout.columns, layout.target
    if layout.known_names and roles.target == layout.known_names["target"]:
        columns, target = tuple(layout.known_names["columns"]), roles.target
    is_swapped = layout.kind.endswith("pairs") and layout.labels is None and set(roles.texts) == set(columns)
    if (roles.kind, roles.target) != (layout.kind, target) or not (roles.texts == columns or is_swapped):
        return False
    if layout.labels is not None and tuple(label.strip() for label in roles.labels) != layout.labels:
        return False
    if layout.ordered is not None and roles.ordered != layout.ordered:
        return False
    return layout.scale is None or (roles.low, roles.high) == layout.scale


def apply_option(overrides: Any, option: Any) -> Any:
    """Return the overrides after an answer to a question."""
    known = {field.name for field in fields(overrides)}
    chosen = {name: tuple(value) if isinstance(value, list) else value for name, value in option.choice.items() if name in known}
    return replace(overrides, **chosen)


def find_answer(layout: Layout, path: Path, overrides: Any, similar: Any, depth: int = 1) -> tuple[Any, Any] | None:
    """Return (overrides, option) of the first answer to the open question that leads to the expected reading, or None."""
    from sbert_studio.errors import StudioError

    questions = read(path, overrides, similar).questions
    for option in questions[0].options if questions else ():
        chosen = apply_option(overrides, option)
        try:
            reading = read(path, chosen, similar)
        except StudioError:
            continue
        if not reading.questions:
            if is_expected(layout, reading.roles):
                return chosen, option
        elif depth < _MAX_QUESTIONS and find_answer(layout, path, chosen, similar, depth + 1):
            return chosen, option
    return None


def check(layout: Layout, path: Path, similar: Any) -> tuple[str, str]:
    """Return (right, asked, misread or silent; a description of the reading)."""
    from sbert_studio.data.schema.roles import SchemaOverrides
    from sbert_studio.errors import StudioError

    try:
        reading = read(path, SchemaOverrides(), similar)
    except StudioError as error:
        return "misread", str(error)
    roles = reading.roles
    labels = f"{list(roles.labels[:5])}{'' if roles.ordered else ' unordered'}"
    description = f"{roles.kind} {roles.texts} {roles.target} {labels} {roles.low}–{roles.high}"
    if not reading.questions:
        return ("right" if is_expected(layout, roles) else "silent"), f"{description}; {' | '.join(reading.why)}"
    question = reading.questions[0]
    verdict = "asked" if find_answer(layout, path, SchemaOverrides(), similar) else "misread"
    return verdict, f"{question.text} [{question.why}] read {description}"


def model_similarity(folder: Path) -> Any:
    """Return the cosines of all-MiniLM-L6-v2, as the reader takes them."""
    from sbert_studio.data.schema.evidence import EncoderSimilarity
    from sbert_studio.models.catalog import Catalog
    from sbert_studio.workspace import Workspace

    return EncoderSimilarity(Catalog(Workspace(folder), device="cpu").load("all-MiniLM-L6-v2").encode)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA", help="folder of the public sets")
    parser.add_argument("--only", nargs="+", default=(), metavar="ID", help="layouts whose id or name starts so")
    parser.add_argument("--no-model", action="store_true", help="read without a model")
    parser.add_argument("--json", action="store_true", help="print one JSON object: shares, and the verdict of every layout")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write the files into FOLDER and stop")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    prefixes = tuple(options.only)
    layouts = [layout for layout in load_layouts() if not prefixes or layout.id.startswith(prefixes) or layout.name.startswith(prefixes)]
    if not layouts:
        print(f"No layout's id or name starts with {' or '.join(prefixes)}.", file=sys.stderr)
        return 2
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        for layout in layouts:
            write_table(layout, options.data, options.write)
        print(f"{len(layouts)} files written into {options.write}", file=sys.stderr)
        return 0
    results = []
    with tempfile.TemporaryDirectory() as folder:
        similar = None if options.no_model else model_similarity(Path(folder) / "home")
        for layout in layouts:
            verdict, description = check(layout, write_table(layout, options.data, Path(folder)), similar)
            results.append({"id": layout.id, "name": layout.name, "verdict": verdict, "reading": description})
            if not options.json and (verdict != "right" or prefixes):
                print(f"{layout.id} {verdict}: {layout.name}: {description}", flush=True)
    counts = Counter(result["verdict"] for result in results)
    shares = {verdict: counts[verdict] / len(results) for verdict in VERDICTS}
    if options.json:
        print(json.dumps({"layouts": len(results), "shares": shares, "results": results}, ensure_ascii=False))
    else:
        print(", ".join(f"{verdict} {counts[verdict]} ({shares[verdict]:.1%})" for verdict in VERDICTS), f"of {len(results)}")
    return 1 if counts["misread"] + counts["silent"] else 0


if __name__ == "__main__":
    sys.exit(main())
