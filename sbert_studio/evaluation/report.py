"""Evaluation reports and their wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from ..data.accounts import RowAccount
    from .answers import Answers


_UNTUNED = "the untuned model, as you chose: nothing of the tuning is in it"


# Of a task whose score is a share of what is right: what is counted, and what the model does with it.
_COUNTED = {"categories": ("texts", "puts", "in the right category"), "triplets": ("triplets", "gets", "right")}


def metric_in_words(metric: str) -> str:
    """``cosine_spearman`` as a person would say it: Cosine Spearman."""
    words = metric.replace("_", " ").replace("spearman", "Spearman").replace("mrr at 10", "MRR@10").replace("macro f1", "macro F1")
    return words[:1].upper() + words[1:]


def told_apart_by_suite(files: Sequence[tuple[str, str]]) -> list[str]:
    """What each (suite, file) is called: by the file's name, with its suite where two have the same (``OnWN`` is in three)."""
    names = [name for _, name in files]
    return [f"{suite} {name}" if suite and names.count(name) > 1 else name for suite, name in files]


def scores_in_words(scores: Mapping[str, Any]) -> str:
    """The main score with its 95% interval, or a mean of several trainings with its standard deviation."""
    if "sd" in scores:
        return f"{scores['score']:.4f} ± {scores['sd']:.4f}"
    return f"{scores['score']:.4f}{interval_in_words(scores)}"


