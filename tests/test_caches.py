"""What stays in memory, for how many bytes, and that each thing is made once."""

from __future__ import annotations

import gc
import json
import logging
import mmap
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from processes import started
from tiny_studio import WORDS, quick, sentences, studio_at, write_pairs

from sbert_studio.caches import (
    LruCache,
    estimate_bytes,
    paused_gc,
    register_mapped_array,
    release_mapped_pages,
    release_memory,
    release_registered_pages,
    tune_malloc,
)
from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.memory import resident_memory
from sbert_studio.services.janitor import Janitor


def test_a_value_is_made_once_at_once_and_the_least_used_goes() -> None:
    cache: LruCache[str] = LruCache(2, len)
    made: list[str] = []
    gate = threading.Event()

    def make(name: str) -> str:
        gate.wait(1)
        made.append(name)
        return name

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(cache.get, "a", lambda: make("a")) for _ in range(4)]
        gate.set()
        assert {future.result() for future in waiting} == {"a"}
    assert made == ["a"]
    for name in "baca":
        cache.get(name, lambda name=name: make(name))  # type: ignore[misc]
    assert made == ["a", "b", "c"]
    cache.get("b", lambda: make("b"))
    assert made == ["a", "b", "c", "b"]


def test_bytes_decide_what_stays_and_failures_leave_nothing() -> None:
    cache: LruCache[bytes] = LruCache(100, len)
    for name in range(5):
        cache.get(name, lambda: bytes(30))
    assert (len(cache), cache.bytes) == (3, 90)
    cache.get("large", lambda: bytes(1000))
    assert (len(cache), cache.bytes) == (1, 1000)
    cache.get("small", lambda: bytes(10))
    assert (len(cache), cache.bytes) == (1, 10)
    cache: LruCache[str] = LruCache(10, len)

    def fail() -> str:
        raise OSError

    with pytest.raises(OSError):
        cache.get("a", fail)
    assert cache.get("a", lambda: "made") == "made"
    assert not cache._computing._locks


def test_who_waits_for_another_can_give_up() -> None:
    cache: LruCache[str] = LruCache(10, len)
    begun, gate = threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        gate.wait(10)
        return "slow"

    def patience() -> None:
        raise TimeoutError

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(cache.get, "a", slow)
        assert begun.wait(5)
        with pytest.raises(TimeoutError):
            cache.get("a", lambda: "mine", patience)
        gate.set()
        assert first.result() == "slow"


@dataclass
class _Thing:
    text: str
    rows: np.ndarray


def test_bytes_are_those_of_texts_and_arrays_counted_once(tmp_path: Path) -> None:
    assert 1_000_000 < estimate_bytes(_Thing("x" * 500_000, np.zeros(125_000, np.float32))) < 1_002_000
    text = "y" * 100_000
    assert estimate_bytes([(text,), {"a": text}, {1, 2}]) < 250_000
    assert 1_000_000 < estimate_bytes(["z" * 951 for _ in range(1000)]) < 1_020_000
    np.save(tmp_path / "a.npy", np.zeros(1_000_000, np.float32))
    assert estimate_bytes({"mapped": np.load(tmp_path / "a.npy", mmap_mode="r")}) < 1000


def print_what_threads_left() -> None:
    """Print the MiB that stay resident after four threads let go of nearly all they had."""
    kept: list[bytearray] = []

    def work() -> None:
        many = [bytearray(4000) for _ in range(12_000)]
        kept.extend(many[::2000])  # a few that stay keep the rest of a heap from being given back at its end

    tune_malloc()
    before = resident_memory()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    release_memory()
    print((resident_memory() - before) >> 20)


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="other systems give memory back by themselves")
def test_memory_that_threads_held_goes_back_to_the_system(tmp_path: Path) -> None:
    with started(tmp_path, print_what_threads_left) as child:
        assert int(child.succeed()) < 40


def test_what_nobody_asked_for_of_late_leaves_and_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("sbert_studio.caches.time.monotonic", lambda: now[0])
    cache: LruCache[str] = LruCache(1000, len)
    for word in ("one", "two", "three"):
        cache.get(word, word.upper)
        now[0] += 10
    cache.get("one", lambda: pytest.fail("it is there"))
    cache.evict_unused(15)
    assert cache.bytes == len("ONE" + "THREE")
    assert cache.get("two", lambda: "again") == "again"


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_mapped_pages_are_released_and_written_ones_stay(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(8_000_000, dtype=np.float32))
    read, changed, other = (np.load(tmp_path / "a.npy", mmap_mode=mode) for mode in ("r", "c", "r"))
    whole = float(read.sum())
    changed += 1
    before = other.sum() and _mapped(tmp_path / "a.npy")
    release_mapped_pages([read.ctypes.data, changed.ctypes.data])
    after = _mapped(tmp_path / "a.npy")
    assert 30 << 20 < before - after < 34 << 20, "of the three mappings one was let go"
    assert float(read.sum()) == whole and changed[7] == 8.0
    for name in ("home/vectors/a b.npy", "home/vectors/c.npy", "homes/d.npy"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / name, np.arange(4_000_000, dtype=np.float32))
    arrays = {path: np.load(path, mmap_mode="r") for path in sorted(tmp_path.glob("home*/**/*.npy"))}
    for path, array in arrays.items():
        if path.parent.parent.name == "home":
            register_mapped_array(array)
    sums = {path: float(array.sum()) for path, array in arrays.items()}
    assert all(_mapped(path) > 15 << 20 for path in arrays)
    release_registered_pages(tmp_path / "home", 40 << 20)
    assert all(_mapped(path) > 15 << 20 for path in arrays), "it is less than that"
    release_registered_pages(tmp_path / "home", 20 << 20)
    assert [_mapped(path) > 15 << 20 for path in arrays] == [False, False, True]
    assert {path: float(array.sum()) for path, array in arrays.items()} == sums


