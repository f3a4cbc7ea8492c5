"""Jobs over shards read texts as the commands over one file do: as documents, queries, or texts to be compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tiny_studio import studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.models.io.load import load_folder
from sbert_studio.services.shards import ShardingOptions
from sbert_studio.shards.executor import ExecutionOptions
from sbert_studio.shards.serving import ShardedVectors

from .shards import encoded, texts_of, write_texts

PROMPTS = {"query": "red blue ", "passage": "fast slow moon "}


@pytest.fixture
def e5(home: Path) -> Path:
    """The model of the jobs, with prompts."""
    model = load_folder(home / "model")
    model.prompts = PROMPTS
    model.save(home / "model")
    return home / "model"


def test_shards_of_documents_are_searched_by_queries_as_a_file_is(home: Path, e5: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    encoded(home, write_texts(tmp_path / "texts", 2, 40), out, role="document")
    model, texts = load_folder(e5), [text for _, text in texts_of(out)]
    rows = ShardedVectors(out)
    assert np.concatenate(list(rows.blocks())) == pytest.approx(model.for_role("document").encode(texts), abs=1e-6)
    with studio_at(home, e5) as studio:
        found = studio.shards.search(out, "cat dog", 5)
        expected = studio.search.search(studio.data.read_corpus(_as_file(texts, tmp_path)), "cat dog", 5)
        assert [hit.text for hit in found.hits] == [hit.text for hit in expected.hits] and not found.notes
        assert [hit.score for hit in found.hits] == pytest.approx([hit.score for hit in expected.hits], abs=1e-6)
        assert studio.shards.search(out, "cat dog", 5, str(e5)).hits == found.hits
        (note,) = studio.shards.mine(out, ExecutionOptions(), 3).notes
    assert "encoded with “fast slow moon ”, but the model expects “red blue ” here: encode with --role symmetric" in note


def test_shards_of_no_role_say_so_where_the_model_wants_another_prompt(home: Path, e5: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    encoded(home, write_texts(tmp_path / "texts", 1, 40), out)
    with studio_at(home, e5) as studio:
        (note,) = studio.shards.search(out, "cat dog", 5).notes
        assert "encoded with no prompt, but the model expects “fast slow moon ” here: encode with --role document" in note
    with pytest.raises(StudioError, match="belongs to a different job"):
        encoded(home, tmp_path / "texts", out, role="document")


def test_mined_and_judged_shards_are_texts_to_be_compared(home: Path, e5: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    encoded(home, write_texts(tmp_path / "texts", 1, 40), out, role="symmetric")
    csv = write_pairs(tmp_path / "pairs.csv", 40)
    with studio_at(home, e5) as studio:
        mined = studio.shards.mine(out, ExecutionOptions(), 3)
        expected = studio.search.mine(studio.data.read_corpus(_as_file([text for _, text in texts_of(out)], tmp_path)), 3)
        assert [pair.score for pair in mined.pairs] == pytest.approx([pair.score for pair in expected.pairs], abs=1e-5)
        assert not mined.notes
        studio.data.read_table(csv).to_parquet(tmp_path / "pairs.parquet")
        judged = studio.shards.evaluate(
            None, tmp_path / "pairs.parquet", ExecutionOptions(), ShardingOptions(1, 16), out=tmp_path / "judged"
        )
        assert judged.scores["cosine"] == pytest.approx(studio.evaluation.evaluate(None, csv).scores["cosine"], abs=1e-6)


def test_a_job_of_a_model_without_prompts_is_named_as_before(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    encoded(home, write_texts(tmp_path / "texts", 1, 20), out, role="document")
    assert set(ShardedVectors(out).job.settings["model"]) == {"source", "fingerprint", "precision", "dim"}
    with studio_at(home, home / "model") as studio:
        assert not studio.shards.search(out, "cat dog", 2).notes and not studio.shards.mine(out, ExecutionOptions(), 2).notes


def _as_file(texts: list[str], folder: Path) -> Path:
    pq.write_table(pa.table({"text": texts}), folder / "one.parquet")
    return folder / "one.parquet"
