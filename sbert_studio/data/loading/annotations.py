"""JSON conventions of annotation tools and benchmarks: Argilla, Label Studio, Prodigy and BEIR."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...i18n import _
from ..cells import cell_text
from ..findings import Finding, count
from ..schema.numbers import parse_number
from .content import Content, string_array

_SAMPLE = 50
_ANSWER_KEYS = ("choices", "rating", "number", "value", "text")
_BEIR_KEYS, _BEIR_EXTRA = {"_id", "title", "text"}, {"metadata", "url"}
_PRODIGY_ANSWERS, _PRODIGY_LABELS = {"accept", "reject", "ignore"}, ("label", "accept", "spans")
_PRODIGY_NAMES = ("answer", "_task_hash", *_PRODIGY_LABELS)


def is_beir_corpus(values: Sequence[Any]) -> bool:
    """Return whether some rows come from a BEIR corpus, whose documents have a title and a text."""
    return all(isinstance(value, Mapping) and _BEIR_KEYS <= set(value) <= _BEIR_KEYS | _BEIR_EXTRA for value in values)


def read_conventions(content: Content) -> Content:
    """Skip rows that an annotator rejected, and extract the values of annotations stored as JSON text."""
    return _read_json_answers(_drop_rejected(content))


def _drop_rejected(content: Content) -> Content:
    if "answer" not in content.names:
        return content
    values = {name: content.data.column(content.names.index(name)).to_pylist() for name in _PRODIGY_NAMES if name in content.names}
    answers = values["answer"]
    labelled = any(len(set(cells)) > 1 for name, cells in values.items() if name in _PRODIGY_LABELS)
    if not set(answers) <= _PRODIGY_ANSWERS or not (labelled or "_task_hash" in values):
        return content
    # Without labels, or with only one, "accept" and "reject" are the labels.
    rejected = np.isin(answers, ["reject", "ignore"] if labelled else ["ignore"])
    if not rejected.any() or rejected.all():
        return content
    rows = tuple(content.lines[rejected].tolist())
    message = _("{rows} that the annotator rejected or ignored, skipped", rows=count(len(rows), "row"))
    note = Finding("info", message, rows, skip_reason="rejected or ignored by the annotator")
    return replace(content, data=content.data.filter(~rejected), lines=content.lines[~rejected], notes=(*content.notes, note))


def _read_json_answers(content: Content) -> Content:
    data, notes = content.data, content.notes
    for at, name in enumerate(content.names):
        if any(cell[:2] in ("[{", '{"') for cell in data.column(at).slice(0, _SAMPLE).to_pylist()):
            answers: list[str] = []
            for cell in data.column(at).to_pylist():
                if (answer := _parse_answer(cell)) is None:
                    break
                answers.append(answer)
            else:
                data = data.set_column(at, name, string_array(answers))
                notes = (*notes, Finding("info", _("the cells of {name} are annotations in JSON; their values were read", name=repr(name))))
    return replace(content, data=data, notes=notes)


def answers_of(key: str, annotations: Sequence[Any]) -> tuple[dict[str, list[str]], bool] | None:
    """Return the annotators' answers to each question and whether all could be read; None if the list contains no annotations.

    Argilla stores ``{"value", "user_id"}`` under a question's name, ``{"values": {question: {"value"}}}``, or plain answers under
    ``question.responses``; Label Studio stores ``{"result": [{"from_name", "value": …}]}``.
    """
    if key.endswith((".responses", ".responses.users", ".responses.status")) and len(annotations) > 1:
        return {key: [cell_text(one) for one in annotations]} if key.endswith(".responses") else {}, True
    if not all(isinstance(one, Mapping) for one in annotations):
        return None
    used = [one for one in annotations if one.get("status") not in ("discarded", "draft") and one.get("was_cancelled") is not True]
    given: list[tuple[str, Any]]
    if all("value" in one and ("user_id" in one or "status" in one) for one in annotations):
        given = [(key, one["value"]) for one in used]
    elif all(isinstance(one.get("values"), Mapping) for one in annotations):
        given = [item for one in used for item in one["values"].items()]
    elif all(isinstance(one.get("result"), list) for one in annotations):
        results = [result for one in used for result in one["result"]]
        given = [(str(result.get("from_name", key)), result.get("value")) for result in results if isinstance(result, Mapping)]
    else:
        return None
    answers: dict[str, list[str]] = {}
    for question, value in given:
        if (answer := answer_of(value)) is not None:
            answers.setdefault(question, []).append(answer)
    return answers, sum(map(len, answers.values())) == len(given)


def answer_of(value: Any) -> str | None:
    """Return an annotator's answer: a plain value, or the value of a key such as ``rating`` or ``choices``; None for anything else."""
    if isinstance(value, Mapping):
        (only,) = value if len(value) == 1 else (None,)
        return answer_of(value[only]) if only in _ANSWER_KEYS else None
    if not isinstance(value, list | tuple):
        return cell_text(value)
    answers = [answer for part in value if (answer := answer_of(part)) is not None]
    if len(answers) < len(value) or not answers:
        return None
    numbers = not any(math.isnan(parse_number(answer)) for answer in answers)
    return agree(answers) if numbers else ", ".join(answers)


def agree(answers: Sequence[str]) -> str | None:
    """Return the mean of numeric answers, or the most frequent answer; None if there is a tie."""
    if len(set(answers)) == 1:
        return answers[0]
    numbers = [parse_number(answer) for answer in answers]
    if not any(map(math.isnan, numbers)):
        return f"{sum(numbers) / len(numbers):.6g}"
    (best, times), (_, next_times) = Counter(answers).most_common(2)
    return best if times > next_times else None


def _parse_answer(cell: str) -> str | None:
    if not cell.strip():
        return ""
    try:
        value = json.loads(cell, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    return answer_of(value) if isinstance(value, dict | list) else None
