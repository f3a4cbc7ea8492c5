"""A question to the owner of a file stands on the page until it is answered by one click; the API tells it as an error."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import quick, write_doubtful, write_pairs

from sbert_studio.data.schema.roles import SchemaOverrides, parse_scale
from sbert_studio.errors import StudioError
from sbert_studio.i18n import to_sentence
from sbert_studio.services import TrainRequest
from sbert_studio.ui import verbs as api
from sbert_studio.ui.handlers import handle_errors
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.run_view import FollowedRun
from sbert_studio.ui.tabs.fine_tune import draft as drafts
from sbert_studio.ui.tabs.fine_tune import handlers, run_panel, view_model

from .forms import form_of, open_path, start


@pytest.fixture
def doubtful(tmp_path: Path) -> Path:
    return write_doubtful(tmp_path / "doubtful.csv")


def test_one_click_answers_and_start_submits_the_very_plan_that_is_shown(
    page: Page, doubtful: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = open_path(page, doubtful)
    shown = view_model.open_questions(draft)
    assert shown is not None and len(shown["questions"]) == 1
    assert view_model.roles_section(draft) == {"__type__": "update", "visible": True, "open": True}, "uncertain columns are shown"
    (question,) = shown["questions"]
    assert {"glorp", "blarg"} <= set(question["question"].replace("'", " ").split()) and len(question["answers"]) == 3
    assert question["rows"][0]["texts"] and question["rows"][0]["read_as"]
    assert {"glorp", "blarg"} <= {*question["theirs"][0]}, "what the file says, no language translates"
    key = page.drafts.put(draft)
    with pytest.raises(StudioError, match="a question is unanswered"):
        start(page, key, form_of(draft))
    answered = drafts.answer_question(page.studio, draft, [0, 1], None)
    assert view_model.open_questions(answered) is None and answered.plan is not None and draft.plan is not None
    assert "open" not in view_model.roles_section(answered)
    assert answered.plan.roles.labels == draft.plan.roles.labels[::-1]
    assert answered.table is draft.table
    assert "--order" in drafts.command_line(answered, "m", "m")
    planned = drafts.with_settings(page.studio, answered, None, {"epochs": 0.3, "batch_size": 8, "evaluation": "split"})
    begun: list[Any] = []
    submit = page.studio.runner.submit
    monkeypatch.setattr(type(page.studio.planner), "plan", lambda *_, **__: pytest.fail("what is shown was planned again"))
    monkeypatch.setattr(page.studio.runner, "submit", lambda run_id: (begun.append(run_id), submit(run_id))[1])
    run_id = start(page, page.drafts.put(planned), form_of(planned), name="Mine")
    page.studio.runner.wait(run_id, 300)
    run = page.studio.fine_tune.get_run(run_id).run
    assert begun == [run_id] and (run.status, run.name) == ("finished", "Mine")
    assert planned.plan is not None and run.spec == planned.plan.spec.to_json()
    kept = page.studio.workspace.run(run_id) / "plan.json"
    assert question["question"] in kept.read_text(encoding="utf-8")


@pytest.mark.parametrize("which", [None, 0, [0], [0, 9], [3, 0], [-1, 0], [0, -1], ["0", "0"], [[0], 0], {"a": 1}, [0.5, 0]])
def test_an_answer_that_is_none_is_refused(page: Page, doubtful: Path, which: Any) -> None:
    draft = open_path(page, doubtful)
    with pytest.raises(StudioError, match="already answered"):
        drafts.answer_question(page.studio, draft, which, None)


def test_columns_chosen_by_hand_keep_how_the_file_is_read(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "alt.csv"
    path.write_bytes(write_pairs(tmp_path / "pairs.csv").read_text().replace("cat", "кот").encode("cp1251"))
    draft = drafts.plan_again(page.studio, open_path(page, path).with_request(choices=SchemaOverrides(encoding="cp1251")), None)
    draft = drafts.with_columns(page.studio, draft, SchemaOverrides("positive_pairs"), None)
    assert (draft.choices.kind, draft.choices.encoding) == ("positive_pairs", "cp1251")
    assert "--encoding cp1251" in drafts.command_line(draft, "m", "m")


def test_the_api_refuses_what_is_uncertain_with_the_question_and_its_answers(page: Page, doubtful: Path) -> None:
    settings = '{"epochs": 0.3, "batch_size": 8, "evaluation": "split"}'
    checked = api.check(page.studio, str(doubtful))
    assert not checked.certain and checked.questions[0].options[0].choice["order"]
    with pytest.raises(StudioError, match="as_read=true") as caught:
        api.train(page, str(doubtful), "auto", "auto", settings, "", "")
    assert 'order="blarg,glorp"' in str(caught.value) and "more similar" in str(caught.value)
    assert page.studio.fine_tune.list_runs() == []
    told = api.train(page, str(doubtful), "auto", "auto", settings, "", "", order="blarg,glorp")
    read = api.train(page, str(doubtful), "auto", "auto", settings, "", "", as_read=True)
    assert told.accounts["data"].read == read.accounts["data"].read == 80
    for run in (told, read):
        page.studio.runner.wait(run.id, 300)
        assert page.studio.fine_tune.get_run(run.id).run.status == "finished"


def test_a_run_that_asks_shows_its_question_and_goes_on_or_is_left(page: Page, tmp_path: Path) -> None:
    from sbert_studio.data.findings import Option, Question

    steps = iter([False, False, True])
    run = page.studio.fine_tune.train(
        TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick(evaluation="folds")), should_stop=lambda: next(steps, True)
    )
    options = (Option("turn it round", "--scale 5-0", {"scale": [5.0, 0.0]}), Option("do not continue", "", {}))
    question = Question("alarm", "Are the targets in the right direction?", options)
    body = {"type": "asks", "question": question.to_json()}
    page.studio.store.record(run.id, body, status="asks")
    assert page.studio.fine_tune.get_question(run.id) == question
    shown = run_panel.show_run(page, FollowedRun(run.id)).alarm
    assert shown is not None and shown["questions"][0]["answers"] == ["turn it round", "do not continue"]
    for wrong in ([0, 2], [1, 0], None, [0, "0"]):
        with pytest.raises(StudioError, match="already answered"):
            run_panel.answer_run_question(page.studio, run.id, wrong)
    again = run_panel.answer_run_question(page.studio, run.id, [0, 0])
    assert again.id != run.id and page.studio.fine_tune.get_run(run.id).run.status == "stopped"
    page.studio.runner.wait(again.id, 300)
    done = page.studio.fine_tune.get_run(again.id).run
    # Turned round, these rows say the opposite of what the model finds, which is asked about in its turn.
    assert (done.status, done.name, done.model) == ("asks", run.name, run.model), done.message
    asked = page.studio.fine_tune.get_question(again.id)
    assert asked is not None and asked.rows
    place = next(place for place, option in enumerate(asked.options) if "accept_alarm" in option.choice)
    assert run_panel.answer_run_question(page.studio, again.id, [0, place]).id == again.id
    page.studio.runner.wait(again.id, 300)
    assert page.studio.fine_tune.get_run(again.id).run.status == "finished"
    assert page.studio.fine_tune.get_run(run.id).run.message.endswith(again.id)
    page.studio.store.record(run.id, body, status="asks")
    assert run_panel.answer_run_question(page.studio, run.id, [0, 1]).status == "stopped"


def test_only_an_answer_with_evidence_is_proposed_and_the_command_takes_it(page: Page, doubtful: Path, tmp_path: Path) -> None:
    shown = view_model.open_questions(open_path(page, doubtful))
    assert shown is not None and shown["questions"][0]["proposed"] is None
    path, (header, *lines) = tmp_path / "reversed.csv", write_pairs(tmp_path / "pairs.csv").read_text(encoding="utf-8").splitlines()
    scored = [line.rsplit(",", 1) for line in lines]
    rows = [f"{texts},{5 - float(score) if at % 3 else float(score):g}" for at, (texts, score) in enumerate(scored)]
    path.write_text("\n".join([header.replace("score", "value"), *rows]), encoding="utf-8")
    draft = open_path(page, path)
    shown, command = view_model.open_questions(draft), view_model.command_view(draft, "m", "m")
    assert shown is not None and command is not None
    asked = next(one for one in shown["questions"] if "most similar" in one["question"])
    assert asked["answers"][asked["proposed"]] == "the other way round"
    assert "proposed" in command["title"] and "--as-read" not in command["command"]
    words = shlex.split(command["command"])
    scale = parse_scale(words[words.index("--scale") + 1])
    assert page.studio.planner.plan(TrainRequest(path, choices=SchemaOverrides(scale=scale))).certain


def test_an_answer_keeps_the_settings_and_the_command_takes_it(page: Page, doubtful: Path) -> None:
    draft = open_path(page, doubtful)
    form = form_of(draft, epochs="0.5", batch_size="8")
    view = handlers.answer_question(page, page.drafts.put(draft), None, form, Selection("answer", [0, 1]))
    answered = page.drafts.get(view.draft)
    assert view_model.open_questions(answered) is None and answered.plan is not None
    assert (answered.plan.spec.epochs, answered.plan.spec.batch_size) == (0.5, 8)
    draft = open_path(page, doubtful)
    shown = view_model.command_view(draft, "m", "m")
    assert (shown is not None and shown["command"].endswith("--as-read")) or "--as-read " in shown["command"]
    assert "answer" in shown["title"]
    answered = drafts.answer_question(page.studio, draft, [0, 0], None)
    shown = view_model.command_view(answered, "m", "m")
    assert shown is not None and "--order" in shown["command"] and "--as-read" not in shown["command"]


def test_the_page_says_why_it_is_certain_and_what_is_left_aside(page: Page, tmp_path: Path) -> None:
    lines = write_pairs(tmp_path / "pairs.csv").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "more.csv"
    path.write_text("\n".join([lines[0] + ",annotator", *(f"{line},ann" for line in lines[1:])]), encoding="utf-8")
    why = view_model.findings_view(open_path(page, path))["why"]
    assert why.startswith("Evidence: the name 'score'") and "rank correlation" in why
    assert why.endswith("Not used for training: annotator.")


def test_a_question_in_a_sentence_ends_in_its_own_mark(page: Page, doubtful: Path, toasts: list[str]) -> None:
    key = page.drafts.put(draft := open_path(page, doubtful))
    handle_errors(lambda: start(page, key, form_of(draft)))()
    with pytest.raises(StudioError) as caught:
        page.studio.fine_tune.submit(draft.request)
    assert toasts and "more similar" in toasts[0]
    for words in (toasts[0], str(caught.value), to_sentence("is it right?"), to_sentence("done"), to_sentence("done.")):
        assert "?." not in words and ".." not in words
    assert to_sentence("is it right?") == "Is it right?" and to_sentence("done.") == "Done."


def test_rows_of_no_part_are_asked_about_on_the_page_and_in_the_api(page: Page, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    header, *rows = path.read_text().splitlines()
    parts = ["tset", *(("train", "train", "dev", "test")[number % 4] for number in range(1, len(rows)))]
    path.write_text("\n".join([f"{header},split", *(f"{row},{part}" for row, part in zip(rows, parts, strict=True))]))
    draft = open_path(page, path)
    assert draft.plan is not None and [question.name for question in draft.plan.questions] == ["split"]
    used, ignored = (drafts.answer_question(page.studio, draft, [0, place], None) for place in (0, 1))
    assert used.plan is not None and used.plan.dev_examples is not None and "--split split" in drafts.command_line(used, "m", "m")
    assert ignored.plan is not None and len(ignored.plan.examples) == 60 and "--split ''" in drafts.command_line(ignored, "m", "m")
    by_hand = drafts.with_columns(page.studio, ignored, SchemaOverrides("positive_pairs"), None)
    assert by_hand.choices.split == "" and by_hand.plan is not None and len(by_hand.plan.examples) == 60
    checked = api.check(page.studio, str(path), split="split").to_json()
    assert checked["certain"] and checked["split"] == {"column": "split", "train": 29, "dev": 15, "test": 15, "other": 1}
    assert api.check(page.studio, str(path), split="none").split is None
    with pytest.raises(StudioError, match='split="none"'):
        api.train(page, str(path), "auto", "auto", '{"epochs": 0.3}', "", "")
