"""Evaluation reports, and descriptions of their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import ConfigDict

from ..data.row_report import RowReport
from ..i18n import _, capitalize, join, ngettext
from ..serialization import OMIT_EMPTY, Internal, JsonResult, describe_schema, doc
from .answers import Predictions
from .changes import ScoreChange, describe_change, format_score, interval_verdict
from .learning_curve import describe_curve

_UNTUNED_CHOSEN = "the base model, as selected: no fine-tuning is applied"


RETRIEVAL = "retrieval"
"""``limited_by`` in the scores of a kept model: a model with a better score was left out, because it retrieves worse."""


def describe_metric(metric: str) -> str:
    """Return a readable metric name: ``cosine_spearman`` → ``Cosine Spearman``."""
    if "@" in metric:  # a metric of ranked documents, which is written as usual: nDCG@10
        return metric.replace("ndcg", "nDCG").replace("mrr", "MRR").replace("map", "MAP").replace("recall", "Recall")
    words = metric.replace("_", " ").replace("spearman", "Spearman").replace("mrr at 10", "MRR@10").replace("macro f1", "macro F1")
    return capitalize(words.replace("neighbour", "neighbor"))  # stored reports have the British spelling


def disambiguate_names(files: Sequence[tuple[str, str]]) -> list[str]:
    """Return a display name for each (suite, file): the file name, prefixed by the suite if several suites share it."""
    names = [name for _, name in files]
    return [f"{suite} {name}" if suite and names.count(name) > 1 else name for suite, name in files]


def describe_score(scores: Mapping[str, Any]) -> str:
    """Format the main score with its 95 % interval, or the mean of several runs with its standard deviation."""
    if "sd" in scores:
        return f"{format_score(scores['score'])} ± {format_score(scores['sd'])}"
    return f"{format_score(scores['score'])}{format_interval(scores)}"


def describe_accuracy(scores: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> str:
    """Describe an accuracy as natural frequencies (``it now assigns 91 of 100 new texts to the right category instead of 85``); else ""."""
    after, describe = scores.get("score"), _FREQUENCIES.get(str(scores.get("task")))
    if describe is None or after is None:
        return ""
    known = before.get("score") if before else None
    of, right, *then = natural_frequencies(after) if known is None else natural_frequencies(after, known)
    return describe(f"{of:,}", f"{right:,}", f"{then[0]:,}" if then else None)


def _describe_categories(of: str, right: str, then: str | None) -> str:
    if then is None:
        return _("it assigns {right} of {of} new texts to the right category", of=of, right=right)
    if then == right:
        return _("it assigns {right} of {of} new texts to the right category, as before", of=of, right=right)
    return _("it now assigns {right} of {of} new texts to the right category instead of {then}", of=of, right=right, then=then)


def _describe_triplets(of: str, right: str, then: str | None) -> str:
    if then is None:
        return _("it gets {right} of {of} new triplets right", of=of, right=right)
    if then == right:
        return _("it gets {right} of {of} new triplets right, as before", of=of, right=right)
    return _("it now gets {right} of {of} new triplets right instead of {then}", of=of, right=right, then=then)


# Tasks whose score is a share of correct rows.
_FREQUENCIES = {"categories": _describe_categories, "triplets": _describe_triplets}


def natural_frequencies(*shares: float) -> tuple[int, ...]:
    """Return a total (100, or 1,000 if 100 would hide a difference) and each share as a count out of it."""
    counts: list[int] = []
    for of in (100, 1_000):
        counts = [of, *(int(of * share + 0.5) for share in shares)]
        if len(set(counts[1:])) == len(set(shares)):
            break
    return tuple(counts)


def describe_confusions(scores: Mapping[str, Any]) -> list[str]:
    """Return one line for each frequently confused pair of categories, with an example text."""
    lines = []
    for pair in scores.get("confused") or ():
        one, two = pair["categories"]
        lines.append(
            ngettext(
                "“{one}” and “{two}” are confused once, for example in “{text}” ({category})",
                "“{one}” and “{two}” are confused {n} times, for example in “{text}” ({category})",
                pair["count"],
                one=one,
                two=two,
                text=pair["texts"][0]["text"],
                category=pair["texts"][0]["category"],
            )
        )
    return lines


def format_interval(scores: Mapping[str, Any]) -> str:
    """Return `` [0.812, 0.857]``, or an empty string without an interval."""
    low, high = scores.get("interval") or (None, None)
    return "" if low is None or high is None else f" [{format_score(low)}, {format_score(high)}]"


def describe_gain(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Describe the improvement over the base model with its interval and verdict; empty if none was measured."""
    if before and "score" in before and "chosen" in after:
        own = describe_gain(before, after["chosen"])
        choice = _UNTUNED_CHOSEN if after.get("strength") == 0 else _manual_strength(after)
        return join("; ", [choice, _training_choice(after, own)]) if own else choice
    low, high = after.get("gain_interval") or (None, None)
    if low is None or high is None or not before:
        return ""
    if after.get("strength") == 0:
        return _UNTUNED_CHOSEN if "chosen" in (after.get("kept") or after) else "no gain: the base model is kept"
    change = describe_change(before["score"], after["score"], (low, high))
    return _(
        "gain {score} [{low}, {high}]: {verdict}",
        score=change.gain,
        low=change.interval[0],
        high=change.interval[1],
        verdict=_(change.verdict),
    )


