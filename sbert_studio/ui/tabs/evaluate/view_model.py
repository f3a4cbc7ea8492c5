"""View models of the Evaluate tab: frozen dataclasses whose fields are named after components, and the values of the tab's views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ....evaluation.answers import AgreementCounts, are_comparable, count_agreement, find_disagreements
from ....evaluation.changes import SCORE_DIGITS
from ....evaluation.report import describe_metric, disambiguate_names
from ....i18n import _, join, verbatim, with_full_stop
from ....services.questions import OpenQuestionsError
from ...state import ModelUpdate
from ...task_list import job_state, job_view
from ...views import (
    UNCHANGED,
    SpeedPoint,
    Unchanged,
    Update,
    Value,
    column,
    placeholder,
    props,
    questions_view,
    shorten,
    speed_cell,
    speed_value,
    table,
)
from .conclusion import MainScore, best_first, cautions, conclusion_view, main_scores, needed_digits, verdict

if TYPE_CHECKING:
    from ....data.examples import Examples
    from ....evaluation.answers import Predictions
    from ....evaluation.comparison import EvaluationFile
    from ....evaluation.report import Report
    from ....services.jobs import JobView
    from ....services.results import EvaluationResult, RetrievalResult

NO_SCORES = placeholder("Press Evaluate to compare the models on your data.")
_QUESTION_OPEN = placeholder("Scores appear here once the question is answered.")
_MAX_NOTES, _MAX_DIFFERENCES, _MAX_CHARACTERS = 8, 20, 300
# Entries of reports that describe the rows and the procedure.
_NOT_SCORES = ("classes", "majority", "folds", "train_rows", "known_rows")
_BY_PERCENTILE = (
    "Closer: the model whose rank of the pair among all pairs is closer to its rank by human score; the "
    "models' scores are on different scales."
)
_BY_ORDER = (
    "Closer: the model that ranks more pairs with other labels on the correct side of this pair; the "
    "models' scores are on different scales."
)
_PREDICTIONS = {
    "cosine": "the cosine similarity of the two texts",
    "score": "the score of the pair",
    "margin": "whether the second text is closer to the first than the third",
    "rank": "the rank of the matching text among all texts",
    "class": "a category",
}


@dataclass(frozen=True)
class EvaluationPanel:
    """Views of a finished evaluation; its fields have the same names in :class:`EvaluationView`."""

    conclusion: Value
    scores: Value
    details: Value | None
    chart: Value | None = None
    differences: Value | None = None
    offers: Value | None = None  # models to download
    retrieval: RetrievalResult | None = None  # what the files of an evaluation of retrieval are written from
    model: str = ""  # model of a job that produces one (see services.jobs)

    def describe(self) -> str:
        return str(self.conclusion["text"])


@dataclass(frozen=True)
class EvaluationView:
    state: Value | None  # changes whenever the evaluation must be drawn again
    job_id: str
    job: Value | None
    stop: Update
    evaluations_timer: Update | Unchanged
    ended: str | Unchanged = UNCHANGED  # changes when an evaluation has ended, whichever response says so first
    questions: Value | None = None
    conclusion: Value | None = None
    scores: Value = field(default_factory=lambda: NO_SCORES)
    chart: Value | None = None
    differences: Value | None = None
    details: Value | None = None
    offers: Value | None = None
    files: Update = field(default_factory=lambda: props(visible=False))


@dataclass(frozen=True)
class FollowedData:
    file: str
    search_group: Update
    missing: Value | None
    view: EvaluationView | Unchanged


@dataclass(frozen=True)
class FittingModels:
    header: ModelUpdate = field(default_factory=ModelUpdate)
    models: list[str] | Unchanged = UNCHANGED
    header_model: str | Unchanged = UNCHANGED


@dataclass(frozen=True)
class StartedEvaluation:
    view: EvaluationView
    fitting: FittingModels


@dataclass(frozen=True)
class ComparedModels:
    models: Update
    typed_model: str
    header_model: str


@dataclass(frozen=True)
class SourceGroups:
    file_group: Update
    suite_group: Update
    public_group: Update


@dataclass(frozen=True)
class SourceView:
    groups: SourceGroups
    suite: Update


@dataclass(frozen=True)
class TaskView:
    known_group: Update
    known_help: str
    search_group: Update


@dataclass(frozen=True)
class FormParts:
    source_view: SourceView
    task_view: TaskView


@dataclass(frozen=True)
class RestoredEvaluation:
    models: Update
    source: str
    suite: str | None
    public_set: str | None
    task: str
    known_rows: str | None
    groups: SourceGroups
    used: TaskView
    reranker: str
    passages: bool
    header_model: str


def evaluation_view(job: JobView | None) -> EvaluationView:
    is_live = job is not None and job.active
    is_hidden = job is None or job.status == "finished" or isinstance(job.error, OpenQuestionsError)
    view = EvaluationView(
        state=job_state(job),
        job_id=job.id if job else "",
        job=None if is_hidden else job_view(job, "evaluation"),
        stop=props(visible=bool(job is not None and is_live and not job.stopping)),
        evaluations_timer=props(active=is_live),
        ended=UNCHANGED if job is None or is_live else f"{job.id} {job.status}",
    )
    if job is not None and isinstance(job.result, EvaluationPanel):
        made = job.result
        view = replace(view, conclusion=made.conclusion, scores=made.scores, details=made.details)
        view = replace(view, chart=made.chart, differences=made.differences, offers=made.offers)
        return replace(view, files=props(visible=made.retrieval is not None))
    if job is not None and isinstance(job.error, OpenQuestionsError):
        return replace(view, questions=questions_view("A question about the file", job.error.questions), scores=_QUESTION_OPEN)
    return view


def evaluation_result(
    evaluation: EvaluationResult, titles: Mapping[str, str], name: str, provenance: Value | None = None
) -> EvaluationPanel:
    """Return the views of an evaluation. ``titles``: titles of models by name; ``name``: name of the file or suite."""
    scores = main_scores(evaluation, titles)
    counts, differences = "", None
    if len(scores) > 1:
        best, second = best_first(scores)[:2]
        counts = describe_counts(evaluation, best, second, titles)
        differences = differences_table(evaluation, best, second, titles)
    conclusion = conclusion_view(scores, counts, cautions(evaluation)) | {"made": provenance}
    main, details = main_table(scores, evaluation, titles, name), details_table(evaluation, titles)
    shown = [score for score in scores if score.metric == scores[0].metric]
    points = [(score.title, score.rate, score.rate_spread, score.score, score.interval) for score in shown]
    return EvaluationPanel(conclusion, main, details, speed_chart(points, scores[0].metric), differences)


def speed_chart(points: Sequence[SpeedPoint], metric: str) -> Value | None:
    """Return the chart of score against speed; ``None`` for fewer than two models with a speed."""
    timed = [point for point in points if point[1]]
    if len(timed) < 2:
        return None
    return speed_value(timed, describe_metric(metric)) | {"theirs": [title for title, *_ in timed]}


def main_table(scores: Sequence[MainScore], evaluation: EvaluationResult, titles: Mapping[str, str], name: str) -> Value:
    first = scores[0]
    several, has_interval = len(scores) > 1, any(score.interval for score in scores)
    digits = max((needed_digits(first, score) for score in scores[1:]), default=SCORE_DIGITS)
    columns = [column("Model", main=True), column(describe_metric(first.metric), "bar", digits=digits)]
    columns += [column("95% interval", "interval")] if has_interval else []
    columns += [column("Sentences/s", "speed")]
    # Without colors: the next column says whether a difference is beyond chance.
    columns += [column("Difference", "change", digits=digits), column("Verdict", ours=True)] if several else []
    rows = []
    for score in scores:
        row: list[object] = [score.title, score.score]
        if has_interval:
            row.append([score.interval[0], score.score, score.interval[1]] if score.interval else None)
        row.append(speed_cell(score.rate, score.rate_spread))
        if several:
            row += [round(score.score, digits) - round(first.score, digits), verdict(first, score)] if score is not first else [None, ""]
        rows.append(row)
    note = join("\n", _notes(evaluation, titles))
    return table(columns, rows, caption=_caption(first, evaluation, name), note=note, theirs=[score.title for score in scores])


def details_table(evaluation: EvaluationResult, titles: Mapping[str, str]) -> Value:
    """Return the table of all scores of all models on all files; descriptions of the rows are shown below it."""
    lines: list[tuple[list[str], str, dict[str, float]]] = []
    for head, report in _reports(evaluation, titles):
        # Some tasks report a group of scores for each similarity function.
        by_similarity = {name: value for name, value in report.scores.items() if isinstance(value, Mapping)}
        plain = {name: value for name, value in report.scores.items() if name not in _NOT_SCORES}
        for similarity, scores in (*by_similarity.items(), ("", plain)):
            numbers = {name: value for name, value in scores.items() if isinstance(value, int | float)}
            lines += [(head, similarity, numbers)] if numbers else []
    names = list(dict.fromkeys(name for _, _, scores in lines for name in scores))
    counts = {name for name in names if all(isinstance(scores[name], int) for _, _, scores in lines if name in scores)}
    has_similarities = any(similarity for _, similarity, _ in lines)
    columns = [column("Model"), *([column("Similarity", ours=True)] if has_similarities else [])]
    columns += [column("Set", ours=True)] if len(evaluation.files) > 1 else []
    for name in names:
        title = describe_metric(name)
        columns.append(column(title, "count") if name in counts else column(title, "number", digits=SCORE_DIGITS))
    rows = [
        [head[0], *([similarity] if has_similarities else []), *head[1:], *(scores.get(name) for name in names)]
        for head, similarity, scores in lines
    ]
    notes = dict.fromkeys(note for _, report in _reports(evaluation, titles) if (note := _describe_rows(report)))
    return table(columns, rows, caption="All scores", note=join("\n", notes), theirs=list(titles.values()))


def _describe_rows(report: Report) -> str:
    scores = report.scores
    parts = [_("{classes} categories", classes=f"{scores['classes']:,}")] if "classes" in scores else []
    if "majority" in scores:
        parts.append(
            _("always predicting the largest one would be correct for {majority} of 100 rows", majority=f"{100 * scores['majority']:.1f}")
        )
    parts += [_("trained and evaluated in {folds} folds", folds=scores["folds"])] if "folds" in scores else []
    return with_full_stop(join("; ", parts)) if parts else ""


def _reports(evaluation: EvaluationResult, titles: Mapping[str, str]) -> Iterator[tuple[list[str], Report]]:
    for model in evaluation.models:
        title = titles.get(model.model, model.model)
        for file, report in zip(evaluation.files, model.reports, strict=True):
            name = f"{file.suite} {file.name}" if file.suite and file.suite != file.name else file.name
            yield [title, *([name] if len(evaluation.files) > 1 else [])], report
        for group, mean in zip(evaluation.groups, model.groups, strict=True):
            if mean is not None and mean.pooled is not None:
                yield [title, _("{name}, all", name=group.name)], mean.pooled


def _caption(first: MainScore, evaluation: EvaluationResult, name: str) -> str:
    from ....evaluation.tasks import get_task

    file = evaluation.files[0]
    if len(evaluation.files) == 1:
        report = evaluation.models[0].reports[0]
        account = file.rows.account.summarize("evaluated") if file.rows.account is not None else _("{rows} rows", rows=f"{report.rows:,}")
        return _("{name} · {title} · {account}", name=name, title=get_task(report.task).title, account=account)
    rows = sum(len(one.rows.examples) for one in evaluation.files)
    return _(
        "{data} · {title} · {files} files · {rows} rows",
        data=first.data,
        title=get_task(first.task).title,
        files=len(evaluation.files),
        rows=f"{rows:,}",
    )


def _notes(evaluation: EvaluationResult, titles: Mapping[str, str]) -> list[str]:
    notes = [*evaluation.notes, *(_("{suite}: {message}.", suite=missing.suite, message=missing.message) for missing in evaluation.missing)]
    notes += [
        _("The average is over {suites} of {wanted} suites.", suites=len(average.suites), wanted=average.wanted)
        for average in evaluation.averages
        if len(average.suites) < average.wanted
    ]
    several = len(evaluation.files) > 1
    files = disambiguate_names([(file.suite, file.name) for file in evaluation.files])
    for name, file in zip(files, evaluation.files, strict=True):
        notes += [_("{name}: {note}", name=name, note=note) if several else note for note in file.notes]
    for model in evaluation.models:
        for file_name, own in zip(files, model.notes, strict=True):
            about = [titles.get(model.model, model.model)] * (len(evaluation.models) > 1) + [file_name] * several
            notes += [join(": ", [*map(verbatim, about), note]) for note in own]
    shown = [with_full_stop(note) for note in dict.fromkeys(notes)]
    return shown if len(shown) <= _MAX_NOTES else [*shown[:_MAX_NOTES], _("And {shown} more notes.", shown=len(shown) - _MAX_NOTES)]


def differences_table(evaluation: EvaluationResult, one: int, two: int, titles: Mapping[str, str]) -> Value | None:
    """Return the rows on which two models differ most; ``None`` if there are none, or if the task makes no per-row predictions."""
    several = len(evaluation.files) > 1
    names = [titles.get(evaluation.models[index].model, evaluation.models[index].model) for index in (one, two)]
    rows: list[tuple[float, list[object]]] = []
    kinds: list[str] = []
    notes: list[str] = []
    for name, file, first, second in _predictions(evaluation, one, two):
        kinds.append(first.kind)
        if first.kind in ("cosine", "score"):
            notes.append(_BY_ORDER if first.percentiles is None else _BY_PERCENTILE)
        for differs in find_disagreements(first, second, _MAX_DIFFERENCES):
            texts, people = _describe_row(file, first, differs.row)
            row = [texts, people, *differs.descriptions, names[differs.better_model], int(file.rows.examples.lines[differs.row])]
            rows.append((differs.gap, [*([name] if several else []), *row]))
    if not rows:
        return None
    rows.sort(key=lambda row: -row[0])
    is_labelled = any(file.rows.examples.labels for file in evaluation.files)
    columns = [
        *([column("Set", ours=True)] if several else []),
        column("Texts", "texts", main=True),
        column("Gold answer", ours=not is_labelled),
    ]
    columns += [column(_("{name} predicts", name=name), ours="class" not in kinds) for name in names] + [
        column("Closer", ours=True),
        column("Row", "row"),
    ]
    a, b = names
    prediction = _PREDICTIONS[kinds[0]] if len(set(kinds)) == 1 else ""
    caption = (
        _("Where {a} and {b} differ most. The models predict {prediction}.", a=a, b=b, prediction=prediction)
        if prediction
        else _("Where {a} and {b} differ most", a=a, b=b)
    )
    shown = [row for _, row in rows[:_MAX_DIFFERENCES]]
    return table(columns, shown, caption=caption, note=join(" ", dict.fromkeys(notes)), theirs=names)


def describe_counts(evaluation: EvaluationResult, one: int, two: int, titles: Mapping[str, str]) -> str:
    counts = [count_agreement(first, second) for _, _, first, second in _predictions(evaluation, one, two)]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return ""
    both, first, second, neither = (
        sum(getattr(count, name) for count in known) for name in ("both", "only_first", "only_second", "neither")
    )
    total = AgreementCounts(both, first, second, neither).total
    a, b = (titles.get(evaluation.models[index].model, evaluation.models[index].model) for index in (one, two))
    return _(
        "Of {total} rows, {a} gets {both} right and {b} gets {both2} right: only {a} is right on {first}, and only {b} on {second}.",
        total=f"{total:,}",
        a=a,
        both=f"{both + first:,}",
        b=b,
        both2=f"{both + second:,}",
        first=f"{first:,}",
        second=f"{second:,}",
    )


def _predictions(evaluation: EvaluationResult, one: int, two: int) -> Iterator[tuple[str, EvaluationFile, Predictions, Predictions]]:
    names = disambiguate_names([(file.suite, file.name) for file in evaluation.files])
    for index, (name, file) in enumerate(zip(names, evaluation.files, strict=True)):
        first, second = (evaluation.models[model].reports[index] for model in (one, two))
        if first.task == second.task and are_comparable(first.answers, second.answers) and first.answers and second.answers:
            yield name, file, first.answers, second.answers


def _describe_row(file: EvaluationFile, predictions: Predictions, row: int) -> tuple[list[str], str]:
    examples = file.rows.examples
    texts = [shorten(one[row], _MAX_CHARACTERS) for one in examples.texts]
    if predictions.kind == "rank":
        return texts[:1], _("its match: {texts}", texts=texts[1])
    if predictions.kind == "margin":
        return texts, "the second is closer"
    people = _describe_target(examples, file.rows.scale, row)
    return texts, people if predictions.gold_percentiles is None else _(
        "{people}, above {gold_percentiles} of pairs", people=people, gold_percentiles=f"{predictions.gold_percentiles[row]:.0%}"
    )


def _describe_target(examples: Examples, scale: tuple[float, float] | None, row: int) -> str:
    if examples.targets is None:
        return ""
    target = examples.targets[row]
    if examples.labels:
        return examples.labels[int(target)]
    low, high = scale or (0.0, 1.0)
    return _("{low} of {high}", low=f"{low + float(target) * (high - low):.4g}", high=f"{high:g}")
