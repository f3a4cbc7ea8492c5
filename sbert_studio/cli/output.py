"""Output of commands: an answer as JSON or text on stdout, messages and progress on stderr."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from ..evaluation.changes import format_score
from ..progress import progress_share
from .completion import complete_models

if TYPE_CHECKING:
    from rich.console import Console

    from ..data.row_report import RowReport
    from ..progress import Progress
    from ..services.jobs import BeginPhase

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout; messages and progress go to stderr.")]
DEFAULT_MODELS = "all-MiniLM-L6-v2; multilingual-e5-small for texts that are mostly not English"
MODEL_HELP = "A bundled name, a run id, a folder or a hub id."
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", help=MODEL_HELP, show_default=DEFAULT_MODELS, autocompletion=complete_models),
]
Column = Annotated[
    str | None, typer.Option("--column", metavar="NAME", help="Text column.", show_default="the one that looks most like text")
]

Passages = Annotated[bool, typer.Option("--passages", help="Cut the texts into passages that the model reads whole, as it does documents.")]

# Control characters, line separators and bidirectional overrides, which a terminal would interpret.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?")
PROGRESS_SECONDS = 5.0  # seconds between two progress lines if stderr is not a terminal


@dataclass(frozen=True)
class Answer:
    """Result of a command: ``data`` for ``--json``, and ``lines`` of text for display. Consecutive lists of cells form a table."""

    data: Mapping[str, Any]
    lines: Sequence[str | Sequence[Any]] = ()


def write(answer: Answer, as_json: bool, stdout: TextIO) -> None:
    """Print an answer, escaping characters that cannot be encoded for ``stdout``."""
    encoding = stdout.encoding or "utf-8"
    if as_json:
        # A lone surrogate, which a file name may hold, becomes a question mark.
        from ..serialization import to_plain

        plain = json.dumps(to_plain(answer.data), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace").decode("utf-8")
        text = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", plain)
        if text.encode(encoding, "replace").decode(encoding, "replace") != text:
            text = json.dumps(json.loads(plain))
        stdout.write(text + "\n")
        return
    for line in _aligned(answer.lines):
        stdout.write(escape_control(line).encode(encoding, "replace").decode(encoding, "replace") + "\n")


def print_message(message: str) -> None:
    """Print a line to stderr."""
    sys.stderr.write(escape_control(message) + "\n")
    sys.stderr.flush()


def warn_unknown_variables() -> None:
    """Print a line that lists the ``SBERT_STUDIO_`` variables that do not exist, such as misspelled ones."""
    from ..settings import unknown_variables

    if found := unknown_variables():
        names = ", ".join(f"{name} (did you mean {known}?)" if known else name for name, known in found.items())
        print_message(f"warning: these environment variables do not exist and are ignored: {names}")


def print_notes(account: RowReport | None, verb: str, notes: Sequence[str] = ()) -> None:
    """Print to stderr how the rows of a file were used, and the notes, one per line."""
    for line in (*([account.describe(verb)] if account is not None else []), *notes):
        print_message(line)


def format_number(value: Any) -> str:
    """Format a score, or a count with thousands separators."""
    return format_score(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def escape_control(line: str) -> str:
    """Replace terminal control characters with spaces; names of columns, files and runs are untrusted."""
    return _UNSAFE.sub(" ", line)


def one_line(text: str, width: int = 100) -> str:
    """Return the beginning of a text on one line."""
    flat = escape_control(text)
    return flat if len(flat) <= width else flat[: width - 1] + "…"


@contextmanager
def progress(label: str, unit: str = "texts") -> Iterator[Progress]:
    """Report progress: a bar with the rate and the remaining time in a terminal, else a line every few seconds.

    Args:
        unit: what is counted; empty if that depends, as readers count bytes, rows or files. Then no rate is shown.
    """
    if sys.stderr.isatty():
        with _bar(label, unit) as show:
            yield show
    else:
        yield _lines(label, unit)


@contextmanager
def progress_by_phase() -> Iterator[BeginPhase]:
    """Yield a function that starts the :func:`progress` of a phase and ends that of the previous one."""
    with ExitStack() as stack:

        def begin(phase: str, unit: str) -> Progress:
            stack.close()
            return stack.enter_context(progress(phase, unit))

        yield begin


@contextmanager
def _bar(label: str, unit: str) -> Iterator[Progress]:
    rate = _Rate(unit)
    with share_bar(label) as draw:

        def show(done: int, total: int) -> None:
            rate.update(done)
            draw(done, total, f"{rate()}{rate.left(total)}".removeprefix(" · "))

        yield show


@contextmanager
def share_bar(label: str, console: Console | None = None) -> Iterator[Callable[[int, int, str], None]]:
    """Yield a function that draws a bar from (done, total, words). It is full only when the block ends; see :func:`progress_share`."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
    with Bar(*columns, console=console or Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, words="")

        def draw(done: int, total: int, words: str) -> None:
            share = progress_share(done, total)
            counted = f"{done:,}/{total:,}" if total else f"{done:,}"
            bar.update(task, completed=share or 0, total=None if share is None else 1, words=f"{counted}  {words}")

        yield draw


def _lines(label: str, unit: str) -> Progress:
    rate, last = _Rate(unit), time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        rate.update(done)
        if time.monotonic() - last < PROGRESS_SECONDS:
            return
        last = time.monotonic()
        of = f" of {total:,}" if total else ""
        print_message(f"{label}: {done:,}{of}{rate()}{rate.left(total)}")

    return show


class _Rate:
    """Rate of progress since the first report or the last restart of the count, so that the time to load a model is not included."""

    def __init__(self, unit: str) -> None:
        self._unit, self._start, self._base, self._done = unit, 0.0, 0, -1

    def update(self, done: int) -> None:
        if done < self._done or self._done < 0 or not done:
            self._start, self._base = time.monotonic(), done
        self._done = done

    def __call__(self) -> str:
        return f" · {self._now:,.0f} {self._unit}/s" if self._now and self._unit else ""

    def left(self, total: int) -> str:
        return f" · {format_duration((total - self._done) / self._now)} left" if self._done < total and self._now else ""

    @property
    def _now(self) -> float:
        return (self._done - self._base) / max(time.monotonic() - self._start, 1e-3)


def format_duration(seconds: float) -> str:
    """Format a duration: ``42 s``, ``3 min 05 s``, ``2 h 10 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _aligned(lines: Sequence[str | Sequence[Any]]) -> Iterator[str]:
    """Yield lines unchanged, and consecutive lists of cells as an aligned table."""
    block: list[list[str]] = []
    for line in lines:
        if isinstance(line, str):
            yield from _columns(block)
            block = []
            yield line
        else:
            block.append([format_number(cell) for cell in line])
    yield from _columns(block)


def _columns(block: list[list[str]]) -> Iterator[str]:
    """Align columns: right if a cell is a number, else left."""
    columns = list(zip_longest(*block, fillvalue=""))
    widths = [max(map(len, cells)) for cells in columns]
    is_number = [any(_NUMBER.fullmatch(cell) for cell in cells) for cells in columns]
    for row in block:
        cells = zip(row, widths, is_number, strict=False)
        yield "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells).rstrip()
