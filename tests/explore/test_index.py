from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.explore.index import (
    BANDS,
    TARGET,
    BackgroundJobs,
    IVFIndex,
    IVFIndexStore,
    assign_to_centroids,
    measure_recall,
    train_centroids,
)
from sbert_studio.explore.search import ExactSearch, SemanticIndex
from sbert_studio.models.similarity import unit
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.workspace import Workspace, digest_texts

pytestmark = pytest.mark.slow


ROWS, WIDTH, FINGERPRINT = 12_000, 32, "0123456789abcdef"


def drawn(rows: int, seed: int) -> np.ndarray:
    """Vectors that have neighbours: around three hundred places, in eight of the directions most of all."""
    rng = np.random.default_rng(0)
    places, spread = rng.normal(size=(300, WIDTH)), np.where(np.arange(WIDTH) < 8, 0.6, 0.1)
    rng = np.random.default_rng(seed)
    return unit((places[rng.integers(300, size=rows)] + rng.normal(size=(rows, WIDTH)) * spread).astype(np.float32))


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return drawn(ROWS, 1)


@pytest.fixture(scope="module")
def built(vectors: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of an index of the vectors."""
    home = tmp_path_factory.mktemp("built")
    assert IVFIndexStore(Workspace(home), 1 << 30).make(digest(), FINGERPRINT, ExactSearch(vectors)) is not None
    return home


@pytest.fixture
def workspace(built: Path, tmp_path: Path) -> Workspace:
    return Workspace(Path(shutil.copytree(built, tmp_path / "home")))


def texts() -> list[str]:
    return [f"text {row}" for row in range(ROWS)]


def digest() -> str:
    return digest_texts(texts())


def test_what_was_measured_holds_for_other_queries_and_scores_are_exact(vectors: np.ndarray, workspace: Workspace) -> None:
    found = IVFIndexStore(workspace, 1 << 30).load(digest(), FINGERPRINT, *vectors.shape)
    assert found is not None and [reach.k for reach in found.reaches] == list(BANDS)
    exact, index = ExactSearch(vectors), SemanticIndex(vectors, found)
    for reach in found.reaches:
        assert reach.recall > TARGET - 0.01
        assert reach.candidates <= ROWS // 50
        shares = []
        for query in drawn(200, 2):
            truth, near = exact.search(query[None], reach.k)[0], index.find(query, reach.k)
            assert near.recall == reach.recall
            shares.append(len(set(truth) & set(near.hits)) / reach.k)  # equal rows and, to the last bit, equal cosines
            assert near.hits == sorted(near.hits, key=lambda hit: (-hit.score, hit.row))
        assert np.mean(shares) == pytest.approx(reach.recall, abs=0.015)


def test_some_rows_many_rows_and_many_queries_are_answered_exactly(vectors: np.ndarray, workspace: Workspace) -> None:
    index = SemanticIndex(vectors, IVFIndexStore(workspace, 1 << 30).load(digest(), FINGERPRINT, *vectors.shape))
    alone, query, among = SemanticIndex(vectors), drawn(1, 3)[0], np.arange(0, ROWS, 3)
    for k, only in ((10, among), (BANDS[-1] + 1, None)):
        found = index.find(query, k, only)
        assert found.recall is None and found.hits == alone.search(query, k, only)
    assert index.search_many(drawn(3, 4), 10) == alone.search_many(drawn(3, 4), 10)


def test_search_of_close_vectors_is_exact_and_codes_that_do_not_tell_them_apart_are_not_used() -> None:
    for seed in range(30):
        random = np.random.default_rng(seed)
        middle = unit(random.normal(size=(1, 64)).astype(np.float32))
        close = unit((middle + random.normal(size=(400, 64)) * 1e-7).astype(np.float32))
        query = unit((middle + random.normal(size=(1, 64)) * 0.3).astype(np.float32))
        lengths = np.linalg.norm(close.astype(np.float64), axis=1)
        products = close.astype(np.float64) @ query[0].astype(np.float64) / lengths
        assert [hit.row for hit in ExactSearch(close).search(query, 5)[0]] == np.argsort(-products, kind="stable")[:5].tolist()
    places = drawn(10, 1)
    close = unit(places[np.arange(ROWS) % 10] + np.random.default_rng(0).normal(size=(ROWS, WIDTH)) * 1e-3)
    found = measure_recall(IVFIndex.build(close), ExactSearch(close), sample=200)  # more rows share a code than are re-ranked
    assert found.reaches == () and SemanticIndex(close, found).find(places[0], 10).recall is None


@pytest.fixture(scope="module")
def lists(vectors: np.ndarray) -> IVFIndex:
    """An index of as many lists as a larger one has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sbert_studio.explore.index._LIST_ROWS", 1)
        return IVFIndex.build(vectors)


def test_where_the_target_would_read_too_much_less_will_do_and_is_told(
    vectors: np.ndarray, lists: IVFIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sbert_studio.explore.index._READ", 1)
    exact = ExactSearch(vectors)
    less, more = measure_recall(lists, exact, 1.0, 300).reaches, measure_recall(lists, exact, sample=300).reaches
    assert [reach.k for reach in less] == list(BANDS) and 0.93 < less[-1].recall < 1
    assert less[-1].probes <= more[-1].probes


def test_several_lists_reach_the_target_without_reading_all(vectors: np.ndarray, lists: IVFIndex, tmp_path: Path) -> None:
    found = measure_recall(lists, ExactSearch(vectors), sample=300)
    assert lists.count == 128 and all(reach.probes < 64 for reach in found.reaches) and found.reaches[-1].probes > 1
    exact, index = SemanticIndex(vectors), SemanticIndex(vectors, found)
    shares = [len(set(exact.search(query, 10)) & set(index.find(query, 10).hits)) / 10 for query in drawn(200, 6)]
    assert np.mean(shares) > TARGET - 0.015
    lists.write(tmp_path / "index")
    assert np.array_equal(IVFIndex.read(tmp_path / "index").candidates(vectors[:5], 20, 8), lists.candidates(vectors[:5], 20, 8))


@pytest.mark.parametrize("width", [20, 193])
def test_a_width_that_codes_do_not_divide_and_vectors_of_any_length(width: int, workspace: Workspace) -> None:
    matrix = np.pad(drawn(2000, 1), ((0, 0), (0, 193 - WIDTH)))[:, :width] * np.random.default_rng(1).uniform(0.1, 9, (2000, 1))
    index = SemanticIndex(matrix, IVFIndexStore(workspace, 1 << 30).make("a" * 32, FINGERPRINT, ExactSearch(matrix)))
    assert index.approximate is not None and index.bytes > 2000 * width // 8
    assert [index.find(row).hits[0].row for row in matrix[:50]] == list(range(50))


def test_rows_come_and_go(vectors: np.ndarray, workspace: Workspace) -> None:
    ours, kept, more = texts(), np.flatnonzero(np.arange(ROWS) % 10 != 4), drawn(10, 5)
    grown = [*(f"new {number}" for number in range(4)), *(ours[row] for row in kept), *(f"new {number}" for number in range(4, 10))]
    matrix = np.concatenate([more[:4], vectors[kept], more[4:]])
    found = IVFIndexStore(workspace, 1 << 30).make(digest_texts(grown), FINGERPRINT, ExactSearch(matrix))
    assert found is not None and len(found.cells) == len(grown)
    for place in (0, 3, len(grown) - 1):  # each new row is found, and by its own number
        assert SemanticIndex(matrix, found).find(matrix[place], 10).hits[0].row == place


def test_texts_that_repeat_keep_a_row_each(vectors: np.ndarray, workspace: Workspace) -> None:
    twice = [*texts(), *texts()[:100]]
    matrix = np.concatenate([vectors, vectors[:100]])
    found = IVFIndexStore(workspace, 1 << 30).make(digest_texts(twice), FINGERPRINT, ExactSearch(matrix))
    assert found is not None and len(found.cells) == len(twice)
    assert {hit.row for hit in SemanticIndex(matrix, found).find(matrix[7], 2).hits} == {7, ROWS + 7}


@pytest.mark.parametrize("damage", ["cut", "byte", "empty", "unsealed", "other shape"])
def test_a_damaged_index_is_not_believed_and_built_again(damage: str, vectors: np.ndarray, workspace: Workspace) -> None:
    files, path = IVFIndexStore(workspace, 1 << 30), workspace.cells(digest(), FINGERPRINT)
    data = bytearray(path.read_bytes())
    if damage == "byte":
        data[len(data) // 2] ^= 1
    path.unlink()
    path.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "unsealed": data[:-40]}.get(damage, data))
    rows = ROWS + 1 if damage == "other shape" else ROWS
    assert files.load(digest(), FINGERPRINT, rows, WIDTH) is None
    if damage == "cut":
        assert files.make(digest(), FINGERPRINT, ExactSearch(vectors)) is not None
        assert files.load(digest(), FINGERPRINT, ROWS, WIDTH) is not None


def test_a_full_disk_leaves_search_exact_and_nothing_behind(
    vectors: np.ndarray, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("write error: No space left on device")

    path = workspace.cells(digest(), FINGERPRINT)
    path.unlink()
    monkeypatch.setattr("faiss.write_index", full)
    assert IVFIndexStore(workspace, 1 << 30).make(digest(), FINGERPRINT, ExactSearch(vectors)) is None
    assert list(path.parent.iterdir()) == [] and "search stays exact" in caplog.text


def test_the_index_takes_less_than_the_flat_one_and_a_budget_is_kept(vectors: np.ndarray, workspace: Workspace) -> None:
    path = workspace.cells(digest(), FINGERPRINT)
    assert path.stat().st_size < 0.6 * vectors.nbytes  # at a width of 32; wider ones come nearer to a quarter
    other = [*texts(), "one more"]
    matrix = np.concatenate([vectors, vectors[:1]])
    assert IVFIndexStore(workspace, path.stat().st_size + 1000).make(digest_texts(other), FINGERPRINT, ExactSearch(matrix)) is not None
    assert [file.name for file in path.parent.iterdir()] == [workspace.cells(digest_texts(other), FINGERPRINT).name]


def test_searching_goes_on_in_threads_while_the_index_comes(vectors: np.ndarray, workspace: Workspace) -> None:
    index, done, failed = SemanticIndex(vectors), threading.Event(), []
    queries = drawn(20, 9)
    truth = SemanticIndex(vectors).search_many(queries, 10)
    told = set()

    def ask() -> None:
        while not done.is_set():
            for query, expected in zip(queries, truth, strict=True):
                found = index.find(query, 10)
                told.add(found.recall is None)
                if (found.recall is None and found.hits != expected) or len(found.hits) != 10:
                    failed.append(found)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    background, there = BackgroundJobs(), threading.Event()

    def work() -> None:
        index.approximate = IVFIndexStore(workspace, 1 << 30).load(digest(), FINGERPRINT, *vectors.shape)
        there.set()

    background.want("a", work)
    assert there.wait(20)
    index.find(queries[0], 10)
    done.set()
    for thread in threads:
        thread.join()
    background.close()
    assert not failed and index.find(queries[0], 10).recall is not None and True in told


def test_work_in_the_background_is_done_once_ends_when_asked_and_survives_an_error(
    caplog: pytest.LogCaptureFixture, vectors: np.ndarray
) -> None:
    background, calls, begun = BackgroundJobs(), [], threading.Event()

    def endless() -> None:
        begun.set()
        sample = drawn(2000, 1)
        while True:
            assign_to_centroids(sample, sample[:50])

    background.want("bad", lambda: calls.append(1 / 0))
    background.want("good", lambda: calls.append(1.0))
    background.want("good", lambda: calls.append(2.0))
    background.want("endless", endless)
    assert begun.wait(20)
    background.close()
    assert calls == [1.0] and "could not be built" in caplog.text
    assert background._thread is not None and not background._thread.is_alive()
    with pytest.raises(StoppedError), stoppable(lambda: True):
        IVFIndex.build(vectors)


def test_centres_are_of_length_one_none_is_lost_and_they_come_nearer_to_the_rows() -> None:
    sample = drawn(3000, 1)
    found, first = train_centroids(sample, 60), sample[np.random.default_rng(12).choice(3000, 60, replace=False)]
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert (sample @ found.T).max(1).mean() > (sample @ first.T).max(1).mean() + 0.02
    assert np.array_equal(assign_to_centroids(sample, found), (sample @ found.T).argmax(1))
    same = train_centroids(np.repeat(sample[:5], 100, axis=0), 50)  # more cells than there are places
    assert np.isfinite(same).all() and np.allclose(np.linalg.norm(same, axis=1), 1, atol=1e-5)
