"""How tables of many layouts are read: right, asked, or misread without a word.

    python benchmarks/layouts.py DATA [--none] [NAME ...]

DATA is a folder with the public sets as CSV: {stsb,stsb-zh,sick,snli,mrpc}/train.csv (pairs with score or label),
{banking77,trec}/train.csv (texts with a category). Every layout of this folder's modules that have a ``LAYOUTS`` is built from 400 of their
rows, written as a file, read with the default model (``--none``: without one), and compared with what its author meant:

right    nothing was asked, and kind, texts, target, order and scale are as meant
asked    something was asked, and one of the answers (or of those to the next question) leads to what is meant
misread  anything else

NAME picks layouts whose names begin so. Modules are found by their names: ``layouts_*.py``.
"""

from __future__ import annotations

import csv
import importlib
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

ROWS = 400
Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Rows:
    """Rows of a public set: ``a``, ``b`` the two texts (``b`` is empty of texts with a category), ``score`` and ``label`` as they come."""

    a: list[str]
    b: list[str]
    score: list[float]
    label: list[str]

    def __len__(self) -> int:
        return len(self.a)

    def scores(self, write: Callable[[float], str]) -> list[str]:
        """The scores as they are written."""
        return [write(score) for score in self.score]

    def cut(self, *names: str, edges: Sequence[float] | None = None) -> list[str]:
        """Names for the parts of the scale 0–5, least alike first."""
        edges = edges or [5 * (at + 1) / len(names) for at in range(len(names) - 1)]
        return [names[sum(score > edge for edge in edges)] for score in self.score]

    def clear(self) -> Rows:
        """The rows with a score in the lowest or the highest quarter of 0–5."""
        return self.take([at for at, score in enumerate(self.score) if score <= 1.25 or score >= 3.75])

    def take(self, places: Sequence[int]) -> Rows:
        """Some rows."""
        return Rows(*([column[at] for at in places] if column else [] for column in (self.a, self.b, self.score, self.label)))

    def named(self, names: Mapping[str, str]) -> list[str]:
        """The labels by other names."""
        return [names[label] for label in self.label]


@dataclass(frozen=True)
class Layout:
    """A table as somebody makes it.

    Attributes:
        name: what it is called in the answer.
        source: the public set its rows are from.
        columns: gives its columns.
        kind, texts, target: what they are.
        labels: the classes from least to most alike; not looked at where it is None.
        ordered: whether they have an order; None: not looked at.
        scale: the scores of least and most alike; None: not looked at.
        write: how it is written: csv, tsv, semicolon, pipe, jsonl, json, parquet, or an encoding behind csv, such as ``csv utf-16``.
        above: lines that stand above the header.
        header: whether the names of the columns are written.
    """

    name: str
    source: str
    columns: Callable[[Rows], Columns]
    kind: str
    texts: tuple[str, ...]
    target: str | None = None
    labels: tuple[str, ...] | None = None
    ordered: bool | None = None
    scale: tuple[float, float] | None = None
    write: str = "csv"
    above: tuple[str, ...] = ()
    header: bool = True


