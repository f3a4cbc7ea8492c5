"""Every sample opens, is of the kind that its list says, and is in good health."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from leakage import leakage

from sbert_studio.data import samples as module
from sbert_studio.data.corpus import corpus_from_table
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.language import main_language
from sbert_studio.data.loading.table import read_table
from sbert_studio.data.samples import Sample, examples, first_sample, sample, samples
from sbert_studio.data.splits.splitting import split
from sbert_studio.errors import StudioError


@pytest.mark.parametrize("found", samples(), ids=lambda found: found.id)
def test_a_sample_is_what_its_list_says(found: Sample) -> None:
    table = read_table(found.path)
    assert table.notes == ()
    if found.kind == "corpus":
        corpus = corpus_from_table(table)
        assert len(corpus) == len(table)
        assert main_language(corpus.texts).code == found.language
        return
    diagnosis = diagnose(table, languages=[found.language])
    assert diagnosis.roles.kind == found.kind
    assert len(diagnosis.examples) == diagnosis.rows
    assert not [finding for finding in diagnosis.findings if finding.severity != "info"]
    train, dev = split(diagnosis.examples)
    assert leakage(train, dev) == ()
    assert len(dev) >= 0.05 * len(table)


def test_samples_are_found_by_id_and_an_unknown_one_is_refused() -> None:
    known = samples()
    assert len({found.id for found in known}) == len(known) >= 5
    assert sample(known[0].id) == known[0]
    with pytest.raises(StudioError, match="no sample called"):
        sample("../../etc/passwd")


def test_a_page_in_chinese_begins_with_samples_in_chinese_and_any_other_with_the_first() -> None:
    known = {kind: first_sample("zh", kind) for kind in ("corpus", "scored_pairs", "triplets")}
    assert [found and found.id for found in known.values()] == ["chinese_messages", "chinese_pairs", "triplets"]
    assert [found and found.id for found in (first_sample("en", "corpus"), first_sample("fr", "corpus"))] == ["support_requests"] * 2
    assert first_sample("zh", "no such kind") is None
    assert main_language([examples("zh").first, examples("zh").query]).code == "zh" and examples("fr") == examples("en")


def test_a_list_of_samples_never_points_out_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "samples").mkdir()
    entry = {"id": "x", "title": "X", "kind": "corpus", "file": "../../etc/passwd", "description": "", "language": "en"}
    (tmp_path / "samples" / "index.json").write_text(json.dumps([entry]), encoding="utf-8")
    monkeypatch.setattr(module, "ASSETS", tmp_path)
    assert sample("x").path == tmp_path / "samples" / "passwd"
    monkeypatch.setattr(module, "ASSETS", tmp_path / "absent")
    assert samples() == []
