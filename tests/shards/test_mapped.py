"""One file of vectors, written as it goes: the bytes are the same whatever came between, and nothing half written has its name."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_studio import sentences, studio_at

from sbert_studio.cli.main import run
from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError
from sbert_studio.models.sentence_encoder import SentenceEncoder
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.services import Studio
from sbert_studio.shards import memmap_writer
from sbert_studio.workspace import require_writable_file, write_json

from .shards import encode_and_wait, killed

BLOCK = 64


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 64 rows, each on the disk before the next."""
    monkeypatch.setattr(memmap_writer, "_BLOCK", BLOCK)
    monkeypatch.setattr(memmap_writer, "_FLUSH_SECONDS", 0.0)


@pytest.fixture
def studio(home: Path) -> Iterator[Studio]:
    with studio_at(home, home / "model") as opened:
        yield opened


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return written(tmp_path / "texts.csv", 300)


def written(path: Path, rows: int, seed: int = 0) -> Path:
    """A CSV of texts with a column beside them, some blank."""
    cells = [("" if row % 50 == 7 else text, row) for row, text in enumerate(sentences(rows, seed))]
    path.write_text("\n".join(["text,number", *(f"{text},{row}" for text, row in cells)]) + "\n")
    return path


def to(studio: Studio, texts: Path, out: Path, **said: Any) -> Any:
    return studio.similarity.encode_file(studio.data.read_texts(texts)[0], out, **said)


def test_a_file_of_one_block_is_what_numpy_writes_of_all_vectors(studio: Studio, texts: Path, tmp_path: Path) -> None:
    found = to(studio, texts, tmp_path / "x.npy")
    plain = np.full((300, 32), np.nan, np.float32)
    corpus = studio.data.read_corpus(texts)
    plain[corpus.positions()[0]] = studio.similarity.encode(corpus.texts).vectors
    np.save(tmp_path / "plain.npy", plain)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "plain.npy").read_bytes()
    assert (found.rows, found.resumed, found.nan) == (300, 0, tuple(range(7, 300, 50)))
    assert isinstance(np.load(tmp_path / "x.npy", mmap_mode="r"), np.memmap)
    assert sorted(path.name for path in tmp_path.glob("x.npy*")) == ["x.npy"]


@pytest.mark.usefixtures("small_blocks")
def test_what_was_stopped_goes_on_where_it_was(studio: Studio, texts: Path, tmp_path: Path) -> None:
    whole, out, seen, said = tmp_path / "whole.npy", tmp_path / "x.npy", [0], list[str]()
    assert to(studio, texts, whole).resumed == 0
    with pytest.raises(StoppedError), stoppable(lambda: max(seen) >= 2 * BLOCK):
        to(studio, texts, out, progress=lambda done, total: seen.append(done), on_message=said.append)
    assert not out.exists() and len(said) == 1 and "128 of 300 rows are kept in x.npy.part" in said[0]
    found = to(studio, texts, out, progress=lambda done, total: seen.append(done), on_message=said.append)
    assert "128 of 300 rows already exist" in said[1]
    assert found.resumed == 128 and out.read_bytes() == whole.read_bytes() and len(said) == 2
    to(studio, texts, out, on_message=said.append)
    assert len(said) == 3 and said[2].startswith("x.npy already exists")
    assert sorted(path.name for path in tmp_path.glob("x.npy*")) == ["x.npy"]


def _swap_blank_row(lines: list[str]) -> list[str]:
    return [*lines[:7], lines[8], lines[7], *lines[9:]]  # the texts stay the same


def _flip(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]


