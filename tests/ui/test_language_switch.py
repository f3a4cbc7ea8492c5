"""What the page opens with in Chinese, and the model that follows the language of what a visitor brings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import gradio as gr
import pytest
from tiny_studio import studio_at, write_pairs

from sbert_studio.data.language import count_languages
from sbert_studio.data.samples import get_sample, sample_texts
from sbert_studio.ui import banner, language_switch, routing
from sbert_studio.ui.language_switch import ExampleTexts
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.state import Header, ModelUpdate, OtherTexts
from sbert_studio.ui.tabs.fine_tune import handlers as fine_tune
from sbert_studio.ui.views import UNCHANGED, props

ZH, EN = "sample:chinese_messages", "sample:support_requests"
CHINESE = ["我的银行卡被机器吞了", "怎么申请退款", "今天天气很好"]


@pytest.fixture
def page(tmp_path: Path, model_folder: Path, static: str) -> Iterator[Page]:
    """A page whose usual model is the tiny one, and the other one for texts that are mostly not English."""
    with studio_at(tmp_path / "home", model_folder, multilingual_model=static) as studio:
        yield Page(studio)


def texts_of(language: str) -> ExampleTexts:
    found = sample_texts(language)
    return ExampleTexts(found.first, found.second, "\n".join(found.several), found.query)


SAME = ExampleTexts(UNCHANGED, UNCHANGED, UNCHANGED, UNCHANGED)


def test_a_page_opens_with_texts_corpus_and_model_of_its_language(page: Page, static: str) -> None:
    found = language_switch.open_page(page, None, "zh", "", texts_of("en"))
    assert found.owner["owner"].startswith("visitor-") and found.language == "zh"
    assert isinstance(found.corpus, str) and page.corpora.get(found.corpus).id == ZH and found.model == props(value=static)
    assert found.texts == texts_of("zh")
    found = language_switch.open_page(page, None, "en", "", texts_of("en"))
    assert (found.language, found.texts, found.corpus, found.model) == ("en", SAME, UNCHANGED, UNCHANGED)
    linked = language_switch.open_page(page, None, "zh linked", "", texts_of("en"))
    assert linked.corpus is linked.model is UNCHANGED and linked.texts == texts_of("zh"), "the address names another corpus"
    chosen = language_switch.open_page(page, None, "zh", page.studio.settings.default_model, texts_of("en"))
    assert isinstance(chosen.corpus, str) and page.corpora.get(chosen.corpus).id == ZH and chosen.model == props()
    for invalid in (None, "", "xx", ["zh"], "zh' linked"):
        found = language_switch.open_page(page, None, invalid, "", texts_of("en"))
        assert found.corpus is found.model is UNCHANGED and found.texts in (SAME, texts_of("en"))


def test_another_language_changes_what_the_visitor_has_not_chosen_or_written(page: Page, static: str) -> None:
    default = page.studio.settings.default_model

    def switch(before: str, after: str, corpus: str | None, model: Any, saved: Any, texts: ExampleTexts) -> language_switch.LanguageView:
        return language_switch.switch_language(page, None, before, Header(corpus, model, saved), texts, Selection("choose", after))

    zh, own = page.corpora.open(None, ZH), replace(texts_of("zh"), first="my own words")
    found = switch("zh", "en", zh, static, "", own)
    assert found.language == "en" and page.corpora.get(str(found.corpus)).id == EN and found.model == props(value=default)
    assert found.texts == replace(texts_of("en"), first=UNCHANGED)
    other = page.corpora.open(None, "sample:questions")
    found = switch("en", "zh", other, default, "", texts_of("en"))
    assert found.corpus is found.model is UNCHANGED, "the visitor chose this corpus"
    found = switch("en", "zh", None, default, default, texts_of("en"))
    assert page.corpora.get(str(found.corpus)).id == ZH and found.model == props(), "the visitor chose this model"


def test_results_keep_what_they_were_made_with_in_another_language(page: Page, static: str) -> None:
    """The address names their corpus: a reload would otherwise open the sample of the new language."""
    zh, en, default = page.corpora.open(None, ZH), page.corpora.open(None, EN), page.studio.settings.default_model
    found = language_switch.switch_language(page, None, "zh", Header(zh, static, ""), texts_of("zh"), Selection("results", "en"))
    assert (found.language, found.texts, found.corpus, found.model) == ("en", SAME, UNCHANGED, UNCHANGED)
    assert routing.current_location(page, en, default, "", "en")["address"]["corpus"] == ""
    assert routing.current_location(page, en, default, "", "zh")["address"]["corpus"] == EN


def test_the_model_follows_the_corpus_and_the_address(page: Page, static: str) -> None:
    default = page.studio.settings.default_model
    zh, en = page.corpora.open(None, ZH), page.corpora.open(None, EN)
    assert page.select_fitting_model(zh, Header(model=default))["value"] == static
    assert page.select_fitting_model(en, Header(model=static))["value"] == default
    former = page.fit_corpus(en, Header(model=static, other_texts=OtherTexts("train.csv", "zh"))).model
    assert former == props(value=default), "the language of the former file does not count"
    assert page.select_fitting_model(en, Header(model=static, other_texts=OtherTexts("train.csv", "zh"))) == gr.skip(), (
        "there are other Chinese texts"
    )
    for model, kept in ((default, default), ("glove-6B-50d", "")):
        assert page.select_fitting_model(zh, Header(model=model, saved_model=kept)) == gr.skip()
    default = page.studio.settings.default_model

    def go(sent: dict[str, str], corpus: str | None, model: Any, saved: Any = "") -> routing.LocationView:
        return routing.open_location(page, {}, Selection("go", sent), Header(corpus, model, saved))

    found = go({"corpus": ZH}, None, default)
    model, key = cast(dict[str, Any], found.model), str(found.corpus)
    assert model["value"] == static and found.address["address"] == {"model": "", "corpus": ZH}
    model = cast(dict[str, Any], go({"whole": "1"}, key, static).model)
    assert model["value"] == default, "back to the English sample"
    assert go({"corpus": ZH}, None, default, default).model is UNCHANGED, "the visitor chose it"
    assert routing.current_location(page, key, default)["address"]["model"] == default
    assert routing.current_location(page, key, default, default)["address"]["model"] == ""
    assert routing.current_location(page, key, static, default)["address"]["model"] == static


def test_the_model_follows_texts_outside_the_corpus(page: Page, static: str, tmp_path: Path) -> None:
    default, chinese = page.studio.settings.default_model, count_languages(CHINESE)
    fitting, header = page.fit_model(default, "", "mine.csv", chinese)
    assert (fitting, header) == (static, ModelUpdate(props(value=static), OtherTexts("mine.csv", "zh")))
    fitting, header = page.fit_model(default, default, "mine.csv", chinese)
    assert (fitting, header) == (default, ModelUpdate(other_texts=OtherTexts("mine.csv", "zh")))
    english = count_languages(["Where is the card that I ordered?"])
    assert page.fit_model(static, "", "mine.csv", english) == (static, ModelUpdate())
    default = page.studio.settings.default_model
    draft, fitting, header = fine_tune.open_fitting(page, get_sample("chinese_pairs").path, None, default, "")
    assert fitting == static and header == ModelUpdate(props(value=static), OtherTexts("chinese_pairs.csv", "zh"))
    assert draft.request.model == static and (draft.plan is None or draft.plan.spec.model == static)
    draft, fitting, _ = fine_tune.open_fitting(page, write_pairs(tmp_path / "pairs.csv"), None, default, "")
    assert fitting == default == draft.request.model


def test_a_line_says_which_model_was_selected_and_leads_back(page: Page, static: str) -> None:
    default, zh = page.studio.settings.default_model, page.corpora.open(None, ZH)
    value = banner.banner_view(page, Header(zh, static))
    assert value is not None
    (note,) = value["notes"]
    assert note["quiet"] and note["text"] == f"Most texts of Chinese messages look like Chinese: {static} is selected."
    assert [one["name"] for one in note["models"]] == [default]
    for kept, language in ((static, "en"), ("", "zh")):  # the visitor chose it; the page is Chinese as well
        value = banner.banner_view(page, Header(zh, static, kept), language)
        assert value is None or not any(note.get("quiet") for note in value["notes"])
    value = banner.banner_view(page, Header(None, static, "", OtherTexts("", "de")))
    assert value is not None and value["notes"][0]["text"].startswith("Your texts look like German: ")


def test_whoever_chose_an_english_model_is_offered_the_other_one(tmp_path: Path, static: str) -> None:
    english = "all-MiniLM-L6-v2"
    with studio_at(tmp_path / "home", english, multilingual_model=static) as studio:
        page = Page(studio)
        for key, brought in ((page.corpora.open(None, ZH), None), (None, OtherTexts("train.csv", "zh"))):
            value = banner.banner_view(page, Header(key, english, english, brought))
            assert value is not None
            (note,) = value["notes"]
            assert "which this model was not trained on" in note["text"] and not note.get("quiet")
            assert note["models"][0]["name"] == static
        assert banner.banner_view(page, Header(None, english, english)) is None
