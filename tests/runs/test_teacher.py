"""A teacher's scores and vectors: from a column or a model, computed once, cached, and the same for a resumed run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_studio import quick, sentences, write_static

from sbert_studio.data.examples import Examples, read_examples, write_examples
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.errors import StudioError
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.models.word_encoder import WordEncoder
from sbert_studio.runs import teacher
from sbert_studio.runs.teacher import add_teacher, try_teacher
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.training.events import Event, Step
from sbert_studio.training.spec import TrainSpec
from tests.training.tiny import bare_sentences, never, positive_pairs, tiny_cross

ROWS = 24


def brief(**values: Any) -> dict[str, Any]:
    return quick(**{"batch_size": 8, "epochs": 2, "loss": "auto", "checkpoint_every": 1, "dev_fraction": 0, **values})


def write_rows(path: Path, columns: dict[str, list[Any]]) -> Path:
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join(json.dumps(dict(zip(columns, row, strict=True))) for row in rows), encoding="utf-8")
    return path


def triplets(**more: list[Any]) -> dict[str, list[Any]]:
    texts = {name: sentences(ROWS, place) for place, name in enumerate(("anchor", "positive", "negative_1", "negative_2"))}
    return {**texts, **more}


@pytest.fixture(scope="module")
def teachers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A table of words with 8 components and a cross-encoder, in folders."""
    folder = tmp_path_factory.mktemp("teachers")
    write_static(folder / "words")
    tiny_cross().save(folder / "cross")
    return {"words": str(folder / "words"), "cross": str(folder / "cross")}


