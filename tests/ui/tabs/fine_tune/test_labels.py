"""Suspicious labels of files and runs: they are listed, corrected and trained on again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_studio import quick, sentences, studio_at, write_pairs

from sbert_studio.data.findings import Fix
from sbert_studio.data.schema.roles import Roles
from sbert_studio.errors import StudioError
from sbert_studio.services.labels import format_label
from sbert_studio.services.training_plan import TrainRequest
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.run_view import FollowedRun
from sbert_studio.ui.tabs.fine_tune.label_panel import labels_view, use_labels


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[Page]:
    with studio_at(tmp_path_factory.mktemp("labels"), model_folder) as studio:
        yield Page(studio)


def train(page: Page, folder: Path, **settings: Any) -> str:
    run = page.studio.fine_tune.train(TrainRequest(write_pairs(folder / "pairs.csv"), overrides=quick(**settings)))
    assert run.status == "finished"
    return run.id


@pytest.fixture(scope="module")
def split(page: Page, tmp_path_factory: pytest.TempPathFactory) -> str:
    return train(page, tmp_path_factory.mktemp("split"))


def use(page: Page, run_id: str, action: str, item: Any = None) -> Any:
    return use_labels(page, FollowedRun(run_id), None, Selection(action, item))


def test_labels_of_a_split_run_are_checked_when_asked_and_stay(page: Page, split: str) -> None:
    run = page.studio.store.get(split)
    assert labels_view(page.studio, run) == {"run": split, "rows": None}
    shown = use(page, split, "check").labels
    found = page.studio.labels.of_run(split)
    assert found is not None and (found.by, found.rows, found.kind) == ("frozen", 60, "scored_pairs")
    assert shown == labels_view(page.studio, run) and shown["rows"] and shown["title"] == found.describe()
    assert [one.doubt for one in found.listed] == sorted((one.doubt for one in found.listed), reverse=True)
    assert all(0 <= float(one.label) <= 5 for one in found.listed)
    again = page.studio.labels.check_file(page.studio.workspace.run(split) / "data.csv", run.model)
    assert again == found, "a file is checked as a run's rows are"


def test_rows_keep_the_numbers_of_the_file_after_others_were_dropped(page: Page, tmp_path: Path) -> None:
    table = page.studio.data.read_table(write_pairs(tmp_path / "pairs.csv"))
    fixed = page.studio.data.fix(table, [Fix("drop_rows", "3 rows dropped", {"rows": [2, 3, 9]})])
    run_id = page.studio.fine_tune.train(TrainRequest(fixed, overrides=quick(evaluation="split"))).id
    one = page.studio.labels.check_run(run_id).listed[0]
    assert one.row > 9
    draft = page.drafts.get(use(page, run_id, "fix", {"run": run_id, "edits": {str(one.row): None}}).view.draft)
    assert one.row not in draft.table.lines
    left = list(zip(*(draft.table.column(name) for name in table.columns[:2]), strict=True))
    assert len(left) == 56 and tuple(one.texts) not in left


def test_scores_are_shown_as_in_the_file_and_all_suspicious_rows_are_counted(
    page: Page, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {(0, 100): (1.0, "100"), (0, 5): (0.75, "3.75"), (0, 1000): (0.9, "900"), (-1, 1): (0.5, "0")}
    for (low, high), (value, shown) in known.items():
        assert format_label(value, Roles("scored_pairs", ("a", "b"), "score", low=low, high=high)) == shown
    found = page.studio.labels.check_run(split)
    monkeypatch.setattr(page.studio.labels, "of_run", lambda run_id: replace(found, suspicious=400))
    view = labels_view(page.studio, page.studio.store.get(split))
    assert view is not None and "400 labels" in str(view["title"]) and "The 50 most suspicious ones" in str(view["note"])


def test_corrected_and_dropped_rows_become_new_data(page: Page, split: str) -> None:
    edits = {"3": "1.5", "5": None, "7": "0.25"}
    view = use(page, split, "fix", {"run": split, "edits": edits}).view
    draft = page.drafts.get(view.draft)
    assert draft.changes == ("2 labels corrected", "1 row dropped") and draft.plan is not None
    cells = dict(zip(draft.table.lines.tolist(), draft.table.column("score"), strict=True))
    assert (cells[3], cells[7]) == ("1.5", "0.25") and 5 not in cells and len(cells) == 59
    assert draft.original.column("score") != draft.table.column("score"), "it can be undone"
    assert draft.overrides["loss"] == "cosine", "with the settings of the run"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"run": "run-0000000000", "edits": {"3": "1"}}, "another run"),
        ({"run": "", "edits": 5}, "another run"),
        ({"run": "", "edits": {}}, "no label was changed"),
        ({"run": "", "edits": {"3": "seven"}}, "not a number"),
        ({"run": "", "edits": {"3": "7"}}, "outside 0 to 5"),
        ({"run": "", "edits": {"900": "1"}}, "no row 900"),
    ],
)
def test_corrections_that_a_browser_makes_up_are_refused(page: Page, split: str, item: dict[str, Any], message: str) -> None:
    with pytest.raises(StudioError, match=message):
        use(page, split, "fix", {**item, "run": item["run"] or split})


def test_a_cross_validated_run_has_its_list_and_its_curve(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sbert_studio.training.members.MIN_CURVE_ROWS", 30)
    run_id = train(page, tmp_path, evaluation="folds")
    found, run = page.studio.labels.of_run(run_id), page.studio.store.get(run_id)
    assert found is not None and (found.by, found.rows) == ("folds", 60) and found.listed
    curve = run.after["learning_curve"]
    assert len(curve["rows"]) == 3 and curve["rows"] == sorted(curve["rows"]) and curve["more"] == 20
    assert curve["interval"][0] <= curve["gain"] <= curve["interval"][1]
    card = (page.studio.workspace.run(run_id) / "model" / "README.md").read_text(encoding="utf-8")
    assert "20 more rows like these" in card
    kept = page.studio.fine_tune.set_strength(run_id, 0.3)
    assert kept.after["learning_curve"] == curve


def test_runs_without_labels_offer_nothing(page: Page) -> None:
    assert labels_view(page.studio, SimpleNamespace(status="running", model_path=None)) is None  # type: ignore[arg-type]
    assert not page.studio.labels.can_check("run-0123456789")


@pytest.mark.parametrize(
    ("name", "rows", "words"),
    [
        ("one", [(row, "a") for row in range(60)], "the label column 'label' of one.csv has only one value: 'a'"),
        ("rare", [(row, "b" if row == 7 else "a") for row in range(60)], "1 of the 2 classes in .* of rare.csv has one row .'b'."),
        ("many", [(row, f"class {row}") for row in range(60)], "60 of the 60 classes in .* of many.csv have one row"),
        ("few", [(row % 3, "aba"[row % 3]) for row in range(60)], "the 60 rows of few.csv have only 3 different texts"),
        ("none", [(row, "") for row in range(60)], "none.csv has no column of labels or scores: its columns are 'text'"),
    ],
)
def test_labels_that_cannot_be_checked_are_named_with_file_and_column(
    page: Page, tmp_path: Path, name: str, rows: list[tuple[int, str]], words: str
) -> None:
    path, texts = tmp_path / f"{name}.csv", sentences(60)
    lines = [f"{texts[place]} {place},{label}".rstrip(",") for place, label in rows]
    path.write_text("\n".join(["text" if name == "none" else "text,label", *lines]) + "\n", encoding="utf-8")
    with pytest.raises(StudioError, match=words):
        page.studio.labels.check_file(path)
