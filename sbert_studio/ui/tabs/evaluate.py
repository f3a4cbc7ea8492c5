"""Evaluate: one or several models judged on the same file, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...data.choices.column_choices import ColumnChoices
from ...errors import StudioError
from ...evaluation.tasks import SCORED_KINDS, all_tasks
from ...evaluation.words import metric_in_words
from ...studio.questions import Unanswered, answered
from ..page import PROGRESS, Page, cancel_button, guarded, is_ours, long_work, told
from ..picker import sample_buttons, samples_of, upload
from ..questions import as_view
from ..views import Value, column, nothing, table, view

if TYPE_CHECKING:
    from ...data.questions import Question
    from ...evaluation.report import Report
    from ...studio import Studio

TITLE = "Evaluate"
ORDER = 5
_MOST_MODELS = 6
_BLANK = "Scores appear here, a row for each model."
_OPEN = "Scores appear here once the question is answered."
_TASKS = [("Found from the columns", "auto"), *((task.title, task.name) for task in all_tasks())]


@dataclass(frozen=True)
class Judged:
    """A file that was chosen to judge by.

    Attributes:
        path: the file; ``name`` is what the table calls it.
        asked: what its owner has said of it.
        questions: what only they can say, the first time that it came up.
    """

    path: Path
    name: str
    asked: ColumnChoices = field(default_factory=ColumnChoices)
    questions: tuple[Question, ...] = ()

    def answered(self, which: Any) -> Judged:
        """The file with an answer taken up; ``which`` comes from the browser: the question's place and the answer's.

        Raises:
            StudioError: there is no such answer.
        """
        known = isinstance(which, list) and len(which) == 2 and all(isinstance(place, int) and place >= 0 for place in which)
        if not known or which[0] >= len(self.questions) or which[1] >= len(self.questions[which[0]].options):
            raise StudioError("that question is no longer open", "press Evaluate again")
        choice = self.questions[which[0]].options[which[1]].choice
        return replace(self, asked=answered(self.asked, choice), questions=())


def judge_or_ask(
    studio: Studio, models: Sequence[str], file: Judged, task: str, progress: Any = None
) -> tuple[Judged, Value | None, tuple[Value, Value] | None]:
    """Each model on one file: (the file, no question, :func:`judge`'s tables), or (the file, the question to its owner, no tables)."""
    try:
        return file, None, judge(studio, models, file.path, task, file.name, progress, file.asked)
    except Unanswered as error:
        return replace(file, questions=error.questions), as_view("Before it can judge", error.questions), None


def judge(
    studio: Studio, models: Sequence[str], path: Path, task: str, name: str, progress: Any = None, asked: ColumnChoices | None = None
) -> tuple[Value, Value]:
    """Each model on one file.

    Args:
        name: what the table calls the file.
        asked: what its owner has said of it.

    Returns:
        the table of main scores and the table of all.

    Raises:
        Unanswered: the file can be read in more than one way.
        StudioError: no model is chosen, too many are, or the file does not hold what the task needs.
    """
    names = list(dict.fromkeys(name for name in models or () if name))
    if not 1 <= len(names) <= _MOST_MODELS:
        raise StudioError(f"{len(names)} models are chosen", f"choose 1 to {_MOST_MODELS}")
    titles = {card.name: card.title for card in studio.judge.models_at_hand()[0]}
    data = studio.read.table(path, asked=asked)
    show = told(progress, "Encoding") if progress is not None else None
    reports = [(titles.get(model, model), studio.judge.evaluate(model, data, task, show, asked)) for model in names]
    return main_table(reports, name), all_table(reports)


def main_table(reports: Sequence[tuple[str, Report]], name: str) -> Value:
    """The one score that matters for the task, with its interval and the difference to the first model."""
    from ...evaluation.tasks import primary, task_named

    found = [(title, *primary(report), report.scores.get("interval")) for title, report in reports]
    first, report = found[0][2], reports[0][1]
    account = f" · {report.account.in_short('judged')}" if report.account is not None else f" · {report.rows:,} rows"
    notes = dict.fromkeys(note for _, one in reports for note in one.notes)
    columns = [column("Model"), column(metric_in_words(found[0][1]), "bar", digits=4)]
    columns += [column("95% interval", "interval")] if any(item[3] for item in found) else []
    # A rise is drawn in the colour of what is better, so that it must not be where less is.
    difference = column("Difference", "number" if task_named(report.task).smaller_is_better else "delta", digits=4)
    columns += [difference, column("Beyond chance?")] if len(found) > 1 else []
    rows = []
    for (title, _, score, interval), (_, one) in zip(found, reports, strict=True):
        row: list[Any] = [title, score]
        if any(item[3] for item in found):
            row.append([interval[0], score, interval[1]] if interval else None)
        if len(found) > 1:
            row += [score - first, verdict(reports[0][1], one)] if one is not report else [None, ""]
        rows.append(row)
    return table(columns, rows, caption=f"{name} · {report.task}{account}", note=" ".join(notes))


def verdict(first: Report, other: Report) -> str:
    """Whether a model is better than the first by more than which rows the file happens to hold (paired bootstrap)."""
    from ...evaluation.bootstrap import gain
    from ...evaluation.tasks import task_named

    low, high = gain(first.resampled, other.resampled).get("gain_interval") or (None, None)
    if low is None or high is None:
        return ""
    more, less = ("worse", "better") if task_named(first.task).smaller_is_better else ("better", "worse")
    word = more if low > 0 else less if high < 0 else "within the noise"
    return f"{word} [{low:+.4f}, {high:+.4f}]"


def all_table(reports: Sequence[tuple[str, Report]]) -> Value:
    """Every score of every model, as far as it is a number."""
    lines: list[tuple[str, str, dict[str, float]]] = []
    for title, report in reports:
        groups = {name: value for name, value in report.scores.items() if isinstance(value, Mapping)}
        alone = {name: value for name, value in report.scores.items() if isinstance(value, int | float)}
        lines += [
            (title, name, {key: value for key, value in scores.items() if isinstance(value, int | float)})
            for name, scores in groups.items()
        ]
        lines += [(title, "", alone)] if alone else []
    lines = [line for line in lines if line[2]]
    names = list(dict.fromkeys(key for _, _, scores in lines for key in scores))
    counted = {key for key in names if all(isinstance(scores[key], int) for _, _, scores in lines if key in scores)}
    columns = [column("Model"), column("Similarity")]
    columns += [
        column(metric_in_words(key), "count") if key in counted else column(metric_in_words(key), "number", digits=4) for key in names
    ]
    return table(columns, [[title, group, *(scores.get(key) for key in names)] for title, group, scores in lines], caption="All scores")


def build(studio: Studio, page: Page) -> None:
    """Draw the tab."""
    text = "Judge models on sentences that people have judged. Choose two models to see what tuning has changed."
    view("intro", {"title": "How good is it?", "text": text})
    samples = samples_of(*SCORED_KINDS)
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=1):
            models = gr.Dropdown(
                page.model_choices(None, "texts", "pairs"),
                value=[studio.settings.default_model],
                multiselect=True,
                allow_custom_value=True,
                label="Models",
                elem_id="evaluate-models",
            )
            file = upload("A file of scored pairs, triplets or labelled texts", "evaluate-file")
            buttons = sample_buttons(samples, "evaluate")
            task = gr.Dropdown(_TASKS, value="auto", label="Task", elem_id="evaluate-task")
            button = gr.Button("Evaluate", variant="primary", elem_id="evaluate-go")
            cancel_button("evaluate")
        with gr.Column(min_width=320, scale=2):
            asking = view("questions", elem_id="evaluate-questions")
            scores = view("table", nothing(_BLANK), elem_id="evaluate-scores")
            details = view("table", elem_id="evaluate-details")

    judged = gr.State(None)

    def shown(models: list[str], file: Judged, task: str, progress: Any) -> list[Any]:
        file, question, tables = judge_or_ask(studio, models, file, task, progress)
        return [file, question, *(tables or (nothing(_OPEN), None))]

    def on_judge(models: list[str], path: str | None, task: str, before: Judged | None, progress: Any = PROGRESS) -> list[Any]:
        chosen = Judged(samples[0].path, samples[0].title) if path is None else Judged(Path(path), Path(path).name)
        # What was said of a file holds while it is this one.
        return shown(models, before if before is not None and before.path == chosen.path else chosen, task, progress)

    def on_sample(number: int, models: list[str], task: str, progress: Any = PROGRESS) -> list[Any]:
        return shown(models, Judged(samples[number].path, samples[number].title), task, progress)

    def on_answer(models: list[str], task: str, before: Judged | None, event: gr.SelectData, progress: Any = PROGRESS) -> list[Any]:
        if before is None:
            raise StudioError("that question is no longer open", "press Evaluate again")
        return shown(models, before.answered(event.index), task, progress)

    common = {
        "outputs": [judged, asking, scores, details],
        "show_progress_on": scores,
        "concurrency_limit": 2,
        "concurrency_id": "evaluate",
    }
    long_work(button.click, "evaluate", on_judge, [models, file, task, judged], **common)
    long_work(asking.select, "evaluate", on_answer, [models, task, judged], **common)
    for number, one in enumerate(buttons):
        long_work(one.click, "evaluate", bound(on_sample, number), [models, task], **common)

    typed = gr.State("")

    def on_models(owner: Any, model: str | None, chosen: list[str] | None, typed: str) -> Any:
        # The model in the header joins the comparison; what is gone leaves it, and so does a name that was typed there before.
        choices = page.model_choices(owner, "texts", "pairs")
        known = {name for _, name in choices}
        asked = [name for name in [*(name for name in chosen or () if name != typed), model] if name]
        kept = [name for name in asked if name in known or not is_ours(name)]
        shown = gr.update(choices=choices, value=list(dict.fromkeys(kept))[:_MOST_MODELS])
        return shown, "" if model in known else model or ""

    def on_focus(owner: Any) -> Any:
        return gr.update(choices=page.model_choices(owner, "texts", "pairs"))

    quiet = {"api_visibility": "private", "show_progress": "hidden"}
    models.focus(guarded(on_focus), page.owner, models, **quiet)
    for event in (page.model.change, page.runs_changed.change):
        event(guarded(on_models), [page.owner, page.model, models, typed], [models, typed], **quiet)
    page.on_load.append(lambda loaded: loaded.then(guarded(on_models), [page.owner, page.model, models, typed], [models, typed], **quiet))


def bound(handler: Any, number: int) -> Any:
    """``handler`` with its first argument given, and still with a signature that Gradio can read."""

    def call(models: list[str], task: str, progress: Any = PROGRESS) -> Any:
        return handler(number, models, task, progress)

    return call
