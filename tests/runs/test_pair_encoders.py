"""Runs of cross-encoders and poly-encoders from the file to the zip: every use of the studio, and what needs vectors instead."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tiny_studio import quick, sentences, studio_at, unpack_export, write_pairs

from sbert_studio.cli.main import run as run_command
from sbert_studio.errors import StudioError
from sbert_studio.models.cross_encoder import load_cross_encoder
from sbert_studio.models.poly_encoder import load_poly_encoder
from sbert_studio.models.sentence_encoder import SentenceEncoder
from sbert_studio.runs.run import Run
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.services.search import SearchOptions

pytestmark = pytest.mark.slow

NAMES = {"cross": "is a cross-encoder", "poly": "is a poly-encoder"}


class Trained(NamedTuple):
    """A studio with a run, which is read only, and the run's data."""

    studio: Studio
    run: Run
    data: Path


def settings(architecture: str, **values: object) -> dict[str, object]:
    codes = {"codes": 4} if architecture == "poly" else {}
    return quick(**{"architecture": architecture, "loss": "auto", "dev_fraction": 0.4, **codes, **values})


def trained(folder: Path, model: Path, architecture: str) -> Iterator[Trained]:
    with studio_at(folder / "home", model) as studio:
        data = write_pairs(folder / "pairs.csv", 60)
        yield Trained(studio, studio.fine_tune.train(TrainRequest(data, overrides=settings(architecture))), data)


@pytest.fixture(scope="module")
def cross(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Trained]:
    yield from trained(tmp_path_factory.mktemp("cross"), tiny_model, "cross")


@pytest.fixture(scope="module")
def poly(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Trained]:
    yield from trained(tmp_path_factory.mktemp("poly"), tiny_model, "poly")


@pytest.fixture(params=["cross", "poly"])
def either(request: pytest.FixtureRequest) -> tuple[str, Trained]:
    return request.param, request.getfixturevalue(request.param)


def write_corpus(path: Path, seed: int = 0) -> Path:
    path.write_text("\n".join(dict.fromkeys(sentences(30, seed))), encoding="utf-8")
    return path