@cache
def rows_of(data: Path, source: str) -> Rows:
    """400 rows of a public set, the same ones each time."""
    with (data / source / "train.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    if source == "banking77":
        wanted = sorted({row["category"] for row in found})[::4]
        found = [row for row in found if row["category"] in wanted]
    found = random.Random(12).sample(found, min(ROWS, len(found)))
    first, second = {"snli": ("premise", "hypothesis")}.get(source, ("sentence1", "sentence2"))
    if "text" in found[0]:
        return Rows([row["text"] for row in found], [], [], [row.get("category") or row["label"] for row in found])
    return Rows(
        [row[first] for row in found],
        [row[second] for row in found],
        [float(row["score"]) for row in found] if "score" in found[0] else [],
        [row["label"] for row in found] if "label" in found[0] else [],
    )


def write(layout: Layout, data: Path, folder: Path) -> Path:
    """The layout as a file."""
    import json

    columns = layout.columns(rows_of(data, layout.source))
    rows = list(zip(*columns.values(), strict=True))
    how, _, encoding = layout.write.partition(" ")
    path = folder / f"layout.{how if how in ('jsonl', 'json', 'tsv', 'parquet') else 'csv'}"
    if how == "parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({name: list(column) for name, column in columns.items()}), path)
        return path
    with path.open("w", encoding=encoding or "utf-8", newline="") as file:
        if how == "json":
            json.dump([dict(zip(columns, row, strict=True)) for row in rows], file, ensure_ascii=False, indent=1)
        elif how == "jsonl":
            file.writelines(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
        else:
            writer = csv.writer(file, delimiter={"tsv": "\t", "semicolon": ";", "pipe": "|"}.get(how, ","))
            file.writelines(f"{line}\r\n" for line in layout.above)
            if layout.header:
                writer.writerow(columns)
            writer.writerows(rows)
    return path


def judge(layout: Layout, path: Path, similar: Any) -> tuple[str, str]:
    """(right, asked or misread; what was found)."""
    from sbert_studio.data.choices.column_choices import ColumnChoices, read_roles
    from sbert_studio.data.tables import read_table
    from sbert_studio.errors import StudioError

    known = {field.name for field in fields(ColumnChoices)}

    def read(asked: ColumnChoices) -> Any:
        return read_roles(read_table(path, encoding=asked.encoding, delimiter=asked.delimiter, header=asked.header), asked, (), similar)

    def leads(asked: ColumnChoices, questions: Sequence[Any], depth: int = 0) -> bool:
        for option in questions[0].options:
            choice = {name: tuple(value) if isinstance(value, list) else value for name, value in option.choice.items() if name in known}
            try:
                found = read(now := replace(asked, **choice))
            except StudioError:
                continue
            if (meant(layout, found.roles) and not found.questions) or (
                found.questions and depth < 2 and leads(now, found.questions, depth + 1)
            ):
                return True
        return False

    try:
        found = read(ColumnChoices())
    except StudioError as error:
        return "misread", str(error)
    roles = found.roles
    labels = f"{list(roles.labels[:5])}{'' if roles.ordered else ' unordered'}"
    shown = f"{roles.kind} {roles.texts} {roles.target} {labels} {roles.low}–{roles.high}"
    if not found.questions:
        return ("right" if meant(layout, roles) else "misread"), f"{shown}; {' | '.join(found.why)}"
    told = f"{found.questions[0].text} [{found.questions[0].why}] read {shown}"
    return ("asked" if leads(ColumnChoices(), found.questions) else "misread"), told


def meant(layout: Layout, roles: Any) -> bool:
    """Whether a table was read as its author meant it."""
    texts = roles.texts == layout.texts or (
        layout.kind.endswith("pairs") and layout.labels is None and set(roles.texts) == set(layout.texts)
    )
    if (roles.kind, texts, roles.target) != (layout.kind, True, layout.target):
        return False
    if layout.labels is not None and tuple(label.strip() for label in roles.labels) != layout.labels:
        return False
    if layout.ordered is not None and roles.ordered != layout.ordered:
        return False
    return layout.scale is None or (roles.low, roles.high) == layout.scale


def collected() -> list[Layout]:
    """The layouts of every module beside this one that has some."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("layouts_*.py"))
    return [layout for name in names for layout in importlib.import_module(name).LAYOUTS]


def main(arguments: list[str]) -> int:
    """Print a line a layout, and the totals."""
    from sbert_studio.data.evidence.similarity import similar_by
    from sbert_studio.models.catalog import Catalog
    from sbert_studio.workspace import Workspace

    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    data, rest = Path(arguments[0]), arguments[1:]
    begins = tuple(word for word in rest if word != "--none")
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        encoder = Catalog(Workspace(Path(folder) / "home"), device="cpu").load("all-MiniLM-L6-v2")
        similar = None if "--none" in rest else similar_by(encoder.encode)
        for layout in collected():
            if begins and not layout.name.startswith(begins):
                continue
            outcome, found = judge(layout, write(layout, data, Path(folder)), similar)
            counts[outcome] += 1
            print(f"| {layout.name} | {outcome} | {found if outcome != 'right' or begins else ''} |", flush=True)
    total = sum(counts.values())
    print(
        *(f"{name} {counts[name]} ({counts[name] / max(1, total):.0%})" for name in ("right", "asked", "misread")), f"of {total}", sep=", "
    )
    return 1 if counts["misread"] else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main(sys.argv[1:]))
