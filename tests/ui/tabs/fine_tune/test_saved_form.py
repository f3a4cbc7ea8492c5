"""What stands in the Fine-tune form comes back after a reload."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_studio import write_pairs

from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.fine_tune import draft as drafts
from sbert_studio.ui.tabs.fine_tune.handlers import samples
from sbert_studio.ui.tabs.fine_tune.saved_form import restore_draft, save_draft

from .forms import open_path

OWNER = {"owner": "visitor-0123456789abcdef"}


def test_file_columns_settings_and_name_come_back(page: Page, tmp_path: Path) -> None:
    model = page.studio.settings.default_model
    draft = open_path(page, write_pairs(tmp_path / "mine.csv"), model)
    chosen = SchemaOverrides(kind="scored_pairs", columns=("sentence2", "sentence1"), target="score", group="", scale=(0.0, 5.0))
    draft = drafts.with_columns(page.studio, draft, chosen, model)
    draft = drafts.with_settings(page.studio, draft, model, {"epochs": 3.0, "loss": "cosent"})
    saved = json.loads(json.dumps(save_draft(page, OWNER, draft, "My model", ["cat", "dog"])))
    (tmp_path / "mine.csv").unlink()  # the upload is gone once the page is left
    again = restore_draft(page, OWNER, saved, model)
    assert again is not None and again.plan is not None and draft.plan is not None
    assert again.name == "mine.csv" and saved["name"] == "My model"
    assert saved["pinned"] == ["cat", "dog"]
    assert again.choices == draft.choices
    assert dict(again.overrides) == dict(draft.overrides)
    assert again.plan.spec == draft.plan.spec
    assert [name for name, _ in page.corpora.choices(OWNER)] == [name for name, _ in page.corpora.choices(None)], "it is no corpus"


def test_a_mended_file_comes_back_as_it_was_mended(page: Page, tmp_path: Path) -> None:
    model = page.studio.settings.default_model
    path = write_pairs(tmp_path / "mine.csv")
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    draft = open_path(page, path, model)
    mended = drafts.change_rows(page.studio, draft, "mend", next(n for n, one in enumerate(draft.diagnosis.findings) if one.fix), model)  # type: ignore[union-attr]
    assert mended.changes and len(mended.table) < len(draft.table)
    again = restore_draft(page, OWNER, save_draft(page, OWNER, mended, ""), model)
    assert again is not None and len(again.table) == len(mended.table)


def test_a_sample_and_further_files(page: Page, tmp_path: Path) -> None:
    model = page.studio.settings.default_model
    draft = open_path(page, samples()[0].path, model).with_request(dev=write_pairs(tmp_path / "dev.csv", seed=4))
    saved = save_draft(page, OWNER, draft, "")
    assert saved["file"] == f"sample:{samples()[0].id}"
    again = restore_draft(page, OWNER, saved, model)
    assert again is not None and again.request.dev is not None
    assert again.request.dev.read_bytes() == (tmp_path / "dev.csv").read_bytes()


@pytest.mark.parametrize(
    "saved",
    [None, {}, "x", {"file": "file:../../etc"}, {"file": "sample:none"}, {"file": 3}, {"file": "file:0123456789ab"}],
)
def test_what_a_browser_sends_is_not_trusted(page: Page, saved: object) -> None:
    assert restore_draft(page, OWNER, saved, page.studio.settings.default_model) is None


def test_settings_that_make_no_sense_leave_the_file_as_it_is_read(page: Page, tmp_path: Path) -> None:
    model = page.studio.settings.default_model
    draft = open_path(page, write_pairs(tmp_path / "mine.csv"), model)
    saved = save_draft(page, OWNER, draft, "")
    for nonsense in ({"epochs": "many"}, {"no_such": 1}, [], {"loss": "none"}):
        again = restore_draft(page, OWNER, {**saved, "overrides": nonsense}, model)
        assert again is not None and again.plan is not None
    again = restore_draft(page, OWNER, {**saved, "choices": {"columns": ["gone", "too"], "no_such": 1}}, model)
    assert again is not None and again.plan is not None
    other = {"owner": "visitor-fedcba9876543210"}
    assert restore_draft(Page(page.studio, shared=True), other, saved, model) is None, "nobody else's file"
