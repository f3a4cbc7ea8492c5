"""The commands ``check``, ``train``, ``fit`` and ``distill``, and the display of training progress in a terminal."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import StudioError, describe_rows
from ..registry import registered_names
from ..shutdown import SHUTDOWN
from ..workspace import require_writable_file
from .completion import complete_models, complete_runs, one_of
from .options import Dev, FormatOptions, choose_model, open_studio, report_model, with_options
from .output import (
    DEFAULT_MODELS,
    PROGRESS_SECONDS,
    Answer,
    Json,
    Model,
    escape_control,
    format_duration,
    format_number,
    print_message,
    progress,
    progress_by_phase,
    share_bar,
)

if TYPE_CHECKING:
    from ..data.doctor.diagnosis import Diagnosis
    from ..data.findings import Finding
    from ..data.row_report import RowReport
    from ..runs.run import Run
    from ..services.static_embeddings import FittedEmbeddings
    from ..training.events import Event


@with_options
def check(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="csv, tsv, jsonl, xlsx, parquet or txt.")],
    dev: Dev = None,
    file_format: FormatOptions,
    fix: Annotated[bool, typer.Option("--fix", help="Apply all available fixes.")] = False,
    convert: Annotated[
        str | None, typer.Option(metavar="NAME", help="Convert the rows to another kind of examples; check lists the conversions.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the fixed or converted rows for training: .csv (UTF-8) or .parquet."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            autocompletion=complete_models,
            help="Model to be fine-tuned; none: check only names and values.",
            show_default=DEFAULT_MODELS,
        ),
    ] = None,
    json: Json = False,
) -> Answer:
    """Detect a file's format, report problems, and optionally fix or convert it."""
    if out is not None:
        require_writable_file(out, file, dev, suffixes=(".csv", ".parquet"))
    elif fix or convert:
        raise StudioError("the changed rows need an output file", "add --out FILE.csv or FILE.parquet; the input file is not changed")
    fixed: Sequence[Finding] = ()
    overrides = file_format.overrides()
    with open_studio() as studio:
        with progress("reading", "") as report:
            table = studio.data.read_table(file, progress=report, overrides=overrides)
        model = choose_model(studio, model, table)
        if fix:
            table, overrides, fixed = studio.data.fix_all(table, dev=dev, overrides=overrides, model=model)
        if convert:
            table = studio.data.convert(table, convert, overrides, model)
            overrides = FormatOptions(as_read=file_format.as_read).overrides()
        with progress("checking", "rows") as report:
            found = studio.data.check(table, dev=dev, overrides=overrides, model=model, progress=report)
        if out is not None and out.suffix.lower() == ".parquet":
            table.to_parquet(out)
        elif out is not None:
            table.to_csv(out, guarded=False)
    data: dict[str, Any] = {**found.to_json(), "model": model}
    lines = [f"fixed: {finding.message}" for finding in fixed]
    if fix:
        data["fixed"] = [finding.message for finding in fixed]
    if convert:
        data["converted"] = convert
        lines.append(f"converted: {convert}")
    lines += _describe(found)
    if out is not None:
        data["out"] = str(out)
        lines.append(f"{len(table):,} rows written to {out}")
        if out.suffix.lower() == ".csv":
            lines.append("cells are written unchanged, for training; a spreadsheet may run cells that begin with = as formulas")
    return Answer(data, lines)


def _describe(diagnosis: Diagnosis) -> list[str]:
    from ..services.questions import format_question

    lines = [f"{diagnosis.account.read:,} rows of {diagnosis.roles.kind.replace('_', ' ')}: {', '.join(diagnosis.roles.texts)}"]
    lines += [diagnosis.roles.note] if diagnosis.roles.note else []
    lines += [f"because {why}" for why in diagnosis.why]
    lines += [line for question in diagnosis.questions for line in format_question(question)]
    lines.append(diagnosis.account.describe("usable for training"))
    for finding in diagnosis.findings:
        where = f" ({describe_rows(finding.rows)})" if finding.rows else ""
        change = f" – fix: {finding.fix.label}" if finding.fix else ""
        lines.append(f"{finding.severity}: {finding.message}{where}{change}")
    counts = Counter(finding.severity for finding in diagnosis.findings)
    totals = [_plural(count, severity) for severity, count in counts.items()]
    if diagnosis.questions:
        totals.insert(0, _plural(len(diagnosis.questions), "open question"))
    lines.append(", ".join(totals) or "no problems found")
    if any(finding.fix for finding in diagnosis.findings):
        lines.append("apply the fixes: --fix --out FILE.csv")
    lines += [f"with --convert {offer.name}: {offer.describe()}" for offer in diagnosis.offers]
    return lines


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


