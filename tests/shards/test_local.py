"""The plain path: one process, one shard after the other; what is done stays done, and nothing half written is believed."""

from __future__ import annotations

import csv
import ctypes
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tiny_studio import cut, sentences, studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.explore.paraphrase_mining import paraphrase_mining
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.services.shards import ShardingOptions
from sbert_studio.shards import serving
from sbert_studio.shards.executor import ExecutionOptions
from sbert_studio.shards.jobs import JobFolder
from sbert_studio.shards.serving import ShardedVectors
from sbert_studio.shards.sources import find_sources, read_rows

from .shards import ROWS, digests, encode_and_wait, encoded, killed, texts_of, write_texts


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts")


@pytest.mark.slow
def test_every_text_gets_its_vector_beside_its_id(home: Path, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = encoded(home, texts, out)
    assert (found.rows, found.left_out, found.shards, found.resumed) == (594, 6, 12, 0)
    rows = ShardedVectors(out)
    whole = np.concatenate(list(rows.blocks()))
    told = texts_of(out)
    assert [name for name, _ in told[:5]] == ["0-0", "0-1", "0-2", "0-4", "0-6"]
    with studio_at(home, home / "model") as studio:
        plain = studio.catalog.load(str(home / "model")).encode([text for _, text in told])
    assert whole == pytest.approx(plain, abs=1e-6)
    some = np.array([590, 3, 3, 200])
    assert np.array_equal(rows.vectors(some), whole[some])
    assert rows.texts(some) == [told[row] for row in some]


def test_any_part_of_a_file_is_read_and_files_that_do_not_fit_are_named(texts: Path, tmp_path: Path, home: Path) -> None:
    whole = pq.read_table(texts / "0.parquet")
    for start, rows in ((0, 200), (0, 50), (49, 2), (120, 70), (199, 1)):
        assert read_rows(texts / "0.parquet", start, rows, ["n", "text"]).equals(whole.select(["n", "text"]).slice(start, rows))
    with pytest.raises(StudioError, match="no Parquet files"):
        find_sources(tmp_path / "none")
    pq.write_table(pa.table({"key": ["a"], "text": [1]}), texts / "9.parquet")
    with pytest.raises(StudioError, match=r"9\.parquet has different columns"):
        find_sources(texts)
    (texts / "9.parquet").write_bytes(b"PAR1 half")
    with pytest.raises(StudioError, match=r"9\.parquet is not a readable Parquet file"):
        find_sources(texts)
    assert len(find_sources(f"{texts}/[01].parquet")) == 2
    (texts / "9.parquet").unlink()
    job_sources = find_sources(texts)
    job_sources[1].require_unchanged()
    data = (texts / "1.parquet").read_bytes()
    (texts / "1.parquet").write_bytes(data)
    with pytest.raises(StudioError, match=r"1\.parquet has changed"):
        job_sources[1].require_unchanged()
    (texts / "1.parquet").unlink()
    with pytest.raises(StudioError, match=r"1\.parquet cannot be read"):
        job_sources[1].require_unchanged()


@pytest.mark.slow
def test_what_is_done_is_not_done_again(home: Path, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    encoded(home, texts, out)
    before, folder = digests(out), JobFolder(out)
    folder.shard(2).write_bytes(folder.shard(2).read_bytes()[:-9])  # half a shard
    damaged = bytearray(folder.shard(4).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    folder.shard(4).write_bytes(damaged)  # a bit that fell over
    (out / "receipts" / "000007.json").unlink()  # killed between the shard and its receipt
    (out / "shards" / ".part-left").write_bytes(b"half")
    with pytest.raises(StudioError, match="not finished"):
        ShardedVectors(out)
    again = encoded(home, texts, out)
    assert (again.resumed, again.encoded) == (9, 64 + 64 + 8)
    assert digests(out) == before


@pytest.mark.slow
@pytest.mark.process
def test_a_driver_that_is_killed_goes_on_where_it_was(home: Path, tmp_path: Path) -> None:
    texts, out, whole = write_texts(tmp_path / "texts", 2, 60), tmp_path / "out", tmp_path / "whole"
    asked = ["encode", texts, "--engine", "local", "--out", out, "--id", "key", "--model", home / "model", "--shard-rows", "8"]
    killed(tmp_path / "child", encode_and_wait, list(map(str, asked)), 30)
    done = len(list((out / "receipts").glob("0*.json")))
    assert 3 <= done < 16
    again = encoded(home, texts, out, rows=8)
    assert again.resumed >= done - 1
    encoded(home, texts, whole, rows=8)
    assert digests(out) == digests(whole)


def test_it_can_be_stopped_between_shards(home: Path, texts: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    with pytest.raises(StoppedError), stoppable(lambda: bool(seen) and max(seen) >= 128):
        encoded(home, texts, tmp_path / "out", progress=lambda done, total: seen.append(done))
    again = encoded(home, texts, tmp_path / "out")
    assert 2 <= again.resumed < 12


@pytest.mark.slow
def test_a_folder_of_something_else_is_left_alone(home: Path, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    encoded(home, texts, out)
    with pytest.raises(StudioError, match="its shards have 64 rows, not 32"):
        encoded(home, texts, out, rows=32)
    table = pq.read_table(texts / "1.parquet")  # of the same size and statistics
    order = [0, *range(len(table) - 2, 0, -1), len(table) - 1]
    pq.write_table(table.take(order), texts / "1.parquet", row_group_size=50)
    with pytest.raises(StudioError, match="have changed"):
        encoded(home, texts, out)
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("mine")
    with pytest.raises(StudioError, match="contains something else"):
        encoded(home, texts, other)
    assert [one.name for one in other.iterdir()] == ["letter.txt"]


@pytest.mark.slow
def test_a_damaged_shard_is_named_wherever_it_is_read_and_made_anew(home: Path, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    encoded(home, texts, out)
    before, row = digests(out), 2 * ROWS + 3
    path = out / "shards" / "part-000002.parquet"
    for place in ("within a vector", "at its end", "gone"):
        rows, data = ShardedVectors(out), bytearray(path.read_bytes())
        footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        at = data.find(rows.vectors([row]).tobytes()) + 7 if place == "within a vector" else footer
        assert at > 6
        data[at] ^= 0x80
        if place == "gone":
            path.unlink()
        else:
            path.write_bytes(data)
        for work in (lambda: rows.vectors([0, row]), lambda: list(rows.blocks()), lambda: mined(home, out)):  # noqa: B023
            with pytest.raises(StudioError, match=r"000002\.parquet cannot be read|is not finished"):
                work()
        encoded(home, texts, out)
        assert digests(out) == before, place


@pytest.mark.slow
def test_a_receipt_that_was_changed_is_not_believed(home: Path, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    encoded(home, texts, out)
    before, receipt = digests(out), out / "receipts" / "000001.json"
    whole = receipt.read_text()
    changes = (('"rows": ', '"rows": 9'), ('"rows": ', '"rows": null, "other": '), ('"left_out": ', '"left_out": 1'))
    for damaged in (*(whole.replace(old, new, 1) for old, new in changes), "[" * 100_000):
        receipt.write_text(damaged)
        with pytest.raises(StudioError, match="not finished: 11 of 12"):
            ShardedVectors(out)
        assert encoded(home, texts, out).resumed == 11
        assert digests(out) == before, damaged[:80]


def test_what_differs_is_told_whole(home: Path, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    encoded(home, texts, out)
    with pytest.raises(StudioError, match="its precision is float32, not bfloat16"):
        encoded(home, texts, out, precision="bfloat16")
    with pytest.raises(StudioError, match="inside the input folder"):
        encoded(home, texts, texts / "vectors")
    with pytest.raises(StudioError, match="there is no folder"):
        ShardedVectors(tmp_path / "none")
    with pytest.raises(StudioError, match="at most 256"):
        ShardingOptions(99_999_999)
    manifest = out / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"rows": 200', '"rows": 100', 1))
    with pytest.raises(StudioError, match="manifest"):
        ShardedVectors(out)


@pytest.mark.slow
def test_columns_of_bytes_are_texts_and_what_is_no_text_is_said(home: Path, tmp_path: Path) -> None:
    rows = sentences(30, 1)
    folders = {name: tmp_path / name for name in ("bytes", "strings", "broken", "twice")}
    for folder in folders.values():
        folder.mkdir()
    pq.write_table(
        pa.table({"key": list(map(str, range(30))), "text": pa.array([row.encode() for row in rows])}), folders["bytes"] / "a.parquet"
    )
    pq.write_table(pa.table({"key": list(map(str, range(30))), "text": rows}), folders["strings"] / "a.parquet")
    found = [encoded(home, folders[name], tmp_path / f"{name}-out") for name in ("bytes", "strings")]
    assert found[0].rows == found[1].rows == 30
    assert digests(tmp_path / "bytes-out").keys() == digests(tmp_path / "strings-out").keys()
    blocks = [np.concatenate(list(ShardedVectors(tmp_path / f"{name}-out").blocks())) for name in ("bytes", "strings")]
    assert np.array_equal(*blocks)
    bad = pa.array([b"\xff\xfe"] * 30)
    pq.write_table(pa.table({"key": list(map(str, range(30))), "text": bad}), folders["broken"] / "a.parquet")
    with pytest.raises(StudioError, match=r"a\.parquet cannot be read"):
        encoded(home, folders["broken"], tmp_path / "broken-out")
    pq.write_table(pa.Table.from_arrays([pa.array(rows), pa.array(rows)], ["text", "text"]), folders["twice"] / "a.parquet")
    with pytest.raises(StudioError, match="two columns named 'text'"):
        find_sources(folders["twice"])


def mined(home: Path, vectors: Path) -> object:
    with studio_at(home, home / "model") as studio:
        return studio.shards.mine(vectors, ExecutionOptions(), 5)


def test_a_table_of_another_format_is_cut_into_shards(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    with file.open("w", newline="", encoding="utf-8") as target:
        csv.writer(target).writerows([["key", "text"], *([f"k{row}", text] for row, text in enumerate(sentences(150)))])
    assert encoded(home, file, tmp_path / "out").shards == 3
    assert texts_of(tmp_path / "out")[140] == ("k140", sentences(150)[140])


def test_pairs_and_scores_of_shards_are_those_of_all_rows(home: Path, texts: Path, tmp_path: Path) -> None:
    encoded(home, texts, tmp_path / "out")
    with studio_at(home, home / "model") as studio:
        found = studio.shards.mine(tmp_path / "out", ExecutionOptions(), 40)
        again = studio.shards.mine(tmp_path / "out", ExecutionOptions(), 40)
    told, whole = texts_of(tmp_path / "out"), np.concatenate(list(ShardedVectors(tmp_path / "out").blocks()))
    exact = paraphrase_mining(whole, 40)
    assert [(pair.id_a, pair.id_b, pair.score) for pair in found.pairs] == [(told[p.a][0], told[p.b][0], p.score) for p in exact]
    assert found.resumed == 0 and again.resumed == 12 and again.pairs == found.pairs
    csv_file = write_pairs(tmp_path / "pairs.csv", 150)
    with studio_at(home, home / "model") as studio:
        table = studio.data.read_table(csv_file)
        table.to_parquet(tmp_path / "pairs.parquet")
        plain = studio.evaluation.evaluate(str(home / "model"), csv_file)
        found = studio.shards.evaluate(str(home / "model"), tmp_path / "pairs.parquet", ExecutionOptions(), ShardingOptions(1, 40))
    assert (found.task, found.rows) == (plain.task, plain.rows) == ("sts", 150)
    for name in ("cosine", "dot", "euclidean", "manhattan"):
        assert found.scores[name] == pytest.approx(plain.scores[name], abs=1e-5)
    assert found.scores["interval"] == pytest.approx(plain.scores["interval"], abs=0.03)
    assert "rows that share a text" in found.notes[-1]


@pytest.mark.slow
def test_a_folder_is_searched(
    home: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    encoded(home, texts, tmp_path / "out")
    with studio_at(home, home / "model") as studio:
        exact = studio.shards.search(tmp_path / "out", "cat dog", 20)
    monkeypatch.setattr(serving, "_EXACT_ROWS", 10)
    monkeypatch.setattr(serving, "_PART_ROWS", 200)  # three parts, joined on disk
    with studio_at(home, home / "model") as studio:
        found = studio.shards.search(tmp_path / "out", "cat dog", 20)
        index = next((tmp_path / "out").glob("index-*"))
        made = (index / "ivf.faiss").stat().st_mtime_ns
        everything = studio.shards.search(tmp_path / "out", "cat dog", 200)
    assert not list(index.glob("part-*"))
    assert exact.recall is everything.recall is None and not exact.notes and len(everything.hits) == 200
    assert found.recall is not None and 0.9 < found.recall <= 1 and f"{found.recall:.1%} of the nearest rows are found" in found.notes[0]
    assert found.to_json()["exact"] is False
    assert [hit.score for hit in exact.hits] == sorted((hit.score for hit in exact.hits), reverse=True)
    assert len({hit.row for hit in found.hits} & {hit.row for hit in exact.hits}) >= 19
    with studio_at(home, home / "model") as studio:  # opened, not built again
        again = studio.shards.search(tmp_path / "out", "cat dog", 20)
        assert (index / "ivf.faiss").stat().st_mtime_ns == made
        assert again.hits == found.hits
        ctypes.CDLL(None).fflush(None)
        assert capfd.readouterr().out == ""  # where the answer of --json stands
        for name, harm in (("lists.bin", cut), ("lists.bin", None), ("ivf.faiss", cut), ("digests.json", cut), ("lists.bin", noise)):
            harmed(index / name, harm)
            with studio_at(home, home / "model") as other:
                assert other.shards.search(tmp_path / "out", "cat dog", 20).hits == found.hits
        with pytest.raises(StudioError, match="was encoded by"):
            studio.shards.search(tmp_path / "out", "cat", 3, model="all-MiniLM-L6-v2")


def test_lists_that_are_too_long_to_be_read_whole_name_themselves_where_they_lead_nowhere(
    home: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded(home, texts, tmp_path / "out")
    monkeypatch.setattr(serving, "_EXACT_ROWS", 10)
    monkeypatch.setattr(serving, "_MAX_DIGESTED_BYTES", 0)
    with studio_at(home, home / "model") as studio:
        assert len(studio.shards.search(tmp_path / "out", "cat dog", 20).hits) == 20
    noise(next((tmp_path / "out").glob("index-*")) / "lists.bin")
    with studio_at(home, home / "model") as studio, pytest.raises(StudioError, match=r"the index index-\w+ of out is damaged"):
        studio.shards.search(tmp_path / "out", "cat dog", 20)


def noise(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


def harmed(path: Path, harm: Callable[[Path], None] | None) -> None:
    if harm is None:
        path.unlink()
    else:
        harm(path)


@pytest.mark.parametrize(("option", "value"), [("--threads", "2"), ("--shard-rows", "7"), ("--address", "a:1"), ("--workers", "2")])
def test_what_only_an_engine_has_a_use_for_is_refused_without_one(
    tmp_path: Path, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from sbert_studio.cli.main import run

    out, source = tmp_path / "x.npy", write_pairs(tmp_path / "pairs.csv", 20)
    assert run(["encode", str(source), "--out", str(out), option, value]) == 2
    assert f"{option} requires an engine" in capsys.readouterr().err
    folder = tmp_path / "shards"
    if option == "--address":
        assert run(["encode", str(source), "--engine", "local", "--out", str(folder), option, value]) == 2
    assert not out.exists() and not folder.exists()


@pytest.mark.slow
def test_the_command_line_searches_and_mines_a_folder(home: Path, texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sbert_studio.cli.main import run

    out = str(tmp_path / "out")
    assert run(["encode", str(texts), "--out", out, "--model", str(home / "model"), "--shard-rows", "100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 594
    assert run(["search", out, "cat dog", "-k", "3", "--json"]) == 0
    hits = json.loads(capsys.readouterr().out)["hits"]
    assert len(hits) == 3 and hits[0]["score"] >= hits[1]["score"]
    assert run(["mine", out, "-k", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["pairs"]) == 2
    for wrong in (["search", out, "cat", "--mode", "lexical"], ["mine", str(texts / "0.parquet"), "--engine", "local"]):
        assert run(wrong) == 2
    assert run(["encode", str(texts / "0.parquet"), "--out", str(tmp_path / "x.npy"), "--workers", "2"]) == 2
    assert run(["encode", str(texts), "--engine", "spark", "--out", str(tmp_path / "y")]) == 2
    assert "choose one of" in capsys.readouterr().err
