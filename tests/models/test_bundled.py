"""The embedded model against sentence-transformers, on texts of every sort."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from sbert_studio.models.catalog import Catalog

pytestmark = pytest.mark.slow

TEXTS = [
    "A man is playing a guitar.",
    "a man is playing a guitar.",
    "A man is playing a guitar.",
    "",
    " ",
    "\n\t",
    "你好，世界。今天天气很好。",
    "今日はいい天気ですね",
    "😀🎉 party time 🎉😀",
    "مرحبا بالعالم",
    "naïve café résumé",
    "word " * 400,
    "supercalifragilisticexpialidocious" * 10,
    "1234567890 3.14159 1,000,000",
    "<img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A1",
    "The quick brown fox jumps over the lazy dog.",
    "zero\u200bwidth\ufeff and \x00 control \x07 characters",
    "A " * 255,
    "?!.,;:",
    *(f"Request {number}: my card was declined at shop number {number * 7}." for number in range(12)),
]


@pytest.fixture(scope="module")
def vectors(bundled_folder: Path) -> np.ndarray:
    model = SentenceTransformer(str(bundled_folder), device="cpu")
    return np.asarray(model.encode(TEXTS, show_progress_bar=False))


def test_the_bundled_model_gives_the_peers_vectors_and_describes_itself(catalog: Catalog, vectors: np.ndarray) -> None:
    ours = catalog.load("all-MiniLM-L6-v2").encode(TEXTS)
    np.testing.assert_allclose(ours, vectors, atol=1e-5)
    assert (ours * vectors).sum(axis=1).min() > 0.99999
    said = catalog.load("all-MiniLM-L6-v2").describe()
    assert (said["name"], said["kind"], said["backbone"], said["dim"]) == ("all-MiniLM-L6-v2", "transformer", "bert", 384)
    assert (said["parameters"], said["max_length"], said["pooling"], said["projection"]) == (22_713_216, 256, "mean", None)
    assert (said["normalizes"], said["precision"], said["note"]) == (True, "float32", "")
    assert said["base"] == "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.parametrize(("precision", "least"), [("bfloat16", 0.999), ("int8", 0.9)])
def test_lower_precision_stays_close_to_the_peer(catalog: Catalog, vectors: np.ndarray, precision: str, least: float) -> None:
    short = [place for place, text in enumerate(TEXTS) if len(text) < 100]  # few processors multiply bfloat16 fast
    encoder = catalog.load("all-MiniLM-L6-v2", precision)
    ours = encoder.encode([TEXTS[place] for place in short])
    assert ours.dtype == np.float32 and (ours * vectors[short]).sum(axis=1).min() > least
    assert (encoder.describe()["precision"], encoder.describe()["parameters"]) == (precision, 22_713_216)


def test_the_bundled_model_saved_again_gives_the_peers_vectors(catalog: Catalog, vectors: np.ndarray, tmp_path: Path) -> None:
    catalog.load_trainable("all-MiniLM-L6-v2").save(tmp_path / "model")
    again = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(np.asarray(again.encode(TEXTS, show_progress_bar=False)), vectors, atol=1e-5)
