"""The commands by which tables of words are made: fit, distil."""

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

Columns = Annotated[list[str] | None, typer.Option(help="A column of texts; may be given again. Default: all of them.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Where the model goes.", show_default="among the models")]


def fit(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Texts: csv, tsv, jsonl, xlsx, parquet or txt.")],
    kind: Annotated[str, typer.Option(help="word2vec (skipgram), cbow, glove, tfidf; or a table: glove-6B-50d, a file.")] = "glove",
    column: Columns = None,
    out: Out = None,
    weighting: Annotated[
        Literal["plain", "tfidf", "sif"] | None, typer.Option(help="How words count in a text's mean.", show_default="sif; of tfidf: plain")
    ] = None,
    common: Annotated[int, typer.Option(min=0, max=10, help="How many directions that all texts share are taken away.")] = 0,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 12,
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="width, epochs, window, min_count, …")] = None,
    json: Json = False,
) -> Answer:
    """Learn word vectors from the texts of a file, or fit the weights of those that are there to it."""
    with open_studio() as studio, _phases() as begin:
        found = studio.static_embeddings.fit(
            file, kind, columns=column or (), out=out, weighting=weighting, common=common, settings=parse_settings(sets or ()), seed=seed,
            begin_phase=begin,
        )  # fmt: skip
    return _answer(found, f"from {found.texts:,} texts")


def distil(
    *,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A bundled name, a run id, a folder or a hub id.")],
    out: Out = None,
    dim: Annotated[int, typer.Option(min=1, max=4096, help="Components of a vector.")] = 256,
    vocabulary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Texts whose words get a vector too, and tell how often each occurs.")
    ] = None,
    column: Columns = None,
    json: Json = False,
) -> Answer:
    """Make a table of words of an encoder: less exact, and hundreds of times as fast."""
    with open_studio() as studio, _phases() as begin:
        found = studio.static_embeddings.distill(model, dim=dim, vocabulary=vocabulary, columns=column or (), out=out, begin_phase=begin)
    return _answer(found, f"of {model}")


def _answer(found: FittedEmbeddings, source: str) -> Answer:
    words = f"{found.words:,} words as {found.dim}-d vectors {source} in {found.seconds:.1f} s, written to {found.model}"
    return Answer(found.to_json(), [words, *found.notes])


@contextmanager
def _phases() -> Iterator[BeginPhase]:
    """A bar for each phase, one after the other."""
    with ExitStack() as stack:

        def begin(what: str, unit: str) -> Progress:
            stack.close()
            return stack.enter_context(progress(what, unit))

        yield begin


COMMANDS = (fit, distil)
