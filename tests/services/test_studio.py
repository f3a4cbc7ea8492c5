"""The verbs, each with what it promises and what it refuses."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_studio import quick, sentences, studio_at, write_pairs

from sbert_studio.data.corpus import Corpus
from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.errors import StudioError
from sbert_studio.models.cross_encoder import create_cross_encoder
from sbert_studio.runs.run import Run
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.services.search import SearchOptions
from sbert_studio.settings import Settings


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Studio]:
    with studio_at(tmp_path_factory.mktemp("home"), tiny_model) as made:
        yield made


@pytest.fixture(scope="module")
def corpus(studio: Studio) -> Corpus:
    texts = list(dict.fromkeys(sentences(120)))
    return studio.data.read_corpus(table_from_columns("made up", {"text": texts, "topic": [str(row % 3) for row in range(len(texts))]}))


@dataclass(frozen=True)
class Trained:
    """A run, what it learned from, the file that judged it, and where its model was written."""

    run: Run
    data: Path
    dev: Path | None
    out: Path
    events: list[Any]


@pytest.fixture(scope="module")
def mine(studio: Studio, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A run called "Mine", judged by a part of its fifty rows."""
    folder, events = tmp_path_factory.mktemp("mine"), list[Any]()
    data, out = write_pairs(folder / "pairs.csv", 50), folder / "new" / "model"
    run = studio.fine_tune.train(TrainRequest(data, overrides=quick(epochs=0.2), name="Mine"), out=out, on_event=events.append)
    return Trained(run, data, None, out, events)


