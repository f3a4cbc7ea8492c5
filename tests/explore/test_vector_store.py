from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.explore import vector_store
from sbert_studio.explore.vector_store import VectorStore, evict_files
from sbert_studio.progress import StoppedError
from sbert_studio.workspace import Workspace, digest_texts

TEXTS = ["one fish", "two fish", "red fish", "blue fish"]


DIGEST = digest_texts(TEXTS)


def flip(path: Path, place: int) -> None:
    """Change a byte of a new file of this name; arrays in use stay mapped to the old one."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.unlink()
    path.write_bytes(data)


def test_vectors_are_encoded_once_for_each_text_and_model(workspace: Workspace, encoder) -> None:
    first = VectorStore(workspace).get(TEXTS, DIGEST, encoder)
    again = VectorStore(workspace).get(TEXTS, DIGEST, encoder)
    assert encoder.calls == 1
    assert np.array_equal(first, encoder.encode(TEXTS)) and np.array_equal(first, again)
    assert isinstance(again, np.memmap) and again.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        again[0, 0] = 1
    store = VectorStore(workspace)
    store.get(TEXTS, DIGEST, encoder)
    store.get(["a whale"], digest_texts(["a whale"]), encoder)
    encoder.fingerprint = "fedcba9876543210"
    store.get(TEXTS, DIGEST, encoder)
    assert store.get([], digest_texts([]), encoder).shape == (0, 32) and encoder.calls == 4


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "shape", "type", "pickle", "fortran"])
def test_a_damaged_file_is_encoded_again(damage: str, workspace: Workspace, encoder) -> None:
    store = VectorStore(workspace)
    right = np.array(store.get(TEXTS, DIGEST, encoder))
    path = workspace.vectors(DIGEST, encoder.fingerprint)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage in ("noise", "empty"):
        path.write_bytes(b"\x93NUMPY garbage" if damage == "noise" else b"")
    else:
        bad = {
            "shape": right[:2],
            "type": right.astype(np.float64),
            "pickle": np.array([{"a": 1}], dtype=object),
            "fortran": np.asfortranarray(right),
        }[damage]
        np.save(path, bad, allow_pickle=True)
    assert np.array_equal(store.get(TEXTS, DIGEST, encoder), right)
    assert encoder.calls == 2
    store.get(TEXTS, DIGEST, encoder)
    assert encoder.calls == 2


def test_callers_at_once_encode_once(workspace: Workspace, encoder) -> None:
    store = VectorStore(workspace)
    callers: list[int] = []
    encoder.before = lambda: wait_until(lambda: len(callers) == 6)

    def get(caller: int) -> np.ndarray:
        callers.append(caller)
        return store.get(TEXTS, DIGEST, encoder)

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(get, range(6)))
    assert encoder.calls == 1
    assert all(np.array_equal(found[0], vectors) for vectors in found)


def test_a_failed_encoding_leaves_nothing_behind(workspace: Workspace, encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    store = VectorStore(workspace)
    with monkeypatch.context() as patch:
        patch.setattr(encoder, "encode", lambda texts, progress, should_stop: np.full((len(texts), 32), np.nan, np.float32))
        with pytest.raises(StudioError, match="finite"):
            store.get(TEXTS, DIGEST, encoder)
    assert list(workspace.vectors(DIGEST, encoder.fingerprint).parent.iterdir()) == []
    assert np.isfinite(store.get(TEXTS, DIGEST, encoder)).all()


def test_the_least_recently_used_vectors_go_first(workspace: Workspace, encoder) -> None:
    store = VectorStore(workspace, max_bytes=2 * (4 * 32 * 4 + 128 + 40))
    sets = [[f"{text} {number}" for text in TEXTS] for number in range(3)]
    digests = [digest_texts(texts) for texts in sets]
    for age, (texts, digest) in enumerate(zip(sets[:2], digests[:2], strict=True)):
        store.get(texts, digest, encoder)
        os.utime(workspace.vectors(digest, encoder.fingerprint), (1000 + age, 1000 + age))
    store.get(sets[0], digests[0], encoder)  # now the second is the oldest
    store.get(sets[2], digests[2], encoder)
    left = {path.name for path in workspace.vectors(digests[0], encoder.fingerprint).parent.iterdir()}
    assert left == {f"{digest}-{encoder.fingerprint}.npy" for digest in (digests[0], digests[2])}


def test_half_written_files_of_dead_processes_go_and_fresh_ones_stay(workspace: Workspace, encoder) -> None:
    folder = workspace.vectors(DIGEST, encoder.fingerprint).parent
    old, fresh = folder / ".part-old.npy", folder / ".part-new.npy"
    old.write_bytes(b"x")
    fresh.write_bytes(b"x")
    os.utime(old, (1000, 1000))
    evict_files(folder, 0, folder / "none.npy")
    assert [path.name for path in folder.iterdir()] == [fresh.name]


def test_a_byte_that_was_changed_is_encoded_again_and_not_served(workspace: Workspace, encoder) -> None:
    digest = digest_texts(TEXTS)
    path = workspace.vectors(digest, encoder.fingerprint)
    right = np.array(VectorStore(workspace).get(TEXTS, digest, encoder))
    for place in (130, -50, -3):
        flip(path, place)
        np.testing.assert_array_equal(VectorStore(workspace).get(TEXTS, digest, encoder), right)
    assert encoder.calls == 4
    VectorStore(workspace).get(TEXTS, digest, encoder)
    assert encoder.calls == 4


def test_a_full_disk_and_files_that_vanish_cost_only_the_cache(workspace: Workspace, encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise FileNotFoundError

    right = np.array(VectorStore(workspace).get(TEXTS, DIGEST, encoder))
    monkeypatch.setattr("sbert_studio.explore.vector_store.os.utime", gone)
    np.testing.assert_array_equal(VectorStore(workspace).get(TEXTS, DIGEST, encoder), right)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(vector_store, "atomic_file", full)
    monkeypatch.setattr(Path, "mkdir", full)
    found = VectorStore(workspace).get(TEXTS, DIGEST, encoder)
    np.testing.assert_array_equal(found, encoder.encode(TEXTS))
    assert not found.flags.writeable


def test_ten_new_rows_encode_ten_rows_wherever_they_stand(workspace: Workspace, encoder) -> None:
    texts = [f"fish number {number}" for number in range(200)] + ["fish number 3"]
    grown = [*(f"bird number {number}" for number in range(5)), *texts[7:], *(f"ant number {number}" for number in range(5))]
    VectorStore(workspace).get(texts, digest_texts(texts), encoder)
    assert encoder.texts == 200
    found = VectorStore(workspace).get(grown, digest_texts(grown), encoder)
    assert encoder.texts == 210
    np.testing.assert_array_equal(found, np.stack([encoder._one(text) for text in grown]).astype(np.float32))
    shrunk = grown[::3]
    np.testing.assert_array_equal(VectorStore(workspace).get(shrunk, digest_texts(shrunk), encoder), found[::3])
    assert encoder.texts == 210
    encoder.fingerprint = "fedcba9876543210"
    VectorStore(workspace).get(shrunk, digest_texts(shrunk), encoder)
    assert encoder.texts == 210 + len(shrunk)


def test_an_encoding_that_was_stopped_goes_on_where_it_was(workspace: Workspace, encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"fish number {number}" for number in range(100)]
    VectorStore(workspace).get(texts[:7], digest_texts(texts[:7]), encoder)  # known, and as long as a part
    encoder.texts = 0
    monkeypatch.setattr(vector_store, "_PART", 7)
    monkeypatch.setattr(vector_store, "_LONG", -1.0)
    encode = encoder.encode

    def stop_after_nine_parts(part: Sequence[str], **options: Any) -> np.ndarray:
        if encoder.texts == 56:
            raise StoppedError
        return encode(part, **options)

    with monkeypatch.context() as patch, pytest.raises(StoppedError):
        patch.setattr(encoder, "encode", stop_after_nine_parts)
        VectorStore(workspace).get(texts, digest_texts(texts), encoder)
    found = VectorStore(workspace).get(texts, digest_texts(texts), encoder)
    assert encoder.texts == 93
    np.testing.assert_array_equal(found, np.stack([encoder._one(text) for text in texts]).astype(np.float32))
    folder = workspace.vectors("any", encoder.fingerprint).parent
    assert len(list(folder.glob("*.npy"))) == 2  # the parts are deleted, what was known is not


def test_equal_texts_are_encoded_once_also_in_different_parts(workspace: Workspace, encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_store, "_PART", 2)
    texts = ["one fish", "two fish", "red fish", "one fish", "red fish"]
    found = VectorStore(workspace).get(texts, digest_texts(texts), encoder)
    assert encoder.texts == 3
    np.testing.assert_array_equal(found[[3, 4]], found[[0, 2]])


def test_parts_that_filled_the_disk_make_room_for_the_whole(workspace: Workspace, encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_store, "_PART", 2)
    monkeypatch.setattr(vector_store, "_LONG", -1.0)
    folder, store = workspace.vectors(DIGEST, encoder.fingerprint).parent, vector_store.store_array

    def store_one(path: Path, array: np.ndarray) -> bool:
        return store(path, array) if path.parent != folder or not list(folder.glob("*.npy")) else False

    monkeypatch.setattr(vector_store, "store_array", store_one)
    VectorStore(workspace).get(TEXTS, DIGEST, encoder)
    assert [path.name for path in folder.glob("*.npy")] == [workspace.vectors(DIGEST, encoder.fingerprint).name]


def test_a_damaged_file_lends_nothing_to_other_corpora(workspace: Workspace, encoder) -> None:
    grown = [*TEXTS, "no fish"]
    VectorStore(workspace).get(TEXTS, DIGEST, encoder)
    flip(workspace.vectors(DIGEST, encoder.fingerprint), 200)
    found = VectorStore(workspace).get(grown, digest_texts(grown), encoder)
    np.testing.assert_array_equal(found, encoder.encode(grown))
    assert encoder.texts == 4 + 5 + 5


def test_a_search_writes_damaged_keys_of_texts_anew(workspace: Workspace, encoder) -> None:
    vectors, texts = VectorStore(workspace), ["one", "two", "three"]
    vectors.get(texts, digest_texts(texts), encoder)
    (path,) = workspace.cache("texts").glob("*.npy")
    whole = path.read_bytes()
    flip(path, -1)
    vectors.get(texts, digest_texts(texts), encoder)
    assert path.read_bytes() == whole
