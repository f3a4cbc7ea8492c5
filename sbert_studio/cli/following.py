"""A training as a terminal shows it, and Ctrl-C as a wish rather than an accident."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..ending import ENDING
from ..evaluation.in_words import metric_in_words
from ..training.loop.throughput import rate_in_words
from .answers import duration, say, shown

if TYPE_CHECKING:
    from ..training.events import Event

_EVERY = 5.0


class Follower:
    """Tells of a run on stderr: a bar with rate and time left on a terminal, else a line every few seconds."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._told = 0.0

    def __enter__(self) -> Follower:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[words]}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def emit(self, event: Event) -> None:
        """Tell of one event."""
        from ..training.events import Evaluated, Notice, Part, PartEnded, Phase, Started, Step

        if isinstance(event, Started):
            for reason in event.reasons:
                self._line(f"  {reason}")
            resumed = f", going on from step {event.step:,}" if event.step else ""
            self._line(
                f"{event.rows:,} rows, {event.dev_rows:,} held out; {event.objective}, {event.method}, batch {event.batch_size}, "
                f"{event.steps:,} steps on {event.device} in {event.precision}{resumed}"
            )
        elif isinstance(event, Step):
            self._step(event.run_step or event.step, event.run_steps or event.steps, event.loss, event.pairs_per_second, event.seconds_left)
        elif isinstance(event, Evaluated):
            when = "untuned" if event.step == 0 else f"step {event.step:,}"
            best = " (the best of this training so far)" if event.best else ""
            self._line(f"{when}: {metric_in_words(event.metric)} {event.score:.4f}{best}")
        elif isinstance(event, Notice):
            self._line(f"note: {event.message}")
        elif isinstance(event, Phase):
            self._line(f"{event.title} …")
        elif isinstance(event, Part):
            self._line(f"part {event.number} of {event.of}: {event.title}")
        elif isinstance(event, PartEnded) and event.after:
            self._line(f"{event.title}: {metric_in_words(event.after['metric'])} {event.before['score']:.4f} → {event.after['score']:.4f}")

    def _step(self, step: int, steps: int, loss: float, rate: float, left: float) -> None:
        words = f"loss {loss:.4f} · {rate_in_words(rate)} rows/s · {duration(left)} left"
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("training", total=steps, words="")
            self._bar.update(self._task, completed=step, total=steps, words=words)
        elif time.monotonic() - self._told > _EVERY:
            self._told = time.monotonic()
            say(f"step {step:,} of {steps:,} · {words}")

    def _line(self, words: str) -> None:
        if self._bar is not None:
            self._bar.console.print(shown(words), markup=False, highlight=False)
        else:
            say(words)


@contextmanager
def stopping_politely() -> Iterator[Callable[[], bool]]:
    """Yield the question whether Ctrl-C (or a request to terminate) came; a second Ctrl-C does not wait."""

    def tell() -> None:
        say("stopping after this step; what was learned is kept (Ctrl-C again to leave at once)")

    with ENDING.listened(tell), ENDING.patient():
        yield ENDING.is_asked
