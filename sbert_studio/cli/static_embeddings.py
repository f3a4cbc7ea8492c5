"""Commands that make static embedding models: fit, distill."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .options import open_studio
from .output import Answer, Json, progress
from .train import parse_settings

if TYPE_CHECKING:
    from ..progress import Progress
    from ..services.jobs import BeginPhase
    from ..services.static_embeddings import FittedEmbeddings

Columns = Annotated[list[str] | None, typer.Option(help="A column of texts; may be repeated. Default: all of them.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the model.", show_default="among the models")]


def fit(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Texts: csv, tsv, jsonl, xlsx, parquet or txt.")],
    kind: Annotated[
        str, typer.Option(help="word2vec (skipgram), cbow, glove, tfidf; or pretrained vectors: glove-6B-50d, a file.")
    ] = "glove",
    column: Columns = None,
    out: Out = None,
    weighting: Annotated[
        Literal["plain", "tfidf", "sif"] | None,
        typer.Option(help="Weight of words in a text's mean.", show_default="sif; with tfidf: plain"),
    ] = None,
    common: Annotated[int, typer.Option(min=0, max=10, help="Common components to remove.")] = 0,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 12,
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="width, epochs, window, min_count, …")] = None,
    json: Json = False,
) -> Answer:
    """Train static word embeddings on the texts of a file, or fit the word weights of pretrained ones to it."""
    with open_studio() as studio, _phases() as begin_phase:
        found = studio.static_embeddings.fit(
            file,
            kind,
            columns=column or (),
            out=out,
            weighting=weighting,
            common=common,
            settings=parse_settings(sets or ()),
            seed=seed,
            begin_phase=begin_phase,
        )
    return _answer(found, f"from {found.texts:,} texts")


def distill(
    *,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A bundled name, a run id, a folder or a hub id.")],
    out: Out = None,
    dim: Annotated[int, typer.Option(min=1, max=4096, help="Vector length.")] = 256,
    vocabulary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Texts whose words get a vector too, weighted by their frequency.")
    ] = None,
    column: Columns = None,
    json: Json = False,
) -> Answer:
    """Distill an encoder into a static embedding model: less accurate, and hundreds of times as fast."""
    with open_studio() as studio, _phases() as begin_phase:
        found = studio.static_embeddings.distill(
            model, dim=dim, vocabulary=vocabulary, columns=column or (), out=out, begin_phase=begin_phase
        )
    return _answer(found, f"of {model}")


def _answer(result: FittedEmbeddings, source: str) -> Answer:
    line = f"{result.words:,} words as {result.dim}-d vectors {source} in {result.seconds:.1f} s, written to {result.model}"
    return Answer(result.to_json(), [line, *result.notes])


@contextmanager
def _phases() -> Iterator[BeginPhase]:
    """Yield a function that starts a progress bar for a phase and ends the one before."""
    with ExitStack() as stack:

        def begin(phase: str, unit: str) -> Progress:
            stack.close()
            return stack.enter_context(progress(phase, unit))

        yield begin


COMMANDS = (fit, distill)
