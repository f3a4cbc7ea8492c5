"""A student is trained to imitate a teacher on a corpus, and its agreement and speed are measured on held-out texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_studio import WORDS, WordSums, studio_at, write_static

from sbert_studio.errors import StudioError
from sbert_studio.services import Studio
from sbert_studio.services.distillation import Agreement, Distillation, _AgreementTest, _split
from tests.training.tiny import tiny_cross


@pytest.fixture
def studio(home: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Studio]:
    monkeypatch.setattr("sbert_studio.training.evaluator.PAIRS", home / "none")  # the general probe
    with studio_at(home, tiny_model) as made:
        yield made


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("corpus") / "texts.txt"
    path.write_text("\n".join(" ".join(random.choice(WORDS, 4)) for _ in range(160)), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_student_comes_nearer_to_the_encoder_that_it_imitates(studio: Studio, corpus: Path, tmp_path: Path, tiny_model: Path) -> None:
    teacher = str(write_static(tmp_path / "teacher"))
    settings = {"epochs": 12, "learning_rate": 3e-3, "batch_size": 16, "layers": 1}
    found = studio.distillation.distill(teacher, corpus, str(tiny_model), settings=settings, out=tmp_path / "student")
    assert found.before is not None and found.after is not None
    assert found.after.spearman > found.before.spearman + 0.1 and found.after.top10 > found.before.top10
    assert found.after.interval[0] < found.after.spearman < found.after.interval[1]
    assert (found.status, found.held_out, found.model) == ("finished", 20, str(tmp_path / "student"))
    assert found.student_rate > 0 and found.teacher_rate > 0 and found.texts + found.held_out <= 160
    assert "Spearman" in found.describe() and studio.catalog.load(found.model).dim == 32
    again = studio.distillation.compare(teacher, found.model, corpus)
    assert again is not None and again.after == found.after and again.before is None
    whole = studio.distillation.compare(teacher, str(tiny_model), corpus)
    assert whole is not None and whole.after != found.before, "the student before training is cut too"


@pytest.mark.slow
def test_a_cross_encoder_teaches_its_scores_and_a_stopped_run_is_resumed(
    studio: Studio, corpus: Path, tmp_path: Path, tiny_model: Path
) -> None:
    tiny_cross().save(tmp_path / "cross")
    forecast = studio.distillation.estimate(str(tmp_path / "cross"), corpus, str(tiny_model))
    assert forecast.spec.loss == "distill_kl" and forecast.estimate.seconds > 0 and not studio.fine_tune.list_runs()
    steps = iter([False] * 6)
    settings = {"epochs": 1, "batch_size": 16}
    found = studio.distillation.distill(
        str(tmp_path / "cross"), corpus, str(tiny_model), settings=settings, should_stop=lambda: next(steps, True)
    )
    assert (found.status, found.after) == ("stopped", None) and found.before is not None
    assert f"--resume {found.run}" in found.describe()
    run = studio.fine_tune.resume(found.run)
    assert run.status == "finished" and run.loss == "distill_kl" and run.spec["teacher"] == str(tmp_path / "cross")


def test_a_student_that_came_no_closer_to_its_teacher_is_called_so() -> None:
    good, bad = Agreement(0.609, [0.5, 0.7], 0.73), Agreement(0.6, [0.5, 0.7], 0.69)
    found = Distillation("run-1", "finished", "teacher", "student", "run-1", 90, 10, good, bad, 1.0, 3.0, 60.0)
    assert "training has not brought it closer to its teacher" in found.describe()
    assert "not brought" not in replace(found, before=bad, after=good).describe()
    assert "not brought" not in replace(found, before=None).describe()


def test_agreement_is_perfect_with_oneself_and_chance_with_noise() -> None:
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(WORDS, 5)) for _ in range(60)]
    test = _AgreementTest.build(WordSums(), None, texts, None)
    own = test.measure(WordSums())
    assert own.spearman == pytest.approx(1) and own.top10 == 1

    class Noise(WordSums):
        def _one(self, text: str) -> np.ndarray:
            return random.normal(size=self.dim)

    noise = test.measure(Noise())
    assert abs(noise.spearman) < 0.15 and noise.top10 < 0.55  # 10 of 30 by chance
    assert all(len({*row, place}) == len(row) + 1 for place, row in enumerate(test.candidates.tolist())), (
        "distinct, without the text itself"
    )


def test_a_tenth_is_held_out_and_few_texts_are_refused(studio: Studio, tmp_path: Path, tiny_model: Path) -> None:
    texts = [str(number) for number in range(1000)]
    rest, held = _split(texts)
    assert len(held) == 100 and sorted([*rest, *held], key=int) == texts and rest == sorted(rest, key=int)
    few = tmp_path / "few.txt"
    few.write_text("\n".join(WORDS), encoding="utf-8")
    with pytest.raises(StudioError, match="20 distinct texts; a distillation needs 40"):
        studio.distillation.distill(str(tiny_model), few, str(tiny_model))
    assert studio.distillation.compare(str(tiny_model), str(tiny_model), few) is None
    few.write_text("\n".join(f"{word} {number}" for word in WORDS for number in range(3)), encoding="utf-8")
    with pytest.raises(StudioError, match="the same model"):
        studio.distillation.distill(str(tiny_model), few, str(tiny_model))
