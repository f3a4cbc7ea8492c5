"""View models of the Models tab, and the values of its views: a card for each model and run, and the facts of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....losses import loss_title
from ...forms import format_number
from ...run_view import describe_method, scores_view
from ...views import UNCHANGED, Unchanged, Update, Value, placeholder, to_json, to_sentence

if TYPE_CHECKING:
    from ....runs.run import Run
    from ....services.results import ModelSummary

_SELECT = "Select a model to see its details."
_NO_RUNS = "No runs yet. Fine-tune a model in the Fine-tune tab, and it is listed here."
_UNLIMITED = 1_000_000  # tokens: static embeddings have no limit
_BADGES = {"run": "finished", "fitted": "own"}
_SPEC_FACTS = (("Epochs", "epochs"), ("Batch", "batch_size"), ("Learning rate", "learning_rate"), ("Seed", "seed"))


@dataclass(frozen=True)
class ModelsView:
    """The list of models, the details of the selected one, and the buttons that apply to it.

    Attributes:
        chosen: name of the selected model; empty for none.
        listed: names of the listed models, in the order of the cards.
    """

    chosen: str | Unchanged
    cards: Value
    listed: list[str]
    run: Value | Unchanged | None = UNCHANGED
    facts: Value | Unchanged | None = UNCHANGED
    curves: Value | Unchanged | None = UNCHANGED
    use: Update | Unchanged = UNCHANGED
    compare: Update | Unchanged = UNCHANGED
    save: Update | Unchanged = UNCHANGED
    delete: Update | Unchanged = UNCHANGED
    confirm: Update | Unchanged = UNCHANGED
    push: Update | Unchanged = UNCHANGED


@dataclass(frozen=True)
class DeletedModel:
    """The list after a model was deleted."""

    view: ModelsView
    runs_version: int


@dataclass(frozen=True)
class DeleteConfirmation:
    """The button that confirms deletion, instead of Delete."""

    delete: Update
    confirm: Update


def no_selection(notices: Sequence[str] = ()) -> Value:
    """Return the details view without a selected model: what to do, and warnings about the list of runs."""
    return placeholder(" ".join((*map(to_sentence, notices), _SELECT)))


def cards_view(cards: Sequence[Value], chosen: str) -> Value:
    """Return the value of a ``cards`` view."""
    return to_json({"cards": list(cards), "current": chosen, "empty": _NO_RUNS})  # type: ignore[no-any-return]


def model_card(card: ModelSummary) -> Value:
    """Return the card of a model."""
    badge = "damaged" if card.damaged else _BADGES.get(card.kind, "built in")
    size = f"{card.size} weights · {card.dim} dimensions"
    return {"id": card.name, "title": card.title, "badge": badge, "subtitle": size, "score": ""}


def run_card(run: Run, is_damaged: bool) -> Value:
    """Return the card of a run."""
    scores = scores_view(run)
    created = run.created[:16].replace("T", " ")
    return {
        "id": run.id,
        "title": run.name,
        "badge": "damaged" if is_damaged else run.status,
        "subtitle": f"{loss_title(run.loss)} · {describe_method(run.method)} · {created} UTC",
        "score": f"{scores['before']:.4f} → {scores['after']:.4f}" if scores else "",
    }


def model_facts(card: ModelSummary) -> list[tuple[str, object]]:
    """Return names and values of a model's properties."""
    return [
        ("Name", card.name),
        ("Dimensions", f"{card.dim or 'none'}: it reads pairs" if card.reads == "pairs" else card.dim),
        ("Weights", f"{card.parameters:,}"),
        ("Longest text", f"{card.max_length} tokens" if 0 < card.max_length < _UNLIMITED else "any length"),
        ("Pooling", card.pooling or "–"),
        *([("Prompts", " · ".join(f"{name}: “{prompt}”" for name, prompt in card.prompts.items()))] if card.prompts else []),
    ]


def run_facts(run: Run, base_model: str) -> list[tuple[str, object]]:
    """Return names and values of a run's properties.

    Args:
        base_model: title of the model that the run started from.
    """
    return [
        ("Id", run.id),
        ("From", base_model),
        ("Loss", loss_title(run.loss)),
        ("Rows", f"{run.rows:,}"),
        ("Held out", f"{run.dev_rows:,}"),
    ]


def spec_facts(run: Run) -> list[tuple[str, object]]:
    """Return names and values of a run's main settings."""
    return [(name, format_number(run.spec[key])) for name, key in _SPEC_FACTS if key in run.spec]


def model_notes(card: ModelSummary) -> list[str]:
    """Return remarks on a model."""
    damaged = f"This model is damaged: {card.damaged}. It cannot be used or exported, only deleted." if card.damaged else ""
    return [note for note in (damaged, card.note) if note]
