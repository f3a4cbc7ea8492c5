"""Components that several tabs share: forms, the corpus, views, downloads and the banner."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.registry import fields_of, setting
from sbert_studio.services import Studio
from sbert_studio.settings import Settings
from sbert_studio.training.spec import TrainSpec
from sbert_studio.ui import components, corpora, views
from sbert_studio.ui.banner import banner_view
from sbert_studio.ui.components import select_offered
from sbert_studio.ui.page import Page
from sbert_studio.ui.sessions.file_store import TempFiles
from sbert_studio.ui.state import Header
from sbert_studio.ui.views import UNCHANGED

OFFERED = [("None", ""), ("Mine", "run-0123456789")]


LIST, TYPED, SEVERAL = {}, {"allow_custom_value": True}, {"multiselect": True}
SELECTED = [
    (LIST, "run-deleted", ""), (LIST, None, ""), (TYPED, "run-deleted", ""), (TYPED, None, ""), (SEVERAL, None, []),
    (SEVERAL, ["run-0123456789", "run-deleted"], ["run-0123456789"]), (LIST, "run-0123456789", UNCHANGED), (LIST, "", UNCHANGED),
    (TYPED, "owner/model", UNCHANGED), (SEVERAL, ["run-0123456789"], UNCHANGED),
]  # fmt: skip


@pytest.mark.parametrize(("options", "selected", "value"), SELECTED)
def test_only_deleted_models_are_no_longer_selected(options: dict[str, Any], selected: Any, value: Any) -> None:
    update = select_offered(gr.Dropdown([], **options), OFFERED, selected)
    assert update["choices"] == OFFERED and update.get("value", UNCHANGED) == value


@dataclass(frozen=True)
class Params:
    rate: float = setting(2e-5, "A rate.", min=0, max=1, step=1e-6)
    share: float = setting(0.1, "A share.", min=0, max=1, step=0.01)
    steps: int = setting(5, "Steps.", min=1, max=100000, step=1)
    pooling: str = setting("mean", "How.", choices=("mean", "cls"))
    note: str = setting("", "Anything.")
    on: bool = setting(True, "Whether.")


@pytest.mark.parametrize("sent", [None, 3, {}, {"values": []}, {"values": {"rate": "fast"}}])
def test_a_form_that_a_browser_made_up_is_refused(sent: object) -> None:
    with pytest.raises(StudioError):
        components.parse_values(fields_of(Params), components.form_values(sent))


def test_a_form_has_a_control_for_each_field_and_names_empty_choices() -> None:
    fields = fields_of(Params)
    items = {item["name"]: item for item in map(components.describe_control, fields)}
    assert {name: item["kind"] for name, item in items.items()} == {
        "rate": "text", "share": "slider", "steps": "text", "pooling": "choice", "note": "text", "on": "checkbox",
    }  # fmt: skip
    assert (items["share"]["min"], items["share"]["max"], items["share"]["step"]) == (0, 1, 0.01)
    assert items["pooling"]["choices"] == [["mean", "mean"], ["cls", "cls"]]
    own = components.describe_control(fields[1], name="loss.share", label="Part")
    values = {item.name: components.to_control_value(item, item.default) for item in fields} | {"loss.share": 0.3}
    value = components.form_view("x", [*items.values(), components.group([own], name="loss", visible=False)], values)
    sent = components.form_values({**value, "revision": 4})
    assert components.parse_values(fields, sent) == {item.name: item.default for item in fields}
    assert components.parse_values(fields[1:2], sent, "loss.") == {"share": 0.3}
    assert components.answer_form({"revision": 4}, value)["revision"] == 4 and components.answer_form(None, value) == value
    items = {field.name: components.describe_control(field) for field in TrainSpec.settings()}
    assert items["accept_alarm"]["choices"][0] == ["none: stop and ask", ""]
    assert items["accept_alarm"]["label"] == "Continue despite warnings" and items["max_folds"]["label"] == "Max folds"
    assert items["pooling"]["choices"][0] == ["the model's own", ""]


def test_the_corpus_tells_its_rows_its_repeats_and_a_language_that_the_model_does_not_know(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "zh.txt"
    path.write_text("我的银行卡什么时候到\n\n今天天气很好\n今天天气很好\n", encoding="utf-8")
    corpus = page.corpora.get(corpora.open_file(page, str(path)))
    facts, found = corpora.describe_corpus(page, corpus, "all-MiniLM-L6-v2")
    assert facts == [("Rows read", "4"), ("Texts", "3"), ("Skipped", "1")]
    notes = " ".join(found)
    assert "(row 2)" in notes and "1 text repeats an earlier one" in notes and "look like Chinese" in notes
    assert not any("Chinese" in note for note in corpora.describe_corpus(page, corpus, "no such model")[1])


def test_another_column_is_another_corpus_of_the_same_file(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("title,body\n" + "".join(f"moon star {n},cat dog mat park {n}\n" for n in range(5)), encoding="utf-8")
    key = corpora.open_file(page, str(path))
    chosen = page.corpora.get(key)
    other = next(name for name in chosen.columns if name != chosen.column)
    assert page.corpora.get(corpora.open_column(page, key, other)).column == other
    assert corpora.open_column(page, key, chosen.column) == key


def test_a_view_holds_json_and_keeps_its_value_out_of_the_template() -> None:
    drawn = views.view("table", views.table([views.column("Text")], [["${alert(1)} <b>"]]))
    assert "${" not in drawn.html_template
    assert "alert" not in drawn.js_on_load
    assert json.loads(json.dumps(drawn.value))["rows"] == [["${alert(1)} <b>"]]


def test_downloads_stay_in_their_folder_which_is_made_anew_and_goes_with_its_owner() -> None:
    downloads = TempFiles()
    path = downloads.path("../../etc/passwd")
    first = path.parent.parent
    assert first == downloads._folder and path.parent.is_dir()
    assert downloads.path("a.csv") != downloads.path("a.csv")
    shutil.rmtree(first)
    second = downloads.path("a.csv").parent.parent
    assert second.is_dir() and second != first
    del downloads
    gc.collect()
    assert not second.exists()


def test_downloads_go_at_the_end_and_those_of_a_killed_process_can_be_told(page: Page) -> None:
    """An app that exits runs no finalizers; one that is killed leaves a folder that the next start deletes by its name."""
    folders = [files.path("model.zip").parent.parent for files in (page.downloads, page.training_tables)]
    assert all(folder.name.startswith(f"sbert-studio-sent-{os.getpid()}-") for folder in folders)
    page.delete_temporary_files()
    assert not any(folder.exists() for folder in folders)
    assert page.downloads.path("again.csv").parent.is_dir()


def test_an_old_download_that_another_removes_meanwhile_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    downloads = TempFiles()
    old = downloads.path("a.csv").parent
    listed = Path.iterdir

    def gone(folder: Path) -> Iterator[Path]:
        found = list(listed(folder))
        shutil.rmtree(old)
        return iter(found)

    monkeypatch.setattr(Path, "iterdir", gone)
    assert downloads.path("b.csv").parent.is_dir()


CHINESE = ["我的银行卡被机器吞了", "怎么申请退款", "今天天气很好", "我忘记了密码", "如何修改预订", "手机无法开机"]


def corpus_key(page: Page, folder: Path, texts: list[str], name: str = "texts.csv") -> str:
    path = folder / name
    path.write_text("text\n" + "\n".join(texts) + "\n", encoding="utf-8")
    return page.corpora.put(page.corpora.read(path))


def test_most_texts_in_a_language_that_the_model_was_not_trained_on(tmp_path: Path) -> None:
    with Studio(Settings(home=tmp_path / "home")) as studio:
        page = Page(studio)
        value = banner_view(page, Header(corpus_key(page, tmp_path, CHINESE)))
        assert value is not None
        (note,) = value["notes"]
        assert "texts.csv" in note["text"] and "Chinese" in note["text"]
        assert any("hub id" in words for words in note["advice"]) or note["models"]
        assert not note["tab"], "a table of words cannot be made of texts without spaces"
        few = [*CHINESE[:2], "I lost my card", "How do I get the money back?", "What is the weather like", "The app does not open"]
        assert banner_view(page, Header(corpus_key(page, tmp_path, few, "few.csv"))) is None, "two of six are not most"
        assert banner_view(page, Header()) is None, "the sample is English"


def test_a_model_that_lacks_the_words_says_how_many(page: Page, tmp_path: Path) -> None:
    model = page.studio.settings.default_model
    assert page.studio.catalog.load(model).tokens is not None
    value = banner_view(page, Header(corpus_key(page, tmp_path, ["ϰϱϲϳ ϸϻ", "ᚠᚢᚦ ᚨᚱᚲ", "ϰϱ ᚠᚢ"]), model))
    assert value is not None
    assert "does not know 100% of the tokens of texts.csv" in value["notes"][0]["text"]
    assert banner_view(page, Header(corpus_key(page, tmp_path, ["no such model", "is named"]), "no/such-model-here")) is None


def test_a_space_without_persistent_storage_says_that_it_keeps_nothing(tmp_path: Path) -> None:
    space = Settings.from_env({"SPACE_ID": "somebody/studio", "SYSTEM": "spaces", "SBERT_STUDIO_HOME": str(tmp_path / "home")})
    with Studio(space) as studio:
        value = banner_view(Page(studio), Header())
    assert value is not None
    assert value["notes"][0]["text"].startswith("This Space has no persistent storage")
    assert value["notes"][0]["link"]["href"].endswith("/spaces/somebody/studio?duplicate=true")
    assert "/spaces/somebody/studio?duplicate=true" in space.elsewhere
    kept = Settings.from_env({"SPACE_ID": "somebody/studio", "SBERT_STUDIO_HOME": "/data/sbert-studio"})
    assert not kept.ephemeral
