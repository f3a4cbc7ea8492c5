"""What stays in memory, for how many bytes, and that each thing is made once."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.caches import LruCache, bytes_of


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


def test_bytes_decide_what_stays_and_what_was_made_last_always_does() -> None:
    cache: LruCache[bytes] = LruCache(100, len)
    for name in range(5):
        cache.get(name, lambda: bytes(30))
    assert (len(cache), cache.bytes) == (3, 90)
    cache.get("large", lambda: bytes(1000))
    assert (len(cache), cache.bytes) == (1, 1000)
    cache.get("small", lambda: bytes(10))
    assert (len(cache), cache.bytes) == (1, 10)


def test_what_failed_is_made_again_and_leaves_nothing_behind() -> None:
    cache: LruCache[str] = LruCache(10, len)

    def fail() -> str:
        raise OSError

    with pytest.raises(OSError):
        cache.get("a", fail)
    assert cache.get("a", lambda: "made") == "made"
    assert not cache._turns


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
    assert 1_000_000 < bytes_of(_Thing("x" * 500_000, np.zeros(125_000, np.float32))) < 1_002_000
    text = "y" * 100_000
    assert bytes_of([(text,), {"a": text}, {1, 2}]) < 250_000
    assert 1_000_000 < bytes_of(["z" * 951 for _ in range(1000)]) < 1_020_000
    np.save(tmp_path / "a.npy", np.zeros(1_000_000, np.float32))
    assert bytes_of({"mapped": np.load(tmp_path / "a.npy", mmap_mode="r")}) < 1000


@pytest.mark.skipif(sys.platform != "linux", reason="other systems give memory back by themselves")
def test_memory_that_threads_held_goes_back_to_the_system() -> None:
    script = """
import threading
from pathlib import Path
from sbert_studio.caches import give_back, keep_little
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
keep_little()
before = resident()
kept = []
def work():
    many = [bytearray(4000) for _ in range(12_000)]
    kept.append(many[::2000])  # a few that stay keep the rest of a heap from being given back at its end
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
give_back()
print((resident() - before) >> 20)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    assert int(found.stdout) < 40, found.stdout
