"""Errors of the machine, told apart in one place."""

from __future__ import annotations

import errno
import os
import zipfile
from pathlib import Path

import httpx
import numpy as np
import pytest
import torch

from sbert_studio.errors import is_out_of_memory, plainly


def allocate_in_torch() -> object:
    return torch.empty(1 << 60)


def allocate_in_numpy() -> object:
    return np.empty(1 << 50)


@pytest.mark.parametrize("work", [allocate_in_torch, allocate_in_numpy])
def test_what_memory_does_not_hold_is_said_so(work: object) -> None:
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        work()  # type: ignore[operator]
    known = plainly(caught.value)
    assert is_out_of_memory(caught.value) and known is not None
    assert "not enough memory" in known.message and "batch size" in known.hint


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."),
        RuntimeError("could not create a primitive"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("can't start new thread"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
    ],
)
def test_every_library_has_its_own_words_for_memory(error: Exception) -> None:
    assert is_out_of_memory(error)


def test_how_much_was_needed_is_said_where_it_is_known() -> None:
    words = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 3100000000 bytes. Error code 12 (Cannot allocate memory)"
    known = plainly(RuntimeError(words))
    assert known is not None and "3.1 GB more were needed" in known.message


def test_places_are_told_at_this_machine_and_not_to_visitors(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:
        tmp_path.open("w")
    here, there = plainly(caught.value, place=True), plainly(caught.value)
    assert here is not None and str(tmp_path) in str(here)
    assert there is not None and str(tmp_path) not in str(there)


def test_the_network_and_damaged_files_are_no_bugs(tmp_path: Path) -> None:
    with pytest.raises(httpx.HTTPError) as refused:
        httpx.get("http://127.0.0.1:9/", trust_env=False)
    file = tmp_path / "a.zip"
    file.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(zipfile.BadZipFile) as damaged:
        zipfile.ZipFile(file)
    for error, word in ((refused.value, "network"), (damaged.value, "damaged"), (ConnectionResetError("gone"), "network")):
        known = plainly(error)
        assert known is not None and word in known.message


@pytest.mark.parametrize(
    "error", [ValueError("odd"), KeyError("odd"), RuntimeError("odd"), FileNotFoundError(errno.ENOENT, os.strerror(2))]
)
def test_what_is_ours_to_mend_stays_a_bug(error: Exception) -> None:
    assert plainly(error) is None
