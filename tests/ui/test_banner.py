"""The banner above every tab, where the model hardly reads the corpus."""

from __future__ import annotations

from pathlib import Path

from sbert_studio.services import Studio
from sbert_studio.settings import Settings
from sbert_studio.ui.banner import banner_view
from sbert_studio.ui.page import Page
from sbert_studio.ui.state import Header

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
