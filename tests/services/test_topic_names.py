"""Names of topics by a language model: prompts, answers that are names, and topics that keep their keywords."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from model_server import ModelServer, Reply, serve_model

from sbert_studio.errors import StudioError
from sbert_studio.i18n import translate
from sbert_studio.services import language_model
from sbert_studio.services.language_model import Endpoint, LanguageModel, ModelError
from sbert_studio.services.results import MapView, TopicInfo
from sbert_studio.services.topic_names import TopicNames, clean_topic_name, name_topics, with_names

TOPICS = (
    TopicInfo(0, "card · lost", 30, 3, ("card", "lost"), ("I lost my card", "Where is my card?", "Card gone")),
    TopicInfo(1, "transfer · late", 20, 3, ("transfer", "late"), ("My transfer is late",)),
    TopicInfo(2, "bread", 10, 4, ("bread",), ("Fresh bread\nevery day",)),
    TopicInfo(3, "card · transfer", 50),
    TopicInfo(4, "bread · milk", 10),
)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "_PAUSE", 0.01)


def named(answer: Callable[[str], Reply], folder: Path, hint: str = "") -> tuple[TopicNames, ModelServer]:
    with serve_model(answer) as server:
        return name_topics(TOPICS, LanguageModel(Endpoint.parse(server.url, "tiny"), folder, 1), hint), server


def by_keyword(text: str) -> Reply:
    if "smaller groups" in text:
        return Reply("Banking" if "Lost bank cards" in text else "Bakery")
    names = {"card": "Lost bank cards", "transfer": "**Late transfers**", "bread": 'Name: "Fresh bread".'}
    return Reply(next(name for word, name in names.items() if f"Keywords: {word}" in text))


def test_topics_are_named_from_their_texts_and_broad_topics_from_these_names(tmp_path: Path) -> None:
    found, server = named(by_keyword, tmp_path, hint=" Requests\n to a bank ")
    assert found.names == {0: "Lost bank cards", 1: "Late transfers", 2: "Fresh bread", 3: "Banking", 4: "Bakery"} and not found.failures
    first = next(text for text in server.prompts if "Keywords: card, lost" in text)
    assert "- I lost my card\n- Where is my card?" in first and "Requests to a bank" in first
    assert any("Lost bank cards; Late transfers" in text for text in server.prompts)
    assert "- Fresh bread every day" in "".join(server.prompts), "a text is one line of the prompt"
    view = with_names(MapView(np.zeros((1, 2), np.float32), np.zeros(1, np.int64), TOPICS, "key", notes=("Before.",)), found)
    assert [topic.label for topic in view.topics] == list(found.names.values()) and view.topics[0].keywords == ("card", "lost")
    assert view.notes == ("Before.", "5 of 5 topic names come from the language model tiny.")


def test_topics_without_a_usable_answer_keep_their_keywords_and_are_counted(tmp_path: Path) -> None:
    def answer(text: str) -> Reply:
        if "Keywords: card" in text:
            return Reply("I'm sorry, but I can't help with that.")
        return Reply(status=400) if "Keywords: transfer" in text else by_keyword(text.replace("card", "Lost bank cards"))

    found, _server = named(answer, tmp_path)
    assert found.names == {2: "Fresh bread", 3: "Banking", 4: "Bakery"}
    assert found.describe() == (
        "3 of 5 topic names come from the language model tiny. 2 topics keep their keywords (the model declined: 1; "
        "the endpoint answered with HTTP status 400: 1)."
    )
    assert translate(found.describe(), "zh") != found.describe() and "tiny" in translate(found.describe(), "zh")


def test_two_topics_never_get_one_name(tmp_path: Path) -> None:
    found, _server = named(lambda _text: Reply("Things"), tmp_path)
    assert found.names == {0: "Things", 1: "Things (transfer)", 2: "Things (bread)", 3: "Things"}
    assert sum(found.failures.values()) == 1, "a broad topic has no keywords that tell it from the other"


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("  Lost cards. ", "Lost cards"), ("**Lost cards**", "Lost cards"), ("Topic: “Lost cards”", "Lost cards"),
        ("<think>\nHmm, cards.\n</think>\n\nLost cards", "Lost cards"), ("- Lost cards", "Lost cards"),
        ("名称：遗失的银行卡。", "遗失的银行卡"),
        ("24-hour support", "24-hour support"), ("Lost\u202e cards\x07", "Lost cards"), ("<b>Lost</b>", "<b>Lost</b>"),
    ],
)  # fmt: skip
def test_the_name_is_what_remains_of_an_answer(answer: str, name: str) -> None:
    assert clean_topic_name(answer) == name


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Sure! Here is a name:\nLost cards", "longer"), ("The texts are all about customers who have lost their bank cards", "longer"),
        ("x" * 61, "longer"), ("I cannot name this group.", "declined"), ("抱歉，我无法回答。", "declined"), ('""', "empty"),
        ("<think>only</think>", "empty"),
    ],
)  # fmt: skip
def test_other_answers_are_no_names(answer: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        clean_topic_name(answer)


def test_a_long_hint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="501 characters"):
        named(by_keyword, tmp_path, "x" * 501)
