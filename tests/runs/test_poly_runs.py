"""A poly-encoder's run from its file to the zip: the studio's verbs, search that reads the corpus once, and verify.py."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tiny_studio import quick, sentences, studio_at, write_pairs

from sbert_studio.cli.main import run as run_command
from sbert_studio.encoders.scorers.poly_storage import load_poly
from sbert_studio.encoders.sentence import SentenceEncoder
from sbert_studio.errors import StudioError
from sbert_studio.runs.run import Run
from sbert_studio.studio import Studio, TrainRequest

from .verified import verified

pytestmark = pytest.mark.slow


def poly(**values: object) -> dict[str, object]:
    return quick(**{"architecture": "poly", "objective": "auto", "codes": 4, "dev_fraction": 0.4, **values})


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[tuple[Studio, Run, Path]]:
    """A studio with the run of a poly-encoder, and its data."""
    folder = tmp_path_factory.mktemp("poly")
    with studio_at(folder / "home", tiny_model) as studio:
        data = write_pairs(folder / "pairs.csv", 60)
        yield studio, studio.tune.train(TrainRequest(data, overrides=poly())), data


def write_corpus(path: Path) -> Path:
    path.write_text("\n".join(dict.fromkeys(sentences(30))), encoding="utf-8")
    return path


def test_a_run_is_advised_trained_judged_and_listed(shop: tuple[Studio, Run, Path]) -> None:
    studio, run, data = shop
    assert (run.status, run.objective) == ("finished", "cosine")
    assert run.before["metric"] == run.after["metric"] == "spearman"
    report = studio.judge.evaluate(run.id, data)
    assert report.task == "sts" and "pair" in report.scores and any("was tuned on" in note for note in report.notes)
    card = next(card for card in studio.judge.models() if card.name == run.id)
    assert (card.reads, card.dim, card.pooling, card.damaged) == ("pairs", 32, "mean", "")
    plan = studio.tune.plan(TrainRequest(data, overrides={"architecture": "poly"}))
    assert (plan.spec.codes, plan.spec.architecture) == (16, "poly")
    assert any(reason.startswith("Architecture poly") for reason in plan.reasons)


def test_retrieval_is_judged_by_all_candidates(shop: tuple[Studio, Run, Path], tmp_path: Path) -> None:
    studio, run, _ = shop
    lefts = list(dict.fromkeys(sentences(25)))
    rights = [" ".join(reversed(text.split())) for text in lefts]
    path = tmp_path / "positives.csv"
    path.write_text("anchor,positive\n" + "".join(f"{a},{b}\n" for a, b in zip(lefts, rights, strict=True)), encoding="utf-8")
    report = studio.judge.evaluate(run.id, path, "retrieval")
    scores = studio.catalog.load_poly(run.id).predict([(a, b) for a in lefts for b in rights]).reshape(len(lefts), -1)
    ranks = [1 + sum(row[other] >= row[own] for other in range(len(row)) if other != own) for own, row in enumerate(scores)]
    assert report.scores["mrr_at_10"] == pytest.approx(np.mean([1 / rank if rank <= 10 else 0 for rank in ranks]), abs=1e-6)
    path.write_text(
        "text,category\n" + "".join(f"{a},{b}\n" for a, b in zip(lefts, ["x", "y"] * len(lefts), strict=False)), encoding="utf-8"
    )
    with pytest.raises(StudioError, match="needs a vector of each text, and a poly-encoder"):
        studio.judge.evaluate(run.id, path, "clustering")


def test_a_search_reads_the_corpus_once_and_then_the_query_alone(
    shop: tuple[Studio, Run, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio, run, _ = shop
    corpus = studio.read.corpus(write_corpus(tmp_path / "texts.txt"))
    read: list[int] = []
    of_tokens = SentenceEncoder.tokenize
    monkeypatch.setattr(SentenceEncoder, "tokenize", lambda self, texts: read.append(len(texts)) or of_tokens(self, texts))
    hits = studio.explore.search(corpus, "lost bank card", 5, mode="lexical", rerank=run.id).hits
    assert sum(read) == len(corpus.texts) + 1
    read.clear()
    again = studio.explore.search(corpus, "red dog found", 5, mode="lexical", rerank=run.id).hits
    assert sum(read) == 1
    model = load_poly(studio.workspace.run(run.id) / "model")
    for query, found in (("lost bank card", hits), ("red dog found", again)):
        expected = model.predict([(query, hit.text) for hit in found])
        assert [hit.score for hit in found] == pytest.approx(expected.tolist(), abs=1e-5)
        assert expected.tolist() == sorted(expected.tolist(), reverse=True)


def test_hits_are_those_that_it_scores_highest_on_the_command_line_too(
    shop: tuple[Studio, Run, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    studio, run, _ = shop
    path = write_corpus(tmp_path / "texts.txt")
    corpus = studio.read.corpus(path)
    scores = load_poly(studio.workspace.run(run.id) / "model").predict([("lost bank card", text) for text in corpus.texts])
    best = sorted(range(len(scores)), key=lambda row: -scores[row])[:5]
    assert [hit.row for hit in studio.explore.search(corpus, "lost bank card", 5, rerank=run.id).hits] == best
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(studio.workspace.home))
    monkeypatch.setenv("SBERT_STUDIO_MODEL", studio.settings.default_model)
    assert run_command(["search", str(path), "lost bank card", "-k", "3", "--reranker", run.id, "--json"]) == 0
    assert [hit["text"] for hit in json.loads(capsys.readouterr().out)["hits"]] == [corpus.texts[row] for row in best[:3]]


def test_where_one_vector_a_text_is_needed_it_says_what_it_is_for(shop: tuple[Studio, Run, Path], tmp_path: Path) -> None:
    studio, run, data = shop
    texts = studio.read.corpus(write_corpus(tmp_path / "texts.txt"))
    for act in (
        lambda: studio.explore.similarity("cat", "dog", run.id),
        lambda: studio.explore.search(texts, "cat", model=run.id),
        lambda: studio.explore.map(texts, model=run.id),
        lambda: studio.tune.train(TrainRequest(data, overrides=quick(), model=run.id)),
    ):
        with pytest.raises(StudioError, match="is a poly-encoder") as caught:
            act()
        assert "re-ranking or in Evaluate" in caught.value.hint


def test_a_second_run_goes_on_from_the_first(shop: tuple[Studio, Run, Path]) -> None:
    studio, run, data = shop
    again = studio.tune.train(TrainRequest(data, overrides=poly(), model=run.id))
    assert again.before["score"] == pytest.approx(run.after["score"], abs=1e-6)
    cross = studio.tune.train(TrainRequest(data, overrides=quick(architecture="cross", objective="auto"), model=run.id))
    assert cross.status == "finished"
    with pytest.raises(StudioError, match="is a cross-encoder"):
        studio.tune.train(TrainRequest(data, overrides=poly(), model=cross.id))


@pytest.mark.usefixtures("two_folds")
def test_few_rows_are_judged_in_folds(shop: tuple[Studio, Run, Path], tmp_path: Path) -> None:
    studio, _, _ = shop
    run = studio.tune.train(TrainRequest(write_pairs(tmp_path / "few.csv", 40), overrides=poly(judge="folds", dev_fraction=0.1)))
    assert run.status == "finished" and run.after["folds"] == 2 and run.after["metric"] == "spearman"


@pytest.mark.parametrize("kind", ["scores", "positives", "lora", "projection"])
def test_verify_measures_the_score_again_with_sentence_transformers_alone(
    shop: tuple[Studio, Run, Path], tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    studio, run, data = shop
    if kind == "positives":
        lefts = list(dict.fromkeys(sentences(60)))
        data = tmp_path / "positives.csv"
        data.write_text("anchor,positive\n" + "".join(f"{text},{' '.join(reversed(text.split()))}\n" for text in lefts), encoding="utf-8")
    more = {"lora": {"method": "lora", "lora_r": 2}, "projection": {"projection": 8}}.get(kind, {})
    if kind != "scores":
        run = studio.tune.train(TrainRequest(data, overrides=poly(**more)))
    with zipfile.ZipFile(studio.tune.export(run.id, tmp_path / "model.zip").path) as archive:
        archive.extractall(tmp_path / "out")
    (folder,) = (tmp_path / "out").iterdir()
    assert "sbert_studio" not in (folder / "verify.py").read_text(encoding="utf-8")
    assert f"reported {run.after['score']:.4f}: the same" in verified(folder, capsys)
    assert "opens in SBERT Studio only" in (folder / "README.md").read_text(encoding="utf-8")
    assert (folder / "adapter" / "codes.safetensors").is_file() == (kind == "lora")


def test_what_it_cannot_learn_from_is_refused_before_a_run_is_made(shop: tuple[Studio, Run, Path], tmp_path: Path) -> None:
    studio, _, _ = shop
    path = tmp_path / "texts.csv"
    rows = zip(sentences(40), ["one", "two"] * 20, strict=True)
    path.write_text("text,category\n" + "".join(f"{a},{b}\n" for a, b in rows), encoding="utf-8")
    before = len(studio.tune.runs())
    with pytest.raises(StudioError, match="not from labelled texts"):
        studio.tune.train(TrainRequest(path, overrides=poly()))
    assert len(studio.tune.runs()) == before
