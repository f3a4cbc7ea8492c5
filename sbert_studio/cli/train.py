"""The command train, and its progress in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import StudioError
from ..evaluation.report import describe_metric
from ..services.training_plan import TrainRequest, describe_row_reports
from ..shutdown import SHUTDOWN
from ..training.events import format_rate
from .check import Dev
from .options import open_studio, report_model, with_overrides
from .output import Answer, Json, Model, escape_control, format_duration, print_message

if TYPE_CHECKING:
    from ..data.schema.overrides import SchemaOverrides
    from ..runs.run import Run
    from ..services.results import TrainingForecast
    from ..training.events import Event


_EVERY = 5.0


class TrainingProgress:
    """Tells of a run on stderr: a bar with rate and time left on a terminal, else a line every few seconds."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._told = 0.0

    def __enter__(self) -> TrainingProgress:
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
            self._line(f"{when}: {describe_metric(event.metric)} {event.score:.4f}{best}")
        elif isinstance(event, Notice):
            self._line(f"note: {event.message}")
        elif isinstance(event, Phase):
            self._line(f"{event.title} …")
        elif isinstance(event, Part):
            self._line(f"part {event.number} of {event.of}: {event.title}")
        elif isinstance(event, PartEnded) and event.after:
            self._line(f"{event.title}: {describe_metric(event.after['metric'])} {event.before['score']:.4f} → {event.after['score']:.4f}")

    def _step(self, step: int, steps: int, loss: float, rate: float, left: float) -> None:
        words = f"loss {loss:.4f} · {format_rate(rate)} rows/s · {format_duration(left)} left"
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("training", total=steps, words="")
            self._bar.update(self._task, completed=step, total=steps, words=words)
        elif time.monotonic() - self._told > _EVERY:
            self._told = time.monotonic()
            print_message(f"step {step:,} of {steps:,} · {words}")

    def _line(self, words: str) -> None:
        if self._bar is not None:
            self._bar.console.print(escape_control(words), markup=False, highlight=False)
        else:
            print_message(words)


@contextmanager
def stopping_gracefully() -> Iterator[Callable[[], bool]]:
    """Yield the question whether Ctrl-C (or a request to terminate) came; a second Ctrl-C does not wait."""

    def tell() -> None:
        print_message("stopping after this step; what was learned is kept (Ctrl-C again to leave at once)")

    with SHUTDOWN.listened(tell), SHUTDOWN.patient():
        yield SHUTDOWN.is_asked


@with_overrides
def train(
    *,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Pairs, triplets, texts with a category, or sentences.")] = None,
    model: Model = None,
    objective: Annotated[str, typer.Option(help="auto, or the name of an objective.")] = "auto",
    method: Annotated[
        Literal["full", "lora"] | None, typer.Option(help="Tune all weights, or an adapter.", show_default="chosen by the advisor")
    ] = None,
    epochs: Annotated[float | None, typer.Option(help="How often each row is seen.", show_default="chosen by the advisor")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows a step.", show_default="chosen by the advisor")] = None,
    lr: Annotated[float | None, typer.Option(help="The highest learning rate.", show_default="chosen by the advisor")] = None,
    seed: Annotated[int | None, typer.Option(help="Decides the split, the order and dropout.", show_default="12")] = None,
    prompt: Annotated[
        str | None,
        typer.Option(help="none, or a text put before every text, saved with the model.", show_default="the model's, by the column's role"),
    ] = None,
    dev: Dev = None,
    said: SchemaOverrides,
    first: Annotated[Path | None, typer.Option(metavar="FILE", help="Learn from these rows before, in a stage of its own.")] = None,
    folds: Annotated[int | None, typer.Option(help="Cross-validation: train once for each fold.", show_default="one split")] = None,
    seeds: Annotated[int | None, typer.Option(help="Train with this many seeds, for a mean and its spread.", show_default="1")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Say how it would be trained, and what it would take; train nothing.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Put a copy of the tuned model here.")] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with a run that ended early.")] = None,
    name: Annotated[str | None, typer.Option(help="What the lists call the run.", show_default="the file's name")] = None,
    set: Annotated[
        list[str] | None, typer.Option("--set", metavar="key=value", help="Any other setting of the training or the objective.")
    ] = None,
    json: Json = False,
) -> Answer | None:
    """Tune a model on a file. Ctrl-C stops politely and keeps what was learned; --resume goes on."""
    from ..evaluation.report import describe_confusions, describe_metric, describe_run, describe_score
    from ..runs.training import is_main_process

    overrides = {"objective": objective, "method": method, "epochs": epochs, "batch_size": batch_size, "learning_rate": lr, "seed": seed}
    overrides |= {"folds": folds, "seeds": seeds, "prompt": prompt}
    overrides = {key: value for key, value in overrides.items() if value is not None} | parse_settings(set or ())
    request = TrainRequest(file, dev, first, said or None, overrides, model, name=name)
    if plan:
        if file is None or resume is not None:
            raise StudioError("a plan is made for a file", "name the file, and leave out --resume")
        with open_studio() as studio:
            return _planned(studio.planner.estimate(request))
    with open_studio() as studio, TrainingProgress() as follower, stopping_gracefully() as should_stop:

        def began(run: Run) -> None:
            print_message(f"run {run.id} ({run.name})")
            if model is None and resume is None:
                report_model(studio, run.model)

        told: Any = {"out": out, "emit": follower.emit, "should_stop": should_stop, "began": began}
        run = studio.fine_tune.train(request, **told) if resume is None else studio.fine_tune.resume(resume, request, **told)
        if not is_main_process():
            return None
        studio.fine_tune.require_no_alarm(run.id)
        accounts = studio.fine_tune.get_row_reports(run.id)
    tuned = None if run.model_path is None else str(out or run.model_path)
    found = {
        "run": run.id,
        "status": run.status,
        "model": tuned,
        "base": run.model,
        "steps": run.step,
        "seconds": run.seconds,
        "pairs_per_second": run.pairs_per_second,
        "before": dict(run.before),
        "after": dict(run.after),
        "accounts": {part: account.to_json() for part, account in accounts.items()},
    }
    rate = format_rate(run.pairs_per_second)
    lines = [f"{run.status} after {run.step:,} steps in {format_duration(run.seconds)} ({rate} rows/s): {tuned or 'no model yet'}"]
    lines += describe_row_reports(accounts, begun=bool(run.step) and run.model_path is not None)
    if run.before and run.after:
        scores = f"{describe_score(run.before)} untuned, {describe_score(run.after)} tuned"
        lines.append(f"{describe_metric(run.after['metric'])} on held-out rows: {scores}")
        lines += describe_run(run.before, run.after)
        lines += describe_confusions(run.after)
    if run.status == "stopped":
        lines.append(f"go on with: sbert-studio train --resume {run.id}")
    return Answer(found, lines)


def _planned(found: TrainingForecast) -> Answer:
    return Answer(found.to_json(), [*found.reasons, f"Estimate: {found.in_words()}. Nothing was trained."])


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """``key=value`` pairs as a dictionary; the values are parsed where the keys are known.

    Raises:
        StudioError: one has no ``=``, or names the model.
    """
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        name = key.strip().replace("-", "_")
        if not equals or not name:
            raise StudioError(f"--set {pair!r} has no value", "write --set key=value, such as --set warmup_ratio=0.1")
        if name == "model":
            raise StudioError("the model is not chosen by --set", f"write --model {value.strip()}")
        found[name] = value.strip()
    return found


COMMANDS = (train,)