PART, JOURNAL = "x.npy.part", "x.npy.part.json"
DAMAGE: dict[str, tuple[str, str, Callable[[bytes], bytes]]] = {
    "rows": ("texts.csv", "from different rows", lambda data: data.replace(b",299\n", b" moon,299\n")),
    "place": ("texts.csv", "from different rows", lambda data: ("\n".join(_swap_blank_row(data.decode().splitlines())) + "\n").encode()),
    "cut": (PART, "and its rows are missing", lambda _: b"half"),
    "flipped": (PART, "and its rows are damaged", lambda data: _flip(data, 128 + 40 * 32 * 4)),
    "header": (PART, "and its rows are damaged", lambda data: _flip(data, 60)),
    "early": (JOURNAL, "and ended before its first 64 rows were written", lambda _: b""),
    "odd": (JOURNAL, "and its rows are missing", lambda data: data.replace(b'"done": 128', b'"done": 100')),
    "journal": (JOURNAL, "by a different version of this program", lambda _: b"{"),
    "infinite": (JOURNAL, "by a different version of this program", lambda data: data.replace(b'"done": 128', b'"done": Infinity')),
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("change", ["model", "precision", *DAMAGE])
def test_what_was_made_from_something_else_is_begun_anew_and_that_is_said(
    studio: Studio, texts: Path, tmp_path: Path, home: Path, change: str
) -> None:
    whole, out, seen, said = tmp_path / "whole.npy", tmp_path / "x.npy", [0], list[str]()
    with pytest.raises(StoppedError), stoppable(lambda: max(seen) >= 2 * BLOCK):
        to(studio, texts, out, progress=lambda done, total: seen.append(done))
    options: dict[str, Any] = {}
    if change == "model":
        shutil.copytree(home / "model", home / "other")
        config = home / "other" / "1_Pooling" / "config.json"
        old = json.loads(config.read_text())
        modes = {"pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": True}
        config.write_text(json.dumps(old | modes | ({"pooling_mode": "max"} if "pooling_mode" in old else {})))
        options, why = {"model": str(home / "other")}, "with a different model"
    elif change == "precision":
        options, why = {"precision": "bfloat16"}, "in float32, not bfloat16"
    else:
        name, why, damage = DAMAGE[change]
        (tmp_path / name).write_bytes(damage((tmp_path / name).read_bytes()))
        if change == "early":
            (tmp_path / name).unlink()
    found = to(studio, texts, out, on_message=said.append, **options)
    assert said == [f"x.npy.part was started {why}: starting over"] and found.resumed == 0
    to(studio, texts, whole, **options)
    assert out.read_bytes() == whole.read_bytes()


def test_only_an_ordinary_file_is_written_to(studio: Studio, texts: Path, tmp_path: Path) -> None:
    other, out = tmp_path / "other", tmp_path / "x.npy"
    other.write_text("mine")
    (tmp_path / "x.npy.part").symlink_to(other)
    with pytest.raises(StudioError, match=r"x\.npy\.part is not a regular file"):
        to(studio, texts, out)
    assert other.read_text() == "mine" and not out.exists()
    if not hasattr(os, "mkfifo"):
        pytest.skip("named pipes in folders are those of POSIX")
    os.mkfifo(tmp_path / "pipe")
    for write in (lambda: require_writable_file(tmp_path / "pipe"), lambda: write_json(tmp_path / "pipe", 1)):
        with pytest.raises(StudioError, match="pipe is not a regular file"):
            write()
    assert (tmp_path / "pipe").is_fifo()


def in_small_blocks(command: list[str], rows: int) -> None:
    """Encode in blocks of 16 rows, each on the disk before the next, and wait to be killed."""
    memmap_writer._FLUSH_SECONDS, memmap_writer._BLOCK = 0.0, 16
    encode_and_wait(command, rows)


@pytest.mark.process
def test_a_process_that_is_killed_goes_on_where_it_was(
    home: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, whole = tmp_path / "x.npy", tmp_path / "whole.npy"
    part, journal = tmp_path / "x.npy.part", tmp_path / "x.npy.part.json"
    asked = ["encode", str(texts), "--model", str(home / "model"), "--json", "--out"]
    killed(tmp_path / "child", in_small_blocks, [*asked, str(out)], 100)
    done = json.loads(journal.read_text())["done"]
    assert 16 <= done < 300 and part.exists() and not out.exists()
    monkeypatch.setattr(memmap_writer, "_BLOCK", 16)
    assert run([*asked, str(out)]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["resumed"] == done and f"{done} of 300 rows already exist" in told.err
    assert run([*asked, str(whole)]) == 0
    assert out.read_bytes() == whole.read_bytes() and not part.exists() and not journal.exists()


@pytest.mark.usefixtures("small_blocks")
def test_ctrl_c_keeps_what_is_done_and_says_so(
    home: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    encode, calls = SentenceEncoder.encode, [0]

    def interrupted(self: SentenceEncoder, *args: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == 3:
            raise KeyboardInterrupt
        return encode(self, *args, **named)

    monkeypatch.setenv("SBERT_STUDIO_HOME", str(home))
    monkeypatch.setattr(SentenceEncoder, "encode", interrupted)
    command = ["encode", str(texts), "--model", str(home / "model"), "--out", str(tmp_path / "x.npy")]
    assert run(command) == 130
    assert "128 of 300 rows are kept in x.npy.part" in capsys.readouterr().err
    assert run(command) == 0
    assert "the last 172 of them in" in capsys.readouterr().out


def test_the_disk_is_asked_first(studio: Studio, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))
    monkeypatch.setattr(SentenceEncoder, "encode", lambda *_, **__: pytest.fail("it was encoded"))
    with pytest.raises(StudioError, match=r"needs about 0\.0 MB.* has only 0\.0 MB left"):
        to(studio, texts, tmp_path / "x.npy")
    assert not list(tmp_path.glob("x.npy*"))


@pytest.mark.usefixtures("small_blocks")
def test_a_disk_that_fills_up_costs_what_was_not_yet_on_it(
    studio: Studio, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, blocks = tmp_path / "x.npy", memmap_writer._blocks

    def full(*args: Any) -> Iterator[np.ndarray]:
        for number, block in enumerate(blocks(*args)):
            if number == 2:
                raise OSError(errno.ENOSPC, "No space left on device")
            yield block

    with monkeypatch.context() as patch:
        patch.setattr(memmap_writer, "_blocks", full)
        with pytest.raises(OSError, match="No space"):
            to(studio, texts, out)
    assert not out.exists() and to(studio, texts, out).resumed == 128


def test_two_programs_do_not_write_one_file(studio: Studio, texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    busy = memmap_writer._PartialFile(tmp_path / "x.npy", memmap_writer.VectorFileSpec("a", "float32", 32, 300, "b", 64)).opened()
    with busy, pytest.raises(StudioError, match="being written by another program"):
        to(studio, texts, tmp_path / "x.npy")
    assert to(studio, texts, tmp_path / "x.npy").rows == 300


def test_a_vector_that_is_no_number_leaves_nothing(studio: Studio, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SentenceEncoder, "encode", lambda self, texts, **_: np.full((len(texts), 32), np.inf, np.float32))
    with pytest.raises(StudioError, match="not finite"):
        to(studio, texts, tmp_path / "x.npy")
    assert not list(tmp_path.glob("x.npy*"))


def test_the_texts_of_a_file_stand_where_its_corpus_says(texts: Path, studio: Studio) -> None:
    corpus, found = studio.data.read_corpus(texts), studio.data.read_texts(texts)[0]
    places, rows = corpus.positions()
    assert tuple(found.texts) == corpus.texts and np.array_equal(found.places, places) and found.rows == rows == 300
    assert found.account == corpus.account and read_table(texts).columns == ("text", "number")
