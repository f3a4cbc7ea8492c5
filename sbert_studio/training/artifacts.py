"""Files of a finished run: the model folder with its card, the adapter, and the rows needed to check its scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.split import find_pair_classes
from ..evaluation.report import describe_gain, describe_selection, format_interval
from ..models.base import Encoder
from ..models.card import CardFacts, CardScore, short_name
from ..models.io.bundled import BUNDLED
from ..models.trainable import Trainable
from ..workspace import atomic_file
from .checkpoints import TrainingState
from .spec import TrainSpec
from .steps import TrainingParts

if TYPE_CHECKING:
    from ..data.examples import Examples

_CARD_FIELDS = ("objective", "method", "epochs", "batch_size", "learning_rate", "warmup_ratio", "weight_decay", "seed", "precision")
_ARCHITECTURE_FIELDS = {"cross": ("architecture", "head"), "poly": ("architecture", "codes")}
_PLAN = "plan.json"
HELD_OUT, REFERENCE = "held_out.jsonl", "known.jsonl"


def write_artifacts(parts: TrainingParts, state: TrainingState, base: str) -> None:
    """Write ``model/`` (LoRA merged), ``adapter/`` for LoRA runs, ``held_out.jsonl``, and ``known.jsonl`` if reference texts were used.

    Args:
        parts: components with the best weights and a merged adapter.
        base: id or folder of the base model.
    """
    write_model(parts.spec, parts.encoder, parts.folder, base, state.before, state.after, state.step)
    if parts.judge is not None:
        _write_rows(parts.judge.dev, parts.folder / HELD_OUT)
        if parts.judge.known is not None:
            _write_rows(parts.judge.known, parts.folder / REFERENCE)


def write_model(
    spec: TrainSpec, encoder: Trainable, folder: Path, base: str, before: Mapping[str, Any], after: Mapping[str, Any], steps: int
) -> None:
    """Write ``model/`` with its card, and ``adapter/`` for LoRA, atomically.

    Args:
        encoder: model with the weights to keep and a merged adapter.
        before, after: scores for the card.
    """
    if spec.method == "lora":
        encoder.save_adapter(folder / "adapter", adapter_base(spec.model))
        encoder.merge_adapter()
    portable = None if Path(base).is_dir() or Path(base).is_absolute() else base
    encoder.base = encoder.base or portable
    facts = replace(
        _facts(spec, before, after, steps, portable, encoder.similarity_name if isinstance(encoder, Encoder) else "cosine"),
        license=encoder.license,
        language=encoder.languages,
        caveats=(*_warnings(folder), *filter(None, (describe_selection(after),))),
    )
    encoder.save(folder / "model", card=encoder.card(facts))


def _warnings(folder: Path) -> list[str]:
    try:
        findings = json.loads((folder / _PLAN).read_text(encoding="utf-8"))["findings"]
        return [str(one["message"]) for one in findings if one["severity"] == "warning"]
    except (OSError, ValueError, KeyError, TypeError):  # a part of a run has no plan of its own
        return []


def adapter_base(model: str) -> str:
    """Return the id of the exact weights that an adapter was trained on: a Hub id, a run id, or the name of a folder.

    This differs from the base model in the card of a fine-tuned model: on the weights before that fine-tuning the adapter would return
    other vectors.
    """
    if model in BUNDLED:
        return BUNDLED[model].hub_id if BUNDLED[model].exact else model
    path = Path(model)
    return path.resolve().name if path.is_dir() or path.is_absolute() else model


def _facts(
    spec: TrainSpec, before: Mapping[str, Any], after: Mapping[str, Any], steps: int, base: str | None, by: str = "cosine"
) -> CardFacts:
    scores: tuple[CardScore, ...] = ()
    if after:
        folds = f", each by a model that had not seen it ({after['folds']} folds)" if "folds" in after else ""
        scores = (
            CardScore(
                f"held-out rows{folds}",
                after["metric"],
                after["score"],
                before.get("score"),
                after["rows"],
                interval=format_interval(after),
                before_interval=format_interval(before),
                gain=describe_gain(before, after),
            ),
        )
    if before.get("general") and after.get("general"):
        then, now = before["general"], after["general"]
        scores += (
            CardScore(
                "everyday pairs (general probe)",
                f"{by}_spearman",
                now["score"],
                then["score"],
                now["rows"],
                interval=format_interval(now),
                before_interval=format_interval(then),
            ),
        )
    values = spec.to_json()
    shown = (*_ARCHITECTURE_FIELDS.get(spec.architecture, ()), *_CARD_FIELDS)
    training: list[tuple[str, Any]] = [(name.replace("_", " "), values[name]) for name in shown]
    training += [(f"{spec.objective}: {name}", value) for name, value in spec.objective_params.items()]
    training += [("soup", f"the mean of {spec.soup} trainings")] if spec.soup > 1 else []
    training += (
        [
            (
                "first stage",
                f"{spec.first['objective']}, {spec.first['epochs']:g} epoch{'' if spec.first['epochs'] == 1 else 's'} on other rows",
            )
        ]
        if spec.first
        else []
    )
    training += [("strength", f"{after['strength']:g} (0 untuned, 1 tuned)")] if "strength" in after else []
    training += [("alarm", f"{spec.accept_alarm}: the owner chose to go on")] if spec.accept_alarm else []
    return CardFacts(
        title=f"{short_name(spec.model)}, tuned with {spec.objective}",
        base_model=base,
        scores=scores,
        training=tuple((name, str(value)) for name, value in [*training, ("steps", steps)]),
    )


def _write_rows(rows: Examples, path: Path) -> None:
    classes = find_pair_classes(rows) if rows.targets is None else rows.targets
    targets = [None] * len(rows) if classes is None else classes.tolist()
    with atomic_file(path) as part, part.open("w", encoding="utf-8") as target:
        for texts, goal, line in zip(zip(*rows.texts, strict=True), targets, rows.lines.tolist(), strict=True):
            target.write(json.dumps({"texts": list(texts), "target": goal, "line": line}, ensure_ascii=False) + "\n")
