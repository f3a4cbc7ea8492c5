"""Verbs by which a caller looks at texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...errors import StudioError
from .reading import sent

if TYPE_CHECKING:
    from ...services import Studio

_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_LONGEST = 1_000  # digits; Python reads no number of more than 4,300


def similarity(studio: Studio, a: str, b: str, model: str) -> dict[str, Any]:
    """Compare two texts by meaning.

    Args:
        a: the first text.
        b: the second text.
        model: a bundled model's name, a run's id or a hub id; empty for the default, which depends on the language of the texts.

    Returns:
        cosine and dot product (larger is closer), Euclidean and Manhattan distance (smaller is closer); notes where the
        model was not trained on the language of the texts; the model that was used.
    """
    from ...data.language import count_languages

    model = model or studio.read.usual_model(count_languages([a, b]))
    return {**studio.explore.similarity(a, b, model).to_json(), "model": model}


def search(studio: Studio, file: str, query: str, k: float, mode: str, model: str, column: str) -> dict[str, Any]:
    """Find the texts of a file that are nearest to a query.

    Args:
        file: a CSV, TSV, TXT, JSONL, XLSX or Parquet file of texts.
        query: what is looked for.
        k: how many hits.
        mode: semantic, lexical or hybrid.
        model: a bundled model's name, a run's id or a hub id; empty for the default, which depends on the language of the texts.
        column: the column of texts; empty to find it.

    Returns:
        hits, best first, each with row, text, score and the row's other columns; the milliseconds that the search took; account: what
        became of every row of the file (read, used, held_out, left_out, reasons with row numbers); notes; and the model that was used.
    """
    corpus = studio.read.known_corpus(sent(file), column or None)
    model = model or studio.read.usual_model(corpus.languages)
    return {**studio.explore.search(corpus, query, int(k), mode, model=model).to_json(), "model": model}  # type: ignore[arg-type]


def mine(studio: Studio, file: str, top: float, model: str, column: str) -> dict[str, Any]:
    """Find the most similar pairs of texts in a file.

    Args:
        file: a CSV, TSV, TXT, JSONL, XLSX or Parquet file of texts.
        top: how many pairs.
        model: a bundled model's name, a run's id or a hub id; empty for the default, which depends on the language of the texts.
        column: the column of texts; empty to find it.

    Returns:
        pairs, closest first, each with both texts, both rows and the cosine; the seconds that the comparison took; account,
        notes and model as /search.
    """
    corpus = studio.read.known_corpus(sent(file), column or None)
    model = model or studio.read.usual_model(corpus.languages)
    return {**studio.explore.mine(corpus, int(top), model).to_json(), "model": model}


def draw(studio: Studio, file: str, clusters: str, dimensions: float, model: str, column: str) -> dict[str, Any]:
    """Draw the texts of a file as a map with labelled clusters.

    Args:
        file: a CSV, TSV, TXT, JSONL, XLSX or Parquet file of texts.
        clusters: auto, or how many there should be.
        dimensions: 2 or 3.
        model: a bundled model's name, a run's id or a hub id; empty for the default, which depends on the language of the texts.
        column: the column of texts; empty to find it.

    Returns:
        points, clusters with id, label and size, the cluster id of each text, the coordinates of each text; account, notes
        and model as /search.
    """
    from ...explore.clusters import MAX_CLUSTERS, ClusterParams
    from ...explore.projection import ProjectionParams

    digits = "0" if clusters in ("", "auto") else clusters.removeprefix("+")
    if not _DIGITS.fullmatch(digits) or len(digits) > _LONGEST or int(digits) > MAX_CLUSTERS:
        raise StudioError(f"clusters is {clusters[:40]!r}", f"give auto, or a whole number from 1 to {MAX_CLUSTERS:,}")
    number = int(digits)
    if dimensions not in (2, 3):
        raise StudioError(f"dimensions is {dimensions:g}", "choose 2 or 3")
    params = ClusterParams(method="kmeans", count=number) if number else ClusterParams()
    corpus = studio.read.known_corpus(sent(file), column or None)
    model = model or studio.read.usual_model(corpus.languages)
    drawn = studio.explore.map(corpus, ProjectionParams(dimensions=int(dimensions), seed=12), params, model)
    return {**drawn.to_json(), "model": model, "ids": [int(number) for number in drawn.ids], "coordinates": drawn.coordinates()}
