"""The client of a language model against a real server, who may choose the endpoint, and names of topics."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_server import ModelServer, Reply, serve_model
from tiny_studio import studio_at

from sbert_studio.errors import StudioError
from sbert_studio.i18n import translate
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.services import Studio, language_model
from sbert_studio.services.language_model import Endpoint, LanguageModel, ModelError, Prompt
from sbert_studio.services.results import MapView, TopicInfo
from sbert_studio.services.topic_names import TopicNames, clean_topic_name, name_topics, with_names
from sbert_studio.services.written_queries import WritingOptions, estimate_writing
from sbert_studio.settings import SHARED_LIMITS, Limits, Settings

KEY = "sk-secret-0123456789"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "_PAUSE", 0.01)


def model_at(server: ModelServer, folder: Path, seconds: float = 5.0, key: str = KEY) -> LanguageModel:
    return LanguageModel(Endpoint.parse(server.url, "tiny", key), folder, seconds)


def ask(model: LanguageModel, *users: str) -> list[str]:
    """The answers, or the reasons in brackets."""
    found = model.ask_all([Prompt("name it", user) for user in users], str.strip)
    return [f"[{one.reason}]" if isinstance(one, ModelError) else one for one in found]


@contextmanager
def replies(*sequence: Reply) -> Iterator[ModelServer]:
    """A server that gives these replies in turn, and the last one from then on."""
    left = list(sequence)
    with serve_model(lambda _text: left.pop(0) if len(left) > 1 else left[0]) as server:
        yield server


def test_prompts_are_sent_in_the_format_of_chat_completions(tmp_path: Path) -> None:
    with serve_model(lambda text: Reply(f" {text.upper()} ")) as server:
        assert ask(model_at(server, tmp_path), "one", "two", "three") == ["ONE", "TWO", "THREE"]
        assert server.paths == ["/v1/chat/completions"] * 3 and {one["authorization"] for one in server.headers} == {f"Bearer {KEY}"}
        assert {"role": "system", "content": "name it"} in server.asked[0]["messages"] and server.asked[0]["model"] == "tiny"
        ask(model_at(server, tmp_path, key=""), "four")
        assert "authorization" not in server.headers[-1], "a local model needs no key"


def test_usable_answers_are_cached_by_endpoint_model_and_prompt(tmp_path: Path) -> None:
    with serve_model(lambda text: Reply("" if text == "empty" else text)) as server:
        model = model_at(server, tmp_path)
        assert (
            ask(model, "one", "empty") == ["one", "[the answer is empty]"] == ask(model_at(server, tmp_path, key="other"), "one", "empty")
        )
        assert server.prompts.count("one") == 1 and server.prompts.count("empty") == 2
        ask(LanguageModel(replace(model.endpoint, model="larger"), tmp_path, 5), "one")
        ask(LanguageModel(replace(model.endpoint, url=server.url.replace("127.0.0.1", "localhost")), tmp_path, 5), "one")
        model.ask_all([Prompt("say it", "one")], str)
        assert server.prompts.count("one") == 4
        stored = [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
        assert len(stored) == 4 and not any(KEY in text or server.url in text for text in stored)
        next(tmp_path.iterdir()).write_text("{", encoding="utf-8")
        assert ask(model, "one") == ["one"], "a damaged file is asked for again"


def test_an_old_cache_is_evicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "_CACHE_BYTES", 100)
    with serve_model(Reply) as server:
        ask(model_at(server, tmp_path), *(f"prompt {number}" for number in range(20)))
    assert 0 < sum(path.stat().st_size for path in tmp_path.iterdir()) <= 100


@pytest.mark.parametrize(
    "failure",
    [Reply(status=429, headers={"Retry-After": "0"}), Reply(status=503), Reply(drop=True), Reply("late", seconds=1.5)],
    ids=["busy", "unavailable", "dropped", "slow"],
)
def test_temporary_failures_are_retried(failure: Reply, tmp_path: Path) -> None:
    with replies(failure, failure, Reply("at last")) as server:
        assert ask(model_at(server, tmp_path, seconds=0.4), "one") == ["at last"]
        assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(body=b"<html>"), "not a chat completion"), (Reply(body=b'{"choices": []}'), "not a chat completion"),
        (Reply(body=b"[" * 100_000), "not a chat completion"), (Reply(body=b'{"choices": [{"message": "x"}]}'), "not a chat completion"),
        (Reply(body=b"x" * (2 << 20)), "too long"), (Reply(None), "empty"), (Reply(refusal="I will not."), "declined"),
        (Reply("half", finish_reason="content_filter"), "declined"), (Reply(status=400), "HTTP status 400"),
        (Reply(status=429, headers={"Retry-After": "3600"}), "HTTP status 429"), (Reply(status=500), "HTTP status 500"),
        (Reply("slow", seconds=0.2, pieces=60), "no answer within 0.5 s"),
    ],
)  # fmt: skip
def test_other_failures_have_a_reason(reply: Reply, reason: str, tmp_path: Path) -> None:
    with replies(reply) as server:
        (found,) = ask(model_at(server, tmp_path, seconds=0.5), "one")
    assert found.startswith("[") and reason in found and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        (Reply(status=429, headers={"Retry-After": "3600"}), "limits the number of requests"),
        (Reply(status=503, headers={"Retry-After": "3600"}), "wait a few minutes"),
        (Reply(status=404), "check its address, name and key"),
    ],
)
def test_the_hint_says_whether_to_wait_or_to_check_the_endpoint(reply: Reply, hint: str, tmp_path: Path) -> None:
    with replies(reply) as server, pytest.raises(StudioError, match=hint):
        estimate_writing(["a passage"], model_at(server, tmp_path), WritingOptions(), lambda texts: [1 for _ in texts])


def test_an_estimate_uses_measured_times_and_billed_tokens_also_when_it_is_repeated(tmp_path: Path) -> None:
    passages, reply = (
        [f"passage {number}" for number in range(100)],
        Reply("a query", seconds=0.2, usage={"prompt_tokens": 30, "completion_tokens": 500}),
    )
    options, count = WritingOptions(prices=(1.0, 10.0)), lambda texts: [10 for _ in texts]
    with serve_model(lambda _text: reply) as server:
        model = model_at(server, tmp_path)
        once, again = (estimate_writing(passages, model, options, count) for _ in range(2))
        assert len(server.asked) == 4
    assert (once.input_tokens, once.output_tokens) == (again.input_tokens, again.output_tokens) == (3_000, 50_000)
    assert once.cost == pytest.approx(0.503)
    assert 0.9 < once.seconds / (100 * 0.2 / 4) < 2 and again.seconds == pytest.approx(0.96 * once.seconds)
    turn = threading.Lock()

    def one_at_a_time(_text: str) -> Reply:
        with turn:
            time.sleep(0.1)
        return Reply("a query")

    with serve_model(one_at_a_time) as server:
        found = estimate_writing(passages, model_at(server, tmp_path / "serial"), options, count)
    assert 0.9 < found.seconds / (100 * 0.1) < 1.6, "an endpoint that answers one at a time takes longer"
    with serve_model(lambda _text: Reply(f"<think>{'so ' * 90}</think>a query")) as server:
        model = model_at(server, tmp_path / "other")
        found = estimate_writing(passages, model, options, lambda texts: [len(text.split()) for text in texts])
    assert found.output_tokens == 9_200, "thoughts are billed"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=401, body=f"wrong key {KEY}".encode()), "rejected the key"),
        (Reply(status=404), "no such address or model"),
        (Reply(status=302, headers={"Location": "http://127.0.0.1:9/private"}), "redirects"),
        (Reply(status=308, headers={"Location": "http://[no address"}), "redirects"),
        (Reply("slow", seconds=5), "no answer within 0.3 s"),
    ],
)
def test_an_endpoint_that_is_down_is_not_asked_for_every_prompt(
    reply: Reply, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with replies(reply) as server:
        found = ask(model_at(server, tmp_path, seconds=0.3), *map(str, range(30)))
        assert len(found) == 30 and all(reason in one for one in found) and len(server.asked) <= 12
    assert KEY not in caplog.text and not any(KEY in one for one in found)


def test_a_missing_server_is_reported_and_waiting_can_be_cancelled(tmp_path: Path) -> None:
    with serve_model(lambda _text: Reply("x")) as server:
        model = model_at(server, tmp_path)
    assert ask(model, "one", "two") == ["[the endpoint cannot be reached]"] * 2
    with serve_model(lambda _text: Reply("slow", seconds=20)) as server:
        with pytest.raises(StoppedError), stoppable(lambda: bool(server.asked)):
            ask(model_at(server, tmp_path, seconds=30), *map(str, range(9)))
        assert len(server.asked) <= language_model._PARALLEL


def test_half_characters_are_replaced_and_names_that_no_host_can_have_are_not_reached(tmp_path: Path) -> None:
    with replies(Reply("half \ud800")) as server:
        assert ask(model_at(server, tmp_path), "one") == ["half ?"]
    for host in ("a..b", f"{'a' * 70}.example"):
        assert ask(LanguageModel(Endpoint.parse(f"http://{host}/v1", "tiny"), tmp_path, 5), "two") == ["[the endpoint cannot be reached]"]


@pytest.mark.parametrize(
    "url",
    [
        "", "localhost:11434", "ftp://h/v1", "file:///etc/passwd", "http://", "http://user:pw@h/v1", "http://h/v1?a=1", "http://h/ v1",
        "http://h:x/",
    ],
)  # fmt: skip
def test_only_web_addresses_are_endpoints(url: str) -> None:
    with pytest.raises(StudioError, match="base URL"):
        Endpoint.parse(url, "tiny")


def test_an_endpoint_shows_no_key() -> None:
    endpoint = Endpoint.parse(" https://h/v1/chat/completions ", " tiny ", f" {KEY}\n")
    assert endpoint == Endpoint("https://h/v1", "tiny", KEY) and KEY not in repr(endpoint)
    for bad in (f"{KEY}\nX: y", f"{KEY} {KEY}", "klé"):
        with pytest.raises(StudioError, match="key") as caught:
            Endpoint.parse("https://h/v1", "tiny", bad)
        assert bad not in str(caught.value)
    settings = Settings.from_env({"SBERT_STUDIO_LLM_URL": "https://h/v1", "SBERT_STUDIO_LLM_KEY": KEY})
    assert settings.llm_key == KEY and KEY not in repr(settings)


Open = Callable[..., Studio]


@pytest.fixture
def studio(tmp_path: Path, tiny_model: Path) -> Iterator[Open]:
    """A studio with these settings, shared or not."""
    opened = []

    def start(*, shared: bool, **settings: Any) -> Studio:
        opened.append(studio_at(tmp_path / str(len(opened)), tiny_model, **settings))
        found = opened[-1].__enter__()
        if shared:
            found.catalog.allow_folders = False
        return found

    yield start
    for one in opened:
        one.__exit__(None, None, None)


HOST = {"llm_url": "https://host/v1", "llm_model": "big", "llm_key": KEY}


def test_visitors_of_a_shared_page_use_the_configured_endpoint_or_none(studio: Open) -> None:
    configured, plain, keyed = (studio(shared=True, **settings) for settings in (HOST, {}, {"llm_key": KEY}))
    assert configured.language_models.is_offered and not plain.language_models.is_offered and not keyed.language_models.is_offered
    assert configured.language_models.open().endpoint == Endpoint("https://host/v1", "big", KEY)
    for shared in (configured, plain, keyed):
        for own in ({"url": "http://127.0.0.1:9/v1"}, {"model": "other"}, {"key": "k"}, {"url": "http://169.254.169.254/", "model": "m"}):
            with pytest.raises(StudioError, match="operator"):
                shared.language_models.open(**own)
    with pytest.raises(StudioError, match="base URL"):
        keyed.language_models.open()
    assert not Studio(Settings(home=configured.settings.home, host="0.0.0.0")).language_models.takes_addresses


def test_visitors_together_make_a_limited_number_of_requests_per_day(studio: Open) -> None:
    clock = [0.0]
    with serve_model(Reply) as server:
        shared = studio(shared=True, llm_url=server.url, llm_model="big", limits=Limits(llm_requests=3)).language_models
        shared._budget._clock = lambda: clock[0]
        assert ask(shared.open(), "one", "two") == ["one", "two"] == ask(shared.open(), "one", "two"), "the second time from the cache"
        found = ask(shared.open(), "three", "four", "five")
        assert len(server.asked) == 3 and sum("limit of 3 requests per day" in one for one in found) == 2
        clock[0] = 86_401.0
        assert ask(shared.open(), "six") == ["six"]
    assert SHARED_LIMITS.llm_requests > 0 == Limits().llm_requests


def test_the_configured_key_is_sent_to_the_configured_address_only(studio: Open) -> None:
    own = studio(shared=False, **HOST).language_models
    assert own.open("https://host/v1/", "small").endpoint == Endpoint("https://host/v1", "small", KEY)
    assert own.open("https://other/v1", "small").endpoint.key == ""
    assert own.open("https://other/v1", "small", "mine").endpoint.key == "mine"
    for other in (language_model.LOCAL, "no address"):
        opened = studio(shared=False, **{**HOST, "llm_url": other}).language_models.open("https://other/v1", "small")
        assert opened.endpoint == Endpoint("https://other/v1", "small"), "another setting does not stand in the way"
    keyed = studio(shared=False, llm_key=KEY).language_models
    assert keyed.open("https://other/v1", "small").endpoint.key == KEY, "without a configured address, the key is for any"


TOPICS = (
    TopicInfo(0, "card · lost", 30, 3, ("card", "lost"), ("I lost my card", "Where is my card?", "Card gone")),
    TopicInfo(1, "transfer · late", 20, 3, ("transfer", "late"), ("My transfer is late",)),
    TopicInfo(2, "bread", 10, 4, ("bread",), ("Fresh bread\nevery day",)),
    TopicInfo(3, "card · transfer", 50),
    TopicInfo(4, "bread · milk", 10),
)


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
        ("<think>only</think>", "empty"), ("<think>half of a thought", "empty"),
    ],
)  # fmt: skip
def test_other_answers_are_no_names(answer: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        clean_topic_name(answer)


def test_a_long_hint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="501 characters"):
        named(by_keyword, tmp_path, "x" * 501)
