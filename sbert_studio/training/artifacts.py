"""Files of a finished run: the model folder with its card, the adapter, the held-out rows, and the rows with the largest errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..data.split import find_pair_classes, normalize_text
from ..evaluation.encoding import TIE, encode_columns, pair_similarities
from ..evaluation.label_errors import Doubts, fit_ridge, judge, predict_targets, target_matrix
from ..evaluation.learning_curve import describe_curve
from ..evaluation.report import describe_gain, describe_selection, format_interval
from ..i18n import _, ngettext
from ..models.base import Encoder, PairScorer
from ..models.card import CardFacts, CardScore, short_name
from ..models.io.bundled import BUNDLED
from ..models.similarity import similarity, unit
from ..models.trainable import Trainable
from ..workspace import atomic_file

if TYPE_CHECKING:
    from ..data.examples import Examples
    from .checkpoints import TrainingState
    from .spec import TrainSpec
    from .steps import TrainingParts

_CARD_FIELDS = ("loss", "method", "epochs", "batch_size", "learning_rate", "warmup_ratio", "weight_decay", "seed", "precision")
_ARCHITECTURE_FIELDS = {"cross": ("architecture", "head"), "poly": ("architecture", "codes")}
_PLAN = "plan.json"
HELD_OUT, REFERENCE, MISTAKES = "held_out.jsonl", "known.jsonl", "mistakes.json"
MAX_MISTAKES = 10
MAX_DOUBTFUL = 100
_MISTAKE_ROWS = 2_000  # a sample is enough to show the worst errors
_MAX_CHARACTERS = 400

Mistake = dict[str, Any]
"""``texts`` and ``line`` of the row; ``gold``, its target, and ``said``, the model's answer (both a score in [0, 1], a label or ``None``);

