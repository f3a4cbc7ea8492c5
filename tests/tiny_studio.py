"""A tiny random BERT in a folder and pairs that it can learn: trainings of a few steps for the tests of runs, studio and CLI."""

from __future__ import annotations

import asyncio
import csv
import zipfile
import zlib
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sbert_studio.models.base import Encoder
from sbert_studio.services import Studio
from sbert_studio.settings import Settings

T = TypeVar("T")
_WORDS = "cat dog mat park red blue fast slow hello world bank card lost found river stone bread milk moon star"
WORDS = _WORDS.split()


def tiny_bert(dropout: float = 0.1) -> tuple[Any, Any]:
    """The tokenizer and the settings of a BERT of two layers and 32 dimensions."""
    from transformers import BertConfig, BertTokenizer

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    tokenizer = BertTokenizer(vocab={word: place for place, word in enumerate(vocabulary)}, do_lower_case=True, model_max_length=64)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    return tokenizer, config


def write_model(folder: Path) -> Path:
    """A sentence-transformers folder of a BERT of 32 dimensions."""
    import torch
    from transformers import BertModel

    from sbert_studio.models.card import model_card
    from sbert_studio.models.io.settings import EncoderConfig
    from sbert_studio.models.transformer import TransformerEncoder

    tokenizer, config = tiny_bert()
    torch.manual_seed(0)
    encoder = TransformerEncoder(BertModel(config), tokenizer, EncoderConfig(max_length=64), name="tiny", base="tiny/tiny")
    encoder.save(folder, card=model_card(encoder))
    return folder


def write_static(folder: Path) -> Path:
    """A model of 8 dimensions that averages the vectors of the words: it loads and encodes in no time."""
    from sbert_studio.models.card import model_card
    from sbert_studio.models.static.vectors import WordVectors
    from sbert_studio.models.word_encoder import build_average_encoder

    encoder = build_average_encoder(
        WordVectors(WORDS, np.random.default_rng(1).normal(size=(len(WORDS), 8)).astype(np.float32), None, "table")
    )
    encoder.save(folder, card=model_card(encoder))
    return folder


class WordSums(Encoder):
    """The sum of one seeded random vector a word, so that texts which share words are alike."""

    name, normalizes, dim, max_length, fingerprint = "words", False, 64, 1000, "0123456789abcdef"

    def encode(self, texts: Sequence[str], *, progress: Any = None, should_stop: Any = None) -> np.ndarray:
        return np.stack([self._one(text) for text in texts]).astype(np.float32)

    def _one(self, text: str) -> np.ndarray:
        words = text.lower().split() or [""]
        return np.sum([np.random.default_rng(zlib.crc32(word.encode())).normal(size=self.dim) for word in words], axis=0)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "dim": self.dim}


def sentences(count: int, seed: int = 0) -> list[str]:
    """Made-up sentences of two to eight words."""
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(2, 9))) for _ in range(count)]


def write_pairs(path: Path, rows: int = 60, seed: int = 0) -> Path:
    """Pairs whose score, 0 to 5, is the share of words that both sides hold."""
    left, right = sentences(rows, seed), sentences(rows, seed + 1)
    with path.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow(["sentence1", "sentence2", "score"])
        for a, b in zip(left, right, strict=True):
            shared = len(set(a.split()) & set(b.split())) / len(set(a.split()) | set(b.split()))
            writer.writerow([a, b, f"{5 * shared:.2f}"])
    return path


def write_doubtful(path: Path, rows: int = 80, seed: int = 0) -> Path:
    """Pairs with labels of no language, which stand beside texts by chance: nothing tells which of them means alike."""
    labels = np.random.default_rng(seed + 7).permutation(["glorp", "blarg"] * (rows // 2))
    with path.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow(["left", "right", "tag"])
        writer.writerows(zip(sentences(rows, seed), sentences(rows, seed + 1), labels, strict=True))
    return path


def quick(**values: object) -> dict[str, object]:
    """Overrides for a training of a moment, judged by one part of the rows."""
    usual = {"loss": "cosine", "epochs": 1, "batch_size": 8, "learning_rate": 1e-3, "precision": "float32", "evaluation": "split"}
    return {**usual, **values}


def flip(path: Path) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[-9] ^= 4
    path.write_bytes(data)


def cut(path: Path) -> None:
    """Keep the first half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def peer(folder: Path) -> Any:
    """Open a model with sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def unpack_export(studio: Studio, run_id: str, folder: Path) -> Path:
    """Export a run and return the folder within its zip."""
    with zipfile.ZipFile(studio.fine_tune.export(run_id, folder / "export.zip").path) as archive:
        archive.extractall(folder / "export")
    (top,) = (folder / "export").iterdir()
    return top


@contextmanager
def studio_at(home: Path, model: Path | str = "all-MiniLM-L6-v2", **settings: Any) -> Iterator[Studio]:
    """A studio on the CPU whose default model is the tiny one."""
    with Studio(Settings(home=home, device="cpu", default_model=str(model), **settings), allow_folders=True) as studio:
        yield studio


def awaited(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns, run in a thread of its own: a loop runs already in one that has driven a browser."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
