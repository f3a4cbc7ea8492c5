"""Processes for tests that need one of their own: to be killed, interrupted, or to hold a lock.

They are forked from a server that has imported the package once and never computed anything, so that a start takes some hundredths of a
second instead of the seconds that importing PyTorch takes, and a child begins as clean as a new program.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FORKS = "forkserver" in multiprocessing.get_all_start_methods()
_CONTEXT: Any = multiprocessing.get_context("forkserver" if _FORKS else "spawn")
if _FORKS:
    _CONTEXT.set_forkserver_preload(
        ["sbert_studio.settings", "torch", "transformers", "peft", "accelerate", "sbert_studio.cli.main", "tiny_studio"]
    )


# Root without its capabilities may write only what the permissions of the files let their owner write, as anybody else.
UNPRIVILEGED = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


@dataclass
class Child:
    """A running process.

    Attributes:
        out, err: files that hold what it has printed so far.
    """

    process: Any
    out: Path
    err: Path

    @property
    def pid(self) -> int:
        return int(self.process.pid)

    @property
    def runs(self) -> bool:
        return bool(self.process.is_alive())

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it with SIGKILL and wait until it is gone."""
        self.process.kill()
        self.process.join()

    def wait(self, seconds: float = 60) -> int:
        """Return its exit code; negative where a signal ended it.

        Raises:
            AssertionError: it still runs after ``seconds``.
        """
        self.process.join(seconds)
        if self.process.exitcode is None:
            self.kill()
            raise AssertionError(f"still running after {seconds:g} s: {self.err.read_text()[-2000:]}")
        return int(self.process.exitcode)

    def succeed(self, seconds: float = 60) -> str:
        """Wait for exit code 0 and return what it printed."""
        code = self.wait(seconds)
        assert code == 0, f"exit code {code}: {self.err.read_text()[-3000:]}"
        return self.out.read_text(encoding="utf-8")


@contextmanager
def started(folder: Path, function: Callable[..., Any], *arguments: Any, **environment: str) -> Iterator[Child]:
    """Run a module-level ``function`` in a process of its own, which is killed at the end if it still runs.

    Args:
        folder: where files for its output are made.
        arguments: passed to the function; must be picklable.
        environment: variables to set before it is called.
    """
    sys.audit("tests.process", function.__name__)
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.glob("process-*.out")))
    out, err = (folder / f"process-{number}.{kind}" for kind in ("out", "err"))
    out.touch(), err.touch()
    variables = {name: value for name, value in os.environ.items() if name.startswith("SBERT_STUDIO_")} | environment
    given = (os.getpid(), function, arguments, variables, str(out), str(err))
    child = Child(_CONTEXT.Process(target=_call, args=given, daemon=False), out, err)
    child.process.start()
    try:
        yield child
    finally:
        if child.runs:
            child.kill()


def command_line(folder: Path, *arguments: object, **environment: str) -> Any:
    """Run ``sbert-studio ARGUMENTS`` in a process of its own (see :func:`started`)."""
    return started(folder, _main, [str(argument) for argument in arguments], **environment)


def _main(arguments: list[str]) -> None:
    from sbert_studio.cli.main import main

    sys.argv = ["sbert-studio", *arguments]
    main(arguments)


def _end_with(parent: int) -> None:
    """End this process soon after the one that tests was killed, which would otherwise leave it, and a port, behind."""
    while True:
        time.sleep(1)
        try:
            os.kill(parent, 0)
        except ProcessLookupError:
            os._exit(1)


def _call(parent: int, function: Callable[..., Any], arguments: tuple[Any, ...], environment: dict[str, str], out: str, err: str) -> None:
    import torch

    threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
    for number, path in ((1, out), (2, err)):
        target = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(target, number)
        os.close(target)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, encoding="utf-8", closefd=False) for number in (1, 2))
    for name in [name for name in os.environ if name.startswith("SBERT_STUDIO_")]:
        del os.environ[name]  # of the test that started the server
    os.environ.update(environment)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in what a shell runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    torch.set_num_threads(1)
    try:
        function(*arguments)
    except SystemExit:
        raise
    except BaseException:
        traceback.print_exc()
        raise SystemExit(1) from None
