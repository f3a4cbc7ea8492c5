"""Errors of the machine, told apart in one place."""

from __future__ import annotations

import asyncio
import bz2
import errno
import gzip
import io
import lzma
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import filelock
import httpx
import numpy as np
import pytest
import torch
from limits import no_more_memory_than

from sbert_studio.errors import is_out_of_memory, to_user_error
from sbert_studio.memory import free_memory


def allocate_in_torch() -> object:
    return torch.empty(1 << 60)


def allocate_in_numpy() -> object:
    return np.empty(1 << 50)


@pytest.mark.parametrize("work", [allocate_in_torch, allocate_in_numpy])
def test_what_memory_does_not_hold_is_said_so(work: object) -> None:
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        work()  # type: ignore[operator]
    known = to_user_error(caught.value)
    assert is_out_of_memory(caught.value) and known is not None
    assert "not enough memory" in known.message and "batch size" in known.hint


def test_how_much_was_needed_is_said_where_it_is_known() -> None:
    words = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 3100000000 bytes. Error code 12 (Cannot allocate memory)"
    known = to_user_error(RuntimeError(words))
    assert known is not None and "3.1 GB more were needed" in known.message
    for unit, more in (("B", "0.0"), ("MiB", "0.0"), ("GiB", "8.6"), ("TiB", "8,796.1"), ("PiB", "9,007,199.3")):
        assert f"{more} GB more were needed" in str(to_user_error(MemoryError(f"Unable to allocate 8.00 {unit} for an array")))