def write_rows(path: Path, header: list[str], *columns: list[str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as target:
        csv.writer(target).writerows([header, *zip(*columns, strict=True)])
    return path


def write_classes(path: Path, rows: int = 80) -> Path:
    """Pairs of three classes, by the words that both sides share."""
    pairs = list(zip(sentences(rows), sentences(rows, 1), strict=True))
    labels = [("contradiction", "neutral", "entailment")[min(len(set(a.split()) & set(b.split())), 2)] for a, b in pairs]
    return write_rows(path, ["premise", "hypothesis", "label"], *map(list, zip(*pairs, strict=True)), labels)


def write_positives(path: Path, rows: int = 60) -> Path:
    lefts = list(dict.fromkeys(sentences(rows)))
    return write_rows(path, ["anchor", "positive"], lefts, [" ".join(reversed(text.split())) for text in lefts])


def test_a_run_is_advised_trained_evaluated_and_listed(either: tuple[str, Trained]) -> None:
    architecture, (studio, run, data) = either
    assert (run.status, run.loss) == ("finished", {"cross": "mse", "poly": "cosine"}[architecture])
    assert run.before["metric"] == run.after["metric"] == "spearman"
    report = studio.evaluation.evaluate(run.id, data)
    assert report.task == "sts" and {"spearman", "pearson"} <= set(report.scores["pair"])
    assert any("was fine-tuned on" in note for note in report.notes)
    card = next(card for card in studio.models.list_models() if card.name == run.id)
    assert (card.reads, card.dim, card.damaged) == ("pairs", {"cross": 0, "poly": 32}[architecture], "")
    assert next(card for card in studio.models.list_models() if card.name != run.id).reads == "texts"
    plan = studio.planner.plan(TrainRequest(data, overrides={"architecture": architecture}))
    assert any(reason.startswith(f"Architecture {architecture}") for reason in plan.reasons)
    expected = {"cross": (16, 5e-5, "mse"), "poly": (plan.spec.batch_size, plan.spec.learning_rate, "cosine")}[architecture]
    assert (plan.spec.batch_size, plan.spec.learning_rate, plan.spec.loss) == expected
    assert architecture == "cross" or plan.spec.codes == 16


def test_a_poly_encoder_re_ranks_on_the_command_line_and_reads_the_corpus_once(
    poly: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    studio, run, _ = poly
    path = write_corpus(tmp_path / "texts.txt")
    expected = [
        hit.text
        for hit in studio.search.search(studio.data.read_corpus(path), "lost bank card", 3, options=SearchOptions(reranker=run.id)).hits
    ]
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(studio.workspace.home))
    monkeypatch.setenv("SBERT_STUDIO_MODEL", studio.settings.default_model)
    assert run_command(["search", str(path), "lost bank card", "-k", "3", "--reranker", run.id, "--json"]) == 0
    assert [hit["text"] for hit in json.loads(capsys.readouterr().out)["hits"]] == expected
    studio, run, _ = poly
    corpus = studio.data.read_corpus(write_corpus(tmp_path / "texts.txt", 9))
    studio.catalog.load_poly_encoder(run.id)  # which reads two texts to know the model
    read: list[int] = []
    tokenize = SentenceEncoder.tokenize
    monkeypatch.setattr(SentenceEncoder, "tokenize", lambda self, texts: read.append(len(texts)) or tokenize(self, texts))
    model = load_poly_encoder(studio.workspace.run(run.id) / "model")
    for query, expected_reads in (("lost bank card", len(corpus.texts) + 1), ("red dog found", 1)):
        read.clear()
        hits = studio.search.search(corpus, query, 5, mode="lexical", options=SearchOptions(reranker=run.id)).hits
        assert sum(read) == expected_reads
        scores = model.predict([(query, hit.text) for hit in hits])
        assert [hit.score for hit in hits] == pytest.approx(scores.tolist(), abs=1e-5)
        assert scores.tolist() == sorted(scores.tolist(), reverse=True)


def test_retrieval_with_a_poly_encoder_ranks_all_candidates(poly: Trained, tmp_path: Path) -> None:
    studio, run, _ = poly
    path = write_positives(tmp_path / "positives.csv", 25)
    lefts, rights = (list(column) for column in zip(*list(csv.reader(path.open(encoding="utf-8")))[1:], strict=True))
    report = studio.evaluation.evaluate(run.id, path, "retrieval")
    scores = studio.catalog.load_poly_encoder(run.id).predict([(a, b) for a in lefts for b in rights]).reshape(len(lefts), -1)
    ranks = [1 + sum(row[other] >= row[own] for other in range(len(row)) if other != own) for own, row in enumerate(scores)]
    assert report.scores["mrr_at_10"] == pytest.approx(np.mean([1 / rank if rank <= 10 else 0 for rank in ranks]), abs=1e-6)
    write_rows(path, ["text", "category"], lefts, ["xy"[row % 2] for row in range(len(lefts))])
    with pytest.raises(StudioError, match="needs a vector for each text, but a poly-encoder"):
        studio.evaluation.evaluate(run.id, path, "clustering")


@pytest.mark.parametrize(
    ("architecture", "write", "more"),
    [
        ("cross", None, {}), ("cross", write_classes, {}), ("cross", None, {"method": "lora", "lora_r": 2}), ("poly", None, {}),
        ("poly", write_positives, {}), ("poly", None, {"method": "lora", "lora_r": 2}), ("poly", None, {"projection": 8}),
    ],
)  # fmt: skip
def test_the_exported_script_recomputes_the_score(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    verify_export: Callable[[Path], str],
    architecture: str,
    write: Callable[[Path], Path] | None,
    more: dict[str, Any],
) -> None:
    studio, run, data = request.getfixturevalue(architecture)
    if write is not None or more:
        data = data if write is None else write(tmp_path / "data.csv")
        run = studio.fine_tune.train(TrainRequest(data, overrides=settings(architecture, **more)))
    folder = unpack_export(studio, run.id, tmp_path)
    assert "sbert_studio" not in (folder / "verify.py").read_text(encoding="utf-8")
    assert f"reported {run.after['score']:.4f}: the same" in verify_export(folder)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert ("CrossEncoder(" if architecture == "cross" else "opens in SBERT Studio only") in card
    adapter = {"cross": "cross_encoder.json", "poly": "codes.safetensors"}[architecture]
    assert (folder / "adapter" / adapter).is_file() == ("method" in more)


def test_of_several_seeds_a_model_with_an_mlp_is_kept_and_says_that_it_opens_here_only(cross: Trained, tmp_path: Path) -> None:
    studio, _, data = cross
    run = studio.fine_tune.train(TrainRequest(data, overrides=settings("cross", head="mlp", seeds=2)))
    assert len(run.after["each"]) == 2 and run.after["metric"] == "spearman"
    folder = unpack_export(studio, run.id, tmp_path)
    assert not (folder / "verify.py").exists()
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "There is no `verify.py` here" in card and "python verify.py" not in card
    assert "opens in SBERT Studio only" in card and "library_name" not in card and "from sentence_transformers" not in card
    assert json.loads((folder / "model" / "config.json").read_text())["sbert_studio"] == {"head": "mlp"}
    ours, exported = (studio.evaluation.evaluate(name, data).scores["pair"]["spearman"] for name in (run.id, str(folder / "model")))
    assert exported == pytest.approx(ours, abs=1e-6)


def test_hits_are_re_ranked_and_vectors_and_other_data_refused(either: tuple[str, Trained], tmp_path: Path) -> None:
    architecture, (studio, run, _) = either
    corpus = studio.data.read_corpus(write_corpus(tmp_path / "texts.txt"))
    model = {"cross": load_cross_encoder, "poly": load_poly_encoder}[architecture](studio.workspace.run(run.id) / "model")
    scores = model.predict([("lost bank card", text) for text in corpus.texts])
    best = sorted(range(len(scores)), key=lambda row: -scores[row])[:5]
    assert [hit.row for hit in studio.search.search(corpus, "lost bank card", 5, options=SearchOptions(reranker=run.id)).hits] == best
    architecture, (studio, run, data) = either
    texts = studio.data.read_corpus(write_corpus(tmp_path / "texts.txt"))
    for act in (
        lambda: studio.similarity.compare("cat", "dog", run.id),
        lambda: studio.search.search(texts, "cat", model=run.id),
        lambda: studio.map.draw(texts, model=run.id),
        lambda: studio.fine_tune.train(TrainRequest(data, overrides=quick(), model=run.id)),
    ):
        with pytest.raises(StudioError, match=NAMES[architecture]) as caught:
            act()
        assert "re-ranking or in Evaluate" in caught.value.hint
    architecture, (studio, _, _) = either
    before = len(studio.fine_tune.list_runs())
    if architecture == "cross":
        columns = [sentences(20, seed) for seed in range(3)]
        path, match = write_rows(tmp_path / "triplets.csv", ["anchor", "positive", "negative"], *columns), "not on triplets"
    else:
        columns = [sentences(40), ["one", "two"] * 20]
        path, match = write_rows(tmp_path / "texts.csv", ["text", "category"], *columns), "not on labelled texts"
    with pytest.raises(StudioError, match=match):
        studio.fine_tune.train(TrainRequest(path, overrides=settings(architecture)))
    assert len(studio.fine_tune.list_runs()) == before