def found_in_words(scores: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> str:
    """What an accuracy means, in natural frequencies: ``of 100 new texts it now puts 91 in the right category instead of 85``.

    Args:
        scores: a report of ``categories`` or ``triplets`` with its ``score``, as a run keeps it; of any other task there is nothing to
            say, for its score counts nothing that is right or wrong.
        before: the same of the untuned model.
    """
    after = scores.get("score")
    if scores.get("task") not in _COUNTED or after is None:
        return ""
    what, does, rest = _COUNTED[str(scores["task"])]
    known = None if not before else before.get("score")
    of, right, *then = in_natural_frequencies(after) if known is None else in_natural_frequencies(after, known)
    if not then:
        return f"of {of:,} new {what} it {does} {right:,} {rest}"
    if then[0] == right:
        return f"of {of:,} new {what} it {does} {right:,} {rest}, as before"
    return f"of {of:,} new {what} it now {does} {right:,} {rest} instead of {then[0]:,}"


def in_natural_frequencies(*shares: float) -> tuple[int, ...]:
    """Of how many, and how many of these each share is: of 100, or of 1,000 where 100 would hide that two differ; halves count as one."""
    counts: list[int] = []
    for of in (100, 1_000):
        counts = [of, *(int(of * share + 0.5) for share in shares)]
        if len(set(counts[1:])) == len(set(shares)):
            break
    return tuple(counts)


def confused_in_words(scores: Mapping[str, Any]) -> list[str]:
    """The categories most often taken for each other, a line each with one of the texts; empty where no categories were judged."""
    lines = []
    for pair in scores.get("confused") or ():
        one, two = pair["categories"]
        times = "once" if pair["count"] == 1 else f"{pair['count']:,} times"
        shown = pair["texts"][0]
        lines.append(f"“{one}” and “{two}” are taken for each other {times}, such as “{shown['text']}” ({shown['category']})")
    return lines


def interval_in_words(scores: Mapping[str, Any]) -> str:
    """`` [0.8123, 0.8567]``; nothing where the scores, of an earlier version, hold no interval."""
    low, high = scores.get("interval") or (None, None)
    return "" if low is None or high is None else f" [{low:.4f}, {high:.4f}]"


def gain_in_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """By how much the model is better, with its interval, and the verdict on it; nothing where none was measured."""
    if before and "score" in before and "chosen" in after:
        own = gain_in_words(before, after["chosen"])
        told = _UNTUNED if after.get("strength") == 0 else _strength_by_hand(after)
        return f"{told}; {_as_chosen_by_training(after, own)}" if own else told
    low, high = after.get("gain_interval") or (None, None)
    if low is None or high is None or not before:
        return ""
    if after.get("strength") == 0:
        return _UNTUNED if "chosen" in (after.get("kept") or after) else "no gain: the untuned model is kept"
    return f"gain {after['score'] - before['score']:+.4f} [{low:+.4f}, {high:+.4f}]: {verdict(after)}"


def verdict(after: Mapping[str, Any]) -> str:
    """``better``, ``worse``, or ``no difference beyond chance``: where the 95% interval of the gain lies.

    Nothing without one, and of a strength that a person chose, who had seen how it does on these rows.
    """
    if "chosen" in after:
        return ""
    low, high = after.get("gain_interval") or (None, None)
    if low is None or high is None:
        return ""
    return "better" if low > 0 else "worse" if high < 0 else "no difference beyond chance"


def kept_in_words(after: Mapping[str, Any]) -> str:
    """Which model was kept, untuned, tuned or a blend, and why; nothing where nothing was compared."""
    scores = after.get("kept", after)
    strength = scores.get("strength")
    if strength is None:
        return ""
    known = {mark["strength"]: mark["score"] for mark in scores.get("strengths", ())}
    best = max(known.values(), default=0.0)
    short = known.get(strength, best) < best - 1e-4
    if scores.get("interpolated") or ("chosen" in scores and not known):
        judged = "between two marks that were judged, so its score is an estimate" if known else "nothing has judged it"
        return f"strength {strength:g}, as you chose: {judged}"
    if not short and "chosen" in scores:
        return f"strength {strength:g}, as you chose"
    if short and (strength > 0 or "chosen" in scores):
        return f"strength {strength:g}, as you chose; best was {max(known, key=lambda mark: known[mark]):g} with {best:.4f}"
    if short:
        return f"the untuned model is kept: what scored {best:.4f} on the rows that chose it does no better on rows that did not"
    return _best_in_words(float(strength), known)


def _best_in_words(strength: float, known: Mapping[float, float]) -> str:
    """Why the best of the scores at the marks was kept."""
    tuned = f" {known[1.0]:.4f}" if 1.0 in known else ""
    if strength == 0:
        return f"neither the tuned model{tuned} nor a blend does better on the held-out rows"
    if strength == 1:
        return "the tuned model is kept: no blend with the untuned one does better" if len(known) > 2 else ""
    return f"a blend is kept, {strength:.0%} of the way to the tuned weights: it does better than the tuned model{tuned}"


def cost_in_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """``yours +6.1, general −0.4``: what changed on the held-out rows and on everyday pairs, in points; nothing where none was measured."""
    scores = after.get("kept", after)
    then, now = before.get("general") or {}, scores.get("general") or {}
    if "score" not in before or "score" not in after or "score" not in then or "score" not in now:
        return ""
    return f"yours {points(after['score'] - before['score'])}, general {points(now['score'] - then['score'])}"


def points(change: float) -> str:
    """``+6.1``: a change of a score between 0 and 1, in hundredths."""
    return f"{100 * change:+.1f}".replace("-", "−").replace("−0.0", "±0.0").replace("+0.0", "±0.0")


def conclusion_in_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What a training came to, as a person would say it; nothing where the held-out rows did not judge both models.

    ``better: 0.81 → 0.85 on rows it had not seen (gain +0.04, between +0.02 and +0.06)``, or of categories
    ``better: of 100 new texts it now puts …``.
    """
    if "score" not in before or "score" not in after:
        return ""
    owner_has_chosen = "chosen" in (after.get("kept") or after)
    if after.get("strength") == 0:
        return _UNTUNED if owner_has_chosen else "no gain: the untuned model is kept"
    if "chosen" in after:
        return _by_hand(float(before["score"]), after)
    then, now = float(before["score"]), float(after["score"])
    interval = after.get("gain_interval") or ()
    bounds = [bound for bound in interval if bound is not None]
    # As few digits as show that the two differ, and on which side of zero the gain lies.
    telling = (places for places in (2, 3) if round(then, places) != round(now, places) and all(round(bound, places) for bound in bounds))
    digits = next(telling, 4) if then != now else 2
    found = found_in_words(after, before) or f"{then:.{digits}f} → {now:.{digits}f} on rows it had not seen"
    gain = f"gain {now - then:+.{digits}f}"
    if "sd" in after:
        ended = " as they ended," if owner_has_chosen else ""
        gain += f", mean of {len(after['each'])} trainings{ended} that differ by ± {after['sd']:.{digits}f}"
    elif len(bounds) == 2:
        gain += f", between {bounds[0]:+.{digits}f} and {bounds[1]:+.{digits}f}"
    words = verdict(after)
    return f"{words}: {found} ({gain})" if words else f"{found} ({gain})"


def _by_hand(then: float, after: Mapping[str, Any]) -> str:
    """What the rows show of a strength that was chosen by looking at them: no gain with an interval, and no verdict."""
    if after.get("interpolated") or not after.get("strengths"):  # nothing has judged it
        return _strength_by_hand(after)
    return f"{_strength_by_hand(after)}; on them {then:.4f} → {after['score']:.4f}, which says little of other rows"


def _strength_by_hand(after: Mapping[str, Any]) -> str:
    return f"strength {after['strength']:g} was chosen by hand, by looking at these very rows"


def automatic_in_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What the strength came to that the training chose, where a person has chosen another since; nothing where none has."""
    own = conclusion_in_words(before, after["chosen"]) if "chosen" in after else ""
    return own and _as_chosen_by_training(after, own)


def _as_chosen_by_training(after: Mapping[str, Any], own: str) -> str:
    return f"strength {after['chosen'].get('strength', 1.0):g}, which the training chose: {own}"


def everyday_in_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """``everyday language: −0.4 points``: what the training cost on pairs of no special field; nothing where that was not measured."""
    then, now = before.get("general") or {}, after.get("kept", after).get("general") or {}
    if "score" not in then or "score" not in now:
        return ""
    return f"everyday language: {points(now['score'] - then['score'])} points"


def chosen_in_words(after: Mapping[str, Any]) -> str:
    """Return among how many models the kept one was chosen, and what the rows that chose it mean for its score and its gain."""
    if after.get("strength") == 0 or after.get("interpolated") or "chosen" in after:
        return ""
    if "tried" in after:
        return f"it was chosen among {after['tried']:,}; the gain is what rows show that did not choose it"
    if after.get("chosen_among", 0) > 1 and after.get("gain_interval"):
        among = after["chosen_among"]
        return (
            f"it was chosen among {among:,} on the rows that judge it, so its score is a little high; "
            "the interval of the gain allows for that"
        )
    marks = (after.get("kept") or after).get("strengths", ())
    return f"it was chosen among {len(marks)} on the very rows that judge it, which flatters it a little" if len(marks) > 2 else ""


def outcome_in_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The sentences that stand beside the scores of a run: what it came to, what it cost elsewhere, which model was kept."""
    found = (
        conclusion_in_words(before, after),
        automatic_in_words(before, after),
        everyday_in_words(before, after),
        kept_in_words(after),
        chosen_in_words(after),
    )
    return [sentence for sentence in found if sentence]


SHARES = (
    *("accuracy", "nearest_neighbour_accuracy", "cosine_accuracy", "dot_accuracy", "euclidean_accuracy", "manhattan_accuracy"),
    "pair_accuracy",
)
"""The main scores that are a share of rows: of those that a model gets right."""


COMPARED_BY = "similarity_fn_name"
"""The score that names the measure of the main one, where that is not the cosine."""


def compared_by(name: str) -> dict[str, str]:
    """Return what the scores say of the measure of the main one: nothing where it is the cosine."""
    return {} if name == "cosine" else {COMPARED_BY: name}


@dataclass(frozen=True)
class Report:
    """The scores of one encoder or cross-encoder on one set.

    Attributes:
        task: the name of a task (see :mod:`.tasks`).
        rows: how many pairs, triplets or texts were judged.
        scores: plain JSON values. ``sts``, ``pairs`` and ``triplets`` hold a dictionary for each similarity
            (``cosine``, ``dot``, ``euclidean``, ``manhattan``), or, of a cross-encoder, for the ``pair``; correlations lie in
            [-1, 1], a squared error is 0 or more, what ``geometry`` measures has scales of its own, all else lies in [0, 1].
            ``interval``: the 95% bootstrap interval of the main score.
        notes: in words, which rows were left out and why.
        account: what became of every row of the file; None where examples were judged and no file.
        resampled: the main score in every bootstrap resample, by which two models on the same rows are compared.
        answers: what the model says of each row; None where a task judges no row by itself.
    """

    task: str
    rows: int
    scores: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    account: RowAccount | None = None
    resampled: np.ndarray | None = field(default=None, compare=False, repr=False)
    answers: Answers | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """``{"task", "rows", **scores}``, ``account`` where a file was judged, and ``notes`` where there are any."""
        notes = {"notes": list(self.notes)} if self.notes else {}
        account = {"account": self.account.to_json()} if self.account is not None else {}
        return {"task": self.task, "rows": self.rows, **self.scores, **account, **notes}
