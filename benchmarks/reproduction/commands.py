"""The commands of a row, run in this process as ``sbert-studio`` runs them."""

from __future__ import annotations

import io
import json
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


class CommandError(Exception):
    """A command did not do what it was asked; its words stand on stderr.

    Attributes:
        stopped: whether somebody stopped it.
    """

    def __init__(self, message: str, *, stopped: bool = False) -> None:
        super().__init__(message)
        self.stopped = stopped


def placed(words: str, data: Path, work: Path, out: Path, seed: int) -> str:
    """One word of a command with its paths and its seed put in."""
    for name, path in (("DATA", data), ("WORK", work), ("OUT", out)):
        if words == name or words.startswith(f"{name}/"):
            return str(path) + words[len(name) :]
    return str(seed) if words == "SEED" else words


def sbert_studio(*arguments: str) -> dict[str, Any]:
    """Run ``sbert-studio ... --json`` and return its answer.

    Raises:
        CommandError: it failed, or was stopped.
    """
    from sbert_studio.cli.main import run

    print("$", shlex.join(["sbert-studio", *arguments, "--json"]), file=sys.stderr, flush=True)
    written = io.StringIO()
    with redirect_stdout(written):
        code = run([*arguments, "--json"])
    if code:
        raise CommandError(f"sbert-studio {arguments[0]} left with {code}", stopped=code == 130)
    answer: dict[str, Any] = json.loads(written.getvalue())
    if answer.get("status", "finished") != "finished":
        raise CommandError(f"the training is {answer['status']}", stopped=answer["status"] == "stopped")
    return answer