``beside``, the text that misled the model; ``by``, the size of the error.
"""


def write_artifacts(parts: TrainingParts, state: TrainingState, base: str) -> None:
    """Write ``model/`` (LoRA merged), ``adapter/`` for LoRA runs, ``held_out.jsonl``, and ``known.jsonl`` if reference texts were used.

    Args:
        parts: components with the best weights and a merged adapter.
        base: id or folder of the base model.
    """
    write_model(parts.spec, parts.encoder, parts.folder, base, state.before, state.after, state.step)
    if parts.evaluator is not None:
        _write_rows(parts.evaluator.dev, parts.folder / HELD_OUT)
        if parts.evaluator.known is not None:
            _write_rows(parts.evaluator.known, parts.folder / REFERENCE)


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
    facts = CardFacts(
        title=_("{short_name}, fine-tuned with {loss}", short_name=short_name(spec.model), loss=spec.loss),
        base_model=portable,
        scores=_card_scores(before, after, encoder.similarity_name if isinstance(encoder, Encoder) else "cosine"),
        training=tuple((name, str(value)) for name, value in [*_card_settings(spec, after), ("steps", steps), *_training_pairs(folder)]),
    )
    made = (
        "The pairs were made from documents, those that are held out too: queries of users may be harder."
        if _training_pairs(folder)
        else ""
    )
    caveats = (*_warnings(folder), *filter(None, (describe_selection(after), made, describe_curve(after))))
    facts = replace(facts, license=encoder.license, language=encoder.languages, caveats=caveats)
    encoder.save(folder / "model", card=encoder.card(facts))


def _warnings(folder: Path) -> list[str]:
    return [str(one["message"]) for one in _read_plan(folder).get("findings", ()) if one["severity"] == "warning"]


def _training_pairs(folder: Path) -> list[tuple[str, str]]:
    """Return the row of the card about pairs that were made from documents, with their number by origin."""
    origins = _read_plan(folder).get("origins")
    if not origins:
        return []
    listed = ", ".join(f"{origin} {number:,}" for origin, number in origins.items())
    return [("training pairs", _("made from documents: {listed}", listed=listed))]


def _read_plan(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # the members of a run have no plan
        return {}
    return found if isinstance(found, dict) else {}


def adapter_base(model: str) -> str:
    """Return the id of the exact weights that an adapter was trained on: a Hub id, a run id, or the name of a folder.

    This differs from the base model in the card of a fine-tuned model: with the weights before that fine-tuning, the adapter would return
    different vectors.
    """
    if model in BUNDLED:
        return BUNDLED[model].hub_id if BUNDLED[model].exact else model
    path = Path(model)
    return path.resolve().name if path.is_dir() or path.is_absolute() else model


def _card_scores(before: Mapping[str, Any], after: Mapping[str, Any], similarity_name: str) -> tuple[CardScore, ...]:
    def row(title: str, metric: str, then: Mapping[str, Any], now: Mapping[str, Any], gain: str = "") -> CardScore:
        intervals = {"interval": format_interval(now), "before_interval": format_interval(then)}
        return CardScore(title, metric, now["score"], then.get("score"), now["rows"], gain=gain, **intervals)

    scores = []
    if after:
        folds = _(", each by a model that had not seen it ({folds} folds)", folds=after["folds"]) if "folds" in after else ""
        scores.append(row(_("held-out rows{folds}", folds=folds), after["metric"], before, after, describe_gain(before, after)))
    general: list[Mapping[str, Any]] = [side.get("general") or {} for side in (before, after)]
    if all("score" in side for side in general):
        scores.append(row("everyday pairs (general probe)", f"{similarity_name}_spearman", general[0], general[1]))
    then, now = (side.get("retrieval") for side in general)
    if then and now:
        scores.append(row("retrieval probe", now["metric"], then, now))
    return tuple(scores)


def _card_settings(spec: TrainSpec, after: Mapping[str, Any]) -> list[tuple[str, Any]]:
    values = spec.to_json()
    found = [(name.replace("_", " "), values[name]) for name in (*_ARCHITECTURE_FIELDS.get(spec.architecture, ()), *_CARD_FIELDS)]
    found += [(f"{spec.loss}: {name}", value) for name, value in spec.loss_params.items()]
    if spec.soup > 1:
        found.append(("soup", _("the mean of {soup} training runs", soup=spec.soup)))
    if spec.first:
        name, epochs = spec.first["loss"], spec.first["epochs"]
        found.append(
            (
                "first stage",
                ngettext("{name}, {n} epoch on other rows", "{name}, {n} epochs on other rows", epochs, name=name, n=f"{epochs:g}"),
            )
        )
    if "strength" in after:
        found.append(("strength", _("{strength} (0: base model, 1: fine-tuned)", strength=f"{after['strength']:g}")))
    if spec.accept_alarm:
        found.append(("alarm", _("{accept_alarm}: the user chose to continue", accept_alarm=spec.accept_alarm)))
    return found


def _write_rows(rows: Examples, path: Path) -> None:
    classes = find_pair_classes(rows) if rows.targets is None else rows.targets
    targets = [None] * len(rows) if classes is None else classes.tolist()
    with atomic_file(path) as part, part.open("w", encoding="utf-8") as file:
        for texts, target, line in zip(zip(*rows.texts, strict=True), targets, rows.lines.tolist(), strict=True):
            file.write(json.dumps({"texts": list(texts), "target": target, "line": line}, ensure_ascii=False) + "\n")


def find_mistakes(model: Trainable, held: Examples, reference: Examples | None = None, strength: float | None = None) -> dict[str, Any]:
    """Return ``{kind, rows, strength, worst, doubtful, suspicious}``: the rows of ``held`` with the largest errors, largest first.

    ``worst`` has at most :data:`MAX_MISTAKES` rows. ``doubtful``, at most :data:`MAX_DOUBTFUL`, are the rows whose label is contradicted
    most, of which the first ``suspicious`` are worth a look (:mod:`~sbert_studio.evaluation.label_errors`); there ``by`` is the doubt.
    Errors are: a labelled text whose nearest text in ``reference`` has another label; the rank difference of a scored pair; a triplet whose
    negative is closer; a pair whose second text is not the nearest one. ``said`` of a pair is the gold score at the rank that the model
    gives it; it is missing for unordered labels and classifiers.
    """
    if len(held) > _MISTAKE_ROWS:
        held = held.take(np.unique(np.linspace(0, len(held) - 1, _MISTAKE_ROWS).round().astype(np.int64)))
    found, doubts = _find(model, held, reference)
    listed = sorted((one for one in found if one["by"] > 0), key=lambda one: -one["by"])[:MAX_MISTAKES]
    doubtful = {} if doubts is None else {"doubtful": doubtful_rows(held, doubts), "suspicious": doubts.suspicious}
    return {"kind": held.kind, "rows": len(held), "strength": strength, "worst": listed, **doubtful}


def doubtful_rows(examples: Examples, doubts: Doubts) -> list[Mistake]:
    """Return the rows whose label is contradicted most, most doubtful first; ``said`` is the predicted score or label."""

    def named(value: float) -> Any:
        return examples.labels[int(value)] if examples.labels else float(value)

    assert examples.targets is not None
    gold, said = examples.targets, doubts.predicted
    listed = [place for place in doubts.order[:MAX_DOUBTFUL].tolist() if doubts.values[place] > 0]
    return [_row(examples, place, float(doubts.values[place]), named(gold[place]), named(said[place])) for place in listed]


def mistakes_file(strength: float) -> str:
    """Return the file name of a fold's mistakes for a strength."""
    return f"mistakes-{strength:g}.json"


