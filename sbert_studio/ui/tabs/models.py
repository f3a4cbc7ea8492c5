"""Models: what can be chosen, every run with its scores, and what can be done with one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...errors import StudioError
from ...losses import loss_title
from ..components import download_button
from ..forms import format_number
from ..handlers import handle_errors
from ..handover import compare_models
from ..page import Page, is_own_model
from ..panels.fitting.panel import FittingPanel
from ..panels.tuning.follow import Follow, before_after, method_in_words
from ..panels.tuning.run_panel import look, origin, use, write_zip
from ..push_panel import PushPanel
from ..views import Value, facts, placeholder, to_json, to_sentence, view

if TYPE_CHECKING:
    from ...runs.run import Run
    from ...services import Studio
    from ...services.results import ModelCard

TITLE = "Models"
ORDER = 6
_BLANK = placeholder("Choose a model or a run to see it whole.")


def blank(page: Page, owner: Any = None) -> Value:
    """What stands where nothing is chosen: what to do, and what happened to the list of runs that a person should know."""
    notices = [to_sentence(notice) for notice in (*page.studio.store.notices, *page.studio.judge.models_at_hand(page.visitor(owner))[1])]
    return placeholder(" ".join((*notices, "Choose a model or a run to see it whole."))) if notices else _BLANK


_NO_RUNS = "No runs yet. Tune a model in the Fine-tune tab, and it stands here."


def listing(page: Page, owner: Any, chosen: str) -> tuple[list[str], Value]:
    """The ids of what is listed, models at hand and tables of words first, then runs, newest first; and the value of a ``cards`` view.

    Where the list of runs cannot be read, the runs that have a model are listed as models.
    """
    models = {card.name: card for card in page.studio.judge.models_at_hand(page.visitor(owner))[0]}
    bundled = [card for card in models.values() if card.kind != "run"]
    broken = {name for name, card in models.items() if card.damaged}
    runs = {run.id: _run_card(run, run.id in broken) for run in _runs(page, owner)}
    more = [_model_card(card) for name, card in models.items() if card.kind == "run" and name not in runs]
    cards = [_model_card(card) for card in bundled] + [*runs.values(), *more]
    return [card["id"] for card in cards], to_json({"cards": cards, "current": chosen, "empty": _NO_RUNS})


_NO_LIMIT = 1_000_000  # tokens: a mean of words has none


def _runs(page: Page, owner: Any) -> list[Run]:
    """The visitor's runs; none where their list cannot be read, which :func:`blank` says."""
    try:
        return page.studio.tune.runs(page.visitor(owner))
    except StudioError:
        return []


_BADGES = {"run": "finished", "fitted": "own"}


def _model_card(card: ModelCard) -> Value:
    badge = "damaged" if card.damaged else _BADGES.get(card.kind, "built in")
    size = f"{card.size} weights · {card.dim} dimensions"
    return {"id": card.name, "title": card.title, "badge": badge, "subtitle": size, "score": ""}


def _run_card(run: Run, damaged: bool) -> Value:
    scores = before_after(run)
    shown = f"{scores['before']:.4f} → {scores['after']:.4f}" if scores else ""
    when = run.created[:16].replace("T", " ")
    return {
        "id": run.id,
        "title": run.name,
        "badge": "damaged" if damaged else run.status,
        "subtitle": f"{loss_title(run.objective)} · {method_in_words(run.method)} · {when} UTC",
        "score": shown,
    }


def details(page: Page, owner: Any, name: str) -> tuple[Value | None, Value | None, Value | None]:
    """What is known of a model or run: its facts, its run panel and its curves; ``None`` for what it does not have."""
    card = next((card for card in page.studio.judge.models_at_hand(page.visitor(owner))[0] if card.name == name), None)
    run = next((run for run in _runs(page, owner) if run.id == name), None)
    if run is None:
        return (facts(_model_facts(card), title=card.title, notes=_notes(card)) if card else None), None, None
    _, panel, curves, _ = look(page, Follow(run.id))
    known = [
        ("Id", run.id),
        ("From", origin(page, run)),
        ("Objective", loss_title(run.objective)),
        ("Rows", f"{run.rows:,}"),
        ("Held out", f"{run.dev_rows:,}"),
    ]
    known += _model_facts(card)[1:] if card else []
    spec = run.spec
    known += [
        (words, format_number(spec[key]))
        for words, key in (("Epochs", "epochs"), ("Batch", "batch_size"), ("Learning rate", "learning_rate"), ("Seed", "seed"))
        if key in spec
    ]
    return facts(known, notes=_notes(card) if card else []), panel, curves


def _notes(card: ModelCard) -> list[str]:
    damaged = f"This model is damaged: {card.damaged}. It cannot be used or exported, only deleted." if card.damaged else ""
    return [note for note in (damaged, card.note) if note]