_ADVISED = "chosen by the advisor"
_LOSSES, _CROSS_ENCODER_LOSSES = (registered_names("losses", name) for name in ("LOSSES", "CROSS_ENCODER_LOSSES"))
_ALL_LOSSES = ("auto", *_LOSSES, *_CROSS_ENCODER_LOSSES)
_STATIC = ("word2vec", "cbow", "glove", "tfidf", "glove-6B-50d")


@with_options
def train(
    *,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Pairs, triplets, texts with a category, or sentences.")] = None,
    model: Model = None,
    loss: Annotated[
        str,
        typer.Option(
            metavar="LOSS",
            autocompletion=one_of(_ALL_LOSSES),
            help=f"auto, {', '.join(_LOSSES)}; for cross-encoders {', '.join(_CROSS_ENCODER_LOSSES)}.",
        ),
    ] = "auto",
    method: Annotated[
        Literal["full", "lora"] | None, typer.Option(help="Fine-tune all weights or a LoRA adapter.", show_default=_ADVISED)
    ] = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the training rows.", show_default=_ADVISED)] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows per step.", show_default=_ADVISED)] = None,
    lr: Annotated[float | None, typer.Option(help="Peak learning rate.", show_default=_ADVISED)] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed of the split, the row order and dropout.", show_default="12")] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Prompt for every text, saved with the model; or none.", show_default="the model's, by the column's role"
        ),
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            autocompletion=complete_models,
            help="Imitate this encoder or cross-encoder, with the loss margin_mse, distill_kl, embedding_mse or gist.",
            show_default="the teacher column of the file",
        ),
    ] = None,
    dev: Dev = None,
    file_format: FormatOptions,
    retrieval: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Also measure retrieval before and after, with at most 200 queries and 1,000 documents of a BEIR folder or zip, a table "
            "with the columns query, document and grade, or documents (known-item check). A model that retrieves worse is not kept.",
        ),
    ] = None,
    first: Annotated[Path | None, typer.Option(metavar="FILE", help="Train on this file first, in a separate stage.")] = None,
    folds: Annotated[int | None, typer.Option(help="Cross-validation with this many folds.", show_default="one split")] = None,
    seeds: Annotated[int | None, typer.Option(help="Train with this many seeds and report mean and spread.", show_default="1")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print the settings and an estimate without training.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write a copy of the model to this folder.")] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Continue a run that ended early.", autocompletion=complete_runs)
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Display name of the run.", show_default="the file's name")] = None,
    set: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any other training or loss setting.")] = None,
    json: Json = False,
) -> Answer | None:
    """Fine-tune a model on a file. Ctrl-C stops after the current step and keeps the progress; continue with --resume."""
    from ..runs.execution import is_main_process
    from ..services import TrainRequest

    settings: dict[str, Any] = {
        "loss": loss,
        "method": method,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": lr,
        "seed": seed,
    }
    settings |= {"folds": folds, "seeds": seeds, "prompt": prompt, "teacher": teacher}
    settings = {key: value for key, value in settings.items() if value is not None} | parse_settings(set or ())
    request = TrainRequest(file, dev, first, file_format.overrides() or None, settings, model, name=name, retrieval=retrieval)
    if plan:
        if file is None or resume is not None:
            raise StudioError("--plan needs a file", "specify the file, and omit --resume")
        with open_studio() as studio:
            found = studio.planner.estimate(request)
        return Answer(found.to_json(), [*found.reasons, f"Estimate: {found.describe()}. Nothing was trained."])
    with open_studio() as studio, TrainingProgress() as progress, stopping_gracefully() as should_stop:

        def on_start(run: Run) -> None:
            print_message(f"run {run.id} ({run.name})")
            if model is None and resume is None:
                report_model(studio, run.model)

        if resume is None:
            run = studio.fine_tune.train(request, out=out, on_event=progress.emit, should_stop=should_stop, on_start=on_start)
        else:
            run = studio.fine_tune.resume(resume, request, out=out, on_event=progress.emit, should_stop=should_stop, on_start=on_start)
        if not is_main_process():
            return None
        studio.fine_tune.require_no_alarm(run.id)
        accounts, splits = studio.fine_tune.get_row_reports(run.id), studio.fine_tune.get_splits(run.id)
    answer = _train_answer(run, None if run.model_path is None else str(out or run.model_path), accounts)
    return Answer({**answer.data, "splits": splits}, answer.lines)


