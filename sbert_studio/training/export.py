"""What a run leaves behind: the model's folder with its card, the adapter, and what is needed to check the scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..encoders.card import CardFacts, Score, model_card
from ..workspace import atomic_file
from .checkpoint import State
from .parts import Parts
from .spec import TrainSpec

if TYPE_CHECKING:
    from ..data.examples import Examples

_SHOWN = ("objective", "method", "epochs", "batch_size", "learning_rate", "warmup_ratio", "weight_decay", "seed", "precision")
HELD_OUT = "held_out.jsonl"


def export(parts: Parts, state: State, base: str) -> None:
    """Write ``model/`` (LoRA merged into it), ``adapter/`` for a LoRA run, and ``held_out.jsonl``.

    Args:
        parts: the encoder has the best weights; its adapter is merged.
        base: the portable id of the model that the run started from.
    """
    spec, encoder, folder = parts.spec, parts.encoder, parts.folder
    if spec.method == "lora":
        from ..encoders.adapters import merge_lora, save_adapter

        save_adapter(encoder, folder / "adapter", base)
        merge_lora(encoder)
    if encoder.base is None and not Path(base).is_absolute():
        encoder.base = base
    encoder.save(folder / "model", card=model_card(encoder, _facts(spec, state, base)))
    if parts.judge is not None:
        _write_held_out(parts.judge.dev, folder / HELD_OUT)


def _facts(spec: TrainSpec, state: State, base: str) -> CardFacts:
    scores: tuple[Score, ...] = ()
    if state.after:
        scores = (Score("held-out rows", state.after["metric"], state.after["score"], state.before.get("score"), state.after["rows"]),)
    values = spec.to_json()
    training: list[tuple[str, Any]] = [(name.replace("_", " "), values[name]) for name in _SHOWN]
    training += [(f"{spec.objective}: {name}", value) for name, value in spec.objective_params.items()]
    portable = None if Path(base).is_absolute() else base
    return CardFacts(
        base_model=portable, scores=scores, training=tuple((name, str(value)) for name, value in [*training, ("steps", state.step)])
    )


def _write_held_out(held: Examples, path: Path) -> None:
    """The rows that the scores were measured on, one JSON object a line: ``texts``, ``target`` and ``line``."""
    targets = [None] * len(held) if held.targets is None else held.targets.tolist()
    with atomic_file(path) as part, part.open("w", encoding="utf-8") as target:
        for texts, goal, line in zip(zip(*held.texts, strict=True), targets, held.lines.tolist(), strict=True):
            target.write(json.dumps({"texts": list(texts), "target": goal, "line": line}, ensure_ascii=False) + "\n")
