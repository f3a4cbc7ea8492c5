"""The language of a page, and what a change of it translates again."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr
import pytest

from sbert_studio.i18n import Message, _, translate
from sbert_studio.services import Studio
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Panel
from sbert_studio.ui.sessions import language
from sbert_studio.ui.sessions.language import SessionLanguages, current_language, localize
from sbert_studio.ui.views import props

MESSAGE = _("queued behind {waiting}", waiting=3)
CHINESE = translate(MESSAGE, "zh")


@pytest.fixture
def headers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found: dict[str, str] = {}
    monkeypatch.setattr(language, "request_headers", lambda: found)
    monkeypatch.setattr(language, "session_id", lambda: "page")
    monkeypatch.setattr(language, "LANGUAGES", SessionLanguages())
    return found


def test_the_language_of_a_page_is_chosen_and_changed(headers: dict[str, str]) -> None:
    assert current_language() == "en"
    headers["accept-language"] = "fr-FR,fr;q=0.9,zh-TW;q=0.8,en;q=0.7"
    assert current_language() == "zh"
    headers["cookie"] = "a=b; sbert-studio-language=en; c"
    assert current_language() == "en"
    headers["cookie"] = "sbert-studio-language=../zh"
    assert current_language() == "zh"
    language.LANGUAGES.set_language("page", "en")
    assert current_language() == "en"
    language.LANGUAGES.close("page")
    assert current_language() == "zh"
    assert "3" in CHINESE != MESSAGE
    headers["cookie"] = "sbert-studio-language=zh"
    localize(_("queued behind {waiting}", waiting=1), "a")
    shown = localize([MESSAGE], "a")
    localize(_("queued behind {waiting}", waiting=9))
    assert shown == [CHINESE]
    assert language.LANGUAGES.set_language("page", "en") == {CHINESE: MESSAGE}
    assert language.LANGUAGES.set_language("page", "zh") == {MESSAGE: CHINESE}
    assert SessionLanguages().set_language("unknown", "zh") == {}


def test_the_memory_of_pages_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "_MAX_SESSIONS", 2)
    languages = SessionLanguages()
    for number in range(5):
        languages.set_language(f"page {number}", "zh")
    assert [languages.language(f"page {number}") for number in range(5)] == ["", "", "", "zh", "zh"]


@dataclass(frozen=True)
class View:
    text: str
    choice: object
    state: object


def test_a_panel_sends_texts_in_the_language_of_the_page_and_values_as_they_are(headers: dict[str, str], studio: Studio) -> None:
    headers["cookie"] = "sbert-studio-language=zh"

    def show() -> View:
        return View(MESSAGE, props(label=MESSAGE, choices=[MESSAGE, (MESSAGE, "x")], value=MESSAGE), [MESSAGE])

    with gr.Blocks() as blocks:
        panel = Panel(Page(studio), text=gr.Textbox(), choice=gr.Dropdown(), state=gr.State())
        panel.on(blocks.load, show)
    (event,) = blocks.fns.values()
    text, choice, state = event.fn()
    assert text == CHINESE and isinstance(state[0], Message)
    assert choice == {"__type__": "update", "label": CHINESE, "choices": [(CHINESE, MESSAGE), (CHINESE, "x")], "value": MESSAGE}
