"""``sbert-studio``: the commands, and what becomes of their answers and errors."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.exceptions import Abort, TyperException

from .. import __version__
from ..errors import StudioError, to_user_error
from ..progress import StoppedError, stoppable
from ..services.questions import OpenQuestionsError
from ..settings import configure_thread_waiting
from ..shutdown import SHUTDOWN
from . import check, evaluate, explore, runs, serve, static_embeddings, train
from . import evaluate as leaderboard
from .output import Answer, print_message, write

if TYPE_CHECKING:
    from ..data.questions import Question

DONE, BUG, MENDABLE, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="sbert-studio",
    help="Explore sentences, and tune the model that compares them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
ROOMS = (serve, explore, check, train, static_embeddings, runs, evaluate, leaderboard)
for room in ROOMS:
    for command in room.COMMANDS:
        app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"sbert-studio {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version.")) -> None:
    """Explore sentences, and tune the model that compares them."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code: 0 done, 2 the user can mend it, 1 a bug; 130 or 143 where it was told to end.

    The page leaves with 0 where it was told to end.
    """
    given = sys.argv[1:] if arguments is None else arguments
    configure_thread_waiting(given[0] if given else "")
    with SHUTDOWN.taken(), stoppable(SHUTDOWN.is_asked):
        code = run(given)
        if code == INTERRUPTED and SHUTDOWN.asked:
            code = SHUTDOWN.code
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command; everything but the answer is kept off stdout where ``--json`` stands.

    Returns:
        The exit code.
    """
    given = list(arguments)
    as_json = "--json" in given and not {"-h", "--help"} & set(given)
    stdout = sys.stdout
    try:
        # Libraries that print would spoil the one JSON object.
        with redirect_stdout(sys.stderr) if as_json else nullcontext():
            answer = _parser()(given or ["--help"], prog_name="sbert-studio", standalone_mode=False)
        if isinstance(answer, Answer):
            write(answer, as_json, stdout)
            stdout.flush()
        return MENDABLE if not given else answer if isinstance(answer, int) else DONE
    except StudioError as error:
        return _refused(error, as_json, stdout)
    except TyperException as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        message = message.replace("Value error, ", "")
        what, meant, which = _decapitalised(message).partition(". Did you mean ")
        hint = f"did you mean {which.rstrip('?')}" if meant else f"see sbert-studio {_command(given)}--help"
        return _refused(StudioError(what, hint), as_json, stdout)
    except (KeyboardInterrupt, Abort):
        print_message("stopped")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (head, less) has left: nothing is wrong, and nobody is there to be told.
        sys.stderr.close()
        return DONE
    except Exception as error:
        return _failed(error, as_json, stdout)


@cache
def _parser() -> Any:
    """The commands with their options; made once, since Typer reads every signature for it."""
    return typer.main.get_command(app)


def _refused(error: StudioError, as_json: bool, stdout: Any) -> int:
    if isinstance(error, StoppedError):
        print_message("stopped")
        return INTERRUPTED
    questions = error.questions if isinstance(error, OpenQuestionsError) else ()
    for line in error.lines() if isinstance(error, OpenQuestionsError) else ():
        print_message(line)
    print_message(f"error: {error}")
    if as_json:
        _answer_with(error.message, error.hint, error.rows, stdout, questions)
    return MENDABLE


def _failed(error: Exception, as_json: bool, stdout: Any) -> int:
    """The machine, or a bug."""
    known = to_user_error(error, place=True)
    return _bug(error, as_json, stdout) if known is None else _refused(known, as_json, stdout)


def _bug(error: Exception, as_json: bool, stdout: Any) -> int:
    """One line for the user, the whole story in a file."""
    log = _log_file()
    with suppress(OSError):
        log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    first = next(iter(str(error).strip().splitlines()), "")
    message = f"this is a bug in SBERT Studio: {type(error).__name__}{': ' + first[:200] if first else ''}"
    print_message(f"error: {message}. hint: report it with {log}.")
    if as_json:
        _answer_with(message, f"report it with {log}", (), stdout)
    return BUG


def _answer_with(error: str, hint: str, rows: Sequence[int], stdout: Any, questions: Sequence[Question] = ()) -> None:
    """The JSON object of an error, where stdout still takes one: the error may be that it does not."""
    with suppress(OSError):
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
    known = {command.__name__.strip("_").replace("_", "-") for room in ROOMS for command in room.COMMANDS}
    return next((f"{word} " for word in arguments if word in known), "")


def _decapitalised(message: str) -> str:
    line = " ".join(message.split()).rstrip(".")
    return line[:1].lower() + line[1:]