def test_the_network_damaged_files_and_places_are_no_bugs(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:
        tmp_path.open("w")
    here, there = to_user_error(caught.value, place=True), to_user_error(caught.value)
    assert here is not None and str(tmp_path) in str(here)
    assert there is not None and str(tmp_path) not in str(there)
    with pytest.raises(httpx.HTTPError) as refused:
        httpx.get("http://127.0.0.1:9/", trust_env=False)
    file = tmp_path / "a.zip"
    file.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(zipfile.BadZipFile) as damaged:
        zipfile.ZipFile(file)
    for error, word in ((refused.value, "network"), (damaged.value, "damaged"), (ConnectionResetError("gone"), "network")):
        known = to_user_error(error)
        assert known is not None and word in known.message


def _not_loaded_under(limit: int, module: str) -> str:
    """What is said of a program that may use ``limit`` bytes and imports ``module``."""
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
from sbert_studio.errors import to_user_error
try:
    import {module}
except Exception as error:
    print(type(error).__name__, to_user_error(error))
"""
    one = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # each of its threads takes a share of the address space
    return subprocess.run([sys.executable, "-c", code], env=one, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are those of Linux")
@pytest.mark.parametrize(("module", "error"), [("torch", "ImportError"), ("numba", "OSError")])
def test_a_library_that_memory_does_not_hold_is_said_so(module: str, error: str) -> None:
    said = _not_loaded_under(200 << 20, module)
    assert said.startswith(f"{error} there was not enough memory"), said


@pytest.mark.parametrize("kind", ["AS", "DATA"])
def test_memory_that_is_free_is_what_the_limits_of_the_process_leave(kind: str) -> None:
    with no_more_memory_than(300_000_000, kind):
        free = free_memory()
        with pytest.raises(MemoryError) as caught:
            np.empty(1 << 30)
        said = str(to_user_error(caught.value))
    assert free is not None
    assert 250_000_000 < free < 310_000_000
    assert "8.6 GB more were needed, and 0.3 GB were free" in said


GROUPS = {
    "version 2": {
        "proc/self/cgroup": "0::/user/job\n", "sys/fs/cgroup/user/job/memory.max": "max\n",
        "sys/fs/cgroup/user/job/memory.current": "900000000\n", "sys/fs/cgroup/user/memory.max": "3000000000\n",
        "sys/fs/cgroup/user/memory.current": "1900000000\n", "sys/fs/cgroup/user/memory.stat": "anon 5\ninactive_file 100000000\n",
    },
    "version 2 of a container": {
        "proc/self/cgroup": "0::/kubepods/of-the-host\n",
        "sys/fs/cgroup/memory.max": "3000000000\n",
        "sys/fs/cgroup/memory.current": "1800000000\n",
    },
    "version 1": {
        "proc/self/cgroup": "9:pids:/\n4:memory:/docker/job\n0::/\n",
        "sys/fs/cgroup/memory/docker/job/memory.limit_in_bytes": "3000000000\n",
        "sys/fs/cgroup/memory/docker/job/memory.usage_in_bytes": "1900000000\n",
        "sys/fs/cgroup/memory/docker/job/memory.stat": "inactive_file 7\ntotal_inactive_file 100000000\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "22077018112\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("version", GROUPS)
def test_memory_that_is_free_is_what_the_control_group_leaves(version: str, tmp_path: Path) -> None:
    files = {"proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable: 5000000 kB\n", **GROUPS[version]}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert free_memory(tmp_path) == 1_200_000_000
    (tmp_path / "proc" / "meminfo").write_text("MemAvailable: 1000 kB\n")
    assert free_memory(tmp_path) == 1_024_000
    assert free_memory(tmp_path / "nowhere") is None


def unanswered(_: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        client.settimeout(0.01)
        client.recv(1)


def unopened(_: Path) -> None:
    urllib.request.urlopen("http://127.0.0.1:9/", timeout=1)


def cut_gzip(_: Path) -> None:
    gzip.decompress(gzip.compress(b"many words " * 1000)[:40])


def cut_array(_: Path) -> None:
    np.save(file := io.BytesIO(), np.zeros(100))
    np.load(io.BytesIO(file.getvalue()[:200]))


def cut_mapped(folder: Path) -> None:
    np.save(folder / "a.npy", np.zeros(1000))
    with (folder / "a.npy").open("rb+") as file:
        file.truncate(500)
    np.load(folder / "a.npy", mmap_mode="r")


def full_database(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "a.db")) as db:
        db.execute("PRAGMA max_page_count = 2")
        db.execute("CREATE TABLE a (b)")
        db.execute("INSERT INTO a VALUES (?)", ("x" * 100_000,))


def no_database(folder: Path) -> None:
    (folder / "a.db").write_bytes(b"no database" * 100)
    with closing(sqlite3.connect(folder / "a.db")) as db:
        db.execute("SELECT * FROM a")


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (unanswered, "the network failed: timed out"), (unopened, "the network failed"),
        (cut_gzip, "a file is damaged: Compressed file ended"), (lambda _: zlib.decompress(b"abcdef"), "a file is damaged"),
        (lambda _: lzma.decompress(b"abcdef"), "a file is damaged"), (lambda _: bz2.decompress(b"abcdef"), "a file is damaged"),
        (cut_array, "a file is damaged"), (cut_mapped, "a file is damaged"), (full_database, "the disk is full"),
        (no_database, "a file is damaged"),
    ],
)  # fmt: skip
def test_what_libraries_raise_is_no_bug(work: Callable[[Path], None], words: str, tmp_path: Path) -> None:
    with pytest.raises(Exception) as caught:
        work(tmp_path)
    assert str(to_user_error(caught.value)).startswith(words)


def waits_for_a_thread() -> None:
    go_on = threading.Event()
    with ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        stack.callback(go_on.set)
        pool.submit(go_on.wait).result(timeout=0.001)


def waits_for_a_lock() -> None:
    async def wait() -> None:
        await asyncio.wait_for(asyncio.Event().wait(), 0.001)

    asyncio.run(wait())


def waits_for_a_file() -> None:
    with tempfile.NamedTemporaryFile() as file, filelock.FileLock(file.name), filelock.FileLock(file.name, timeout=0.001):
        pass


@pytest.mark.parametrize("work", [waits_for_a_thread, waits_for_a_lock, waits_for_a_file])
def test_a_wait_on_this_machine_is_no_network(work: Callable[[], None]) -> None:
    with pytest.raises(TimeoutError) as caught:
        work()
    assert to_user_error(caught.value) is None


MEMORY, NETWORK, DAMAGED, DISK = "there was not enough memory", "the network failed", "a file is damaged", "the disk is full"
BUG = None  # not an error that the user can fix


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), MEMORY),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."), MEMORY),
        *(
            (RuntimeError(words), MEMORY)
            for words in (
                "could not create a primitive", "std::bad_alloc", "can't start new thread", "could not create a memory object",
                "could not execute a primitive", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            )
        ),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), MEMORY),
        (OSError(errno.ENOMEM, "as another language says it"), MEMORY),
        *((OSError(code, os.strerror(code)), NETWORK) for code in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ETIMEDOUT)),
        (TimeoutError("The read operation timed out"), NETWORK),
        (TimeoutError("_ssl.c:989: The handshake operation timed out"), NETWORK),
        (urllib.error.URLError(OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))), NETWORK),
        (urllib.error.URLError(TimeoutError("timed out")), NETWORK),
        (ValueError("mmap length is greater than file size"), DAMAGED),
        (sqlite3.OperationalError("database or disk is full"), DISK),
        (sqlite3.OperationalError("disk I/O error"), "a file on this machine cannot be used"),
        (Exception("No space left on device (os error 28)"), DISK),
        (ImportError("libgomp.so.1: cannot allocate memory in static TLS block"), BUG),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object: Operation not permitted"), BUG),
        (ImportError("No module named 'odd'"), BUG),
        (OSError("Could not find/load shared object file 'libllvmlite.so' from resource location: 'llvmlite.binding'"), BUG),
        *((kind("odd"), BUG) for kind in (ValueError, KeyError, RuntimeError, Exception)),
        (EOFError(), BUG),
        (TimeoutError(), BUG),
        (urllib.error.URLError("unknown url type: odd"), BUG),
        (sqlite3.OperationalError("no such table: odd"), BUG),
        (FileNotFoundError(errno.ENOENT, os.strerror(2)), BUG),
    ],
)  # fmt: skip
def test_errors_are_told_apart_by_type_number_and_message(error: Exception, words: str | None) -> None:
    known = to_user_error(error)
    assert known is None if words is None else str(known).startswith(words)
    assert is_out_of_memory(error) == (words == MEMORY)