def verdict(after: Mapping[str, Any]) -> str:
    """Return ``better``, ``worse`` or ``no difference beyond chance`` from the 95 % interval of the gain.

    Returns an empty string without an interval, and for a strength that was chosen manually after seeing these scores.
    """
    if "chosen" in after:
        return ""
    return interval_verdict([bound for bound in after.get("gain_interval") or () if bound is not None])


def describe_kept_model(after: Mapping[str, Any]) -> str:
    """Describe which model was kept (base, fine-tuned or interpolated) and why; empty if nothing was compared."""
    scores = after.get("kept", after)
    strength = scores.get("strength")
    if strength is None:
        return ""
    marks = {mark["strength"]: mark for mark in scores.get("strengths", ())}
    known = {strength: mark["score"] for strength, mark in marks.items()}
    best = max(known.values(), default=0.0)
    limit = _describe_limit(scores)
    short = not limit and known.get(strength, best) < best - 1e-4
    if scores.get("interpolated") or ("chosen" in scores and not known):
        judged = "between two evaluated strengths, so its score is an estimate" if known else "not evaluated"
        return _("strength {strength} (set manually): {judged}", strength=f"{strength:g}", judged=judged)
    if not short and "chosen" in scores:
        return _("strength {strength} (set manually)", strength=f"{strength:g}")
    if short and (strength > 0 or "chosen" in scores):
        return _(
            "strength {strength} (set manually); best was {known} with {best}",
            strength=f"{strength:g}",
            known=f"{max(known, key=lambda mark: known[mark]):g}",
            best=format_score(best),
        )
    if short:
        return _(
            "the base model is kept: the candidate that scored {best} on the selection rows is no better on the other rows",
            best=format_score(best),
        )
    return limit or _describe_best_strength(float(strength), marks)


def _describe_limit(scores: Mapping[str, Any]) -> str:
    if scores.get("limited_by") != RETRIEVAL or "chosen" in scores:
        return ""
    if scores["strength"] == 0:
        return "the base model is kept: the fine-tuned model finds fewer of the right documents"
    return _("strength {strength} is kept: stronger ones find fewer of the right documents", strength=f"{scores['strength']:g}")


def _describe_best_strength(strength: float, marks: Mapping[float, Mapping[str, Any]]) -> str:
    tuned = f"{format_score(marks[1.0]['score'])}{format_interval(marks[1.0])}" if 1.0 in marks else ""
    if strength == 0:
        return (
            _("neither the fine-tuned model {tuned} nor a blend is better on the held-out rows", tuned=tuned)
            if tuned
            else "neither the fine-tuned model nor a blend is better on the held-out rows"
        )
    if strength == 1:
        return "the fine-tuned model is kept: no blend with the base model is better" if len(marks) > 2 else ""
    share = f"{strength:.0%}"
    if not tuned or strength not in marks:
        return _("a blend of strength {strength} is kept: it scored highest", strength=share)
    blend = f"{format_score(marks[strength]['score'])}{format_interval(marks[strength])}"
    return _(
        "a blend of strength {strength} is kept: it scored highest, {blend}; the fine-tuned model scored {tuned}",
        strength=share,
        blend=blend,
        tuned=tuned,
    )


