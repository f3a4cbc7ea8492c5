"""Handlers of the Models tab (see :mod:`..panel`), and the values of its views: a card for each model and run, and the details of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import StudioError
from ....i18n import _, join, to_sentence
from ....losses import loss_title
from ....serialization import to_plain
from ...components import format_number
from ...page import Page
from ...panel import Selection
from ...run_view import FollowedRun, base_model_title, describe_method, gain_view, read_run, write_run_zip
from ...state import is_own_model
from ...views import UNCHANGED, Unchanged, Update, Value, facts, placeholder, props
from .exports import show_exports

if TYPE_CHECKING:
    from ....runs.run import Run
    from ....services.results import ModelSummary
    from ...routing import Location

_SELECT = "Select a model to see its details."
_NO_RUNS = "No runs yet. Models that you train in the Fine-tune tab are listed here."
_UNLIMITED = 1_000_000  # tokens: static embeddings have no limit
_BADGES = {"run": "finished", "fitted": "own"}
_SPEC_FACTS = (("Epochs", "epochs"), ("Batch", "batch_size"), ("Learning rate", "learning_rate"), ("Seed", "seed"))


@dataclass(frozen=True)
class ModelsView:
    chosen: str | Unchanged  # name of the selected model; empty for none
    cards: Value
    listed: list[str]  # names of the listed models, in the order of the cards
    run: Value | Unchanged | None = UNCHANGED
    facts: Value | Unchanged | None = UNCHANGED
    curves: Value | Unchanged | None = UNCHANGED
    stop: Update | Unchanged = UNCHANGED
    resume: Update | Unchanged = UNCHANGED
    use: Update | Unchanged = UNCHANGED
    compare: Update | Unchanged = UNCHANGED
    rename: Update | Unchanged = UNCHANGED
    new_name: Update | Unchanged = UNCHANGED
    save: Update | Unchanged = UNCHANGED
    delete: Update | Unchanged = UNCHANGED
    confirm: Update | Unchanged = UNCHANGED
    push: Update | Unchanged = UNCHANGED
    exports: Value | Unchanged | None = UNCHANGED


@dataclass(frozen=True)
class ChangedModel:
    view: ModelsView
    runs_version: int


def no_selection(notices: Sequence[str] = ()) -> Value:
    """Return the details view without a selected model: instructions, and warnings about the list of runs."""
    return placeholder(join(" ", (*map(to_sentence, notices), _SELECT)))


def model_card(card: ModelSummary) -> Value:
    badge = "damaged" if card.damaged else _BADGES.get(card.kind, "built in")
    size = _("{size} weights · {dim} dimensions", size=card.size, dim=card.dim)
    return {"id": card.name, "title": card.title, "badge": badge, "subtitle": size, "gain": None}


def run_card(run: Run, is_damaged: bool) -> Value:
    created = run.created[:16].replace("T", " ")
    return {
        "id": run.id,
        "title": run.name,
        "badge": "damaged" if is_damaged else run.status,
        "subtitle": _(
            "{loss_title} · {method} · {created} UTC", loss_title=loss_title(run.loss), method=describe_method(run.method), created=created
        ),
        "gain": gain_view(run),
    }


def model_facts(card: ModelSummary) -> list[tuple[str, object]]:
    return [
        ("Dimensions", _("{dim}: it scores pairs", dim=card.dim or "none") if card.reads == "pairs" else card.dim),
        ("Weights", f"{card.parameters:,}"),
        ("Longest text", _("{max_length} tokens", max_length=card.max_length) if 0 < card.max_length < _UNLIMITED else "any length"),
        ("Pooling", card.pooling or "–"),
        *([("Prompts", join(" · ", (f"{name}: “{prompt}”" for name, prompt in card.prompts.items())))] if card.prompts else []),
    ]


def model_notes(card: ModelSummary) -> list[str]:
    damaged = (
        _("This model is damaged: {damaged}. It cannot be used or exported, only deleted.", damaged=card.damaged) if card.damaged else ""
    )
    return [note for note in (damaged, card.note) if note]


def show_models(page: Page, owner: object, chosen: str) -> ModelsView:
    listed, cards = list_models(page, owner, chosen)
    if chosen not in listed:
        notices = (*page.studio.store.notices, *page.studio.models.list_available(page.visitor(owner))[1])
        return ModelsView("", cards, listed, None, no_selection(notices), None, **_buttons(()), exports=show_exports(page, owner, ""))
    details, run, curves = model_details(page, owner, chosen)
    buttons, exports = _buttons(model_actions(page, owner, chosen)), show_exports(page, owner, chosen)
    return ModelsView(chosen, cards, listed, run, details, curves, **buttons, exports=exports)


def show_first_model(page: Page, owner: object, chosen: str, model: str | None) -> ModelsView:
    """Show the selected model or, as long as there is none, the one in the header."""
    listed, _unused = list_models(page, owner, "")
    return show_models(page, owner, next((name for name in (chosen, model, *listed) if name in listed), ""))


def open_location(page: Page, location: Location | None, owner: object) -> ModelsView | None:
    """Show the model or run of a URL; one that no longer exists is ignored."""
    if location is None or not location.chosen or location.chosen not in list_models(page, owner, "")[0]:
        return None
    return show_models(page, owner, location.chosen)


def model_actions(page: Page, owner: object, name: str) -> tuple[str, ...]:
    """Return what works with a model: the actions of its run, or those of a bundled or static model."""
    run = next((run for run in _runs(page, owner) if run.id == name), None)
    if run is not None:
        return page.studio.fine_tune.list_actions(run)
    card = next((card for card in page.studio.models.list_available(page.visitor(owner))[0] if card.name == name), None)
    is_usable = card is not None and not card.damaged
    return (*(("use",) if is_usable else ()), *(("download",) if is_usable and is_own_model(name) else ()), *_deletable(name))


def _deletable(name: str) -> tuple[str, ...]:
    return ("delete",) if is_own_model(name) else ()


def _buttons(actions: Sequence[str]) -> dict[str, Update]:
    visible = {button: props(visible=button in actions) for button in ("stop", "resume", "use", "rename", "delete")}
    is_run_model = "use" in actions and "rename" in actions
    download, hidden = props(visible="download" in actions), props(visible=False)
    return visible | {"compare": props(visible=is_run_model), "save": download, "push": download, "confirm": hidden, "new_name": hidden}


def refresh_models(page: Page, owner: object, chosen: str) -> ModelsView:
    """Update the view after runs have changed; without a selected model only the list, because one may have been clicked meanwhile."""
    if chosen:
        return show_models(page, owner, chosen)
    listed, cards = list_models(page, owner, chosen)
    return ModelsView(UNCHANGED, cards, listed)


def select_model(page: Page, owner: object, listed: list[str], selection: Selection) -> ModelsView:
    row = selection.row(len(listed))
    return show_models(page, owner, "" if row is None else listed[row])


def confirm_deletion() -> tuple[Update, Update]:
    return props(visible=False), props(visible=True)


def delete_model(page: Page, owner: object, chosen: str, runs_version: int) -> ChangedModel:
    visitor = page.visitor(owner)
    if chosen in {model.id for model in page.studio.static_embeddings.list_models(visitor)}:
        page.studio.static_embeddings.delete(chosen, visitor)
    elif chosen in {run.id for run in page.studio.fine_tune.list_runs(visitor)}:
        page.studio.fine_tune.delete_run(chosen)
    return ChangedModel(show_models(page, owner, ""), runs_version + 1)


def stop_run(page: Page, owner: object, chosen: str, runs_version: int) -> ChangedModel:
    page.studio.fine_tune.stop(_own_run(page, owner, chosen))
    return ChangedModel(show_models(page, owner, chosen), runs_version + 1)


def resume_run(page: Page, owner: object, chosen: str, runs_version: int) -> ChangedModel:
    page.studio.fine_tune.resubmit(_own_run(page, owner, chosen))
    return ChangedModel(show_models(page, owner, chosen), runs_version + 1)


def ask_name(page: Page, owner: object, chosen: str) -> tuple[Update, Update]:
    """Return the Rename button, hidden, and a text box that contains the current name."""
    name = next((run.name for run in _runs(page, owner) if run.id == chosen), "")
    return props(visible=False), props(visible=True, value=name)


def rename_run(page: Page, owner: object, chosen: str, new_name: str, runs_version: int) -> ChangedModel:
    page.studio.fine_tune.rename(_own_run(page, owner, chosen), new_name)
    return ChangedModel(show_models(page, owner, chosen), runs_version + 1)


def _own_run(page: Page, owner: object, chosen: str) -> str:
    if chosen not in {run.id for run in page.studio.fine_tune.list_runs(page.visitor(owner))}:
        raise StudioError("this run no longer exists", "choose another one")
    return chosen


def write_zip(page: Page, chosen: str) -> Path:
    names = {model.id: model.name for model in page.studio.static_embeddings.list_models()}
    if chosen not in names:
        return write_run_zip(page, chosen)
    return page.studio.static_embeddings.export_zip(chosen, page.downloads.path(f"{names[chosen]}.zip"))


def list_models(page: Page, owner: object, chosen: str) -> tuple[list[str], Value]:
    """Return the listed names and the value of a ``cards`` view: models and static embeddings first, then runs, newest first.

    If the list of runs cannot be read, runs with a model are listed as models.
    """
    models = {card.name: card for card in page.studio.models.list_available(page.visitor(owner))[0]}
    runs = {run.id: run_card(run, run.id in models and bool(models[run.id].damaged)) for run in _runs(page, owner)}
    first = [model_card(card) for card in models.values() if card.kind != "run"]
    unlisted = [model_card(card) for name, card in models.items() if card.kind == "run" and name not in runs]
    cards = [*first, *runs.values(), *unlisted]
    return [card["id"] for card in cards], to_plain({"cards": cards, "current": chosen, "empty": _NO_RUNS})


def model_details(page: Page, owner: object, name: str) -> tuple[Value | None, Value | None, Value | None]:
    """Return the details of a model or run, its run view and its curves; ``None`` for missing parts."""
    card = next((card for card in page.studio.models.list_available(page.visitor(owner))[0] if card.name == name), None)
    run = next((run for run in _runs(page, owner) if run.id == name), None)
    if run is None:
        named: list[tuple[str, object]] = [("Name", card.name)] if card and card.name != card.title else []
        return (facts(named + model_facts(card), title=card.title, notes=model_notes(card)) if card else None), None, None
    snapshot = read_run(page, FollowedRun(run.id))
    rows: list[tuple[str, object]] = [("Id", run.id), ("From", base_model_title(page, run)), ("Loss", loss_title(run.loss))]
    rows += [("Rows", f"{run.rows:,}"), ("Held out", f"{run.dev_rows:,}"), *(model_facts(card) if card else [])]
    rows += [(name, format_number(run.spec[key])) for name, key in _SPEC_FACTS if key in run.spec]
    return facts(rows, notes=model_notes(card) if card else []), snapshot.run, snapshot.curves


def _runs(page: Page, owner: object) -> list[Run]:
    try:
        return page.studio.fine_tune.list_runs(page.visitor(owner))
    except StudioError:
        return []  # the notices of the store report it