@pytest.mark.skipif(sys.platform != "linux", reason="only there is anything let go")
def test_what_takes_the_place_of_a_mapping_while_mappings_are_let_go_stays_whole(tmp_path: Path) -> None:
    """A file that is unmapped makes room for memory of Python's own: the page once fell over what was let go of it by its address."""
    np.save(tmp_path / "a.npy", np.arange(100_000, dtype=np.float32))
    until = time.monotonic() + 1
    torn: list[int] = []

    def map_and_write() -> None:
        while time.monotonic() < until and not torn:
            array = np.load(tmp_path / "a.npy", mmap_mode="r")
            register_mapped_array(array)
            size = array._mmap.size()
            array[::1000].sum()
            del array
            with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
                memory.write(b"x" * size)
                time.sleep(0.0005)
                if memory[:].count(b"x") != size:
                    torn.append(size)

    writers = [threading.Thread(target=map_and_write) for _ in range(3)]
    for writer in writers:
        writer.start()
    while time.monotonic() < until:
        release_registered_pages(tmp_path, -1)
    for writer in writers:
        writer.join()
    assert not torn


def _mapped(path: Path) -> int:
    """Bytes of a file that are in this process's memory."""
    lines, found, ours = Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines(), 0, False
    for line in lines:
        if not line.split()[0].endswith(":"):
            ours = line.endswith(str(path))
        elif line.startswith("Rss:") and ours:
            found += int(line.split()[1]) << 10
    return found


def print_what_trainings_left(home: Path) -> None:
    """Train a model of three million weights twice, and print the MiB that the second training left behind."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    from sbert_studio.models.io.settings import EncoderConfig
    from sbert_studio.models.transformer import TransformerEncoder
    from sbert_studio.services import TrainRequest

    tune_malloc()
    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *(f"word{number}" for number in range(20_000))]
    tokenizer = BertTokenizer(vocab={word: place for place, word in enumerate(words)}, model_max_length=64)
    size = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 256, "max_position_embeddings": 64}
    TransformerEncoder(BertModel(BertConfig(vocab_size=len(words), **size)), tokenizer, EncoderConfig(max_length=64)).save(home / "model")
    pairs, held = write_pairs(home / "pairs.csv", 40), []
    with studio_at(home / "home", home / "model") as studio:
        for _ in range(2):
            run = studio.fine_tune.train(TrainRequest(pairs, overrides=quick()))
            assert run.status == "finished", run.message
            release_memory()
            held.append(resident_memory() >> 20)
    print(held[-1] - held[0])


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_a_training_gives_back_what_it_took(tmp_path: Path) -> None:
    """Three million weights with their gradients and moments take 50 MB: another training leaves a fraction of that behind."""
    with started(tmp_path, print_what_trainings_left, tmp_path) as child:
        assert int(child.succeed()) < 30


@pytest.mark.slow
def test_every_cache_of_the_studio_has_a_budget_in_bytes_and_tells_what_it_holds(
    tmp_path: Path, tiny_model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with studio_at(tmp_path / "home", tiny_model, memory_mb=1) as studio:
        caches = (studio.semantic_indexes, studio.lexical_indexes, studio.corpora, studio.coverages, studio.baselines)
        assert all(0 < cache.budget <= 4 << 20 for cache in caches)
        assert sum(cache.budget for cache in caches[:3]) + studio.session_memory <= 1 << 20
        for number in range(12):
            rows = [f"{text} {number}" for text in sentences(800, number)]
            corpus = studio.data.read_corpus(table_from_columns(f"corpus {number}", {"text": rows}))
            studio.search.search(corpus, "cat dog", mode="semantic" if number else "hybrid")
            held = studio.cache_sizes()
            assert held["semantic_indexes"] <= studio.semantic_indexes.budget and held["lexical_indexes"] <= max(
                studio.lexical_indexes.budget, 1 << 20
            )
        assert len(studio.semantic_indexes) < 12, "the first ones went"
        assert studio.catalog.bytes == held["models"] > 0
        tell = Janitor(studio, extra_memory=lambda: {"visitors": 7})
        with caplog.at_level(logging.DEBUG, "sbert_studio.services.janitor"):
            tell.run_once()
        (told,) = [json.loads(line.removeprefix("memory ")) for line in caplog.messages if line.startswith("memory ")]
        assert told["visitors"] == 7 and told["semantic_indexes"] == held["semantic_indexes"] and told["resident"] > 1 << 20


def test_cycles_are_looked_for_again_once_it_has_started_or_failed() -> None:
    assert gc.isenabled()
    try:
        with paused_gc() as started:
            assert not gc.isenabled()
            started()
            assert gc.isenabled() and gc.get_freeze_count() > 1000
        assert gc.isenabled()
    finally:
        gc.unfreeze()
    try:
        with paused_gc():
            raise KeyError
    except KeyError:
        assert gc.isenabled()


def test_a_shared_model_is_lean_and_one_to_be_trained_is_not(tmp_path: Path, tiny_model: Path) -> None:
    from sbert_studio.models.inference.bert import InferenceBackbone

    with studio_at(tmp_path, tiny_model) as studio:
        name = studio.settings.default_model
        assert isinstance(studio.catalog.load(name).backbone, InferenceBackbone)  # type: ignore[attr-defined]
        assert not isinstance(studio.catalog.load_trainable(name).backbone, InferenceBackbone)