def describe_tradeoff(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Describe the changes on held-out rows and on general pairs: ``your data +0.061, general −0.004``; empty if not measured."""
    scores = after.get("kept", after)
    then, now = before.get("general") or {}, scores.get("general") or {}
    if "score" not in before or "score" not in after or "score" not in then or "score" not in now:
        return ""
    return _(
        "your data {change}, general {general}",
        change=_format_change(before["score"], after["score"]),
        general=_format_change(then["score"], now["score"]),
    )


def _format_change(before: float, after: float) -> str:
    return describe_change(before, after).gain.replace("-", "−")


def describe_outcome(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Describe the outcome of training; empty if not both models were scored on held-out rows.

    ``better: 0.81 → 0.85 on rows it had not seen (gain +0.04, between +0.02 and +0.06)``, or in natural frequencies for categories.
    """
    if "score" not in before or "score" not in after:
        return ""
    owner_has_chosen = "chosen" in (after.get("kept") or after)
    if after.get("strength") == 0:
        return _UNTUNED_CHOSEN if owner_has_chosen else "no gain: the base model is kept"
    if "chosen" in after:
        return _describe_manual_strength(float(before["score"]), after)
    change = describe_change(float(before["score"]), float(after["score"]), after.get("gain_interval"))
    found = describe_accuracy(after, before) or _("{then} → {now} on unseen rows", then=change.before, now=change.after)
    gain = _describe_measured_gain(change, after)
    if change.verdict:
        return _("{verdict}: {outcome} ({gain})", verdict=_(change.verdict), outcome=found, gain=gain)
    return _("{outcome} ({gain})", outcome=found, gain=gain)


def _describe_measured_gain(change: ScoreChange, after: Mapping[str, Any]) -> str:
    if "sd" in after:
        trainings, sd = len(after["each"]), format_score(after["sd"], len(change.after.partition(".")[2]))
        if "chosen" in (after.get("kept") or after):  # the owner has set another strength since
            return _("gain {gain}, mean of {n} training runs at their original strength (± {sd})", gain=change.gain, n=trainings, sd=sd)
        return _("gain {gain}, mean of {n} training runs (± {sd})", gain=change.gain, n=trainings, sd=sd)
    if change.interval:
        return _("gain {gain}, between {low} and {high}", gain=change.gain, low=change.interval[0], high=change.interval[1])
    return _("gain {gain}", gain=change.gain)


def _describe_manual_strength(then: float, after: Mapping[str, Any]) -> str:
    if after.get("interpolated") or not after.get("strengths"):  # not evaluated
        return _manual_strength(after)
    return _(
        "{manual_strength}; on them {then} → {score}, which may not generalize to other rows",
        manual_strength=_manual_strength(after),
        then=format_score(then),
        score=format_score(after["score"]),
    )


def _manual_strength(after: Mapping[str, Any]) -> str:
    return _("strength {strength} was selected manually on these rows", strength=f"{after['strength']:g}")


def describe_automatic_choice(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Describe the outcome of the automatically chosen strength if it was changed manually afterwards; otherwise empty."""
    own = describe_outcome(before, after["chosen"]) if "chosen" in after else ""
    return own and _training_choice(after, own)


def _training_choice(after: Mapping[str, Any], own: str) -> str:
    return _("strength {strength}, selected automatically: {own}", strength=f"{after['chosen'].get('strength', 1.0):g}", own=own)


def describe_general_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Describe the change on general-language pairs: ``everyday language: −0.004``; empty if not measured."""
    then, now = before.get("general") or {}, after.get("kept", after).get("general") or {}
    if "score" not in then or "score" not in now:
        return ""
    return _("everyday language: {change}", change=_format_change(then["score"], now["score"]))


def describe_retrieval_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Describe the change of the retrieval probe with its interval; empty if not measured."""
    then, now = ((scores.get("general") or {}).get("retrieval") or {} for scores in (before, after.get("kept", after)))
    if "score" not in then or "score" not in now:
        return ""
    change = describe_change(then["score"], now["score"], now.get("change_interval"))
    values = {"metric": describe_metric(now["metric"]), "then": change.before, "now": change.after, "queries": f"{now['rows']:,}"}
    if not change.interval:
        return _("retrieval: {metric} {then} → {now} on {queries} queries", **values)
    low, high = change.interval
    return _("retrieval: {metric} {then} → {now} on {queries} queries (between {low} and {high})", **values, low=low, high=high)


def describe_selection(after: Mapping[str, Any]) -> str:
    """Describe how many models the kept one was selected from, and the effect on its score and gain."""
    if after.get("strength") == 0 or after.get("interpolated") or "chosen" in after:
        return ""
    if "tried" in after:
        return _("it was selected from {tried}; the gain is measured on rows not used for the selection", tried=f"{after['tried']:,}")
    if after.get("chosen_among", 0) > 1 and after.get("gain_interval"):
        among = after["chosen_among"]
        return _(
            "it was selected from {among} on the evaluation rows, so its score is slightly optimistic; the interval "
            "of the gain accounts for this",
            among=f"{among:,}",
        )
    marks = (after.get("kept") or after).get("strengths", ())
    return (
        _("it was selected from {marks} on the evaluation rows, so its score is slightly optimistic", marks=len(marks))
        if len(marks) > 2
        else ""
    )


def describe_run(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the sentences shown next to the scores of a run: outcome, change in general quality, kept model."""
    found = (
        describe_outcome(before, after),
        describe_automatic_choice(before, after),
        describe_general_change(before, after),
        describe_retrieval_change(before, after),
        describe_kept_model(after),
        describe_selection(after),
        describe_curve(after),
    )
    return [sentence for sentence in found if sentence]


SHARE_METRICS = (
    *("accuracy", "nearest_neighbour_accuracy", "cosine_accuracy", "dot_accuracy", "euclidean_accuracy", "manhattan_accuracy"),
    "pair_accuracy",
)
"""Main scores that are a share of correct rows."""
SIMILARITY_KEY = "similarity_fn_name"
"""Score entry with the similarity function of the main score, if it is not cosine."""


def similarity_entry(name: str) -> dict[str, str]:
    """Return the score entry with the similarity function; empty for cosine."""
    return {} if name == "cosine" else {SIMILARITY_KEY: name}


@dataclass(frozen=True)
class Report(JsonResult):
    """Evaluation of a model on one file; further fields, the scores, depend on the task.

    Attributes:
        scores: JSON values. ``sts``, ``pairs`` and ``triplets`` have a dictionary for each similarity (``cosine``, ``dot``,
            ``euclidean``, ``manhattan``), or ``pair`` for cross-encoders. Correlations are in [-1, 1], squared errors are 0 or more,
            ``geometry`` has its own scales, all others are in [0, 1]. ``interval`` is the 95 % bootstrap interval of the main score.
        resampled: main score in every bootstrap resample, for paired comparisons.
        answers: per-row predictions; None if the task has none.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="allow", json_schema_extra=describe_schema)

    task: str
    rows: Annotated[int, doc("number of pairs, triplets or texts that were evaluated")]
    scores: Internal[Mapping[str, Any]]
    notes: Annotated[tuple[str, ...], doc("remarks on skipped rows"), OMIT_EMPTY] = ()
    account: Annotated[RowReport | None, doc("use of every row of the file"), OMIT_EMPTY] = None
    resampled: Internal[np.ndarray | None] = field(default=None, compare=False, repr=False)
    answers: Internal[Predictions | None] = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return ``{"task", "rows", **scores}``, plus ``account`` and ``notes`` if present."""
        found = super().to_json()
        return {"task": found.pop("task"), "rows": found.pop("rows"), **self.scores, **found}
