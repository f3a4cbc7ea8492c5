"""What changed from one model to another, by the verb: real models, a real run, and the plain definitions beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_studio import quick, sentences, studio_at, write_pairs

from sbert_studio.data.corpus import Corpus
from sbert_studio.errors import StudioError
from sbert_studio.explore.projection import ProjectionParams
from sbert_studio.models.similarity import unit
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.services.training_history import TrainingHistory

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Studio]:
    with studio_at(tmp_path_factory.mktemp("changing") / "home", tiny_model) as found:
        yield found


@pytest.fixture(scope="module")
def run(studio: Studio, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("pairs")
    path, judged_by = write_pairs(folder / "pairs.csv", 80), write_pairs(folder / "others.csv", seed=77)
    run = studio.fine_tune.train(TrainRequest(path, dev=judged_by, overrides=quick(epochs=2)))
    return studio.fine_tune.set_strength(run.id, 1.0).id  # whether or not that is better


@pytest.fixture(scope="module")
def corpus(studio: Studio, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Sixty texts of which the first six are among those that the run was tuned on; their topic is their first word."""
    texts = list(dict.fromkeys([*sentences(80)[:6], *sentences(60, seed=9)]))[:60]
    path = tmp_path_factory.mktemp("corpus") / "corpus.csv"
    path.write_text("text,topic\n" + "\n".join(f"{text},{text.split()[0]}" for text in texts) + "\n", encoding="utf-8")
    return studio.data.read_corpus(studio.data.read_table(path))


def test_changes_are_those_of_the_models_vectors(studio: Studio, run: str, corpus: Corpus) -> None:
    base = str(studio.settings.default_model)
    phases: list[str] = []
    found = studio.model_diff.compare(corpus, base, run, queries=["cat dog", "  ", "red moon"], column="topic", begin_phase=phases.append)
    assert len(phases) == 7 and phases[0] == "Encoding by model 1 of 2"
    vectors = [unit(studio.search.vectors(corpus, name)).astype(np.float64) for name in (base, run)]
    cosines = [own @ own.T for own in vectors]
    for one in (*found.closer, *found.apart):
        assert (one.before, one.after) == pytest.approx((cosines[0][one.a, one.b], cosines[1][one.a, one.b]), abs=1e-5)
    assert (found.closer or found.apart) and found.moved.shape == (60,) and 0 < found.moved.mean() <= 1
    assert found.points_before.shape == found.points_after.shape == (60, 2)

    assert [query.text for query in found.queries] == ["cat dog", "red moon"]
    for query in found.queries:
        for name, near in ((base, query.before), (run, query.after)):
            hits = studio.search.search(corpus, query.text, 10, model=name).hits
            assert [row for row, _ in near] == [hit.row for hit in hits]
        assert query.lost == {row for row, _ in query.before} - {row for row, _ in query.after}
        assert len(query.lost) == len(query.gained)

    groups = found.categories
    assert groups is not None and groups.texts == 54, "the six that the run was tuned on are not judged"
    assert any("6 of these 60 texts" in note for note in found.notes)
    for share, own in ((groups.before, cosines[0]), (groups.after, cosines[1])):
        near = np.argmax(own - 2 * np.eye(60), axis=1)
        topics = corpus.fields["topic"]
        plain = np.mean([topics[near[row]] == topics[row] for row in range(6, 60)])
        assert share == pytest.approx(plain)
    told = json.loads(json.dumps(found.to_json()))
    assert told["texts"] == 60 and told["categories"]["column"] == "topic" and len(told["queries"]) == 2


def test_where_hardly_any_text_is_new_all_are_judged_and_that_is_told(studio: Studio, run: str, corpus: Corpus) -> None:
    few = corpus.subset(range(20), "few", "the rest")
    found = studio.model_diff.compare(few, str(studio.settings.default_model), run, column="topic").categories
    assert found is not None and (found.texts, found.learned) == (20, 6), "fourteen are new, too few to judge by"
    told = studio.model_diff.compare(corpus, str(studio.settings.default_model), run, column="topic").categories
    assert told is not None and told.learned == 0


def test_what_cannot_be_compared_is_said(studio: Studio, run: str, corpus: Corpus) -> None:
    with pytest.raises(StudioError, match="the same model"):
        studio.model_diff.compare(corpus, run, run)
    with pytest.raises(StudioError, match="2 texts"):
        studio.model_diff.compare(corpus.subset([0, 1], "two", "the rest"), str(studio.settings.default_model), run)
    with pytest.raises(StudioError, match="no column 'mood'"):
        studio.model_diff.compare(replace(corpus), str(studio.settings.default_model), run, column="mood")


def test_without_queries_the_most_moved_texts_are_asked_and_the_first_map_is_that_of_the_map_tab(
    studio: Studio, run: str, corpus: Corpus, tmp_path: Path
) -> None:
    found = studio.model_diff.compare(corpus, str(studio.settings.default_model), run)
    assert [query.row is not None and found.moved[query.row] for query in found.queries] == sorted(found.moved.tolist(), reverse=True)[:3]
    assert all(query.row not in {row for row, _ in (*query.before, *query.after)} for query in found.queries)
    assert found.categories is None
    base = str(studio.settings.default_model)
    drawn = studio.map.draw(corpus, ProjectionParams(seed=12), model=base)
    np.testing.assert_array_equal(found.points_before, drawn.points)
    alone = studio.map.draw(corpus, ProjectionParams(seed=12), model=run)
    assert not np.array_equal(found.points_after, alone.points)


def test_a_blank_is_no_category_and_capitals_make_no_new_text(studio: Studio, run: str, corpus: Corpus) -> None:
    base, topics = str(studio.settings.default_model), corpus.fields["topic"]
    half = replace(corpus, fields={"topic": tuple(topic if row % 2 else " " for row, topic in enumerate(topics))})
    found = studio.model_diff.compare(half, base, run, column="topic").categories
    assert found is not None and found.texts <= 30
    assert all(name.strip() for one in found.confused for name in one.categories)
    told = {row for one in found.confused for row in (*one.resolved, *one.introduced)}
    assert all(row % 2 for row in told)
    none = replace(corpus, fields={"topic": ("",) * len(corpus)})
    assert studio.model_diff.compare(none, base, run, column="topic").categories is None
    loud = replace(corpus, texts=tuple(text.upper() for text in corpus.texts))
    assert any(note.startswith("6 of these 60 texts") for note in studio.model_diff.compare(loud, base, run).notes)


def test_what_a_run_held_out_is_judged_and_not_said_to_be_learned(studio: Studio, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv", 80)
    run = studio.fine_tune.train(TrainRequest(path, overrides=quick(epochs=0.2)))
    held = [json.loads(line) for line in (studio.workspace.run(run.id) / "held_out.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = {text for row in held for text in row["texts"]}
    learned = TrainingHistory(studio).trained_texts(run.id)
    assert held and not learned & texts and len(learned) + len(texts) == 160
