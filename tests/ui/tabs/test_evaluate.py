"""The Evaluate tab: evaluations in the background, their results, questions about a file, the form and the leaderboard."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_studio import sentences, studio_at, write_doubtful, write_pairs
from waiting import wait_until

from sbert_studio.data.samples import get_sample, list_samples
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.bootstrap import bootstrap_mean, bootstrap_scores
from sbert_studio.evaluation.ranking import RankingScores
from sbert_studio.evaluation.tasks import all_tasks
from sbert_studio.progress import checkpoint
from sbert_studio.serialization import to_plain
from sbert_studio.services.questions import OpenQuestionsError
from sbert_studio.settings import Limits
from sbert_studio.ui import verbs as api
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.state import ModelUpdate, OtherTexts, new_visitor_id
from sbert_studio.ui.tabs.evaluate import handlers, request
from sbert_studio.ui.tabs.evaluate.conclusion import MainScore, conclusion_view, needed_digits, verdict
from sbert_studio.ui.tabs.evaluate.request import FILE, EvaluationData, EvaluationForm
from sbert_studio.ui.tabs.evaluate.retrieval import RETRIEVAL
from sbert_studio.ui.tabs.evaluate.view import task_choices
from sbert_studio.ui.tabs.evaluate.view_model import EvaluationView, FittingModels, evaluation_result, evaluation_view
from sbert_studio.ui.views import UNCHANGED, props

from .evaluations import ended, evaluate, start


@pytest.fixture
def shared(tmp_path: Path, model_folder: Path) -> Iterator[Page]:
    with studio_at(tmp_path / "shared", model_folder, limits=Limits(runs=1, queue=3)) as studio:
        yield Page(studio, shared=True)


@pytest.fixture
def reversed_scores(tmp_path: Path) -> Path:
    """Pairs whose highest scores belong to the least similar texts."""
    head, *rows = write_pairs(tmp_path / "pairs.csv").read_text(encoding="utf-8").splitlines()
    split = [row.rsplit(",", 1) for row in rows]
    path = tmp_path / "reversed.csv"
    path.write_text("\n".join([head, *(f"{texts},{5 - float(score):g}" for texts, score in split)]), encoding="utf-8")
    return path


def write_labelled(path: Path, labelled: Iterable[tuple[str, str]]) -> Path:
    path.write_text("text,topic\n" + "".join(f"{text},{label}\n" for text, label in labelled), encoding="utf-8")
    return path


def view_of(page: Page, owner: object = None) -> EvaluationView:
    return evaluation_view(ended(page, owner))


def column_names(table: dict[str, Any]) -> list[str]:
    return [column["name"] for column in table["columns"]]


def test_two_models_on_a_file_give_a_sentence_tables_a_chart_and_two_entries(page: Page, tmp_path: Path, static: str) -> None:
    tiny = page.studio.settings.default_model
    pairs = write_pairs(tmp_path / "pairs.csv", 200)
    started = start(page, None, [tiny, static, static], EvaluationData(pairs, "pairs.csv"))
    assert started.active and started.title == "2 models on pairs.csv"
    job, view = ended(page), view_of(page)
    assert (job.status, view.job, view.questions) == ("finished", None, None), job
    conclusion, scores, chart, details, differences = view.conclusion, view.scores, view.chart, view.details, view.differences
    assert conclusion and chart and details and differences and job.message == conclusion["text"]
    assert column_names(scores) == ["Model", "Cosine Spearman", "95% interval", "Sentences/s", "Difference", "Verdict"]
    assert scores["caption"].startswith("pairs.csv · ") and "200 rows read, 200 evaluated, 0 skipped" in scores["caption"]
    assert [row[0] for row in scores["rows"]] == [tiny, static] and all(row[3][0] <= row[3][1] <= row[3][2] for row in scores["rows"])
    first, second = scores["rows"]
    assert first[2][0] <= first[1] == first[2][1] <= first[2][2]
    assert first[-2:] == [None, ""] and second[-1].split(",")[0] in ("better", "worse", "no difference beyond chance")
    assert [point["name"] for point in chart["points"]] == [tiny, static] and chart["metric"] == "Cosine Spearman"
    assert [row[1] for row in details["rows"]] == ["cosine", "dot", "euclidean", "manhattan"] * 2
    assert conclusion["made"]["words"] == f"{tiny}, {static} · pairs.csv" and conclusion["made"]["again"] == request.EVALUATE_AGAIN

    best, other = sorted((tiny, static), key=lambda name: -next(row[1] for row in scores["rows"] if row[0] == name))
    assert column_names(differences) == ["Texts", "Gold answer", f"{best} predicts", f"{other} predicts", "Closer", "Row"]
    assert len(differences["rows"]) == 20 and {row[4] for row in differences["rows"]} == {tiny, static}
    lines = pairs.read_text(encoding="utf-8").splitlines()
    for texts, people, *models, closer, row in differences["rows"]:  # rows as a spreadsheet numbers them, scores on the file's scale
        left, right, score = lines[row - 1].split(",")
        assert texts == [left, right] and people.startswith(f"{float(score):.4g} of 5, above ")
        target, *predicted = (float(re.search(r"above (\d+)% of pairs", one)[1]) for one in (people, *models))  # type: ignore[index]
        gaps = [abs(one - target) for one in predicted]
        assert closer == (best, other)[gaps.index(min(gaps))], "the row itself shows who is closer"
    assert "among all pairs" in differences["note"]

    shown = handlers.show_leaderboard(page, None, "")
    rows, choices = shown.leaderboard["rows"], dict(shown.sets)["choices"]  # type: ignore[arg-type]
    assert {row[0] for row in rows} == {Path(str(tiny)).name, Path(static).name}
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)
    assert [title for title, _ in choices] == ["All datasets", "pairs.csv"] and shown.speeds is None
    one_set = handlers.show_leaderboard(page, None, choices[1][1])
    assert "Set" not in column_names(one_set.leaderboard) and one_set.speeds is not None
    for suffix in (".csv", ".md"):
        assert "static" in handlers.write_file(page, suffix, None, choices[1][1]).read_text(encoding="utf-8")


def test_suite_is_evaluated_as_one_set(page: Page, static: str) -> None:
    for seed, name in enumerate(("MSRpar", "OnWN")):
        (path := page.studio.workspace.home / "suites" / "sts12" / f"{name}.csv").parent.mkdir(parents=True, exist_ok=True)
        write_pairs(path, seed=10 * seed)
    start(page, None, [page.studio.settings.default_model, static], EvaluationData("", "STS12", suite="STS12"))
    view = view_of(page)
    found = page.studio.evaluation.evaluate_models([static], suite="STS12")
    pooled = found.models[0].groups[0].pooled.scores["cosine"]["spearman"]  # type: ignore[union-attr]
    assert view.scores["rows"][1][1] == pytest.approx(pooled, abs=1e-6)
    assert view.scores["caption"].startswith("STS12, all rows as one set") and "2 files" in view.scores["caption"]
    assert "MSRvid is missing" in view.scores["note"] and view.details
    assert {row[2] for row in view.details["rows"]} == {"STS12 MSRpar", "STS12 OnWN", "STS12, all"}
    assert evaluation_result(found, {}, "STS12").chart is None, "one model has no speed to compare"


def test_progress_reports_the_model_and_the_number_of_texts(page: Page, tmp_path: Path, static: str) -> None:
    phases: list[tuple[str, str]] = []
    counts: list[tuple[int, int]] = []

    def begin(phase: str, unit: str) -> Any:
        phases.append((phase, unit))
        return lambda done, total: counts.append((done, total))

    pairs = write_pairs(tmp_path / "pairs.csv")
    page.studio.evaluation.evaluate_models([page.studio.settings.default_model, static], [pairs], begin_phase=begin)
    assert ("evaluating model 1 of 2", "texts") in phases and ("evaluating model 2 of 2", "texts") in phases
    texts = {text for row in page.studio.data.read_table(pairs).head(60) for text in row[:2]}
    assert counts[-1] == (len(texts), len(texts))


def test_evaluation_stops_at_once_and_leaves_no_scores(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    encoder = page.studio.catalog.load(page.studio.settings.default_model)

    def slow(texts: Any, *, progress: Any = None, should_stop: Any = None) -> Any:
        for step in range(100_000):
            checkpoint()
            progress(step, 100_000)
            begun.set()
            time.sleep(0.001)

    monkeypatch.setattr(type(encoder), "encode", lambda self, texts, **more: slow(texts, **more))
    path = write_labelled(tmp_path / "labelled.csv", zip(sentences(40), "ab" * 20, strict=True))
    job = start(page, None, [page.studio.settings.default_model], EvaluationData(path, "labelled.csv"), "clustering")
    started = evaluation_view(job)
    assert begun.wait(20)
    wait_until(lambda: (handlers.show_evaluation(page, None).job or {}).get("rate"))
    view = handlers.show_evaluation(page, None)
    assert view.job and (view.job["phase"], view.job["unit"], view.job["total"]) == ("Evaluating the model", "texts", 100_000)
    assert view.scores["rows"] == [] and view.state != started.state
    polled = handlers.poll_evaluation(page, None, started.state)
    assert polled is not None and polled.ended is UNCHANGED and polled.evaluations_timer == props(active=True)
    handlers.stop_evaluation(page, None, job.id)
    assert ended(page).status == "stopped" and page.studio.leaderboard.entries() == []
    polled = handlers.poll_evaluation(page, None, view.state)
    assert polled is not None and polled.ended == f"{job.id} stopped"
    assert handlers.poll_evaluation(page, None, polled.state) is None
    # Another response may notice the end first, and switch the timer off.
    noticed = handlers.show_evaluation(page, None)
    assert (noticed.ended, noticed.evaluations_timer) == (polled.ended, props(active=False))
    assert handlers.restore_evaluation(page, None).ended is UNCHANGED


def test_question_about_the_file_is_answered_by_a_click(page: Page, reversed_scores: Path) -> None:
    start(page, None, [page.studio.settings.default_model], EvaluationData(reversed_scores, "reversed.csv"))
    view = view_of(page)
    assert view.questions and view.conclusion is None and view.job is None and "once the question is answered" in view.scores["empty"]
    question = view.questions["questions"][0]
    assert question["proposed"] is None, "the model contradicts the scores, so no answer is proposed"
    for wrong in (None, [0], [3, 0], [0, 9], [0, -1], ["0", 0]):
        with pytest.raises(StudioError, match="already answered"):
            handlers.answer_question(page, None, Selection("answer", wrong))
    handlers.answer_question(page, None, Selection("answer", [0, question["answers"].index("the other way round")]))
    assert view_of(page).scores["rows"][0][1] > 0.3
    with pytest.raises(StudioError, match="already answered"):
        handlers.answer_question(page, None, Selection("answer", [0, 0]))
    # The answer holds as long as the file is the same.
    form = EvaluationForm((str(page.studio.settings.default_model),), FILE, str(reversed_scores))
    handlers.start_form(page, None, str(page.studio.settings.default_model), "", "en", form)
    assert view_of(page).questions is None


def test_question_about_the_file_is_answered_by_arguments(page: Page, reversed_scores: Path, tmp_path: Path) -> None:
    service = page.studio.evaluation
    with pytest.raises(OpenQuestionsError) as caught:
        service.evaluate(None, reversed_scores)
    assert caught.value.questions[0].name == "scale" and "--as-read" in caught.value.hint
    right = service.evaluate(None, reversed_scores, overrides=SchemaOverrides(scale=(5.0, 0.0))).scores["cosine"]["spearman"]
    as_read = service.evaluate(None, reversed_scores, overrides=SchemaOverrides(as_read=True))
    assert right > 0.3 and as_read.scores["cosine"]["spearman"] == pytest.approx(-right)
    assert any("uncertain" in note and "most similar" in note for note in as_read.notes)
    pairs = reversed_scores.with_name("pairs.csv")
    assert service.evaluate(None, pairs).notes == ()
    with pytest.raises(StudioError, match="most similar") as error:
        api.evaluate(page.studio, str(reversed_scores), "", "auto")
    assert 'scale="5-0"' in str(error.value) and "as_read=true" in str(error.value)
    assert api.evaluate(page.studio, str(reversed_scores), "", "auto", scale="5-0").scores["cosine"]["spearman"] > 0.3
    assert api.evaluate(page.studio, str(reversed_scores), "", "auto", as_read=True).notes
    assert api.evaluate(page.studio, str(write_doubtful(tmp_path / "doubtful.csv")), "", "auto", order="none").task == "classes"
    with pytest.raises(StudioError, match="scored pairs"):
        api.evaluate(page.studio, str(pairs), "", "triplets", kind="scored_pairs")


@pytest.mark.parametrize(("task", "words"), [("senteval", "trained on"), ("categories", "compared with")])
def test_rows_with_known_answers_are_a_second_file(page: Page, tmp_path: Path, task: str, words: str, static: str) -> None:
    texts = sentences(120)
    for name, part in {"known.csv": texts[:90], "judged.csv": texts[90:]}.items():
        write_labelled(tmp_path / name, ((text, "ab"[len(text) % 2]) for text in part))
    known = request.known_rows_file(task, str(tmp_path / "known.csv"))
    start(page, None, [static], EvaluationData(tmp_path / "judged.csv", "judged.csv", known_rows=known), task)
    view = view_of(page)
    assert f"{words} the 90 rows of known.csv." in view.scores["note"]
    assert view.details and "Similarity" not in column_names(view.details), "this task has no choice of similarity functions"
    assert page.studio.evaluation.evaluate(static, tmp_path / "judged.csv", task, reference=known).rows == 30


def test_rows_with_known_answers_are_offered_to_tasks_that_use_them(page: Page) -> None:
    assert [name for _, name in task_choices()] == ["auto", RETRIEVAL, *(task.name for task in all_tasks())]
    for task in all_tasks():
        view = handlers.choose_task(page, task.name, None)
        assert view.known_group == props(visible=task.uses_known_rows) and (len(view.known_help) > 30) == task.uses_known_rows
        assert bool(request.known_rows_file(task.name, "known.csv")) == task.uses_known_rows
    assert handlers.choose_task(page, "auto", None).known_group == props(visible=False)
    assert request.known_rows_file("auto", "known.csv") is None and request.known_rows_file("senteval", None) is None


@pytest.mark.parametrize("task", ["transfer", "clustering"])
def test_counts_are_shown_as_counts(page: Page, tmp_path: Path, task: str) -> None:
    path = write_labelled(tmp_path / "classes.csv", zip(sentences(60), "abc" * 20, strict=True))
    tiny = page.studio.settings.default_model
    result = evaluate(page, [tiny, tiny], path, task)
    ((_, score, (low, middle, high), *_),) = result.scores["rows"]
    assert low <= score == middle <= high
    kinds = {column["name"].lower(): column["kind"] for column in result.details["columns"]}
    assert kinds.get("clusters") == (None if task == "transfer" else "count") and "classes" not in kinds
    assert kinds["accuracy" if task == "transfer" else "completeness"] == "number"


def test_lower_is_better_on_the_leaderboard_and_differences_have_no_colour(page: Page, static: str, tmp_path: Path) -> None:
    result = evaluate(page, [page.studio.settings.default_model, static], write_pairs(tmp_path / "pairs.csv"), "geometry")
    assert {column["name"]: column["kind"] for column in result.scores["columns"]}["Difference"] == "change"
    first, second = page.studio.leaderboard.entries()
    assert first.score < second.score


def test_categories_are_compared_in_counts(page: Page, tmp_path: Path, static: str) -> None:
    texts = list(dict.fromkeys(sentences(150)))
    path = write_labelled(tmp_path / "topics.csv", ((text, text.split()[0]) for text in texts))
    tiny = page.studio.settings.default_model
    result = evaluate(page, [tiny, static], path, "categories")
    counts = next(sentence for sentence in result.conclusion["more"] if sentence.startswith("Of "))
    for title, score, *_ in result.scores["rows"]:
        assert str(round(score * len(texts))) in counts and title in counts
    names = set(column_names(result.details))
    assert not names & {"Classes", "Majority", "Known rows"} and "Centroid accuracy" in names
    assert "always predicting the largest" in result.details["note"] and result.differences
    assert all((row[2] == row[1]) != (row[3] == row[1]) for row in result.differences["rows"]), "exactly one of the two is right"


def test_visitors_have_one_evaluation_at_a_time_and_see_their_own_and_public_scores(shared: Page, tmp_path: Path) -> None:
    mine, theirs = ({"owner": new_visitor_id(), "job": ""} for _ in range(2))
    item = next(one for one in list_samples() if one.kind == "scored_pairs")
    models, public = ["all-MiniLM-L6-v2"], EvaluationData(item.path, item.title)
    start(shared, mine, models, EvaluationData(write_pairs(tmp_path / "private.csv"), "private.csv"))
    with pytest.raises(StudioError, match="one at a time"):
        start(shared, mine, models, public)
    assert handlers.show_evaluation(shared, theirs).state is None
    assert ended(shared, mine).status == "finished"
    sample = shared.corpora.open(mine, f"sample:{item.id}")
    handlers.start_form(shared, mine, models[0], models[0], sample, EvaluationForm(("all-MiniLM-L6-v2",), FILE))
    assert view_of(shared, mine).conclusion
    assert {entry.data for entry in handlers.visible_entries(shared, mine)} == {"private.csv", item.title}
    (entry,) = handlers.visible_entries(shared, theirs)
    assert entry.data == item.title
    assert handlers.select_entry(shared, theirs, Selection("entry", entry.id))[1] == 0
    assert handlers.select_entry(shared, mine, Selection("entry", "1; DROP TABLE scores"))[1] == 0
    remove, selected = handlers.select_entry(shared, mine, Selection("entry", entry.id))
    assert selected == entry.id and item.title in remove["value"]
    with pytest.raises(StudioError, match="not yours"):
        handlers.remove_entry(shared, theirs, entry.id, "")
    assert len(handlers.remove_entry(shared, mine, entry.id, "").leaderboard["rows"]) == 1


def test_chart_of_the_leaderboard_has_the_newest_entry_of_each_model(page: Page, tmp_path: Path, static: str) -> None:
    pairs, tiny = write_pairs(tmp_path / "pairs.csv", 60), page.studio.settings.default_model
    for models in ([tiny, static], [tiny]):
        evaluate(page, models, pairs)
    entries = handlers.visible_entries(page, None)
    chart = handlers.entries_chart(entries)
    assert len(entries) >= 2 and chart is not None
    assert sorted(point["name"] for point in chart["points"]) == sorted({entry.title for entry in entries})
    assert handlers.entries_chart([entry for entry in entries if entry.model == tiny]) is None


def test_impossible_evaluations_are_refused(page: Page, tmp_path: Path, static: str) -> None:
    for models in ([], [str(number) for number in range(7)]):
        with pytest.raises(StudioError, match="choose"):
            start(page, None, models, EvaluationData(tmp_path / "x.csv", "x"))
    for address in ("", "../../etc/passwd", "/etc/passwd", "one", "https://example.org/a/b"):
        with pytest.raises(StudioError, match="not the address"):
            handlers.public_set(address)
    assert handlers.public_set(" a/b ").path == "hf://datasets/a/b"
    assert handlers.public_set("https://huggingface.co/datasets/a/b").name == "a/b"
    with pytest.raises(StudioError, match="no suite"):
        handlers.form_data(page, EvaluationForm((static,), request.SUITE, suite="none"))
    start(page, None, [static], handlers.public_set("a/b"))
    view = view_of(page)
    assert view.job and view.job["status"] == "failed"
    assert "offline" in view.job["message"] and "Unset HF_HUB_OFFLINE" in view.job["message"]
    with pytest.raises(StudioError, match="empty"):
        handlers.write_file(page, ".csv", None, "")
    for entry, message in ((0, "no entry is selected"), (99, "does not exist, or is not yours")):
        with pytest.raises(StudioError, match=message):
            handlers.remove_entry(page, None, entry, "")


def test_key_of_the_form_depends_on_values_that_have_an_effect() -> None:
    usual = EvaluationForm(["a", "b"], FILE, "/x.csv", "STS", "", "auto", None)
    hidden = EvaluationForm(["b", "a"], FILE, "/x.csv", "SentEval", "o/n", "auto", None)
    others = [replace(usual, models=["a"]), replace(usual, task="sts"), replace(usual, file=None), replace(usual, source="suite")]
    assert usual.key == hidden.key and len({handlers.update_form_key(form)["key"] for form in (usual, *others)}) == 5


def test_form_is_restored_and_repeating_never_uses_a_sample_instead_of_a_lost_file(shared: Page, tmp_path: Path, static: str) -> None:
    owner, tiny = {"owner": new_visitor_id()}, str(shared.studio.settings.default_model)
    path = write_pairs(tmp_path / "dev300.csv", 60)
    form = EvaluationForm([tiny, static], FILE, str(path), None, "", "sts", None)
    assert handlers.restore_form(shared, owner) is None
    handlers.start_form(shared, owner, static, static, None, form)
    job = ended(shared, owner)
    assert job.status == "finished" and job.title == "2 models on dev300.csv"

    path.unlink()  # uploads are deleted after their page was closed
    filled = handlers.restore_form(shared, owner)
    assert filled is not None and filled.models["value"] == [tiny, static] and filled.header_model == static
    assert filled.groups.file_group == props(visible=True) and filled.groups.suite_group == props(visible=False)
    stored = shared.files.list_files(shared.visitor(owner))[0].path
    again = EvaluationForm(
        filled.models["value"], filled.source, str(stored), filled.suite, filled.public_set, filled.task, filled.known_rows
    )
    assert Path(str(again.file)).name == "dev300.csv" and again.task == "sts"
    conclusion = view_of(shared, owner).conclusion
    assert conclusion and again.key == conclusion["made"]["key"], "the result is not marked as outdated"

    handlers.repeat_evaluation(shared, owner, static, replace(again, file=None))
    job = ended(shared, owner)
    assert job.title == "2 models on dev300.csv" and isinstance(job.about, request.EvaluationRequest)
    for stored in shared.files.list_files(shared.visitor(owner)):
        shared.files.remove(shared.visitor(owner), stored.id)
    Path(str(job.about.form.file)).unlink()
    before = view_of(shared, owner)
    with pytest.raises(StudioError, match=r"dev300.csv is no longer stored here"):
        handlers.repeat_evaluation(shared, owner, static, replace(again, file=None))
    assert view_of(shared, owner) == before


def test_form_is_restored_after_its_file_was_deleted(shared: Page, tmp_path: Path, static: str) -> None:
    owner, path = {"owner": new_visitor_id()}, write_pairs(tmp_path / "dev.csv", 60)
    handlers.start_form(shared, owner, static, static, None, EvaluationForm([static], FILE, str(path), None, "", "auto", None))
    assert ended(shared, owner).status == "finished"
    path.unlink()
    restored = handlers.restore_form(shared, owner)
    assert restored is not None and restored.used.search_group == props(visible=False)


def test_model_that_nobody_chose_follows_the_language_of_the_file(tmp_path: Path, model_folder: Path, static: str) -> None:
    with studio_at(tmp_path / "home", model_folder, multilingual_model=static) as studio:
        page, default = Page(studio), str(studio.settings.default_model)
        form, data = EvaluationForm((default,), FILE), EvaluationData(get_sample("chinese_pairs").path, "pairs")
        texts = OtherTexts("pairs", "zh")
        fitted, fitting = handlers.fit_models(page, form, data, default, "")
        assert fitted.models == (static,) and fitting == FittingModels(ModelUpdate(props(value=static), texts), [static], static)
        assert handlers.fit_models(page, form, data, default, default) == (form, FittingModels(ModelUpdate(other_texts=texts)))
        # The evaluation reports which of several chosen models cannot read the texts.
        several = replace(form, models=(default, "glove-6B-50d"))
        assert handlers.fit_models(page, several, data, default, "") == (several, FittingModels())
        assert handlers.form_data(page, form, page.corpora.open(None, "sample:chinese_pairs")).path == data.path


@pytest.mark.parametrize(
    ("models", "is_chosen", "joined"),
    [(["a"], False, ["b"]), (["a"], True, ["a", "b"]), (["a", "c"], False, ["a", "c", "b"]), ([], False, ["b"]), (["b"], False, ["b"])],
)
def test_model_of_the_header_joins_the_comparison(models: list[str], is_chosen: bool, joined: list[str]) -> None:
    assert handlers.join_models(models, "b", "a", "", is_chosen=is_chosen) == joined
    assert handlers.join_models(models, "a", "a", "", is_chosen=is_chosen) == models
    assert handlers.join_models(["typed", "c"], "b", "a", "typed", is_chosen=is_chosen) == ["c", "b"]


def test_deleted_models_leave_the_comparison_and_unchanged_choices_are_not_sent(page: Page) -> None:
    default = str(page.studio.settings.default_model)
    name = page.model_choices(None)[0][1]
    update = handlers.follow_header_model(page, None, name, "", [default, "run-0123456789"], "", name)
    assert update.models["value"] == [default] and (update.typed_model, update.header_model) == ("", name)
    assert "value" not in handlers.follow_header_model(page, None, default, "", [default], "", default).models
    assert handlers.follow_header_model(page, None, "owner/name", "owner/name", [default], "", default).typed_model == "owner/name"


DRAWS = np.random.default_rng(0).normal(0.5, 0.01, 500)


def score(title: str, value: float, draws: Any = None, rate: float = 0.0, metric: str = "cosine_spearman", noise: float = 0.1) -> MainScore:
    spread = (rate * (1 - noise), rate * (1 + noise))
    return MainScore(title, "x", "sts", metric, value, (value - 0.1, value + 0.1), draws, rate, spread)


def conclude(*scores: MainScore) -> str:
    return str(conclusion_view(scores)["text"])


def test_few_differing_queries_are_called_chance() -> None:
    found = []
    for title, differing in (("A", 0), ("B", 5)):
        values = np.full((100, 5), 0.5)
        values[:differing] = 1
        drawn = bootstrap_scores(lambda block, values=values: block @ values / block.sum(axis=1, keepdims=True), 100)
        ranking = RankingScores(values, drawn, np.arange(100))
        found.append(replace(score(title, float(values[:, 0].mean()), drawn[:, 0], metric="ndcg@10"), task="retrieval", ranking=ranking))
    assert "no difference beyond chance" in conclude(*found) and "no difference" in verdict(*found)
    assert "better than A" in conclude(*(replace(one, ranking=None) for one in found))


def test_the_sentence_names_the_better_and_the_faster_model() -> None:
    apart = conclusion_view([score("A", 0.5, DRAWS, 10), score("B", 0.6, DRAWS + 0.1, 1), score("C", 0.59, DRAWS + 0.09, 100)])
    assert apart["text"].startswith("B is better than C by 0.010 ") and "beyond chance" in apart["text"]
    assert apart["more"][0].startswith("B is better than A by 0.100 (between +0.100")
    assert apart["more"][1] == "C encodes 100 times as many sentences per second."
    assert set(apart["theirs"]) == {"A", "B", "C"}
    near = conclusion_view([score("A", 0.50, DRAWS), score("B", 0.505, np.random.default_rng(1).normal(0.505, 0.01, 500))])
    assert near["text"].startswith("B is ahead of A by 0.005 ") and "no difference beyond chance" in near["text"] and near["more"] == []
    assert conclude(score("A", 0.5), score("B", 0.5)) == "A and B have the same score."
    assert "too few" in conclude(score("A", 0.5), score("B", 0.6))
    assert "a different metric" in conclude(score("A", 0.5), score("B", 0.6, metric="accuracy"))
    lower = [replace(one, task="geometry") for one in (score("A", 0.5, DRAWS), score("B", 0.6, DRAWS + 0.1))]
    assert conclude(*lower).startswith("A is better than B by 0.100 (between +0.100")
    assert all(part in conclude(score("A", 0.5)) for part in ("A: Cosine Spearman 0.500", "95% interval 0.400 to 0.600"))

    def speeds(slow: MainScore, fast: MainScore) -> str:
        return str(conclusion_view([slow, fast])["more"][-1])

    best = score("B", 0.6, DRAWS + 0.1, 100)
    assert speeds(score("A", 0.5, DRAWS, 130), best) == "A encodes 1.3 times as many sentences per second."
    assert speeds(score("A", 0.5, DRAWS, 105), best) == "The speeds of A and B do not differ beyond their spread."
    assert speeds(score("A", 0.5, DRAWS, 300, noise=0.7), best) == "The speeds of A and B do not differ beyond their spread."
    assert "unknown" in speeds(replace(score("A", 0.5, DRAWS, 300), rate_spread=None), best)
    assert conclusion_view([score("A", 0.5, DRAWS, 50), best])["more"] == [], "the best model is the fastest"


def test_shares_are_counted_in_rows_and_warnings_come_first() -> None:
    draws = DRAWS + 0.3
    scores = [score("A", 0.8, draws, metric="accuracy"), score("B", 0.85, draws + 0.05, metric="accuracy")]
    view = conclusion_view(scores, "Counts.", ["But 3 rows."])
    assert view["text"].startswith("B is better than A: it gets 85 of 100 rows") and view["more"] == ["But 3 rows.", "Counts."]
    assert all(part in view["text"] for part in ("85 of 100 rows right instead of 80", "(between +5 and +5)", "beyond chance"))
    wide = draws + np.linspace(-1, 1, 500)
    near = conclude(score("A", 0.8004, draws, metric="cosine_accuracy"), score("B", 0.8021, wide, metric="cosine_accuracy"))
    assert "it gets 802 of 1,000 rows right instead of 800" in near and "no difference beyond chance" in near


@pytest.mark.parametrize(("only_a", "only_b"), [(10, 2), (12, 4), (17, 7), (18, 7), (6, 4)])
def test_interval_has_enough_digits_to_show_on_which_side_of_zero_it_ends(only_a: int, only_b: int) -> None:
    right = np.ones((2, 200), dtype=bool)
    right[0, :only_b] = False
    right[1, only_b : only_a + only_b] = False
    right[:, 170:] = False
    text = conclude(
        *(score(name, float(rows.mean()), bootstrap_mean(rows), metric="accuracy") for name, rows in zip("AB", right, strict=True))
    )
    low, high = (float(end.replace("−", "-").lstrip("±")) for end in re.findall(r"[+−±][\d.]+", text))
    assert ("no difference beyond chance" not in text) is (low > 0) and high > 0, text


def test_verdict_needs_an_interval_that_excludes_zero_and_enough_decimals() -> None:
    assert needed_digits(score("A", 0.81, DRAWS), score("B", 0.82, DRAWS + 0.01)) == 3
    assert needed_digits(score("A", 0.8101, DRAWS), score("B", 0.8104, DRAWS + 0.0003)) == 4

    def drawn(draws: Any, task: str = "sts") -> MainScore:
        return replace(score("A", 0.5, draws), task=task)

    draws = np.random.default_rng(0).normal(size=500)
    assert verdict(drawn(draws), drawn(draws + 0.1)).startswith("better, +0.100 to +0.100")
    assert verdict(drawn(draws), drawn(draws - 0.1)).startswith("worse")
    assert verdict(drawn(draws), drawn(np.random.default_rng(1).normal(size=500))).startswith("no difference beyond chance")
    assert verdict(drawn(None), drawn(draws)) == ""
    wide, narrow = (drawn(draws + mean, "geometry") for mean in (0.1, 0.3))
    assert verdict(wide, narrow).startswith("worse, +0.200"), "lower is better"


def test_the_tab_opens_with_models_compared_on_the_data_or_a_sample_without_a_place_on_the_leaderboard(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = EvaluationForm((str(page.studio.settings.default_model),), FILE)
    texts = tmp_path / "texts.txt"
    texts.write_text("cat dog mat\nmoon star sky\nred park bench\n", encoding="utf-8")
    plain = page.corpora.put(page.corpora.read(texts))
    pairs = page.corpora.put(page.corpora.read(write_pairs(tmp_path / "mine.csv", 60)))
    for corpus, name in ((plain, get_sample("scored_pairs").title), (pairs, "mine.csv")):
        view = handlers.show_first_scores(page, None, corpus, form, "en")
        assert view is not None and view.conclusion is not None and len(view.scores["rows"]) == 2
        assert name in view.conclusion["made"]["words"] and handlers.visible_entries(page, None) == []
        again = handlers.show_first_scores(page, None, corpus, form, "en")
        assert again is not None and again.scores == to_plain(view.scores), "stored in the workspace"
    assert len(list(page.studio.workspace.cache("first-scores").glob("*.json"))) == 2
    missing = handlers.follow_data(page, None, plain, form)
    assert missing.missing is not None and "scores, labels or a category" in missing.missing["text"]
    assert handlers.follow_data(page, None, pairs, form).missing is None
    assert handlers.show_first_scores(page, None, pairs, replace(form, source=request.SUITE), "en") is None
    monkeypatch.setattr("sbert_studio.ui.tabs.evaluate.first_scores.MAX_ROWS", 50)
    large = handlers.show_first_scores(page, None, pairs, form, "en")
    assert large is not None and large.conclusion is not None
    assert "a sample, since mine.csv has more than 50 rows" in large.conclusion["made"]["words"]


def test_each_of_two_pages_shows_the_evaluation_on_its_own_data(page: Page, tmp_path: Path, static: str) -> None:
    keys = []
    for number in range(2):
        path = write_pairs(tmp_path / f"data{number}.csv", rows=40 + number)
        keys.append(page.corpora.keep(None, page.corpora.read(path)))
        stored = page.corpora.get(keys[-1])
        start(page, None, [static], EvaluationData(stored.path, stored.corpus.name))
        ended(page)
    shown = [handlers.show_evaluation(page, None, key) for key in keys]
    assert [view.conclusion["made"]["words"].rpartition(" · ")[2] for view in shown if view.conclusion] == ["data0.csv", "data1.csv"]
    assert handlers.poll_evaluation(page, None, shown[0].state, keys[0]) is None
    assert handlers.follow_data(page, None, keys[0], EvaluationForm(source=FILE)).view == shown[0]


def test_data_selected_a_moment_ago_is_evaluated_before_the_form_knows_it(page: Page, tmp_path: Path) -> None:
    model = str(page.studio.settings.default_model)
    (tmp_path / "earlier.csv").write_text("text\n" + "no scores\n" * 5)
    earlier, now = (page.corpora.read(path) for path in (tmp_path / "earlier.csv", write_pairs(tmp_path / "now.csv", 60)))
    corpus, form = page.corpora.put(now), EvaluationForm((model,), FILE, str(earlier.path))
    handlers.start_form(page, None, model, model, corpus, form)
    job = ended(page)
    assert job.status == "finished" and "now.csv" in job.title
    view = handlers.follow_data(page, None, corpus, form).view
    assert isinstance(view, EvaluationView) and view.scores["rows"], "the answer to the selection, arriving late, keeps the result"


def test_data_that_left_the_memory_are_never_replaced_by_a_sample(page: Page, tmp_path: Path) -> None:
    model, path = str(page.studio.settings.default_model), write_pairs(tmp_path / "mine.csv", 60)
    handlers.start_form(page, None, model, model, "no longer there", EvaluationForm((model,), FILE, str(path)))
    assert "mine.csv" in ended(page).title
    with pytest.raises(StudioError, match=r"unloaded|no longer"):
        handlers.start_form(page, None, model, model, "no longer there", EvaluationForm((model,), FILE))


def test_an_evaluation_that_was_started_meanwhile_is_not_replaced_by_the_first_scores(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, form = str(page.studio.settings.default_model), EvaluationForm((str(page.studio.settings.default_model),), FILE)
    corpus = page.corpora.put(page.corpora.read(write_pairs(tmp_path / "mine.csv", 60)))
    compute = handlers.first_scores

    def interrupted(*arguments: Any) -> Any:
        found = compute(*arguments)
        handlers.start_form(page, None, model, model, corpus, form)
        return found

    monkeypatch.setattr(handlers, "first_scores", interrupted)
    assert handlers.show_first_scores(page, None, corpus, form, "en") is None