def _train_answer(run: Run, model: str | None, accounts: dict[str, RowReport]) -> Answer:
    from ..evaluation.report import describe_confusions, describe_metric, describe_run, describe_score
    from ..services.training_plan import describe_row_reports
    from ..training.events import format_rate

    data = {
        "run": run.id,
        "status": run.status,
        "model": model,
        "base": run.model,
        "steps": run.step,
        "seconds": run.seconds,
        "pairs_per_second": run.pairs_per_second,
        "before": dict(run.before),
        "after": dict(run.after),
        "learning_curve": run.after.get("learning_curve"),
        "accounts": {part: account.to_json() for part, account in accounts.items()},
    }
    rate = format_rate(run.pairs_per_second)
    lines = [f"{run.status} after {run.step:,} steps in {format_duration(run.seconds)} ({rate} rows/s): {model or 'no model yet'}"]
    lines += describe_row_reports(accounts, has_begun=bool(run.step) and run.model_path is not None)
    if run.before and run.after:
        scores = f"{describe_score(run.before)} untuned, {describe_score(run.after)} tuned"
        lines.append(f"{describe_metric(run.after['metric'])} on held-out rows: {scores}")
        lines += [*describe_run(run.before, run.after), *describe_confusions(run.after)]
    if run.status == "stopped":
        lines.append(f"resume with: sbert-studio train --resume {run.id}")
    return Answer(data, lines)


class TrainingProgress:
    """Prints a run's events to stderr: a progress bar on a terminal, else a line every few seconds."""

    def __init__(self) -> None:
        self._console: Any = None
        self._draw: Any = None
        self._stack = ExitStack()
        self._last_print = 0.0

    def __enter__(self) -> TrainingProgress:
        if sys.stderr.isatty():
            from rich.console import Console

            self._console = Console(stderr=True)
            self._draw = self._stack.enter_context(share_bar("training", self._console))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def emit(self, event: Event) -> None:
        """Print an event."""
        from ..evaluation.changes import describe_change
        from ..evaluation.report import describe_metric
        from ..training.events import Evaluated, Notice, Part, PartEnded, Phase, Started, Step

        if isinstance(event, Started):
            for reason in event.reasons:
                self._print(f"  {reason}")
            resumed = f", resuming from step {event.step:,}" if event.step else ""
            self._print(
                f"{event.rows:,} rows, {event.dev_rows:,} held out; {event.loss}, {event.method}, batch {event.batch_size}, "
                f"{event.steps:,} steps on {event.device} in {event.precision}{resumed}"
            )
        elif isinstance(event, Step):
            self._step(event.run_step or event.step, event.run_steps or event.steps, event)
        elif isinstance(event, Evaluated):
            when = "base model" if event.step == 0 else f"step {event.step:,}"
            best = " (best so far)" if event.best else ""
            self._print(f"{when}: {describe_metric(event.metric)} {format_number(event.score)}{best}")
        elif isinstance(event, Notice):
            self._print(f"note: {event.message}")
        elif isinstance(event, Phase):
            self._print(f"{event.title} …")
        elif isinstance(event, Part):
            self._print(f"part {event.number} of {event.of}: {event.title}")
        elif isinstance(event, PartEnded) and event.after:
            change = describe_change(event.before["score"], event.after["score"])
            self._print(f"{event.title}: {describe_metric(event.after['metric'])} {change.before} → {change.after}")

    def _step(self, step: int, steps: int, event: Any) -> None:
        from ..training.events import format_rate

        loss, rate = f"loss {event.loss:.4f}", f"{format_rate(event.pairs_per_second)} rows/s"
        words = f"{loss} · {rate} · {format_duration(event.seconds_left)} left" if step < steps else loss
        if self._draw is not None:
            self._draw(step, steps, words)
        elif time.monotonic() - self._last_print > PROGRESS_SECONDS:
            self._last_print = time.monotonic()
            print_message(f"step {step:,} of {steps:,} · {words}")

    def _print(self, message: str) -> None:
        if self._console is not None:
            self._console.print(escape_control(message), markup=False, highlight=False)
        else:
            print_message(message)