def read_mistakes(path: Path) -> dict[str, Any] | None:
    """Read a file of mistakes; ``None`` if it is missing or damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        valid = isinstance(found["kind"], str) and all(_is_valid(one) for one in (*found["worst"], *found.get("doubtful", ())))
        return {**found, "rows": int(found["rows"])} if valid else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def merge_mistakes(parts: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Merge the mistakes of several models on different rows; ``None`` if one is missing."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None

    def merged(name: str, most: int) -> list[Mistake]:
        return sorted((one for part in known for one in part.get(name, ())), key=lambda one: -one["by"])[:most]

    found = {**known[0], "rows": sum(part["rows"] for part in known), "worst": merged("worst", MAX_MISTAKES)}
    if "doubtful" in found:
        found |= {"doubtful": merged("doubtful", MAX_DOUBTFUL), "suspicious": sum(part.get("suspicious", 0) for part in known)}
    return found


def _find(model: Trainable, held: Examples, reference: Examples | None) -> tuple[list[Mistake], Doubts | None]:
    if isinstance(model, PairScorer) and (model.labels != 1 or held.kind not in ("scored_pairs", "labelled_pairs")):
        return [], None
    if held.kind == "labelled_texts":
        known = held if reference is None else reference
        new, old = (unit(vectors) for vectors in encode_columns(cast("Encoder", model), [held.texts[0], known.texts[0]]))
        # Without reference texts, the rows themselves are known: nothing contradicts a label then.
        is_separate = reference is not None and known.labels == held.labels
        doubts = judge(held, predict_targets(old, target_matrix(known), new)) if is_separate else None
        return _category_mistakes(new, held, old, known), doubts
    if held.kind == "scored_pairs" or (held.kind == "labelled_pairs" and held.ordered):
        scores = pair_similarities(model, held.texts[0], held.texts[1])
        features = np.stack([scores, scores**2], axis=1)
        return _rank_mistakes(scores, held), judge(held, fit_ridge(features, target_matrix(held))(features))
    if held.kind == "triplets":
        return _triplet_mistakes(model, held), None
    return _retrieval_mistakes(model, held) if held.kind == "positive_pairs" else [], None


def _category_mistakes(new: np.ndarray, held: Examples, old: np.ndarray, reference: Examples) -> list[Mistake]:
    assert held.targets is not None and reference.targets is not None
    labels = np.array([reference.labels[int(label)] for label in reference.targets])
    normalized = [normalize_text(text) for text in reference.texts[0]]
    found = []
    for place, (text, target) in enumerate(zip(held.texts[0], held.targets, strict=True)):
        gold, cosines = held.labels[int(target)], new[place] @ old.T
        cosines[[other == normalize_text(text) for other in normalized]] = -np.inf
        same = labels == gold
        nearest, other = cosines[same].max(initial=-1.0), np.where(same, -np.inf, cosines)
        misled = int(other.argmax())
        by = float(other[misled] - nearest)
        if np.isfinite(by):
            found.append(_row(held, place, by, gold, str(labels[misled]), reference.texts[0][misled]))
    return found


def _rank_mistakes(scores: np.ndarray, held: Examples) -> list[Mistake]:
    from scipy.stats import rankdata

    assert held.targets is not None
    targets = held.targets.astype(np.float64)
    gold_ranks, ranks = (rankdata(values) for values in (targets, scores))
    at = np.sort(targets)[np.clip(np.rint(ranks).astype(int) - 1, 0, len(held) - 1)]

    def named(value: float) -> Any:
        return held.labels[int(value)] if held.labels else float(value)

    # A pair is correct if it has the score of its rank, no matter how many pairs share that score.
    by = np.where(at == targets, 0.0, np.abs(gold_ranks - ranks) / len(held))
    return [_row(held, place, float(by[place]), named(targets[place]), named(at[place])) for place in range(len(held))]


def _triplet_mistakes(model: Trainable, held: Examples) -> list[Mistake]:
    anchors, rest = held.texts[0], held.texts[1:]
    scores = [pair_similarities(model, anchors, column, ("query", "document")) for column in rest]
    by = np.max(scores[1:], axis=0) - scores[0]
    misled = np.argmax(scores[1:], axis=0)
    return [
        _row(held, place, float(by[place]), other=rest[1 + int(misled[place])][place], texts=(anchors[place], rest[0][place]))
        for place in range(len(held))
    ]


def _retrieval_mistakes(model: Trainable, held: Examples) -> list[Mistake]:
    encoder = cast("Encoder", model)
    left, right = encode_columns(encoder, list(held.texts[:2]), roles=("query", "document"))
    cosines, names = similarity(left, right, encoder.similarity_name), np.array([normalize_text(text) for text in held.texts[1]])
    other = np.where(names[None, :] == names[:, None], -np.inf, cosines)
    misled = other.argmax(axis=1)
    by = other[np.arange(len(held)), misled] - np.diagonal(cosines) - TIE
    return [_row(held, place, float(by[place]), other=held.texts[1][int(misled[place])]) for place in range(len(held))]


def _row(
    held: Examples, place: int, by: float, gold: Any = None, answer: Any = None, other: str = "", texts: Sequence[str] | None = None
) -> Mistake:
    shown = [text[:_MAX_CHARACTERS] for text in ([column[place] for column in held.texts] if texts is None else texts)]
    line = int(held.lines[place])
    return {"texts": shown, "line": line, "gold": gold, "said": answer, "beside": other[:_MAX_CHARACTERS], "by": by}


def _is_valid(one: Any) -> bool:
    texts = one["texts"]
    plain_texts = isinstance(texts, list) and texts and all(isinstance(text, str) for text in [*texts, one["beside"]])
    values = all(value is None or isinstance(value, str | float | int) for value in (one["gold"], one["said"]))
    return bool(plain_texts) and values and isinstance(one["line"], int) and isinstance(one["by"], float | int)
