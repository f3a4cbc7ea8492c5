"""What a run leaves behind: the model's folder with its card, the adapter, and what is needed to check the scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.splits.siblings import siblings
from ..evaluation.report import describe_gain, describe_selection, format_interval
from ..models.base import Encoder
from ..models.card import CardFacts, Score, short_name
from ..models.io.bundled import BUNDLED
from ..models.trainable import Trainable
from ..workspace import atomic_file
from .checkpoints import State
from .spec import TrainSpec
from .steps import Parts

if TYPE_CHECKING:
    from ..data.examples import Examples

_SHOWN = ("objective", "method", "epochs", "batch_size", "learning_rate", "warmup_ratio", "weight_decay", "seed", "precision")
_OF = {"cross": ("architecture", "head"), "poly": ("architecture", "codes")}
_PLAN = "plan.json"
HELD_OUT, KNOWN = "held_out.jsonl", "known.jsonl"


def export(parts: Parts, state: State, base: str) -> None:
    """Write ``model/`` (LoRA merged into it), ``adapter/`` for a LoRA run, ``held_out.jsonl``, and ``known.jsonl`` where the held-out
    texts were laid beside others.

    Args:
        parts: the encoder has the best weights; its adapter is merged.
        base: the id of the model that the run started from, or its folder.
    """
    write_model(parts.spec, parts.encoder, parts.folder, base, state.before, state.after, state.step)
    if parts.judge is not None:
        _write_rows(parts.judge.dev, parts.folder / HELD_OUT)
        if parts.judge.known is not None:
            _write_rows(parts.judge.known, parts.folder / KNOWN)


def write_model(
    spec: TrainSpec, encoder: Trainable, folder: Path, base: str, before: Mapping[str, Any], after: Mapping[str, Any], steps: int
) -> None:
    """Write ``model/`` with its card, and ``adapter/`` for LoRA; each is whole or as it was.

    Args:
        encoder: has the weights that are to be kept; its adapter is merged.
        before, after: the scores that the card tells.
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
    """What was found of the rows before the training, such as rows that both sides of the split share."""
    try:
        findings = json.loads((folder / _PLAN).read_text(encoding="utf-8"))["findings"]
        return [str(one["message"]) for one in findings if one["severity"] == "warning"]
    except (OSError, ValueError, KeyError, TypeError):  # a part of a run has no plan of its own
        return []


def adapter_base(model: str) -> str:
    """The id of the very weights that an adapter was trained on: a hub id, a run, or a folder's name without the way to it.

    Not what a tuned model's card calls its base: on the weights before that tuning the adapter would give other vectors.
    """
    if model in BUNDLED:
        return BUNDLED[model].hub_id if BUNDLED[model].exact else model
    path = Path(model)
    return path.resolve().name if path.is_dir() or path.is_absolute() else model


def _facts(
    spec: TrainSpec, before: Mapping[str, Any], after: Mapping[str, Any], steps: int, base: str | None, by: str = "cosine"
) -> CardFacts:
    scores: tuple[Score, ...] = ()
    if after:
        folds = f", each by a model that had not seen it ({after['folds']} folds)" if "folds" in after else ""
        scores = (
            Score(
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
            Score(
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
    shown = (*_OF.get(spec.architecture, ()), *_SHOWN)
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
    """Rows that were judged, or that texts were laid beside, a JSON object a line: ``texts``, ``target`` (score or class) and ``line``."""
    classes = siblings(rows) if rows.targets is None else rows.targets
    targets = [None] * len(rows) if classes is None else classes.tolist()
    with atomic_file(path) as part, part.open("w", encoding="utf-8") as target:
        for texts, goal, line in zip(zip(*rows.texts, strict=True), targets, rows.lines.tolist(), strict=True):
            target.write(json.dumps({"texts": list(texts), "target": goal, "line": line}, ensure_ascii=False) + "\n")
