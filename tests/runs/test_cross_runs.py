"""A cross-encoder's run from its file to the zip: the studio's verbs, and what each says where vectors are needed."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_studio import quick, sentences, studio_at, write_pairs
from waiting import wait_until

from sbert_studio.encoders.scorers.cross_storage import load_cross
from sbert_studio.errors import StudioError
from sbert_studio.runs.run import Run
from sbert_studio.studio import Studio, TrainRequest

from .verified import verified

pytestmark = pytest.mark.slow


def cross(**values: object) -> dict[str, object]:
    return quick(**{"architecture": "cross", "objective": "auto", **values})


def write_classes(path: Path, rows: int = 80) -> Path:
    """Pairs of three classes, by the words that both sides hold."""
    with path.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow(["premise", "hypothesis", "label"])
        for a, b in zip(sentences(rows), sentences(rows, 1), strict=True):
            shared = len(set(a.split()) & set(b.split()))
            writer.writerow([a, b, ("contradiction", "neutral", "entailment")[min(shared, 2)]])
    return path


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Studio]:
    """One studio for all tests here, which read its first run and add others."""
    with studio_at(tmp_path_factory.mktemp("cross") / "home", tiny_model) as made:
        yield made


@pytest.fixture(scope="module")
def scored(studio: Studio) -> Path:
    return write_pairs(studio.workspace.home.parent / "pairs.csv", 60)


@pytest.fixture(scope="module")
def trained(studio: Studio, scored: Path) -> Run:
    """Read only."""
    return studio.tune.train(TrainRequest(scored, overrides=cross(dev_fraction=0.4)))


def test_a_run_is_advised_trained_judged_and_listed(studio: Studio, scored: Path, trained: Run) -> None:
    assert (trained.status, trained.objective) == ("finished", "mse")
    assert trained.before["metric"] == trained.after["metric"] == "spearman"
    assert {"spearman", "pearson", "mse"} <= set(trained.after["pair"])
    report = studio.judge.evaluate(trained.id, scored)
    assert report.task == "sts" and set(report.scores["pair"]["intervals"]) == {"spearman", "pearson", "mse"}
    assert any("was tuned on" in note for note in report.notes)
    card = next(card for card in studio.judge.models() if card.name == trained.id)
    assert (card.reads, card.dim, card.max_length) == ("pairs", 0, 64) and card.parameters > 1000
    assert next(card for card in studio.judge.models() if card.name != trained.id).reads == "texts"
    advice = studio.tune.plan(TrainRequest(scored, overrides={"architecture": "cross", "head": "mlp"}))
    assert (advice.spec.batch_size, advice.spec.learning_rate, advice.spec.objective) == (16, 5e-5, "mse")
    assert any(reason.startswith("Architecture cross") for reason in advice.reasons)


def test_where_vectors_are_needed_a_cross_encoder_says_what_it_is_for(studio: Studio, trained: Run, tmp_path: Path) -> None:
    corpus = tmp_path / "texts.txt"
    corpus.write_text("\n".join(dict.fromkeys(sentences(30))), encoding="utf-8")
    texts = studio.read.corpus(corpus)
    for act in (
        lambda: studio.explore.similarity("cat", "dog", trained.id),
        lambda: studio.explore.search(texts, "cat", model=trained.id),
        lambda: studio.explore.map(texts, model=trained.id),
        lambda: studio.tune.train(TrainRequest(write_pairs(tmp_path / "more.csv"), overrides=quick(), model=trained.id)),
    ):
        with pytest.raises(StudioError, match=r"is a cross-encoder.* no vectors") as caught:
            act()
        assert "re-ranking or in Evaluate" in caught.value.hint


def test_a_tuned_cross_encoder_ranks_again(studio: Studio, trained: Run, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(dict.fromkeys(sentences(30))), encoding="utf-8")
    corpus = studio.read.corpus(path)
    hits = studio.explore.search(corpus, "lost bank card", 5, rerank=trained.id).hits
    scores = load_cross(studio.workspace.run(trained.id) / "model").predict([("lost bank card", text) for text in corpus.texts])
    assert [hit.row for hit in hits] == sorted(range(len(scores)), key=lambda row: -scores[row])[:5]


def test_a_second_run_goes_on_from_the_first(studio: Studio, trained: Run, scored: Path) -> None:
    again = studio.tune.train(TrainRequest(scored, overrides=cross(dev_fraction=0.4), model=trained.id))
    assert again.before["score"] == pytest.approx(trained.after["score"], abs=1e-6)


def test_classes_then_scores_in_two_stages(studio: Studio, scored: Path, tmp_path: Path) -> None:
    run = studio.tune.train(TrainRequest(scored, first=write_classes(tmp_path / "nli.csv"), overrides=cross(dev_fraction=0.4)))
    assert run.status == "finished" and run.spec["first"]["objective"] == "cross_entropy" and run.objective == "mse"
    model = load_cross(studio.workspace.run(run.id) / "model")
    assert model.labels == 1 and not model.sigmoid


def test_a_background_run_is_stopped_and_taken_up(studio: Studio, scored: Path) -> None:
    run = studio.tune.submit(TrainRequest(scored, overrides=cross(dev_fraction=0.4, epochs=300, head="mlp")))

    def now() -> Run:
        return studio.tune.run(run.id).run

    def starts() -> list[int]:
        return [event["step"] for _, event in studio.tune.run(run.id).events if event["type"] == "started"]

    wait_until(lambda: now().step >= 5, 120)
    studio.tune.stop(run.id)
    assert studio.runner.wait(run.id, 120)
    stopped = now()
    assert stopped.status == "stopped" and 5 <= stopped.step < stopped.steps
    studio.tune.resume(run.id)
    wait_until(lambda: len(starts()) > 1, 120)
    assert starts()[-1] == stopped.step
    studio.tune.stop(run.id)
    assert studio.runner.wait(run.id, 120)


def _unzipped(studio: Studio, run: Run, folder: Path) -> Path:
    with zipfile.ZipFile(studio.tune.export(run.id, folder / "model.zip").path) as archive:
        archive.extractall(folder / "out")
    (top,) = (folder / "out").iterdir()
    return top


@pytest.mark.parametrize("kind", ["scores", "classes", "lora"])
def test_verify_measures_the_score_again(
    studio: Studio, scored: Path, trained: Run, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_classes(tmp_path / "nli.csv") if kind == "classes" else scored
    more: dict[str, object] = {"method": "lora", "lora_r": 2} if kind == "lora" else {}
    run = trained if kind == "scores" else studio.tune.train(TrainRequest(data, overrides=cross(dev_fraction=0.4, **more)))
    folder = _unzipped(studio, run, tmp_path)
    assert f"reported {run.after['score']:.4f}: the same" in verified(folder, capsys)
    assert "CrossEncoder(" in (folder / "README.md").read_text(encoding="utf-8")
    assert (folder / "adapter" / "cross_encoder.json").is_file() == (kind == "lora")


def test_of_seeds_that_are_compared_a_model_with_an_mlp_is_kept_and_says_that_it_opens_here_only(
    studio: Studio, scored: Path, tmp_path: Path
) -> None:
    run = studio.tune.train(TrainRequest(scored, overrides=cross(dev_fraction=0.4, head="mlp", seeds=2)))
    assert len(run.after["each"]) == 2 and run.after["metric"] == "spearman"
    folder = _unzipped(studio, run, tmp_path)
    assert not (folder / "verify.py").exists()
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "There is no `verify.py` here" in card and "python verify.py" not in card
    assert "opens in SBERT Studio only" in card and "library_name" not in card and "from sentence_transformers" not in card
    assert json.loads((folder / "model" / "config.json").read_text())["sbert_studio"] == {"head": "mlp"}
    assert studio.judge.evaluate(str(folder / "model"), scored).scores["pair"]["spearman"] == pytest.approx(
        studio.judge.evaluate(run.id, scored).scores["pair"]["spearman"], abs=1e-6
    )


def test_data_that_a_cross_encoder_cannot_learn_from_is_refused_before_a_run_is_made(studio: Studio, tmp_path: Path) -> None:
    path, before = tmp_path / "triplets.csv", len(studio.tune.runs())
    rows = zip(sentences(20), sentences(20, 1), sentences(20, 2), strict=True)
    path.write_text("anchor,positive,negative\n" + "".join(f"{a},{p},{n}\n" for a, p, n in rows), encoding="utf-8")
    with pytest.raises(StudioError, match="pairs with a score or a label, not from triplets"):
        studio.tune.train(TrainRequest(path, overrides=cross()))
    assert len(studio.tune.runs()) == before
