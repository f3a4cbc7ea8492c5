"""A file to judge by is read as one to train on: what it leaves open is asked on the page, by the API and at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_studio import write_doubtful, write_pairs

from sbert_studio.data.schema.overrides import SchemaOverrides
from sbert_studio.errors import StudioError
from sbert_studio.services.training_questions import Unanswered
from sbert_studio.ui.api import verbs as api
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.evaluate import Judged, judge_or_ask


@pytest.fixture
def turned(tmp_path: Path) -> Path:
    """Scores of which the highest stands beside the least alike texts."""
    lines = write_pairs(tmp_path / "pairs.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.rsplit(",", 1) for line in lines[1:]]
    path = tmp_path / "turned.csv"
    path.write_text("\n".join([lines[0], *(f"{texts},{5 - float(score):g}" for texts, score in rows)]), encoding="utf-8")
    return path


def test_a_scale_that_looks_reversed_is_asked_and_answered(page: Page, turned: Path) -> None:
    studio = page.studio
    with pytest.raises(Unanswered) as caught:
        studio.judge.evaluate(None, turned)
    assert caught.value.questions[0].name == "scale" and "--as-read" in caught.value.hint
    right = studio.judge.evaluate(None, turned, asked=SchemaOverrides(scale=(5.0, 0.0))).scores["cosine"]["spearman"]
    as_read = studio.judge.evaluate(None, turned, asked=SchemaOverrides(as_read=True))
    assert right > 0.3 and as_read.scores["cosine"]["spearman"] == pytest.approx(-right)
    assert any("uncertain" in note and "least similar" in note for note in as_read.notes)
    assert studio.judge.evaluate(None, turned.parent / "pairs.csv").notes == ()


def test_the_page_asks_where_scores_would_stand_and_one_click_answers(page: Page, turned: Path) -> None:
    names = [page.studio.settings.default_model]
    file, question, tables = judge_or_ask(page.studio, names, Judged(turned, "turned.csv"), "auto")
    assert tables is None and question is not None
    asked = question["questions"][0]
    assert asked["proposed"] is None, "a score that the model contradicts: nothing is favoured"
    turn = asked["answers"].index("the other way round")
    done, question, tables = judge_or_ask(page.studio, names, file.answered([0, turn]), "auto")
    assert question is None and tables is not None and tables[0]["rows"][0][1] > 0.3
    assert done.asked.scale == (5.0, 0.0)
    for wrong in (None, [0], [3, 0], [0, 9], [0, -1], ["0", 0]):
        with pytest.raises(StudioError, match="no longer open"):
            file.answered(wrong)


def test_the_api_says_why_and_takes_the_answer(page: Page, turned: Path, tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="least similar") as caught:
        api.evaluate(page.studio, str(turned), "", "auto")
    assert 'scale="5-0"' in str(caught.value) and "as_read=true" in str(caught.value)
    assert api.evaluate(page.studio, str(turned), "", "auto", scale="5-0")["cosine"]["spearman"] > 0.3
    assert api.evaluate(page.studio, str(turned), "", "auto", as_read=True)["notes"]
    doubtful = write_doubtful(tmp_path / "doubtful.csv")
    assert api.evaluate(page.studio, str(doubtful), "", "auto", order="none")["task"] == "classes"
    with pytest.raises(StudioError, match="scored pairs"):
        api.evaluate(page.studio, str(turned.parent / "pairs.csv"), "", "triplets", kind="scored_pairs")


def test_the_command_line_ends_with_2_and_the_flags(
    page: Page, turned: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sbert_studio.cli.main import run

    model = page.studio.settings.default_model
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(page.studio.workspace.home))
    assert run(["evaluate", model, "--data", str(turned)]) == 2
    assert "--scale 5-0" in capsys.readouterr().err
    assert run(["evaluate", model, "--data", str(turned), "--scale", "5-0", "--json"]) == 0


def test_the_tab_offers_every_task() -> None:
    from sbert_studio.evaluation.tasks import all_tasks
    from sbert_studio.ui.tabs import evaluate

    assert evaluate._TASKS[1:] == [(task.title, task.name) for task in all_tasks()]