def _model_facts(card: ModelCard) -> list[tuple[str, Any]]:
    return [
        ("Name", card.name),
        ("Dimensions", f"{card.dim or 'none'}: it reads pairs" if card.reads == "pairs" else card.dim),
        ("Weights", f"{card.parameters:,}"),
        ("Longest text", f"{card.max_length} tokens" if 0 < card.max_length < _NO_LIMIT else "of any length"),
        ("Pooling", card.pooling or "–"),
        *([("Prompts", " · ".join(f"{name}: “{prompt}”" for name, prompt in card.prompts.items()))] if card.prompts else []),
    ]


def tab_values(page: Page, owner: Any, name: str) -> list[Any]:
    """Return the values of all outputs of the tab: the chosen model, the cards, their ids, its details and the visible buttons."""
    listed, value = listing(page, owner, name)
    if name not in listed:
        return ["", value, listed, blank(page, owner), None, None, *[gr.update(visible=False)] * 6]
    known, panel, lines = details(page, owner, name)
    status = panel["status"] if panel else "own" if is_own_model(name) else "built in"
    damaged = any(card["id"] == name and card["badge"] == "damaged" for card in value["cards"])
    usable = status in ("built in", "own", "finished", "stopped") and not damaged
    comparable = bool(panel) and usable and name in {one for _, one in page.model_choices(owner)}
    made = usable and status != "built in"
    visible = (usable, comparable, made, status not in ("built in", "queued", "running"), False, made)
    return [name, value, listed, known, panel, lines, *(gr.update(visible=one) for one in visible)]


def refreshed_values(page: Page, owner: Any, name: str) -> list[Any]:
    """Return the same after runs have changed, but only the cards if none is chosen: one may have been clicked in the meantime."""
    found = tab_values(page, owner, name)
    return found if name else [gr.skip(), *found[1:3], *[gr.skip()] * (len(found) - 3)]


def zip_of(page: Page, name: str) -> Path:
    """A run, or a table of words, as a zip."""
    known = {one.id: one for one in page.studio.words.fitted()}
    if name not in known:
        return write_zip(page, name)
    return page.studio.words.export_fitted(name, page.downloads.path(f"{known[name].name}.zip"))


def build(studio: Studio, page: Page) -> None:
    """Draw the tab."""
    view("intro", {"title": "Models and runs", "text": "What comes with the studio, and what you have made of it."})
    fitting = FittingPanel(page)
    chosen, ids = gr.State(""), gr.State([])
    with gr.Row():
        with gr.Column(min_width=300, scale=2):
            cards = view("cards", elem_id="models-cards")
        with gr.Column(elem_classes=["sb-panel"], min_width=320, scale=3, elem_id="models-whole"):
            run = view("run", elem_id="models-run")
            known = view("facts", _BLANK, elem_id="models-facts")
            curves = view("curves", elem_id="models-curves")
            with gr.Row(elem_classes=["sb-buttons"]):
                choose = gr.Button("Use this model", variant="primary", visible=False, elem_id="models-use")
                changes = gr.Button("Show what changed", visible=False, elem_id="models-changes")
                save = download_button("Download zip", partial(zip_of, page), [chosen], elem_id="models-zip", visible=False)
                delete = gr.Button("Delete", variant="stop", visible=False, elem_id="models-delete")
                sure = gr.Button("Yes, delete it", variant="stop", visible=False, elem_id="models-sure")
            push = PushPanel(page, "models")

    shown = [chosen, cards, ids, known, run, curves, choose, changes, save, delete, sure, push.whole]

    show = partial(tab_values, page)

    def on_card(owner: Any, listed: list[str], event: gr.SelectData) -> list[Any]:
        number = event.index if isinstance(event.index, int) else -1
        return show(owner, listed[number] if 0 <= number < len(listed) else "")

    def on_delete(owner: Any, name: str, changes: int) -> list[Any]:
        visitor = page.visitor(owner)
        if name in {one.id for one in page.studio.words.fitted(visitor)}:
            page.studio.words.delete_fitted(name, visitor)
        elif name in {run.id for run in page.studio.tune.runs(visitor)}:
            page.studio.tune.delete_run(name)
        return [*show(owner, ""), changes + 1]

    private = {"api_visibility": "private", "show_progress": "hidden"}
    picked = cards.select(handle_errors(on_card), [page.owner, ids], shown, trigger_mode="multiple", **private)
    picked.then(None, js="() => SB.reveal('models-whole')")
    choose.click(
        handle_errors(lambda name, owner: use(page, Follow(name), owner)), [chosen, page.owner], [page.model, page.saved_model], **private
    )
    changes.click(handle_errors(partial(compare_models, page)), chosen, page.models_to_compare, **private)
    delete.click(lambda: (gr.update(visible=False), gr.update(visible=True)), None, [delete, sure], queue=False, **private)
    sure.click(handle_errors(on_delete), [page.owner, chosen, page.runs_version], [*shown, page.runs_version], **private)
    page.runs_version.change(handle_errors(partial(refreshed_values, page)), [page.owner, chosen], shown, **private)
    push.listen(chosen)
    page.on_load.append(fitting.listen)
    page.on_load.append(lambda loaded: loaded.then(handle_errors(show), [page.owner, chosen], shown, **private))