@contextmanager
def stopping_gracefully() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True after Ctrl-C or SIGTERM; a second Ctrl-C exits immediately."""

    def notify() -> None:
        print_message("stopping after this step; progress is saved (press Ctrl-C again to quit immediately)")

    with SHUTDOWN.listened(notify), SHUTDOWN.patient():
        yield SHUTDOWN.is_requested


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """Parse ``key=value`` pairs. Values stay strings and are validated later by the fields they belong to."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        name = key.strip().replace("-", "_")
        if not equals or not name:
            raise StudioError(f"--set {pair!r} has no value", "use --set key=value, such as --set warmup_ratio=0.1")
        if name == "model":
            raise StudioError("the model cannot be set with --set", f"use --model {value.strip()}")
        settings[name] = value.strip()
    return settings


Columns = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Text column; may be repeated.", show_default="all text columns")]
Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder of the model.", show_default="among the models")]


def fit(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Texts: csv, tsv, jsonl, xlsx, parquet or txt.")],
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            autocompletion=one_of(_STATIC),
            help="word2vec (skipgram), cbow, glove, tfidf; or pretrained vectors: glove-6B-50d, a file.",
        ),
    ] = "glove",
    column: Columns = None,
    out: Out = None,
    weighting: Annotated[
        Literal["plain", "tfidf", "sif"] | None,
        typer.Option(help="Weighting of words in the mean of a text.", show_default="sif; with tfidf: plain"),
    ] = None,
    common: Annotated[int, typer.Option(min=0, max=10, help="Number of common components to remove.")] = 0,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 12,
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="width, epochs, window, min_count, …")] = None,
    json: Json = False,
) -> Answer:
    """Train static word embeddings on the texts of a file, or fit the word weights of pretrained embeddings to it."""
    from ..services.static_embeddings import FitOptions

    with open_studio() as studio, progress_by_phase() as begin_phase:
        found = studio.static_embeddings.fit(
            file,
            kind,
            options=FitOptions(weighting, common, parse_settings(sets or ()), seed),
            columns=column or (),
            out=out,
            begin_phase=begin_phase,
        )
    return _static_answer(found, f"from {found.texts:,} texts")


def distill(
    *,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="The teacher: a bundled name, a run id, a folder or a hub id.", autocompletion=complete_models
        ),
    ],
    out: Out = None,
    dim: Annotated[int, typer.Option(min=1, max=4096, help="Vector length of static embeddings.")] = 256,
    texts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Texts to imitate the teacher on; their words also get a static vector."),
    ] = None,
    student: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Model to train on the texts; static: static embeddings, without training.",
            autocompletion=complete_models,
        ),
    ] = "static",
    column: Columns = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="Display name of the model.", show_default="the file's name")] = "",
    set: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any training setting, such as layers=3.")] = None,
    json: Json = False,
) -> Answer:
    """Distill an encoder or a cross-encoder into a smaller model on your texts, or an encoder into static embeddings."""
    settings = parse_settings(set or ())
    if settings and student == "static":
        raise StudioError("static embeddings are computed without training", "omit --set, or choose a --student")
    if texts is None and student != "static":
        raise StudioError("a student is trained on texts", "add --texts FILE")
    with open_studio() as studio, progress_by_phase() as begin_phase:
        if student != "static":
            assert texts is not None
            with stopping_gracefully() as should_stop:
                result = studio.distillation.distill(
                    model, texts, student, columns=column or (), settings=settings, out=out, name=name, begin_phase=begin_phase,
                    should_stop=should_stop,
                )  # fmt: skip
            return Answer(result.to_json(), [f"{result.model or 'no model yet'}: {result.describe()}"])
        found = studio.static_embeddings.distill(
            model, dim=dim, vocabulary=texts, columns=column or (), out=out, name=name, begin_phase=begin_phase
        )
        answer = _static_answer(found, f"of {model}")
        near = texts and studio.distillation.compare(model, found.model, texts, columns=column or (), begin_phase=begin_phase)
    return Answer({**answer.data, "agreement": near.to_json()}, [*answer.lines, near.describe()]) if near else answer


def _static_answer(result: FittedEmbeddings, source: str) -> Answer:
    line = f"{result.words:,} words as {result.dim}-d vectors {source} in {result.seconds:.1f} s, written to {result.model}"
    return Answer(result.to_json(), [line, *result.notes])