@pytest.fixture(autouse=True)
def no_general_probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Everyday pairs, which take most of the time of such short runs, are not evaluated."""
    monkeypatch.setattr("sbert_studio.training.evaluator.PAIRS", tmp_path / "none")


def weights(run: Any) -> bytes:
    return bytes((run.model_path / "model.safetensors").read_bytes())


def untrained(run: Any) -> bytes:
    return (Path(run.model) / "model.safetensors").read_bytes()


def stopped_after(steps: int) -> tuple[Callable[[Event], None], Callable[[], bool]]:
    taken: list[Event] = []
    return taken.append, lambda: sum(isinstance(event, Step) for event in taken) >= steps


TEXTS = {"text": sentences(ROWS)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "loss", "overrides"),
    [
        (triplets(), "margin_mse", {"teacher": "cross"}),
        (triplets(), "distill_kl", {"teacher": "words", "loss": "distill_kl"}),
        (triplets(teacher_score=[[3.0, 1.0, 2.0]] * ROWS), "margin_mse", {"loss": "margin_mse"}),
        (TEXTS, "embedding_mse", {"teacher": "words"}),
        ({"query": sentences(ROWS), "positive": sentences(ROWS, 1)}, "gist", {"teacher": "words", "micro_batch": 3}),
        (TEXTS, "tsdae", {"loss": "tsdae", "micro_batch": 3}),
        (TEXTS, "simcse", {"adaptive_layers": True, "layers": 1, "micro_batch": 3, "matryoshka": "8"}),
    ],
    ids=["cross-encoder", "cosines of an encoder", "column", "vectors", "guide", "TSDAE", "layers"],
)
def test_a_run_is_stopped_and_resumed_in_the_same_bits(
    studio: Studio, tmp_path: Path, teachers: dict[str, str], columns: dict[str, list[Any]], loss: str, overrides: dict[str, Any]
) -> None:
    file = write_rows(tmp_path / "rows.jsonl", columns)
    overrides = {**overrides, **({"teacher": teachers[overrides["teacher"]]} if "teacher" in overrides else {})}
    request = TrainRequest(file, choices=SchemaOverrides(as_read=True), overrides=brief(**overrides))
    plan = studio.planner.plan(request)
    assert plan.spec.loss == loss
    whole = studio.fine_tune.train(plan)
    on_event, should_stop = stopped_after(1)
    part = studio.fine_tune.train(plan, on_event=on_event, should_stop=should_stop)
    assert (whole.status, part.status) == ("finished", "stopped") and 0 < part.step < whole.step
    again = studio.fine_tune.resume(part.id)
    assert again.status == "finished" and weights(again) == weights(whole) != untrained(part)


@pytest.mark.slow
def test_the_time_of_a_teacher_is_part_of_the_estimate(studio: Studio, tmp_path: Path, teachers: dict[str, str]) -> None:
    file = write_rows(tmp_path / "rows.jsonl", triplets())
    found = studio.planner.estimate(TrainRequest(file, overrides=brief(teacher=teachers["cross"])))
    assert found.estimate.steps > 0 and found.spec.teacher == teachers["cross"]
    examples, seconds = try_teacher(positive_pairs(1000), TrainSpec(loss="gist", teacher=teachers["words"]), studio.catalog)
    assert seconds > 0 and examples.teacher is not None and examples.teacher.at(np.arange(1000)).shape == (1000, 2, 8)


def values_of(studio: Studio, examples: Examples, spec: TrainSpec, folder: Path) -> np.ndarray:
    folder.mkdir(exist_ok=True)
    found = add_teacher(examples, spec, studio.catalog, folder / "teacher.npy", lambda event: None, never)
    assert found.teacher is not None
    return found.teacher.at(np.arange(len(examples)))


def test_values_are_those_of_the_model_and_computed_once(
    studio: Studio, tmp_path: Path, teachers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teacher, "_CHUNK", 10)
    examples, spec = positive_pairs(ROWS), TrainSpec(loss="gist", teacher=teachers["words"])
    found = values_of(studio, examples, spec, tmp_path / "one")
    model = studio.catalog.load(teachers["words"])
    for column in (0, 1):
        np.testing.assert_allclose(found[:, column], model.encode(examples.texts[column]), atol=1e-6)

    calls: list[int] = []
    encode = WordEncoder.encode
    monkeypatch.setattr(WordEncoder, "encode", lambda self, texts, **more: calls.append(len(texts)) or encode(self, texts, **more))
    assert np.array_equal(values_of(studio, examples, spec, tmp_path / "two"), found) and calls == [], "another run on the same texts"
    next((studio.workspace.home / "cache" / "teacher").glob("*.npy")).unlink()
    values_of(studio, examples, spec, tmp_path / "three")
    assert len(calls) == 1 and calls[0] <= 10, "only the missing chunk is computed again"
    (tmp_path / "one" / "teacher.json").unlink()
    assert np.array_equal(values_of(studio, examples, spec, tmp_path / "one"), found)


def test_stopping_keeps_the_chunks_computed_so_far(
    studio: Studio, tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teacher, "_CHUNK", 8)
    examples, spec = bare_sentences(ROWS), TrainSpec(loss="embedding_mse", teacher=str(tiny_model))
    asked: Iterator[bool] = iter([False] * 2 + [True] * 99)
    with pytest.raises(StudioError, match="was stopped"):
        add_teacher(examples, spec, studio.catalog, tmp_path / "teacher.npy", lambda event: None, lambda: next(asked))
    kept = len(list((studio.workspace.home / "cache" / "teacher").glob("*.npy")))
    assert 0 < kept < 3 and not (tmp_path / "teacher.npy").exists()
    calls: list[int] = []
    encode = TransformerEncoder.encode
    monkeypatch.setattr(TransformerEncoder, "encode", lambda self, texts, **more: calls.append(len(texts)) or encode(self, texts, **more))
    values_of(studio, examples, spec, tmp_path)
    assert len(calls) == 3 - kept


@pytest.mark.slow
def test_a_run_stopped_while_the_teacher_works_can_be_resumed(studio: Studio, tmp_path: Path, teachers: dict[str, str]) -> None:
    file = write_rows(tmp_path / "rows.jsonl", TEXTS)
    run = studio.fine_tune.train(TrainRequest(file, overrides=brief(teacher=teachers["words"])), should_stop=lambda: True)
    assert (run.status, run.step, run.model_path) == ("stopped", 0, None)
    assert studio.fine_tune.resume(run.id).status == "finished"
    assert not list((studio.workspace.run(run.id)).glob("teacher.npy"))


def test_a_column_of_a_teacher_is_found_by_name_and_kept_with_the_rows(studio: Studio, tmp_path: Path) -> None:
    margins = [[0.5, 0.25]] * (ROWS - 1) + ["none"]
    plan = studio.planner.plan(
        TrainRequest(write_rows(tmp_path / "rows.jsonl", triplets(margin=margins)), overrides=brief(loss="margin_mse"))
    )
    assert (plan.roles.teacher, len(plan.examples), plan.accounts["data"].read) == ("margin", ROWS - 1, ROWS)
    assert not any("not used for training" in str(why) for why in plan.diagnosis.why)
    write_examples(plan.examples, tmp_path / "rows.parquet")
    again = read_examples(tmp_path / "rows.parquet")
    assert again.teacher is not None and again.digest == plan.examples.digest
    assert again.take([3, 1]).teacher.at(np.array([1])).tolist() == [[0.5, 0.25]]  # type: ignore[union-attr]
    other = write_rows(tmp_path / "other.jsonl", triplets(margin=[[0.5, 0.5]] * ROWS))
    assert studio.planner.plan(TrainRequest(other)).examples.digest != plan.examples.digest
    topics = write_rows(tmp_path / "topics.jsonl", triplets(label=["news"] * ROWS))
    assert studio.planner.plan(TrainRequest(topics)).roles.teacher is None


@pytest.mark.parametrize(
    ("columns", "overrides", "message"),
    [
        (triplets(), {"loss": "margin_mse"}, "needs a teacher"),
        (triplets(), {"loss": "in_batch", "teacher": "words"}, "does not imitate a teacher"),
        (TEXTS, {"teacher": "no-such-model"}, "no-such-model"),
        (TEXTS, {"teacher": "cross"}, "has no vectors of single texts"),
        (TEXTS, {"teacher": "/nope/x"}, "no model or model folder '/nope/x'"),
        (TEXTS, {"teacher": ""}, "the teacher and the student are the same model"),
    ],
)
def test_errors_say_what_the_teacher_lacks_before_a_run_is_made(
    studio: Studio, tmp_path: Path, teachers: dict[str, str], columns: dict[str, list[Any]], overrides: dict[str, str], message: str
) -> None:
    overrides = {
        **overrides,
        **(
            {"teacher": teachers.get(overrides["teacher"], overrides["teacher"] or studio.settings.default_model)}
            if "teacher" in overrides
            else {}
        ),
    }
    with pytest.raises(StudioError, match=message):
        studio.fine_tune.train(TrainRequest(write_rows(tmp_path / "rows.jsonl", columns), overrides=brief(**overrides)))
    assert studio.store.runs() == []
