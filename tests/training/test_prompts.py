"""What is trained is what is judged and searched: each column is read with the prompt of its role, and the prompts are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from tiny_studio import peer, quick, studio_at, unpack_export, write_pairs

from sbert_studio.cli.main import run as run_command
from sbert_studio.data.examples import Examples
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.encoding import CachingEncoder
from sbert_studio.evaluation.evaluate import evaluate_examples
from sbert_studio.evaluation.tasks.retrieval import evaluate_retrieval
from sbert_studio.models.io.load import load_adapter, load_folder
from sbert_studio.models.io.sources import read_model_info
from sbert_studio.models.poly_encoder import attention_scores
from sbert_studio.models.prompts import column_roles, override_prompts
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import run_identity, train

from .tiny import Told, never, positive_pairs, scored_pairs, small_spec, tiny_encoder, tiny_poly, tiny_words, weights

ASKS = {"query": "red blue ", "document": "fast slow moon "}
E5 = {"query": "red blue ", "passage": "fast slow moon "}
CPU = torch.device("cpu")


def triplets(count: int = 24) -> Examples:
    pairs = positive_pairs(count)
    return replace(pairs, kind="triplets", texts=(*pairs.texts, tuple(reversed(pairs.texts[1]))))


def prompted(prompts: dict[str, str], include: bool = True, **values: Any) -> Any:
    encoder = tiny_encoder(**values)
    encoder.prompts = prompts
    encoder.pooling.skips_prompt = not include
    return encoder


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.asarray((left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1))


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("examples", [positive_pairs(24), triplets(), scored_pairs(24)])
def test_a_batch_of_training_is_read_as_the_encoder_reads_the_roles(examples: Examples, include: bool) -> None:
    encoder = prompted(E5, include)
    rows, places = encoder.training_rows(examples), np.arange(24)
    with torch.no_grad():
        found = encoder(rows.inputs(places, 1, CPU)).split(24)
    roles = column_roles(examples.kind, len(examples.texts))
    assert roles[0] == ("symmetric" if examples.targets is not None else "query")
    for vectors, role, texts in zip(found, roles, examples.texts, strict=True):
        np.testing.assert_allclose(vectors, encoder.for_role(role).encode(texts), atol=1e-5)
        assert not np.allclose(vectors, encoder.encode(texts), atol=1e-3)
    assert rows.lengths.tolist() == [
        max(len(encoder.for_role(role).tokenize([text])[0]) for role, text in zip(roles, row, strict=True))
        for row in zip(*examples.texts, strict=True)
    ]


def test_texts_are_read_with_their_prompts_and_a_text_in_two_columns_is_one() -> None:
    pairs = positive_pairs(24)
    pairs = replace(pairs, texts=(pairs.texts[0], (pairs.texts[0][1], pairs.texts[0][0].upper(), *pairs.texts[1][2:])))
    found, plain = prompted(ASKS).training_rows(pairs), tiny_encoder().training_rows(pairs)
    assert found.places is not None and plain.places is None
    same = [ids[:, None] == ids[None] for ids in (found.ids.ravel(), plain.ids.ravel())]
    np.testing.assert_array_equal(*same)
    encoder = prompted(ASKS)
    shown = CachingEncoder(encoder)
    for role in ("plain", "query", "document"):
        for _ in range(2):
            np.testing.assert_allclose(shown.for_role(role).encode(["cat dog"]), encoder.for_role(role).encode(["cat dog"]), atol=1e-6)


def test_a_poly_encoder_learns_the_first_text_as_a_query_and_the_second_as_a_document() -> None:
    model = tiny_poly()
    model.encoder.prompts = ASKS
    pairs = scored_pairs(16)
    with torch.no_grad():
        rows = model(model.training_rows(pairs).inputs(np.arange(16), 1, CPU)).view(2, 16, -1, 32)
    np.testing.assert_allclose(rows[1, :, -1], model.encoder.for_role("document").encode(pairs.texts[1]), atol=1e-5)
    predicted = model.predict(list(zip(*pairs.texts, strict=True)))
    queries = dict(enumerate(rows[0, :, :-1]))
    model.encoder.prompts = {}
    assert not np.allclose(predicted, model.predict(list(zip(*pairs.texts, strict=True))), atol=1e-3)
    of_training = attention_scores(torch.stack([queries[row] for row in range(16)]), rows[1, :, -1], model.sharpness)
    np.testing.assert_allclose(predicted, of_training, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("examples", "dev"), [(positive_pairs(48), positive_pairs(24, 9)), (scored_pairs(48), scored_pairs(24, 9))])
def test_what_is_judged_in_training_is_what_the_peer_measures_with_the_folder(examples: Examples, dev: Examples, tmp_path: Path) -> None:
    objective = "in_batch" if examples.targets is None else "cosine"
    spec = small_spec(loss=objective, epochs=2, blend=False)
    outcome = train(spec, examples, Told(), never, encoder=prompted(E5, include=False), folder=tmp_path, dev=dev)
    model, ours = peer(outcome.model), load_folder(outcome.model)
    assert dict(ours.prompts) == read_model_info(outcome.model).prompts == E5
    assert evaluate_examples(ours, dev).to_json()["interval"] == outcome.after["interval"]
    if examples.targets is None:
        left, right = model.encode_query(list(dev.texts[0])), model.encode(list(dev.texts[1]), prompt_name="passage")
        expected = evaluate_retrieval(left, right, *dev.texts).scores["mrr_at_10"]
    else:
        left, right = (model.encode(list(column), prompt_name="query") for column in dev.texts)
        expected = spearmanr(cosines(left, right), dev.targets).statistic
    assert outcome.after["score"] == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_a_model_with_prompts_learns_otherwise_and_one_whose_prompts_are_overridden_by_none_as_one_without(tmp_path: Path) -> None:
    found = {}
    for name, encoder in {"without": tiny_encoder(), "with": prompted(ASKS), "overridden": prompted(ASKS)}.items():
        if name == "overridden":
            override_prompts(encoder, "none")
        spec = small_spec(loss="in_batch", epochs=1, blend=False)
        found[name] = weights(train(spec, positive_pairs(), Told(), never, encoder=encoder, folder=tmp_path / name).model)
    assert all(torch.equal(value, found["without"][key]) for key, value in found["overridden"].items())
    assert not all(torch.equal(value, found["without"][key]) for key, value in found["with"].items())


@pytest.mark.parametrize(
    ("setting", "prompts", "default"),
    [
        ("none", {}, ""),
        ("fast ", {"default": "fast "}, "fast "),
        ('{"query": "red ", "default": "blue "}', {"query": "red ", "default": "blue "}, "blue "),
    ],
)
def test_prompts_can_be_overridden_and_are_saved(setting: str, prompts: dict[str, str], default: str, tmp_path: Path) -> None:
    encoder = prompted(ASKS)
    override_prompts(encoder, setting)
    assert (encoder.prompts, encoder.tokens.prompt) == (prompts, default)
    encoder.save(tmp_path / "model")
    again = load_folder(tmp_path / "model")
    assert (again.prompts, again.tokens.prompt) == (prompts, default)


@pytest.mark.parametrize("setting", ['{"query": 1}', '{"query": ', "{1}"])
def test_prompts_that_are_no_object_of_texts_are_refused(setting: str) -> None:
    with pytest.raises(StudioError, match="not a JSON object with string values"):
        override_prompts(tiny_encoder(), setting)


@pytest.mark.slow
def test_an_adapter_keeps_the_prompts_that_it_was_trained_with(tmp_path: Path) -> None:
    encoder = prompted(ASKS)
    override_prompts(encoder, "moon ")
    outcome = train(small_spec(method="lora", lora_r=2, epochs=0.5), scored_pairs(), Told(), never, encoder=encoder, folder=tmp_path)
    base = prompted(ASKS)
    load_adapter(base, outcome.adapter)
    assert (base.prompts, base.tokens.prompt) == ({"default": "moon "}, "moon ")


@pytest.fixture
def studio(home: Path, tmp_path: Path) -> Iterator[Studio]:
    """A studio whose model has the prompts of E5."""
    prompted(E5).save(tmp_path / "e5")
    with studio_at(home, tmp_path / "e5") as made:
        yield made


def questions(path: Path, rows: int = 40) -> Path:
    pairs = positive_pairs(rows)
    path.write_text(
        "".join(f"{json.dumps(dict(zip(('question', 'answer'), row, strict=True)))}\n" for row in zip(*pairs.texts, strict=True))
    )
    return path


def test_a_plan_and_a_check_say_which_prompt_each_column_gets(studio: Studio, tmp_path: Path) -> None:
    pairs, scored = questions(tmp_path / "questions.jsonl"), write_pairs(tmp_path / "scored.csv", 40)
    both, one = "Prompts: “red blue ” before “question”, “fast slow moon ” before “answer”.", "Prompt “red blue ” before every text."
    assert both in studio.planner.plan(TrainRequest(pairs)).reasons
    assert one in studio.planner.plan(TrainRequest(scored)).reasons
    assert both in [finding.message for finding in studio.data.check(pairs).findings]
    chosen = studio.planner.plan(TrainRequest(pairs, overrides={"prompt": "moon "}))
    assert chosen.spec.prompt == "moon " and "Prompt “moon ” before every text." in chosen.reasons
    assert not any("Prompt" in reason for reason in studio.planner.plan(TrainRequest(pairs, overrides={"prompt": "none"})).reasons)
    with pytest.raises(StudioError, match="a cross-encoder does not support prompts"):
        studio.planner.plan(TrainRequest(scored, overrides={"prompt": "moon ", "architecture": "cross"}))


@pytest.mark.slow
def test_the_command_line_trains_with_a_prompt_of_its_own(
    studio: Studio, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_MODEL", str(tmp_path / "e5"))
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")
    pairs, out = str(write_pairs(tmp_path / "pairs.csv", 40)), tmp_path / "out"
    settings = [part for name, value in quick(epochs=0.5).items() if name != "loss" for part in ("--set", f"{name}={value}")]
    assert not run_command(["train", pairs, "--prompt", "moon ", "--out", str(out), "--json", *settings])
    capsys.readouterr()
    assert load_folder(out).tokens.prompt == "moon " and peer(out).default_prompt_name == "default"


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["siamese", "poly"])
@pytest.mark.parametrize("kind", ["questions", "scores"])
def test_the_script_of_an_export_measures_with_the_prompts_too(
    studio: Studio, architecture: str, kind: str, tmp_path: Path, verify_export: Callable[[Path], str]
) -> None:
    data = questions(tmp_path / "data.jsonl", 60) if kind == "questions" else write_pairs(tmp_path / "data.csv", 60)
    request = TrainRequest(data, overrides=quick(loss="auto", architecture=architecture, dev_fraction=0.4), name="prompted")
    trained = studio.fine_tune.train(request)
    assert "the same" in verify_export(unpack_export(studio, trained.id, tmp_path))


def test_the_setting_is_part_of_what_decides_a_run_and_some_models_take_no_prompts() -> None:
    assert TrainSpec.from_json({}).prompt == ""
    plain = {name: value for name, value in TrainSpec().to_json().items() if name != "prompt"}
    assert run_identity(TrainSpec.from_json(plain)) == run_identity(TrainSpec()) != run_identity(TrainSpec(prompt="moon "))
    with pytest.raises(StudioError, match="tiny does not support prompts"):
        override_prompts(tiny_words(), "query: ")
