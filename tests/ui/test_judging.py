"""Evaluations on the page, without a browser: begun, looked at, stopped, asked about, and kept on the leaderboard."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from tiny_studio import sentences, studio_at, write_pairs
from waiting import wait_until

from sbert_studio.data.samples import list_samples
from sbert_studio.errors import StudioError
from sbert_studio.progress import checkpoint
from sbert_studio.services.jobs import JobView
from sbert_studio.services.training_questions import Unanswered
from sbert_studio.settings import Limits
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.judging import board
from sbert_studio.ui.panels.judging.conclusion import conclusion
from sbert_studio.ui.panels.judging.form import Form
from sbert_studio.ui.panels.judging.known import known_rows, reference_help
from sbert_studio.ui.panels.judging.lines import Line
from sbert_studio.ui.panels.judging.panel import JudgingPanel, form_value, with_questions
from sbert_studio.ui.panels.judging.shown import job_value, mark, results_of
from sbert_studio.ui.panels.judging.work import AGAIN, Asked, Done, Judged, public_set, start
from sbert_studio.ui.state import new_visitor_id

from . import waiting


@pytest.fixture
def shared(tmp_path: Path, model_folder: Path) -> Iterator[Page]:
    with studio_at(tmp_path / "shared", model_folder, limits=Limits(runs=1, queue=3)) as studio:
        yield Page(studio, shared=True)


def ended(page: Page, owner: Any = None) -> JobView:
    return waiting.ended(lambda: page.studio.evaluations.latest(page.visitor(owner)))


def test_two_models_on_a_file_come_to_a_sentence_two_tables_a_chart_and_two_entries(page: Page, tmp_path: Path, static: str) -> None:
    tiny = page.studio.settings.default_model
    pairs = write_pairs(tmp_path / "pairs.csv", 200)
    begun = start(page, None, [tiny, static, static], Judged(pairs, "pairs.csv"), "auto")
    assert begun.active and begun.title == "2 models on pairs.csv"
    job = ended(page)
    assert (job.status, job_value(job)) == ("finished", None), job
    question, said, scores, chart, differences, details = results_of(job)
    assert question is None and job.message == said["text"]
    assert [one["name"] for one in scores["columns"]] == [
        "Model", "Cosine Spearman", "95% interval", "Sentences/s", "Difference", "Beyond chance?",
    ]  # fmt: skip
    assert [row[0] for row in scores["rows"]] == [tiny, static] and all(row[3] > 0 for row in scores["rows"])
    assert [point["name"] for point in chart["points"]] == [tiny, static] and chart["metric"] == "Cosine Spearman"
    assert len(details["rows"]) == 8
    assert said["made"]["words"] == f"{tiny}, {static} · pairs.csv" and said["made"]["again"] == AGAIN
    names = [one["name"] for one in differences["columns"]]
    best, next_ = sorted((tiny, static), key=lambda name: -next(row[1] for row in scores["rows"] if row[0] == name))
    assert names == ["Texts", "People say", f"{best} says", f"{next_} says", "Nearer", "Row"] and len(differences["rows"]) == 20
    assert {row[4] for row in differences["rows"]} == {tiny, static} and all(len(row[0]) == 2 for row in differences["rows"])
    lines = pairs.read_text(encoding="utf-8").splitlines()
    for row in differences["rows"]:  # rows as a spreadsheet numbers them, and people's own scale
        left, right, score = lines[row[5] - 1].split(",")
        assert row[0] == [left, right] and row[1].startswith(f"{float(score):.4g} of 5, above ")
        people, *models = (float(re.search(r"above (\d+)% of pairs", one)[1]) for one in row[1:4])  # type: ignore[index]
        gaps = [abs(one - people) for one in models]
        assert row[4] == (best, next_)[gaps.index(min(gaps))], "who is nearer is seen in the row itself"
    assert "among all pairs" in differences["note"]
    entries = board.entries_of(page, None)
    assert {one.model for one in entries} == {tiny, static} and all(one.data == "pairs.csv" for one in entries)
    value = board.board_table(page, None, entries)
    assert [row[1] for row in value["rows"]] == sorted((row[1] for row in value["rows"]), reverse=True) and value["ids"] == [
        one.id for one in entries
    ]
    assert [words for words, _ in board.choices_of(entries)] == ["All sets", "pairs.csv"]
    for suffix in (".csv", ".md"):
        assert "static" in board.file_of(page, suffix, None, board.choices_of(entries)[1][1]).read_text(encoding="utf-8")


def line(title: str, score: float, draws: Any = None, rate: float = 0.0, metric: str = "cosine_spearman") -> Line:
    return Line(title, "x", "sts", metric, score, (score - 0.1, score + 0.1), draws, rate)


def test_a_sentence_says_which_is_better_by_how_much_and_whether_it_could_be_chance() -> None:
    import numpy as np

    draws = np.random.default_rng(0).normal(0.5, 0.01, 500)
    apart = conclusion([line("A", 0.5, draws, 10), line("B", 0.6, draws + 0.1, 1), line("C", 0.59, draws + 0.09 + 0 * draws, 100)])
    assert apart["text"].startswith("B is better than C by 0.0100") and "more than chance" in apart["text"]
    assert apart["more"][0].startswith("B is better than A by 0.1000 (between +0.1000")
    assert set(apart["theirs"]) == {"A", "B", "C"}, "names that no language translates"
    assert apart["more"][1] == "C reads 100 times as many sentences a second."
    once = conclusion([line("A", 0.5, draws, 130), line("B", 0.6, draws + 0.1, 100)])
    assert not any("sentences a second" in words for words in once["more"]), "each is timed once: by so much one model differs from itself"
    near = conclusion([line("A", 0.50, draws), line("B", 0.505, np.random.default_rng(1).normal(0.505, 0.01, 500))])
    assert near["text"].startswith("B is ahead of A by 0.0050") and "could be chance" in near["text"] and near["more"] == []
    assert conclusion([line("A", 0.5), line("B", 0.5)])["text"] == "A and B get the same score."
    assert "too few" in conclusion([line("A", 0.5), line("B", 0.6)])["text"]
    assert "another number" in conclusion([line("A", 0.5), line("B", 0.6, metric="accuracy")])["text"]
    less = [replace(one, task="geometry") for one in (line("A", 0.5, draws), line("B", 0.6, draws + 0.1))]
    assert conclusion(less)["text"].startswith("A is better than B by 0.1000 (between +0.1000")
    assert all(part in conclusion([line("A", 0.5)])["text"] for part in ("A: Cosine Spearman 0.5000", "0.4000 and 0.6000"))


def test_a_suite_on_this_machine_is_judged_by_its_rows_as_one_set(page: Page, static: str) -> None:
    from sbert_studio.ui.panels.judging.work import done

    for seed, name in enumerate(("MSRpar", "OnWN")):
        (path := page.studio.workspace.home / "suites" / "sts12" / f"{name}.csv").parent.mkdir(parents=True, exist_ok=True)
        write_pairs(path, seed=10 * seed)
    start(page, None, [page.studio.settings.default_model, static], Judged("", "STS12", suite="STS12"), "auto")
    _, said, scores, _, _, details = results_of(ended(page))
    found = page.studio.judge.evaluate_all([static], suite="STS12")
    pooled = found.models[0].groups[0].pooled.scores["cosine"]["spearman"]  # type: ignore[union-attr]
    assert scores["rows"][1][1] == pytest.approx(pooled, abs=1e-6)
    assert scores["caption"].startswith("STS12, all rows as one set") and "2 files" in scores["caption"]
    assert ("MSRvid is missing" in scores["note"] and "than" in said["text"]) or "ahead" in said["text"]
    assert {row[2] for row in details["rows"]} == {"STS12 MSRpar", "STS12 OnWN", "STS12, all"}
    assert done(found, {}, "STS12").chart is None, "one model has nothing to be laid beside"


def test_progress_tells_which_model_and_how_many_texts(page: Page, tmp_path: Path, static: str) -> None:
    told: list[tuple[str, str]] = []
    counts: list[tuple[int, int]] = []

    def begin(phase: str, unit: str) -> Any:
        told.append((phase, unit))
        return lambda done, total: counts.append((done, total))

    pairs = write_pairs(tmp_path / "pairs.csv")
    page.studio.judge.evaluate_all([page.studio.settings.default_model, static], [pairs], begin=begin)
    assert ("judging model 1 of 2", "texts") in told and ("judging model 2 of 2", "texts") in told
    texts = {text for row in page.studio.read.table(pairs).head(60) for text in row[:2]}
    assert counts[-1] == (len(texts), len(texts))


def test_it_stops_at_once_and_nothing_is_kept(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    encoder = page.studio.catalog.load(page.studio.settings.default_model)

    def slow(texts: Any, *, progress: Any = None, should_stop: Any = None) -> Any:
        for step in range(100_000):
            checkpoint()
            progress(step, 100_000)
            begun.set()
            time.sleep(0.001)

    monkeypatch.setattr(type(encoder), "encode", lambda self, texts, **more: slow(texts, **more))
    path = tmp_path / "labelled.csv"
    path.write_text("text,topic\n" + "".join(f"{text},{'ab'[place % 2]}\n" for place, text in enumerate(sentences(40))), encoding="utf-8")
    job = start(page, None, [page.studio.settings.default_model], Judged(path, "labelled.csv"), "clustering")
    assert begun.wait(20)
    wait_until(lambda: (job_value(page.studio.evaluations.latest("local")) or {}).get("rate"))
    seen = page.studio.evaluations.latest("local")
    value = job_value(seen)
    assert (
        value is not None
        and (value["phase"], value["unit"], value["total"]) == ("Judging the model", "texts", 100_000)
        and value["rate"] > 0
    )
    assert results_of(seen)[2]["rows"] == [] and mark(seen) != mark(job)
    page.studio.evaluations.stop("local", job.id)
    assert ended(page).status == "stopped"
    assert page.studio.judge.board.entries() == []


def test_a_question_comes_back_with_the_job_and_its_answer_begins_another(page: Page, tmp_path: Path) -> None:
    lines = write_pairs(tmp_path / "pairs.csv").read_text(encoding="utf-8").splitlines()
    rows = [one.rsplit(",", 1) for one in lines[1:]]
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join([lines[0], *(f"{texts},{5 - float(score):g}" for texts, score in rows)]), encoding="utf-8")
    start(page, None, [page.studio.settings.default_model], Judged(turned, "turned.csv"), "auto")
    job = ended(page)
    assert isinstance(job.error, Unanswered) and job_value(job) is None and isinstance(job.about, Asked)
    question, said, scores, *_ = results_of(job)
    assert question is not None and said is None and "once the question is answered" in scores["empty"]
    turn = question["questions"][0]["answers"].index("the other way round")
    start(page, None, job.about.models, with_questions(job.about, job.error).answered([0, turn]), job.about.task)
    done = ended(page)
    assert isinstance(done.made, Done) and done.made.scores["rows"][0][1] > 0.3


@pytest.mark.parametrize(("task", "said"), [("senteval", "learned from"), ("categories", "laid beside")])
def test_rows_whose_answers_are_known_are_a_second_file(page: Page, tmp_path: Path, task: str, said: str, static: str) -> None:
    texts = sentences(120)
    files = {"known.csv": texts[:90], "judged.csv": texts[90:]}
    for name, part in files.items():
        rows = "".join(f"{text},{'ab'[len(text) % 2]}\n" for text in part)
        (tmp_path / name).write_text("text,topic\n" + rows, encoding="utf-8")
    known = known_rows(task, str(tmp_path / "known.csv"))
    start(page, None, [static], Judged(tmp_path / "judged.csv", "judged.csv", known=known), task)
    job = ended(page)
    assert job.status == "finished", job
    assert f"{said} the 90 rows of known.csv." in results_of(job)[2]["note"]
    assert "Similarity" not in [one["name"] for one in results_of(job)[5]["columns"]], "no such task has several similarities"
    assert page.studio.judge.evaluate(static, tmp_path / "judged.csv", task, known=known).rows == 30


def test_known_rows_are_asked_for_only_where_the_task_has_a_use_for_them() -> None:
    from sbert_studio.evaluation.tasks import all_tasks

    for task in all_tasks():
        assert bool(reference_help(task.name)) == task.uses_known_rows, (
            f"{task.name} says what known rows are for if, and only if, it uses them"
        )
        assert bool(known_rows(task.name, "known.csv")) == task.uses_known_rows
    assert reference_help("auto") == "" and known_rows("auto", "known.csv") is None and known_rows("senteval", None) is None


def test_strangers_have_one_at_a_time_and_see_their_own_and_what_is_everybodys(shared: Page, tmp_path: Path) -> None:
    mine, theirs = ({"owner": new_visitor_id(), "job": ""} for _ in range(2))
    sample = next(one for one in list_samples() if one.kind == "scored_pairs")
    pairs = write_pairs(tmp_path / "private.csv")
    start(shared, mine, ["all-MiniLM-L6-v2"], Judged(pairs, "private.csv"), "auto")
    with pytest.raises(StudioError, match="one at a time"):
        start(shared, mine, ["all-MiniLM-L6-v2"], Judged(sample.path, sample.title), "auto")
    assert shared.studio.evaluations.latest(shared.visitor(theirs)) is None
    assert ended(shared, mine).status == "finished"
    start(shared, mine, ["all-MiniLM-L6-v2"], Judged(sample.path, sample.title), "auto")
    assert ended(shared, mine).status == "finished"
    assert {one.data for one in board.entries_of(shared, mine)} == {"private.csv", sample.title}
    (public,) = board.entries_of(shared, theirs)
    assert public.data == sample.title and board.own(shared, theirs, public.id) is None
    assert board.own(shared, mine, public.id) == public and board.own(shared, mine, "1; DROP TABLE scores") is None


def test_what_cannot_be_judged_is_said_in_words(page: Page, tmp_path: Path, static: str) -> None:
    for models in ([], [str(number) for number in range(7)]):
        with pytest.raises(StudioError, match="choose"):
            start(page, None, models, Judged(tmp_path / "x.csv", "x"), "auto")
    for address in ("", "../../etc/passwd", "/etc/passwd", "one", "https://example.org/a/b"):
        with pytest.raises(StudioError, match="no address"):
            public_set(address)
    assert public_set(" a/b ").path == "hf://datasets/a/b"
    assert public_set("https://huggingface.co/datasets/a/b").name == "a/b"
    start(page, None, [static], public_set("a/b"), "auto")
    job = ended(page)
    value = job_value(job)
    assert job.status == "failed" and value is not None and "offline" in value["message"] and "Unset HF_HUB_OFFLINE" in value["message"]
    with pytest.raises(StudioError, match="empty"):
        board.file_of(page, ".csv", None, "")


@pytest.mark.parametrize(("entry", "said"), [(0, "no entry is chosen"), (99, "is not there, or is not yours")])
def test_what_cannot_be_removed_from_the_leaderboard_is_told_by_its_reason(page: Page, entry: int, said: str) -> None:
    with gr.Blocks() as blocks:
        page.owner = gr.State(None)
        board.BoardPanel(page).listen(blocks.load(lambda: None), gr.Textbox())
    (remove,) = (event.fn for event in blocks.fns.values() if getattr(event.fn, "__name__", "") == "on_remove")
    with pytest.raises(StudioError, match=said):
        remove.__wrapped__(None, entry, "")


def test_shares_of_rows_are_told_as_rows_and_a_caution_stands_before_all_else() -> None:
    import numpy as np

    draws = np.random.default_rng(0).normal(0.8, 0.01, 500)
    lines = [line("A", 0.8, draws, metric="accuracy"), line("B", 0.85, draws + 0.05, metric="accuracy")]
    said = conclusion(lines, "Counts.", ["But 3 rows."])
    assert said["text"].startswith("B is better than A: of 100 rows")
    assert all(part in said["text"] for part in ("85 right instead of 80", "(between +5 and +5)", "more than chance"))
    assert said["more"] == ["But 3 rows.", "Counts."]
    wide = draws + np.linspace(-1, 1, 500)
    near = [line("A", 0.8004, draws, metric="cosine_accuracy"), line("B", 0.8021, wide, metric="cosine_accuracy")]
    assert "of 1,000 rows it gets 802 right instead of 800" in conclusion(near)["text"] and "could be chance" in conclusion(near)["text"]


@pytest.mark.parametrize(("only_a", "only_b"), [(10, 2), (12, 4), (17, 7), (18, 7), (6, 4)])
def test_an_interval_has_the_digits_that_show_on_which_side_of_zero_it_ends(only_a: int, only_b: int) -> None:
    import numpy as np

    from sbert_studio.evaluation.bootstrap import bootstrap_mean

    right = np.ones((2, 200), dtype=bool)
    right[0, :only_b] = False
    right[1, only_b : only_a + only_b] = False
    right[:, 170:] = False
    a, b = (line(name, float(of.mean()), bootstrap_mean(of), metric="accuracy") for name, of in zip("AB", right, strict=True))
    said = conclusion([a, b])["text"]
    low, high = (float(end.replace("−", "-")) for end in re.findall(r"[+−][\d.]+", said))
    assert ("more than chance" in said) is (low > 0) and high > 0, said


def test_the_leaderboard_of_one_set_is_drawn_by_its_newest_entries(page: Page, tmp_path: Path, static: str) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv", 60)
    tiny = page.studio.settings.default_model
    for models in ([tiny, static], [tiny]):
        start(page, None, models, Judged(pairs, "pairs.csv"), "auto")
        ended(page)
    entries = board.entries_of(page, None)
    chart = board.speeds_of(entries)
    assert len(entries) >= 2 and chart is not None
    assert sorted(point["name"] for point in chart["points"]) == sorted({one.title for one in entries})
    assert board.speeds_of([one for one in entries if one.model == tiny]) is None


def test_texts_with_a_category_are_told_in_counts_and_what_is_no_score_in_words(page: Page, tmp_path: Path, static: str) -> None:
    path = tmp_path / "topics.csv"
    path.write_text("text,topic\n" + "".join(f"{text},{text.split()[0]}\n" for text in dict.fromkeys(sentences(150))), encoding="utf-8")
    tiny = page.studio.settings.default_model
    form = Form([tiny, static], "file", str(path))
    start(page, None, [tiny, static], Judged(path, "topics.csv"), "categories", form=form, again="evaluate-labelled_texts")
    job = ended(page)
    assert job.status == "finished", job
    _, said, scores, _, differences, details = results_of(job)
    counts = next(words for words in said["more"] if words.startswith("Of "))
    rows = len(dict.fromkeys(sentences(150)))
    for title, score, *_ in scores["rows"]:
        assert str(round(score * rows)) in counts and title in counts
    assert (said["made"]["key"], said["made"]["again"]) == (form.key, "evaluate-labelled_texts")
    names = {one["name"] for one in details["columns"]}
    assert not names & {"Classes", "Majority", "Known rows"} and "Centroid accuracy" in names
    assert "always naming the largest" in details["note"]
    assert all((row[2] == row[1]) != (row[3] == row[1]) for row in differences["rows"]), "of the two one is right"


def test_what_the_form_says_is_known_by_a_key(page: Page) -> None:
    def key(*said: Any) -> str:
        return str(form_value(*said)["key"])

    usual = (["a", "b"], "file", "/x.csv", "STS", "", "auto", None)
    assert key(*usual) == key(["b", "a"], "file", "/x.csv", "SentEval", "o/n", "auto", None), "what is not shown does not count"
    others = [(["a"], *usual[1:]), (*usual[:5], "sts", None), (*usual[:2], None, *usual[3:]), (["a", "b"], "suite", *usual[2:])]
    assert len({key(*usual), *(key(*one) for one in others)}) == 5


def test_the_form_comes_back_with_the_result_and_doing_it_again_never_takes_a_sample_instead(
    shared: Page, tmp_path: Path, static: str
) -> None:
    owner, tiny = {"owner": new_visitor_id()}, shared.studio.settings.default_model
    with gr.Blocks():
        panel = JudgingPanel(shared)
    mine = write_pairs(tmp_path / "dev300.csv", 60)
    form = Form([tiny, static], "file", str(mine), None, "", "sts", None)
    assert panel.filled(owner) == [gr.skip()] * 13, "nothing was judged yet"
    panel.begin(owner, static, form)
    job = ended(shared, owner)
    assert job.status == "finished" and job.title == "2 models on dev300.csv"

    mine.unlink()  # an upload is gone once its page was left
    models, *said = panel.filled(owner)[:7]
    assert models["value"] == [tiny, static] and panel.filled(owner)[-1] == static
    again = Form(models["value"], *said)
    assert Path(str(again.path)).name == "dev300.csv" and again.task == "sts"
    assert again.key == results_of(job)[1]["made"]["key"], "the result is not told as one of something else"

    # Without its file the form says less than the result was made of.
    emptied = replace(again, path=None)
    panel.again(owner, static, emptied)
    assert ended(shared, owner).title == "2 models on dev300.csv"
    for kept in shared.files.list_files(shared.visitor(owner)):
        shared.files.remove(shared.visitor(owner), kept.id)
    Path(shared.studio.evaluations.latest(shared.visitor(owner)).about.form.path).unlink()
    before = results_of(ended(shared, owner))
    with pytest.raises(StudioError, match=r"dev300.csv is no longer here"):
        panel.again(owner, static, emptied)
    assert results_of(ended(shared, owner)) == before