@pytest.fixture(scope="module")
def again(studio: Studio, mine: Trained, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A run called "Again" that goes on from "Mine" with other rows, judged by a file."""
    folder, events = tmp_path_factory.mktemp("again"), list[Any]()
    data, dev, out = write_pairs(folder / "other.csv", 20, seed=7), write_pairs(folder / "dev.csv", 23, seed=9), folder / "model"
    request = TrainRequest(data, dev=dev, model=mine.run.id, overrides=quick(epochs=0.2), name="Again")
    return Trained(studio.fine_tune.train(request, out=out, on_event=events.append), data, dev, out, events)


def test_similarity_is_what_the_vectors_say(studio: Studio) -> None:
    found = studio.similarity.compare("cat dog mat", "red blue")
    left, right = studio.similarity.encode(["cat dog mat", "red blue"]).vectors.astype(np.float64)
    assert found.cosine == pytest.approx(left @ right / np.linalg.norm(left) / np.linalg.norm(right), abs=1e-6)
    assert found.dot == pytest.approx(left @ right, abs=1e-6)
    assert found.euclidean == pytest.approx(np.linalg.norm(left - right), abs=1e-6)
    assert found.manhattan == pytest.approx(np.abs(left - right).sum(), abs=1e-5)


@pytest.mark.slow
def test_vectors_that_are_not_finite_are_no_answer(studio: Studio, tiny_model: Path, tmp_path: Path, corpus: Corpus) -> None:
    from safetensors.numpy import load_file, save_file

    broken = tmp_path / "broken"
    shutil.copytree(tiny_model, broken)
    (broken / "digests.json").unlink()
    weights = load_file(broken / "model.safetensors")
    save_file({**weights, "embeddings.LayerNorm.bias": np.full(32, 3e38, np.float32)}, broken / "model.safetensors")
    pairs, model = write_pairs(tmp_path / "pairs.csv", 5), str(broken)
    asked: list[Callable[[], Any]] = [
        lambda: studio.similarity.compare("cat dog mat", "red blue", model), lambda: studio.similarity.compare_all(["cat", "dog"], model),
        lambda: studio.similarity.compare_file(pairs, model), lambda: studio.similarity.encode(["cat"], model),
        lambda: studio.search.search(corpus, "cat", model=model), lambda: studio.static_embeddings.distill(model, out=tmp_path / "static"),
        lambda: studio.search.search(corpus, "cat", mode="lexical", options=SearchOptions(reranker=write_cross(model, tmp_path / "cross"))),
    ]  # fmt: skip
    for ask in asked:
        with pytest.raises(StudioError, match="not finite numbers"):
            ask()


def write_cross(model: str, folder: Path) -> str:
    """A cross-encoder's folder on the model's backbone."""
    from sbert_studio.models.cross_encoder import create_cross_encoder

    create_cross_encoder(Path(model)).save(folder)
    return str(folder)


def test_pairs_of_a_file_are_compared_row_by_row(studio: Studio, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv", 12)
    lines = path.read_text().splitlines()
    lines[3] = ",red blue,1.0"  # the fourth row of the file has no first text
    path.write_text("\n".join(lines))
    found = studio.similarity.compare_file(path)
    assert found.columns == ("sentence1", "sentence2")
    assert [row.row for row in found.rows] == [2, 3, *range(5, 14)]
    assert found.rows[2].similarity.cosine == pytest.approx(studio.similarity.compare(found.rows[2].a, found.rows[2].b).cosine, abs=1e-5)
    table = studio.data.read_table(write_pairs(tmp_path / "pairs.csv", 12))
    alone = studio.similarity.compare_file(table).agreement
    assert alone is not None and alone.rows == 12
    assert studio.similarity.compare_file(replace(table, lines=np.repeat(table.lines[:4], 3))).agreement == alone


def test_mining_very_many_texts_is_approximate_and_says_so_unless_all_are_asked_for(
    studio: Studio, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sbert_studio.explore import paraphrase_mining

    exact = studio.search.mine(corpus, 3)
    for pair in exact.pairs:
        assert (corpus.texts[pair.row_a], corpus.texts[pair.row_b]) == (pair.a, pair.b)
        assert (pair.line_a, pair.line_b) == (pair.row_a + 2, pair.row_b + 2)
    monkeypatch.setattr(paraphrase_mining, "EXACT_BELOW", 2)
    found = studio.search.mine(corpus, 3)
    assert found.to_json()["exact"] is False and 0 <= found.to_json()["recall"] <= 1
    assert found.notes[0].startswith("Approximate:") and f"{found.to_json()['recall']:.1%}" in found.notes[0]
    again = studio.search.mine(corpus, 3, exact=True)
    assert again.pairs == exact.pairs and again.to_json()["exact"] is True and again.to_json()["recall"] == 1


@pytest.mark.slow
def test_a_mended_table_can_be_checked_and_trained_on(studio: Studio, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv", 40)
    with path.open("a") as target:
        target.write("=cat dog,red blue,1.0\n,red,2.0\n")
    diagnosis = studio.data.check(path)
    mends = [finding.fix for finding in diagnosis.findings if finding.fix and 43 in finding.rows]
    assert mends, "the row with a blank side can be removed"
    table = studio.data.fix(path, mends)
    assert 43 not in table.lines
    run = studio.fine_tune.train(TrainRequest(table, overrides=quick(epochs=0.2)))
    assert run.rows == len(table)
    kept = studio.workspace.run(run.id) / "data.parquet"
    assert "=cat dog" in studio.data.read_table(kept).column("sentence1"), "the text itself is trained on"


def counted(verb: Callable[..., Any], done: list[str]) -> Callable[..., Any]:
    """``verb``, each call of which is noted by its name."""

    def call(*args: Any, **named: Any) -> Any:
        done.append(verb.__name__)
        return verb(*args, **named)

    return call


@pytest.mark.slow
def test_another_setting_reads_checks_and_builds_nothing_again(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sbert_studio.data.doctor import diagnosis as doctor
    from sbert_studio.services import data as tables

    done: list[str] = []
    for module, name in ((tables, "read_table"), (doctor, "diagnose"), (doctor, "build_examples"), (doctor, "build_dev_examples")):
        monkeypatch.setattr(module, name, counted(getattr(module, name), done))
    path, dev, first = (write_pairs(tmp_path / f"{name}.csv", 30, seed=seed) for seed, name in ((10, "pairs"), (20, "dev"), (30, "first")))
    request = TrainRequest(path, dev, first, overrides=quick())
    plan = studio.planner.plan(request)
    assert done.count("read_table") == 3
    done.clear()
    again = studio.planner.plan(replace(request, overrides=quick(epochs=0.5, **{"first.epochs": 0.3})), plan)
    assert done == [], "the rows are those of the plan before"
    assert (again.spec.epochs, again.spec.first["epochs"], again.examples is plan.examples) == (0.5, 0.3, True)
    run = studio.fine_tune.train(again)
    assert done == [], "what is trained are the rows that were planned"
    assert run.status == "finished" and run.spec == again.spec.to_json()
    studio.planner.plan(replace(request, choices=SchemaOverrides(scale=(0.0, 10.0))), again)
    assert "read_table" not in done and "diagnose" in done, "read otherwise, it is checked again"


@pytest.mark.slow
def test_training_in_the_foreground_writes_the_model_where_it_was_asked_to(studio: Studio, mine: Trained, tmp_path: Path) -> None:
    run = mine.run
    assert run.status == "finished"
    assert type(mine.events[0]).__name__ == "Started"
    assert type(mine.events[-1]).__name__ == "Finished"
    assert studio.evaluation.evaluate(str(mine.out), write_pairs(tmp_path / "test.csv", seed=5)).rows == 60
    card = next(card for card in studio.models.list_models() if card.name == run.id)
    assert (card.dim, card.max_length, card.pooling) == (32, 64, "mean")
    assert card.parameters == studio.catalog.load(run.id).describe()["parameters"]


@pytest.mark.slow
def test_a_run_goes_on_from_another_and_is_evaluated_on_its_validation_file(studio: Studio, mine: Trained, again: Trained) -> None:
    assert again.dev is not None and again.run.model == mine.run.id
    assert again.run.dev_rows == again.run.after["rows"] == 23
    assert again.run.after["score"] == pytest.approx(spearman(studio, again.run.id, again.dev), abs=1e-6)
    assert again.run.before["score"] == pytest.approx(spearman(studio, mine.run.id, again.dev), abs=1e-6)


def spearman(studio: Studio, model: str, data: Path) -> float:
    return float(studio.evaluation.evaluate(model, data).to_json()["cosine"]["spearman"])


@pytest.mark.slow
def test_a_report_on_the_rows_that_a_model_learned_says_so(studio: Studio, mine: Trained, again: Trained, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.csv"
    mixed.write_text(again.data.read_text() + "".join(mine.data.read_text().splitlines(keepends=True)[1:4]))
    assert studio.evaluation.evaluate(None, mine.data).notes == studio.evaluation.evaluate(mine.run.id, again.data).notes == ()
    note = studio.evaluation.evaluate(mine.run.id, mine.data).notes[-1]
    assert numbers(note) == [50, 50] and "Mine" in note
    assert numbers(studio.evaluation.evaluate(mine.run.id, mixed).notes[-1])[:2] == [3, 23]
    *_, second, first = studio.evaluation.evaluate(again.run.id, mixed).notes
    assert "Again" in second and "Mine" in first


def numbers(text: str) -> list[int]:
    return [int(found.replace(",", "")) for found in re.findall(r"\b\d[\d,]*\b", text)]


@pytest.mark.slow
def test_what_rows_can_teach_is_not_asked_of_a_model_that_learned_them(studio: Studio, mine: Trained, tmp_path: Path) -> None:
    run, path, other = mine.run, mine.data, write_pairs(tmp_path / "other.csv", 50, seed=7)
    base = Path(studio.settings.default_model).name

    def told(model: str | None, file: Path) -> tuple[str, list[str]]:
        found = studio.planner.plan(TrainRequest(file, model=model)).diagnosis
        return " ".join(found.why), [finding.message for finding in found.findings if "was fine-tuned on" in finding.message]

    assert f"with the similarity according to {base}, on" in told(None, path)[0] and told(None, path)[1] == []
    assert "with the similarity according to Mine, on" in told(run.id, other)[0] and told(run.id, other)[1] == []
    why, (note,) = told(run.id, path)
    assert numbers(note) == [50, 50] and "Mine" in note and base in note
    assert why == told(None, path)[0], "what it learned of the rows is no evidence"


def test_what_a_user_can_mend_is_a_studio_error(studio: Studio, corpus: Corpus, tmp_path: Path, tiny_model: Path) -> None:
    from sbert_studio.explore.clusters import ClusterParams

    pairs = write_pairs(tmp_path / "pairs.csv")
    occupied = tmp_path / "occupied"
    occupied.mkdir()
    (occupied / "thesis.doc").write_text("dear")
    refused = [
        lambda: studio.similarity.compare(" ", "a"),
        lambda: studio.similarity.compare_all([]),
        lambda: studio.similarity.encode([]),
        lambda: studio.search.search(corpus, " "),
        lambda: studio.search.search(corpus, "cat", 0),
        lambda: studio.search.search(corpus, "cat", mode="psychic"),  # type: ignore[arg-type]
        lambda: studio.search.find_neighbors(corpus, len(corpus)),
        lambda: studio.search.find_neighbors(corpus, -1),
        lambda: studio.search.mine(corpus, 0),
        lambda: studio.search.mine(corpus, 10**9),
        lambda: studio.search.search(corpus, "x" * 200_000),
        lambda: studio.similarity.compare("x" * 200_000, "y"),
        lambda: studio.map.draw(corpus, clusters=ClusterParams(method="kmeans", count=900)),
        lambda: studio.data.read_table(tmp_path / "absent.csv"),
        lambda: studio.data.read_table(tmp_path),
        lambda: studio.data.read_corpus(pairs, column="nothing"),
        lambda: studio.evaluation.evaluate("no such/model at all", pairs),
        lambda: studio.evaluation.evaluate(str(tiny_model), pairs, task="astrology"),
        lambda: studio.fine_tune.train(TrainRequest()),
        lambda: studio.fine_tune.train(TrainRequest(pairs, overrides={"loss": "alchemy"})),
        lambda: studio.fine_tune.train(TrainRequest(pairs, overrides=quick()), out=occupied),
        lambda: studio.fine_tune.train(TrainRequest(pairs, overrides=quick()), out=pairs),
        lambda: studio.fine_tune.submit(TrainRequest(pairs, overrides={"epochs": -1})),
        lambda: studio.fine_tune.get_run("../../etc/passwd"),
        lambda: studio.fine_tune.export("run-0000000000"),
    ]
    before = len(studio.fine_tune.list_runs())
    for verb in refused:
        with pytest.raises(StudioError):
            verb()
    assert len(studio.fine_tune.list_runs()) == before, "what is refused leaves no run behind"
    assert sorted(path.name for path in studio.workspace.runs.iterdir()) == sorted(run.id for run in studio.fine_tune.list_runs())


def test_where_strangers_reach_the_page_no_folder_can_be_named(home: Path, tiny_model: Path) -> None:
    with Studio(Settings(home=home, host="0.0.0.0", device="cpu")) as studio, pytest.raises(StudioError, match="there is no model"):
        studio.similarity.compare("a", "b", str(tiny_model))


def test_the_languages_of_a_model_are_those_of_its_card_or_of_its_bundled_base(studio: Studio, tiny_model: Path, tmp_path: Path) -> None:
    from sbert_studio.services.languages import model_languages

    assert model_languages(studio.catalog, "all-MiniLM-L6-v2") == ("en",)
    assert model_languages(studio.catalog, str(tiny_model)) is None
    cards = {
        "language: de": ("de",), "language:\n- en\n- zh": ("en", "zh"), 'language: ["fr", "IT"]': ("fr", "it"),
        "language: multilingual": None, 'base_model: "sentence-transformers/all-MiniLM-L6-v2"': ("en",),
    }  # fmt: skip
    for number, (card, languages) in enumerate(cards.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "README.md").write_text(f"---\n{card}\nlibrary_name: x\n---\nlanguage: xx\n")
        assert model_languages(studio.catalog, str(folder)) == languages, card


def test_who_waits_for_a_corpus_that_another_encodes_hears_how_far_it_is(studio: Studio) -> None:
    texts = [f"{text} {row}" for row, text in enumerate(sentences(600))]
    other = studio.data.read_corpus(table_from_columns("another", {"text": texts}))
    begun, gate = threading.Event(), threading.Event()
    first, second = list[tuple[int, int]](), list[tuple[int, int]]()

    def slow(done: int, total: int) -> None:
        first.append((done, total))
        if not begun.is_set():
            begun.set()
            gate.wait(30)

    def late(done: int, total: int) -> None:
        second.append((done, total))
        gate.set()

    ahead = threading.Thread(target=lambda: studio.search.search(other, "cat", 1, progress=slow))
    ahead.start()
    assert begun.wait(30)
    studio.search.search(other, "dog", 1, progress=late)
    ahead.join()
    assert second and second[0] == first[0] and first[0][1] == len(set(texts))
    second.clear()
    studio.search.search(other, "red", 1, progress=late)
    assert second == [], "there is nothing to wait for any more"


def test_a_cross_encoder_that_cannot_rank_or_be_reached_is_said_in_one_line(
    home: Path, tmp_path: Path, tiny_model: Path, corpus: Corpus
) -> None:
    create_cross_encoder(tiny_model, labels=3).save(tmp_path / "classes")
    for reranker, words in ((str(tmp_path / "classes"), "cannot re-rank"), ("cross-encoder/nowhere-to-be-found", "nowhere-to-be-found")):
        with studio_at(home, tiny_model, reranker=reranker) as studio, pytest.raises(StudioError, match=words) as caught:
            studio.search.search(corpus, "lost card", options=SearchOptions(reranker=True))
        assert "\n" not in str(caught.value)
