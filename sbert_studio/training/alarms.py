"""Alarms, which stop a run that contradicts the labels of its table or that loses general quality, and ask the user.

The run continues only with an answer to the same alarm, which is stored with the run.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.findings import ExampleRow, Option, Question
from ..data.schema.roles import format_names
from ..evaluation.bootstrap import percentile_interval, resample_clusters
from ..evaluation.encoding import pair_similarities
from ..evaluation.tasks.sts import bootstrap_spearman, spearman
from ..i18n import _

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..models.trainable import Trainable
    from .spec import TrainSpec

OPPOSITE, FORGETS = "below_chance", "general"
"""Names of the two alarms, as used in ``accept_alarm``."""
CHECKED_KINDS = ("scored_pairs", "labelled_pairs", "triplets")
"""Kinds of examples that can contradict a model."""
MIN_ROWS = 20
"""Minimum number of held-out rows for the check; with fewer, other rows are added."""
ANSWERS = ("", OPPOSITE, FORGETS, "both")
# Rank correlation with the targets below which a table contradicts the model, provided that its 95 % interval is below 0.
_OPPOSED = -0.1
# Triplets: how far below chance the whole 95 % interval must be. Hard negatives are near chance by construction.
_BELOW = 0.1
# General probe and retrieval: minimum loss, and minimum loss at the better end of the 95 % interval.
_LOST, _SURELY_LOST = 0.10, 0.05
_SHOWN, _LONGEST = 3, 160
_SAMPLE = 1_000


def is_accepted(spec: TrainSpec, name: str) -> bool:
    """Return True if the user has accepted this alarm, or it does not apply (newly initialized networks have no notion of similarity)."""
    return (name == OPPOSITE and bool(spec.recurrent)) or spec.accept_alarm in (name, "both")


def sample_rows(examples: Examples) -> Examples:
    """Return as many evenly spaced rows as the check needs."""
    if len(examples) <= _SAMPLE:
        return examples
    return examples.take(np.linspace(0, len(examples) - 1, _SAMPLE).astype(np.int64))


def check_below_chance(encoder: Trainable, parts: Sequence[Examples], scores: Sequence[Mapping[str, Any]]) -> Question | None:
    """Return the question to ask if the base model contradicts the held-out labels, else ``None``.

    Args:
        encoder: the base model; cross-encoders with a new head are not checked.
        parts: the rows, in the parts in which they were evaluated.
        scores: the scores of each part, see :class:`~sbert_studio.training.evaluator.Evaluator`.
    """
    if encoder.has_untrained_scores or not parts or not _is_suspect(parts, scores):
        return None
    first = parts[0]
    if first.kind == "triplets":
        return _swapped(parts, scores)
    if first.kind not in ("scored_pairs", "labelled_pairs") or (first.kind == "labelled_pairs" and not first.ordered):
        return None
    scored = [pair_similarities(encoder, part.texts[0], part.texts[1]) for part in parts]
    found, targets = np.concatenate(scored), np.concatenate([_targets(part) for part in parts])
    with resample_clusters(*_texts(parts)):
        # A resample without an order does not contradict it; if there are many, there are too few rows to be certain.
        low, high = percentile_interval(np.nan_to_num(bootstrap_spearman(found, targets), nan=0.0)) or (0.0, 0.0)
    correlation = spearman(found, targets)
    if correlation >= _OPPOSED or high >= 0:
        return None
    why = _(
        "The base model's similarities contradict the targets: rank correlation {correlation} [{low}, {high}] on "
        "{found} rows. Training on them would teach the opposite of similarity.",
        correlation=f"{correlation:+.2f}",
        low=f"{low:+.2f}",
        high=f"{high:+.2f}",
        found=f"{len(found):,}",
    )
    return Question("alarm", "Are the targets in the right direction?", _answer_options(first), why, _most_opposed(parts, scored))


def check_forgetting(spec: TrainSpec, before: Mapping[str, Any], now: Mapping[str, Any]) -> Question | None:
    """Return the question to ask if the model improves on the held-out rows but loses general quality, else ``None``.

    Args:
        before, now: scores of the base and the current model, each with ``general`` from
            :class:`~sbert_studio.training.evaluator.GeneralProbe`.
    """
    then, found = before.get("general") or {}, now.get("general") or {}
    if is_accepted(spec, FORGETS) or now["score"] <= before["score"]:
        return None
    scores = {"score": f"{before['score']:.3f}", "score2": f"{now['score']:.3f}"}
    if _has_fallen(then, found):
        why = _(
            "The score on the held-out rows improves ({score} → {score2}), but on everyday pairs it falls from "
            "{score3} to {score4}: the training data contradicts the model's general knowledge of the language.",
            **scores,
            score3=f"{then['score']:.2f}",
            score4=f"{found['score']:.2f}",
        )
    elif _has_fallen(then := then.get("retrieval") or {}, found := found.get("retrieval") or {}):
        why = _(
            "The score on the held-out rows improves ({score} → {score2}), but the model finds fewer of the right documents: nDCG@10 falls "
            "from {score3} to {score4}.",
            **scores,
            score3=f"{then['score']:.2f}",
            score4=f"{found['score']:.2f}",
        )
    else:
        return None
    return Question("alarm", "Is this intended?", (_continue_option(FORGETS), _STOP), why)


def _has_fallen(then: Mapping[str, Any], scores: Mapping[str, Any]) -> bool:
    if "score" not in then or "score" not in scores:
        return False
    interval = scores["change_interval"]  # empty with too few queries
    return bool(then["score"] - scores["score"] > _LOST and interval and interval[1] < -_SURELY_LOST)


_STOP = Option("no, do not continue: I will check the table", "", {})


def _continue_option(name: str) -> Option:
    return Option("yes, train on the rows unchanged", f"--set accept_alarm={name}", {"accept_alarm": name})


def _answer_options(held: Examples) -> tuple[Option, ...]:
    turned: tuple[Option, ...] = ()
    if held.kind == "labelled_pairs":
        order = tuple(reversed(held.labels))
        words = ", ".join(order)
        turned = (
            Option(
                _("no, reverse them: {words}, from least to most similar", words=words),
                f"--order {shlex.quote(format_names(order))}",
                {"order": list(order)},
            ),
        )
    return (*turned, _continue_option(OPPOSITE), _STOP)


def _is_suspect(parts: Sequence[Examples], scores: Sequence[Mapping[str, Any]]) -> bool:
    task, mean = scores[0].get("task"), _mean_score(parts, scores)
    if task == "pairs":
        return mean < float(np.mean(np.concatenate([_targets(part) for part in parts]) == 1))
    return mean < {"sts": 0.0, "triplets": 0.5}.get(str(task), -np.inf)


def _mean_score(parts: Sequence[Examples], scores: Sequence[Mapping[str, Any]]) -> float:
    return float(np.average([float(one["score"]) for one in scores], weights=[len(part) for part in parts]))


def _swapped(parts: Sequence[Examples], scores: Sequence[Mapping[str, Any]]) -> Question | None:
    rows = sum(len(part) for part in parts)
    won = _mean_score(parts, scores)
    chance = 1 / (len(parts[0].texts) - 1)
    high = won + 1.96 * float(np.sqrt(max(won * (1 - won), 1 / rows) / rows))
    if high >= chance - _BELOW:
        return None
    why = _("For the base model, the negative is closer than the positive in {won} of {rows} rows.", won=f"{1 - won:.0%}", rows=f"{rows:,}")
    swapped = Option("no, positive and negative are swapped: I will choose the columns in the other order", "", {})
    return Question("alarm", "Does the second column belong to the first?", (swapped, _continue_option(OPPOSITE), _STOP), why)


def _texts(parts: Sequence[Examples]) -> list[list[str]]:
    return [[text for part in parts for text in part.texts[side]] for side in (0, 1)]


def _targets(held: Examples) -> np.ndarray:
    assert held.targets is not None
    return held.targets.astype(np.float64)


def _most_opposed(parts: Sequence[Examples], scores: Sequence[np.ndarray]) -> tuple[ExampleRow, ...]:
    shown = []
    for part, scored in zip(parts, scores, strict=True):
        targets = _targets(part)
        scale = targets.max() - targets.min() or 1.0
        gap = (targets - targets.min()) / scale - scored
        for place in (*np.argsort(gap)[:_SHOWN].tolist(), *np.argsort(-gap)[:_SHOWN].tolist()):
            texts = tuple(column[place][:_LONGEST] for column in part.texts[:2])
            value = part.labels[int(targets[place])] if part.labels else f"{targets[place]:g}"
            read_as = "most similar" if gap[place] > 0 else "least similar"
            shown.append((float(abs(gap[place])), ExampleRow(int(part.lines[place]), texts, value, read_as)))
    found: list[ExampleRow] = []
    for _unused, row in sorted(shown, key=lambda item: -item[0]):
        if sum(other.read_as == row.read_as for other in found) < 2:
            found.append(row)
    return tuple(found[:_SHOWN])
