"""Write the tables of the README, docs/training.md and docs/evaluation.md: ``python docs/make_tables.py``; a test compares them.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``, and NAME is a key of :data:`TABLES`.
"""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from sbert_studio.data.schema.roles import KINDS
from sbert_studio.datasets.suites import SUITES
from sbert_studio.evaluation.report import describe_metric
from sbert_studio.evaluation.tasks import DataShape, Task, all_tasks
from sbert_studio.losses import CROSS_ENCODER_LOSSES, LOSSES, Loss
from sbert_studio.models.export import FORMATS
from sbert_studio.registry import Registry, fields_of

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "docs/training.md", "docs/evaluation.md")
_TABLE = re.compile(r"(?P<start><!-- table: (?P<name>[\w -]+) -->\n).*?(?P<end><!-- end of table -->)", re.DOTALL)


def tabs_table() -> str:
    """Return the tabs of the page, each with the description in its docstring."""
    from sbert_studio.ui.tabs import load_tabs

    rows = []
    for module in load_tabs():
        docstring = inspect.getdoc(sys.modules[module.__name__.removesuffix(".view")]) or ""
        summary, _, description = docstring.partition("\n\n")
        rows.append((f"**{module.TITLE}**", " ".join((description or summary.removeprefix(f"{module.TITLE}: ")).split())))
    return _markdown(("tab", ""), rows)


def exports_table() -> str:
    """Return the formats of verified exports."""
    forms = [FORMATS[name] for name in FORMATS]
    limits = [f"cosine {form.floor.cosine:g}, top-10 {form.floor.top10:.0%}" for form in forms]
    rows = [(f"`{form.name}`", form.readers, form.cost, limit, f"`[{form.extra}]`") for form, limit in zip(forms, limits, strict=True)]
    return _markdown(("format", "read by", "cost", "limits: at least", "extra"), rows)


def losses_table() -> str:
    """Return the losses of bi-encoders."""
    return _losses(LOSSES)


def cross_encoder_losses_table() -> str:
    """Return the losses of cross-encoders."""
    return _losses(CROSS_ENCODER_LOSSES)


def _losses(registry: Registry[Loss]) -> str:
    rows = []
    for loss in sorted((registry[name] for name in registry), key=lambda loss: (KINDS.index(loss.kinds[0]), loss.name)):
        kinds = ", ".join(kind.replace("_", " ") for kind in loss.kinds)
        settings = ", ".join(f"`{field.name}`" for field in fields_of(loss.Params))
        rows.append((f"`{loss.name}`", kinds, loss.summary, loss.source, _batch(loss), settings))
    return _markdown(("loss", "training data", "objective", "source", "batch", "settings"), rows)


def _batch(loss: type[Loss]) -> str:
    properties = (
        (loss.ranks, "ranked"),
        (loss.in_batch, "distinct texts"),
        (loss.classes_in_batch, "several per category"),
        (loss.views == 2, "each encoded twice"),
    )
    return ", ".join(description for holds, description in properties if holds)


def tasks_table() -> str:
    """Return the evaluation tasks with their metrics, and whether the columns of a file select them."""
    rows = []
    for task in all_tasks():
        main = describe_metric("_".join(task.main)) + (" (lower is better)" if task.lower_is_better else "")
        selected = "by the columns" if _is_default(task) else f"with `--task {task.name}`"
        rows.append((f"`{task.name}`", task.title, task.help, main, selected, "no" if task.needs_vectors else "yes"))
    return _markdown(("task", "evaluates", "metrics", "main metric", "selected", "cross-encoders"), rows)


def _is_default(task: Task) -> bool:
    shapes = itertools.product(KINDS, (0, 2, 3), (True, False), (True, False), ("vectors", "score", "class"))
    return any(task.fits(DataShape(*shape)) for shape in shapes)  # type: ignore[arg-type]


def suites_table() -> str:
    """Return the evaluation suites of the literature."""
    return _markdown(("suite", "contents"), ((f"`{name}`", suite.title) for name, suite in SUITES.items()))


TABLES: dict[str, Callable[[], str]] = {
    "exports": exports_table,
    "tabs": tabs_table,
    "losses": losses_table,
    "cross-encoder losses": cross_encoder_losses_table,
    "tasks": tasks_table,
    "suites": suites_table,
}


def names_of_tables(text: str) -> list[str]:
    """Return the names of the tables that a document contains."""
    return [match["name"] for match in _TABLE.finditer(text)]


def with_tables(text: str) -> str:
    """Return the text of a document with current tables."""
    return _TABLE.sub(lambda match: f"{match['start']}{TABLES[match['name']]()}{match['end']}", text)


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table without the columns that are empty in every row."""
    columns = [column for column in zip(header, *rows, strict=True) if any(column[1:])]
    lines = [[cell.replace("|", "\\|") for cell in line] for line in zip(*columns, strict=True)]
    lines.insert(1, ["---"] * len(columns))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    for document in DOCUMENTS:
        path = ROOT / document
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
