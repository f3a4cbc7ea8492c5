"""Commands for runs: ``runs``, ``stop``, ``rename``, ``delete``, ``export`` and ``strength``."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import StudioError
from ..registry import registered_names
from ..shutdown import SHUTDOWN
from ..workspace import require_writable_file
from .completion import complete_models, complete_own_models, complete_runs, one_of
from .options import open_studio
from .output import MODEL_HELP, Answer, Column, Json, print_message

if TYPE_CHECKING:
    from ..models.export import ExportedModel
    from ..models.export.verification import Fidelity
    from ..runs.run import Run
    from ..services import Studio
    from ..services.results import ExportedFile, RunView

_PARTS = " or ".join(name for name in registered_names("runs/export", "EXPORTS") if name != "all")
_FORMATS = ", ".join(registered_names("models/export", "FORMATS"))
_NAMES = (*registered_names("models/export", "FORMATS"), *registered_names("runs/export", "EXPORTS"))
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.", autocompletion=complete_runs)]
Strength = Annotated[
    float | None,
    typer.Option("--strength", metavar="0…1", help="Interpolation with the base model: 0 base, 1 fine-tuned.", show_default="unchanged"),
]


def runs(
    clean: Annotated[int | None, typer.Option(metavar="DAYS", min=0, help="Delete finished runs older than this.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without confirmation.")] = False,
    json: Json = False,
) -> Answer:
    """List runs, newest first, with their progress and size on disk."""
    from ..evaluation.report import describe_score
    from ..runs.run import available_actions
    from ..services.janitor import run_bytes

    with open_studio() as studio:
        deleted = _delete_old(studio, clean, yes) if clean is not None else []
        active = {seen.run.id: seen for seen in studio.fine_tune.list_active()}
        found = [(run, run_bytes(studio, run.id)) for run in studio.fine_tune.list_runs()]
        damaged = {
            run.id: "its folder is missing" for run, _ in found if not (run.active or (studio.workspace.home / "runs" / run.id).is_dir())
        }
        damaged |= {card.name: card.damaged for card in studio.models.list_models() if card.damaged}
        notices = studio.store.notices
    for notice in notices:
        print_message(notice)
    lines: list[str | list[str]] = []
    listed = []
    for run, size in found:
        seen = active.get(run.id)
        scores = f"{describe_score(run.before)} → {describe_score(run.after)}" if run.before and run.after else run.message
        details = _progress(seen) if seen else scores
        wrong = damaged.get(run.id, "")
        status, details = ("damaged", wrong) if wrong else (run.status, details)
        lines.append([run.id, status, run.loss, run.model, run.created, f"{size / 1e6:,.0f} MB", details, run.name])
        more = {"waiting": seen.waiting, "stopping": seen.stopping} if seen else {"waiting": 0, "stopping": False}
        actions = available_actions(run, is_stopping=seen is not None and seen.stopping, is_damaged=bool(wrong))
        listed.append({**run.to_json(), **more, "bytes": size, "damaged": wrong, "actions": list(actions)})
    data: dict[str, object] = {"runs": listed, "notices": list(notices)}
    if clean is not None:
        freed = sum(size for _, size in deleted)
        data["deleted"] = [run.id for run, _ in deleted]
        lines.append(f"{len(deleted)} runs deleted, {freed / 1e6:,.0f} MB freed")
    return Answer(data, lines or ["there are no runs yet"])


def delete(
    names: Annotated[
        list[str],
        typer.Argument(metavar="ID...", autocompletion=complete_own_models, help="Finished runs, or locally trained static models."),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without confirmation.")] = False,
    json: Json = False,
) -> Answer:
    """Delete runs or static models; what will be deleted is listed first."""
    from ..services.janitor import folder_bytes, run_bytes

    with open_studio() as studio:
        fitted = {model.id: model for model in studio.static_embeddings.list_models()}
        listed: list[tuple[str, str, int]] = []
        for name in dict.fromkeys(names):
            if name in fitted:
                listed.append((name, fitted[name].name, folder_bytes(studio.workspace.fitted / name)))
                continue
            run = studio.fine_tune.get_run(name).run
            if "delete" not in run.actions:
                raise StudioError(f"the run {name} is {run.status}; nothing was deleted", "stop it before deleting it")
            listed.append((name, run.name, run_bytes(studio, name)))
        if not yes:
            for name, title, size in listed:
                print_message(f"  {name}  {size / 1e6:,.0f} MB  {title}")
            _require_confirmed("permanently delete this?" if len(listed) == 1 else f"permanently delete these {len(listed)}?")
        for name, _, _ in listed:
            if name in fitted:
                studio.static_embeddings.delete(name)
            else:
                studio.fine_tune.delete_run(name)
    freed = sum(size for _, _, size in listed)
    return Answer({"deleted": [name for name, _, _ in listed], "bytes": freed}, [f"{len(listed)} deleted, {freed / 1e6:,.0f} MB freed"])


def rename(run: RunId, name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")], json: Json = False) -> Answer:
    """Rename an ended run and its model; its id stays the same."""
    with open_studio() as studio:
        found = studio.fine_tune.rename(run, name)
    return Answer({"run": found.id, "name": found.name}, [f"{found.id} is now named {found.name}"])


def stop(run: RunId, json: Json = False) -> Answer:
    """Stop a queued or running run, even if another process executes it; its progress is kept."""
    with open_studio() as studio:
        before = studio.fine_tune.get_run(run).run
        studio.fine_tune.stop(run)
        seen = studio.fine_tune.get_run(run)
    if not before.active:
        words = f"{run} had ended before: {before.status}"
    else:
        words = f"{run} stops after the current step; its progress is saved" if seen.run.active else f"{run} is stopped"
    return Answer({"run": run, "status": seen.run.status, "stopping": seen.stopping}, [words])


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL|RUN", help=MODEL_HELP, autocompletion=complete_models)],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="PATH", help="Output folder, or a file that ends in .zip.")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            autocompletion=one_of(_NAMES),
            help=f"{_FORMATS} (opened by its own runtime and compared with the original); or, of a run, a zip of its {_PARTS}, "
            "or all (everything needed to use and verify the model).",
            show_default="all of a run, else sentence-transformers",
        ),
    ] = "",
    data: Annotated[Path | None, typer.Option(metavar="FILE", help="Texts to verify with.", show_default="held-out rows of a run")] = None,
    column: Column = None,
    truncate_dim: Annotated[int, typer.Option(min=0, help="Truncate vectors to this length.", show_default="the model's")] = 0,
    strength: Strength = None,
    json: Json = False,
) -> Answer:
    """Export a model for another runtime, verified on your texts; or a finished run with verify.py and its held-out rows, if it has any.

    An export whose vectors differ from those of the original by more than its format allows is refused, and nothing is written.
    """
    with open_studio() as studio:
        is_run = studio.catalog.resolve(model).kind == "run"
        name = format or ("all" if is_run else "sentence-transformers")
        # Before the strength changes, which an export that is refused would leave behind.
        if name in registered_names("runs/export", "EXPORTS"):
            if truncate_dim or data is not None:
                raise StudioError(
                    f"the export {name} is neither truncated nor verified on other texts",
                    f"omit --truncate-dim and --data, or choose --format {_FORMATS}",
                )
            require_writable_file(out)
        else:
            studio.exports.require_ready(name, out)
        lines: list[str | list[Any]] = [] if strength is None else _scores(studio.fine_tune.set_strength(model, strength))
        found: ExportedFile | ExportedModel
        if name in registered_names("runs/export", "EXPORTS"):
            found = studio.fine_tune.export(model, out, name)
        else:
            print_message("exporting the model and comparing the export with it")
            found = studio.exports.export(model, name, out, data=data, column=column, truncate_dim=truncate_dim)
            lines += _verified(found.verified)
    extra = {} if strength is None else {"strength": strength}
    return Answer(found.to_json() | extra, [*lines, f"{found.bytes / 1e6:.1f} MB written to {out}"])


def _verified(verified: Fidelity) -> list[str | list[Any]]:
    """Return the figures of a verified export."""
    return [
        f"verified with {verified.runtime} on {verified.texts} texts ({verified.source}); prompts: {', '.join(verified.roles)}",
        ["minimum cosine", f"{verified.cosine:.6f}"],
        ["mean cosine", f"{verified.mean_cosine:.6f}"],
        ["equal top-10 hits", f"{verified.top10:.1%} (with int8 vectors {verified.top10_int8:.1%}, binary {verified.top10_binary:.1%})"],
        ["sentences/s", f"{verified.sentences_per_second:,.0f} (original: {verified.original_sentences_per_second:,.0f})"],
    ]


def strength(
    run: RunId, value: Annotated[float, typer.Argument(metavar="VALUE", help="0 (base model) to 1 (fine-tuned).")], json: Json = False
) -> Answer:
    """Set the strength of a finished run: an interpolation of base and fine-tuned weights, without retraining."""
    with open_studio() as studio:
        found = studio.fine_tune.set_strength(run, value)
    data = {"run": found.id, "model": str(found.model_path), "before": dict(found.before), "after": dict(found.after)}
    return Answer(data, _scores(found))


def _scores(run: Run) -> list[str | list[Any]]:
    from ..evaluation.report import describe_tradeoff
    from ..services.run_setup import strength_marks

    found = strength_marks(run.before, run.after)
    marks = [] if found is None else found["marks"]
    lines: list[str | list[Any]] = [["", str(run.after.get("metric", "score")), "everyday pairs"]] if marks else []
    lines += [[f"strength {mark['strength']:g}", mark["score"], "" if mark["general"] is None else mark["general"]] for mark in marks]
    cost = describe_tradeoff(run.before, run.after)
    return [*lines, f"{run.name} has strength {1.0 if found is None else found['strength']:g}" + (f": {cost}" if cost else "")]


def _progress(view: RunView) -> str:
    run = view.run
    if view.stopping:
        return "stopping"
    if run.status == "queued":
        return f"{view.waiting} before it" if view.waiting else "next"
    share = f" ({run.step / run.steps:.0%})" if run.steps else ""
    return f"step {run.step:,} of {run.steps:,}{share}"


def _delete_old(studio: Studio, days: int, yes: bool) -> list[tuple[Run, int]]:
    """Delete finished runs older than ``days`` after confirmation; return them with their sizes."""
    from ..services.janitor import run_bytes

    now = datetime.now(UTC)
    before = now - timedelta(days=min(days, now.toordinal() - 1))  # datetime has a minimum
    old = [run for run in studio.fine_tune.list_runs() if not run.active and datetime.fromisoformat(run.created) <= before]
    sized = [(run, run_bytes(studio, run.id)) for run in old]
    if sized and not yes:
        for run, size in sized:
            print_message(f"  {run.id}  {run.status}  {run.created}  {size / 1e6:,.0f} MB  {run.name}")
        _require_confirmed(f"permanently delete {'this run' if len(sized) == 1 else f'these {len(sized)} runs'}?")
    for run, _ in sized:
        studio.fine_tune.delete_run(run.id)
    return sized


def _require_confirmed(question: str) -> None:
    if not sys.stdin.isatty():
        raise StudioError("nothing was deleted: there is no terminal for the confirmation", "add --yes to delete the listed items")
    with SHUTDOWN.interrupting():
        if not typer.confirm(question[:1].upper() + question[1:], err=True):
            raise StudioError("nothing was deleted", "add --yes to delete without confirmation")
