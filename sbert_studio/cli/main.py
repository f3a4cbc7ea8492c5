"""The ``sbert-studio`` executable: registers the commands, prints answers and errors, and sets the exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import Abort, TyperException

from .. import __version__
from ..errors import StudioError, to_user_error
from ..progress import StoppedError, stoppable
from ..settings import configure_thread_waiting
from ..shutdown import SHUTDOWN
from . import evaluate, explore, page, pairs, runs, serve, train
from .options import with_device
from .output import Answer, print_message, write

if TYPE_CHECKING:
    from ..data.findings import Question

SUCCESS, INTERNAL_ERROR, USER_ERROR, INTERRUPTED = 0, 1, 2, 130

# The commands by panel of the help, where two of them share a line of 78 characters.
PANELS: Mapping[str, Mapping[Callable[..., Any], str]] = {
    "Explore texts": {
        page.app: "Open the page",
        explore.search: "Find texts by meaning",
        explore.similarity: "Compare texts",
        explore.duplicates: "Find near-duplicates",
        explore.map: "Draw a map of topics",
        explore.mine: "Find the closest pairs",
        explore.topics: "Report topics",
        explore.encode: "Write vectors to a file",
    },
    "Make training data": {
        train.check: "Check and fix a file",
        pairs.pairs: "Make pairs from documents",
        pairs.labels: "Find wrong labels",
        pairs.negatives: "Add hard negatives",
    },
    "Train and evaluate": {
        train.train: "Fine-tune a model",
        evaluate.evaluate: "Evaluate models",
        train.distill: "Make a model smaller",
        evaluate.leaderboard: "List scores",
        train.fit: "Train static embeddings",
        evaluate.models: "List models",
    },
    "Use and manage": {
        runs.export: "Export a model",
        serve.serve: "Serve OpenAI's API",
        runs.strength: "Blend with base model",
        runs.runs: "List training runs",
        runs.stop: "Stop a run",
        runs.rename: "Rename a run",
        runs.delete: "Delete runs and models",
    },
}


class _Commands(TyperGroup):
    """The commands, whose help fits into 24 lines of 80 characters."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[str]] = {}
        for name, command in self.commands.items():
            panels.setdefault(getattr(command, "rich_help_panel", None) or "", []).append(f"{name:<13}{command.short_help}")
        formatter.write_paragraph()
        for title, entries in panels.items():
            formatter.write(f"{title}:\n")
            for left, right in zip_longest(entries[::2], entries[1::2], fillvalue=""):
                formatter.write(f"  {left:<39}{right}".rstrip() + "\n")
        options = ", ".join(option for parameter in self.get_params(ctx) for option in parameter.opts)
        formatter.write(f"Options: {options}\nDetails: sbert-studio COMMAND --help\n")


app = typer.Typer(
    name="sbert-studio",
    cls=_Commands,
    help="Explore sentences and fine-tune the model that compares them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in PANELS.items():
    for command, summary in commands.items():
        app.command(short_help=summary, rich_help_panel=panel)(with_device(command))


def _print_version(requested: bool) -> None:
    if requested:
        sys.stdout.write(f"sbert-studio {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version.")) -> None:
    """Explore sentences and fine-tune the model that compares them."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 success, 2 user error, 1 internal error, 130 or 143 interrupted by a signal (0 for the page)."""
    given = sys.argv[1:] if arguments is None else arguments
    _open_closed_streams()
    configure_thread_waiting(given[0] if given else "")
    with SHUTDOWN.handling(), stoppable(SHUTDOWN.is_requested):
        code = run(given)
        if code == INTERRUPTED and SHUTDOWN.is_requested():
            code = SHUTDOWN.code
    sys.exit(code)


def _open_closed_streams() -> None:
    """Discard what is written to streams that the caller closed (``>&-``) or never had, as without a console on Windows."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open until the process ends


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code. With ``--json`` only the answer goes to stdout."""
    given = list(arguments)
    as_json = "--json" in given and not {"-h", "--help"} & set(given)
    stdout = sys.stdout
    try:
        # Output printed by libraries must not corrupt the JSON object.
        with redirect_stdout(sys.stderr) if as_json else nullcontext():
            answer = _parser()(given or ["--help"], prog_name="sbert-studio", standalone_mode=False)
        if isinstance(answer, Answer):
            write(answer, as_json, stdout)
            stdout.flush()
        return USER_ERROR if not given else answer if isinstance(answer, int) else SUCCESS
    except StudioError as error:
        return _report_error(error, as_json, stdout)
    except TyperException as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        message = message.replace("Value error, ", "")
        what, meant, which = _decapitalize(message).partition(". Did you mean ")
        hint = f"did you mean {which.rstrip('?')}" if meant else f"see sbert-studio {_command(given)}--help"
        return _report_error(StudioError(what, hint), as_json, stdout)
    except (KeyboardInterrupt, Abort):
        print_message("stopped")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output (head, less) was closed.
        sys.stderr.close()
        return SUCCESS
    except Exception as error:
        return _report_exception(error, as_json, stdout)


@cache
def _parser() -> Any:
    # Cached, since Typer inspects every signature.
    return typer.main.get_command(app)


def _report_error(error: StudioError, as_json: bool, stdout: Any) -> int:
    if isinstance(error, StoppedError):
        print_message("stopped")
        return INTERRUPTED
    from ..services.questions import OpenQuestionsError

    questions = error.questions if isinstance(error, OpenQuestionsError) else ()
    for line in error.lines() if isinstance(error, OpenQuestionsError) else ():
        print_message(line)
    print_message(f"error: {error}")
    if as_json:
        _write_error(error.message, error.hint, error.rows, stdout, questions)
    return USER_ERROR


def _report_exception(error: Exception, as_json: bool, stdout: Any) -> int:
    known = to_user_error(error, place=True)
    return _report_bug(error, as_json, stdout) if known is None else _report_error(known, as_json, stdout)


def _report_bug(error: Exception, as_json: bool, stdout: Any) -> int:
    """Print one line for the user and write the traceback to a file."""
    log = _log_file()
    with suppress(OSError):
        log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    first = next(iter(str(error).strip().splitlines()), "")
    message = f"this is a bug in SBERT Studio: {type(error).__name__}{': ' + first[:200] if first else ''}"
    print_message(f"error: {message}. hint: report it with {log}.")
    if as_json:
        _write_error(message, f"report it with {log}", (), stdout)
    return INTERNAL_ERROR


def _write_error(error: str, hint: str, rows: Sequence[int], stdout: Any, questions: Sequence[Question] = ()) -> None:
    with suppress(OSError):  # the error may be that stdout is closed
        more = {"certain": False, "questions": [question.to_json() for question in questions]} if questions else {}
        write(Answer({"error": error, "hint": hint, "rows": list(rows), **more}), True, stdout)
        stdout.flush()


def _log_file() -> Path:
    import tempfile

    from ..settings import Settings
    from ..workspace import Workspace

    try:
        return Workspace(Settings.from_env().home).cache("logs") / "error.log"
    except (StudioError, OSError):
        return Path(tempfile.mkdtemp(prefix="sbert-studio-")) / "error.log"


def _command(arguments: Sequence[str]) -> str:
    return next((f"{word} " for word in arguments if word in _parser().commands), "")


def _decapitalize(message: str) -> str:
    line = " ".join(message.split()).rstrip(".")
    return line[:1].lower() + line[1:]
