"""Search hits read again by a cross-encoder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_studio import sentences

from sbert_studio.data.corpus import Corpus
from sbert_studio.errors import StudioError
from sbert_studio.models.cross_encoder import create_cross_encoder, load_cross_encoder
from sbert_studio.services import Studio
from sbert_studio.services.search import SearchOptions
from sbert_studio.settings import Settings


def _studio(home: Path, model: Path, reranker: Path | str) -> Studio:
    return Studio(Settings(home=home, device="cpu", default_model=str(model), reranker=str(reranker)), allow_folders=True)


def _corpus(studio: Studio, tmp_path: Path, rows: int = 30) -> Corpus:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(dict.fromkeys(sentences(rows))), encoding="utf-8")
    return studio.data.read_corpus(path)


def test_reranked_hits_are_those_that_the_cross_encoder_scores_highest(home: Path, tmp_path: Path, tiny_model: Path) -> None:
    create_cross_encoder(tiny_model).save(tmp_path / "reranker")
    with _studio(home, tiny_model, tmp_path / "reranker") as studio:
        corpus = _corpus(studio, tmp_path)
        hits = studio.search.search(corpus, "lost bank card", 5, options=SearchOptions(reranker=True)).hits
        plain = studio.search.search(corpus, "lost bank card", 5).hits
    scores = load_cross_encoder(tmp_path / "reranker").predict([("lost bank card", text) for text in corpus.texts])
    best = sorted(range(len(scores)), key=lambda row: -scores[row])[:5]
    assert [hit.row for hit in hits] == best
    assert [hit.score for hit in hits] == pytest.approx([scores[row] for row in best], abs=1e-5)
    assert [hit.row for hit in hits] != [hit.row for hit in plain]


def test_a_cross_encoder_of_classes_cannot_rank(home: Path, tmp_path: Path, tiny_model: Path) -> None:
    create_cross_encoder(tiny_model, labels=3).save(tmp_path / "classes")
    with _studio(home, tiny_model, tmp_path / "classes") as studio, pytest.raises(StudioError, match="cannot re-rank"):
        studio.search.search(_corpus(studio, tmp_path), "lost card", options=SearchOptions(reranker=True))


def test_a_cross_encoder_out_of_reach_is_said_in_one_line(home: Path, tmp_path: Path, tiny_model: Path) -> None:
    with _studio(home, tiny_model, "cross-encoder/nowhere-to-be-found") as studio, pytest.raises(StudioError) as caught:
        studio.search.search(_corpus(studio, tmp_path), "lost card", options=SearchOptions(reranker=True))
    assert "cross-encoder/nowhere-to-be-found" in str(caught.value)
    assert "\n" not in str(caught.value)
