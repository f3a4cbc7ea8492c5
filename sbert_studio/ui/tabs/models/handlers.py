"""Handlers of the Models tab (see :mod:`..panel`); those of the form for static embeddings are in :mod:`.static_embeddings`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import StudioError
from ...handover import ModelPair, compare_models
from ...page import Page, is_own_model
from ...panel import Selection
from ...run_view import FollowedRun, ModelChoice, base_model_title, read_run, use_model, write_run_zip
from ...views import UNCHANGED, Value, facts, props
from .view_model import (
    DeleteConfirmation,
    DeletedModel,
    ModelsView,
    cards_view,
    model_card,
    model_facts,
    model_notes,
    no_selection,
    run_card,
    run_facts,
    spec_facts,
)

if TYPE_CHECKING:
    from ....runs.run import Run


def show_models(page: Page, owner: object, chosen: str) -> ModelsView:
    """Show the list, the selected model, and the buttons that apply to it."""
    listed, cards = list_models(page, owner, chosen)
    hidden = props(visible=False)
    if chosen not in listed:
        notices = (*page.studio.store.notices, *page.studio.models.list_available(page.visitor(owner))[1])
        return ModelsView("", cards, listed, None, no_selection(notices), None, hidden, hidden, hidden, hidden, hidden, hidden)
    details, run, curves = model_details(page, owner, chosen)
    status = run["status"] if run else "own" if is_own_model(chosen) else "built in"
    is_damaged = any(card["id"] == chosen and card["badge"] == "damaged" for card in cards["cards"])
    is_usable = status in ("built in", "own", "finished", "stopped") and not is_damaged
    is_comparable = bool(run) and is_usable and chosen in {name for _, name in page.model_choices(owner)}
    is_own = props(visible=is_usable and status != "built in")
    return ModelsView(
        chosen,
        cards,
        listed,
        run,
        details,
        curves,
        use=props(visible=is_usable),
        compare=props(visible=is_comparable),
        save=is_own,
        delete=props(visible=status not in ("built in", "queued", "running")),
        confirm=hidden,
        push=is_own,
    )


def refresh_models(page: Page, owner: object, chosen: str) -> ModelsView:
    """Show the same after runs have changed; only the list if no model is selected, since one may have been clicked in the meantime."""
    if chosen:
        return show_models(page, owner, chosen)
    listed, cards = list_models(page, owner, chosen)
    return ModelsView(UNCHANGED, cards, listed)


def select_model(page: Page, owner: object, listed: list[str], selection: Selection) -> ModelsView:
    """Show the model whose card was clicked."""
    row = selection.row(len(listed))
    return show_models(page, owner, "" if row is None else listed[row])


def use_chosen_model(page: Page, chosen: str, owner: object) -> ModelChoice:
    """Select the model in the header."""
    return use_model(page, chosen, owner)


def compare_with_base(page: Page, chosen: str) -> ModelPair:
    """Compare the model with the one that it was trained from."""
    return compare_models(page, chosen)


def confirm_deletion() -> DeleteConfirmation:
    """Ask for a second click before a model is deleted."""
    return DeleteConfirmation(props(visible=False), props(visible=True))


def delete_model(page: Page, owner: object, chosen: str, runs_version: int) -> DeletedModel:
    """Delete the selected run or static embeddings, if they are the visitor's."""
    visitor = page.visitor(owner)
    if chosen in {model.id for model in page.studio.static_embeddings.list_models(visitor)}:
        page.studio.static_embeddings.delete(chosen, visitor)
    elif chosen in {run.id for run in page.studio.fine_tune.list_runs(visitor)}:
        page.studio.fine_tune.delete_run(chosen)
    return DeletedModel(show_models(page, owner, ""), runs_version + 1)


def write_zip(page: Page, chosen: str) -> Path:
    """Write a run or static embeddings as a zip file."""
    names = {model.id: model.name for model in page.studio.static_embeddings.list_models()}
    if chosen not in names:
        return write_run_zip(page, chosen)
    return page.studio.static_embeddings.export_zip(chosen, page.downloads.path(f"{names[chosen]}.zip"))


def list_models(page: Page, owner: object, chosen: str) -> tuple[list[str], Value]:
    """Return the listed names and the value of a ``cards`` view: models and static embeddings first, then runs, newest first.

    If the list of runs cannot be read, runs that have a model are listed as models.
    """
    models = {card.name: card for card in page.studio.models.list_available(page.visitor(owner))[0]}
    runs = {run.id: run_card(run, run.id in models and bool(models[run.id].damaged)) for run in _runs(page, owner)}
    first = [model_card(card) for card in models.values() if card.kind != "run"]
    unlisted = [model_card(card) for name, card in models.items() if card.kind == "run" and name not in runs]
    cards = [*first, *runs.values(), *unlisted]
    return [card["id"] for card in cards], cards_view(cards, chosen)


def model_details(page: Page, owner: object, name: str) -> tuple[Value | None, Value | None, Value | None]:
    """Return the facts of a model or run, its run view and its curves; ``None`` for what it does not have."""
    card = next((card for card in page.studio.models.list_available(page.visitor(owner))[0] if card.name == name), None)
    run = next((run for run in _runs(page, owner) if run.id == name), None)
    if run is None:
        return (facts(model_facts(card), title=card.title, notes=model_notes(card)) if card else None), None, None
    snapshot = read_run(page, FollowedRun(run.id))
    rows = [*run_facts(run, base_model_title(page, run)), *(model_facts(card)[1:] if card else []), *spec_facts(run)]
    return facts(rows, notes=model_notes(card) if card else []), snapshot.run, snapshot.curves


def _runs(page: Page, owner: object) -> list[Run]:
    try:
        return page.studio.fine_tune.list_runs(page.visitor(owner))
    except StudioError:
        return []  # the notices of the store report it
