"""A language model on this machine: the same answer as plain greedy decoding, one line, cached, stoppable, and opened by whom."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_studio import WORDS, studio_at

from sbert_studio.errors import StudioError
from sbert_studio.models.generator import TextGenerator
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.services import Studio, language_model
from sbert_studio.services.language_model import ModelError, Prompt

CHAT = "{% for message in messages %}{{ message['role'] }} : {{ message['content'] }} {% endfor %}assistant"
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHAT


def tokenizer(template: str = "") -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<eos>", "\n", "assistant", "user", "system", *WORDS]
    backend = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="<eos>", chat_template=template or None)


def decoder(seed: int = 0) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer()), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=256, tie_word_embeddings=True, bos_token_id=None, eos_token_id=1, initializer_range=0.3,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder with a chat template that writes words of its vocabulary."""
    path = tmp_path_factory.mktemp("decoder")
    decoder().save_pretrained(path)
    tokenizer(CHAT).save_pretrained(path)
    return path


@pytest.fixture
def studio(tmp_path: Path, tiny_model: Path) -> Iterator[Studio]:
    with studio_at(tmp_path / "home", tiny_model) as found:
        yield found


@pytest.mark.parametrize(
    ("template", "message"),
    [("", "red dog"), (CHAT, "system : red user : dog assistant"), (NO_SYSTEM, "user : red dog assistant")],
    ids=["plain", "chat", "no system"],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_answer_is_that_of_greedy_decoding_up_to_the_first_line(template: str, message: str, seed: int) -> None:
    model, tokens = decoder(seed), tokenizer(template)
    ids = tokens(message)["input_ids"]
    begun = len(ids)
    with torch.no_grad():
        while len(ids) < begun + 12:
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
            if ids[-1] == 1 or (ids[-1] == 2 and len(set(ids[begun:])) > 1):
                break
    written = tokens.decode(ids[begun:], skip_special_tokens=True)
    found = TextGenerator(model, tokens, "tiny").answer("red", "dog", 12, lambda: False)
    assert found == (written, len(ids) - begun < 12)


def test_a_folder_without_a_decoder_and_a_message_that_is_too_long_are_rejected(folder: Path, tiny_model: Path) -> None:
    with pytest.raises(StudioError, match="no language model that writes text"):
        TextGenerator.load(tiny_model, torch.device("cpu"))
    with pytest.raises(StudioError, match="cannot read a message"):
        TextGenerator.load(folder, torch.device("cpu")).answer("red", "dog " * 240, 12, lambda: False)


def test_answers_are_cached_and_a_prompt_without_one_has_a_reason(studio: Studio, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = studio.language_models.open("local", str(folder))
    prompts = [Prompt("red", word) for word in ("dog", "dog " * 300)]
    answer, failure = model.ask_all(prompts, lambda text: f"<{text}>")
    assert studio.catalog.load_generator(str(folder)) is studio.catalog.load_generator(str(folder)), "loaded once"
    expected, _ = TextGenerator.load(folder, torch.device("cpu")).answer("red", "dog", 64, lambda: False)
    assert answer == f"<{expected}>" and isinstance(failure, ModelError) and "306 tokens" in failure.reason
    monkeypatch.setattr(language_model, "_MAX_TOKENS", 1)
    again, cut = studio.language_models.open("local", str(folder)).ask_all([prompts[0], Prompt("red", "cat")], str)
    assert again == expected, "from the cache"
    assert isinstance(cut, ModelError) and cut.reason == "the answer is too long"


def test_other_weights_in_the_folder_give_their_own_answers(studio: Studio, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, own := tmp_path / "decoder")
    prompt, answers = Prompt("red", "dog"), []
    for seed in (0, 2):
        decoder(seed).save_pretrained(own)
        answers += studio.language_models.open("local", str(own)).ask_all([prompt], str)
    expected, _ = TextGenerator.load(own, torch.device("cpu")).answer("red", "dog", 64, lambda: False)
    assert answers[0] != answers[1] == expected


def test_generation_stops_at_once_and_after_the_time_limit(studio: Studio, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "_MAX_TOKENS", 200)
    monkeypatch.setattr(language_model, "_PAUSE", 0.0)
    model = studio.language_models.open("local", str(folder))
    monkeypatch.setattr(model, "_seconds", 0.0)
    assert {str(one) for one in model.ask_all([Prompt("red", word) for word in WORDS], str)} == {"no answer within 0 s"}
    slow, start = studio.language_models.open("local", str(folder)), time.monotonic()
    answer = TextGenerator.answer

    def stalled(self: TextGenerator, system: str, user: str, most: int, should_stop: Any) -> tuple[str, bool]:
        return answer(self, system, user, most, lambda: time.sleep(0.2) or should_stop())

    monkeypatch.setattr(TextGenerator, "answer", stalled)
    with pytest.raises(StoppedError), stoppable(lambda: time.monotonic() - start > 0.5):
        slow.ask_all([Prompt("red", word) for word in WORDS], str)
    assert time.monotonic() - start < 20  # 20 answers of 200 tokens take minutes


def test_visitors_of_a_shared_page_choose_no_folder(studio: Studio, folder: Path) -> None:
    with pytest.raises(StudioError, match="name of the language model is missing"):
        studio.language_models.open("local")
    studio.catalog.allow_folders = False
    with pytest.raises(StudioError, match="operator"):
        studio.language_models.open("local", str(folder))
