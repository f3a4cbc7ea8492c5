"""Skip-gram and CBOW by gensim."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.models.static import LEARNERS
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.registry import parse_params

from .texts import FOOD, SEA, nearest_words, two_worlds

ROOT = Path(__file__).parents[3]
BOTH = pytest.mark.parametrize("name", ["skip_gram", "cbow"])


def _learner(name: str, **values: object):
    kind = LEARNERS[name]
    return kind(parse_params(kind.Params, {"width": 12, "epochs": 20, "sample": 0, **values}))


@BOTH
@pytest.mark.slow
def test_words_of_one_world_are_neighbours_and_the_seed_decides(name: str) -> None:
    texts, learner = two_worlds(), _learner(name)
    first = learner.learn(texts)
    for world in (FOOD, SEA):
        assert set(nearest_words(first, world[0], 5)) == set(world[1:])
    np.testing.assert_array_equal(first.matrix, learner.learn(texts).matrix)
    assert not np.array_equal(first.matrix, learner.learn(texts, seed=13).matrix)


@pytest.mark.process
def test_another_hash_seed_of_python_changes_nothing() -> None:
    code = (
        "from tests.models.static.texts import two_worlds; from sbert_studio.models.static.word2vec import SkipGram\n"
        "print(SkipGram(SkipGram.Params(width=4, epochs=2)).learn(two_worlds(40)).matrix.tobytes().hex())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1" if hash("a") % 2 else "2"}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )
    here = _learner("skip_gram", width=4, epochs=2, sample=1e-3).learn(two_worlds(40))
    assert found.stdout.strip() == here.matrix.tobytes().hex()


@BOTH
def test_progress_counts_epochs(name: str) -> None:
    told: list[tuple[int, int]] = []
    _learner(name, epochs=3).learn(two_worlds(40), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
def test_it_can_be_stopped_within_an_epoch_and_leaves_no_thread() -> None:
    threads = set(threading.enumerate())
    asked: list[bool] = []

    def after_sixty() -> bool:
        asked.append(len(asked) >= 60)
        return asked[-1]

    # Counting and reading the texts ask 50 times, an epoch 390 times.
    with stoppable(after_sixty), pytest.raises(StoppedError):
        _learner("skip_gram", epochs=1).learn(two_worlds(100_000))
    assert 60 < len(asked) < 70 and set(threading.enumerate()) <= threads


@pytest.mark.slow
def test_a_text_longer_than_gensim_reads_is_learned_whole() -> None:
    text = " ".join(["bread soup"] * 5_000 + ["ship wave"] * 5_000)
    learned = _learner("skip_gram").learn([text])
    found = nearest_words(learned, "ship", 3)
    assert found["wave"] > max(found["bread"], found["soup"])


def test_texts_of_single_words_and_a_missing_gensim_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StudioError, match="no text contains two known words"):
        _learner("cbow").learn(["bread", "bread"])
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(StudioError, match="gensim") as caught:
        _learner("cbow").learn(two_worlds(10))
    assert "pip install" in caught.value.hint
