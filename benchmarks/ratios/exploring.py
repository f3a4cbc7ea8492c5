"""Search, closest pairs and the map, beside FAISS, bm25s, sentence-transformers and umap-learn; vectors are given."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

import mapping
import mining
import searching
import words_search
from drawn import Drawn

from sbert_studio.explore.umap import EPOCHS, LARGE_EPOCHS, LARGE_ROWS

from .base import Ratio, Setting, number
from .encoding import PEER

_SEARCHED, _MANY, _MINED, _QUERIES, _WORDED = 100_000, 1_000_000, 10_000, 300, 200


def search(setting: Setting) -> Iterator[Ratio]:
    """The ten nearest among vectors drawn around those of real sentences, a query at a time."""
    source = Drawn.around(setting.data)
    folder = setting.scratch / "search"
    folder.mkdir()
    found = searching.one_size(source, _SEARCHED, setting.rounds, _QUERIES, folder, growth=False)
    floor = _floor(4.0 * _SEARCHED * source.real.shape[1], setting)
    what = f"the ten nearest of {_SEARCHED:,} vectors"
    flat, exact, index = (_seconds(found.medians[name]) for name in ("flat", "exact", "index"))
    yield Ratio("search-exact", f"{what}, exact", "FAISS flat", "s", exact, flat, _recall(found, "exact"), floor, 1.0)
    if setting.data is None:
        return  # around so few sentences the ten nearest lie in too many cells: the index itself says that it is no use
    yield Ratio(
        "search-index", f"{what}, by the index", "FAISS flat", "s", index, flat, _recall(found, "index"), _floor(found.read, setting), 10.0
    )


def million(setting: Setting) -> Iterator[Ratio]:
    """A million rows: by the index, by words, and by both. There are too few samples to draw so many around them."""
    if setting.data is None:
        return
    source, folder = Drawn.around(setting.data), setting.scratch / "million"
    folder.mkdir()
    found = searching.one_size(source, _MANY, setting.rounds, _QUERIES, folder, growth=False)
    floor = _floor(4.0 * _MANY * source.real.shape[1], setting)
    what = f"the ten nearest of {_MANY:,} vectors"
    flat = _seconds(found.medians["flat"])
    yield Ratio(
        "million-exact", f"{what}, exact", "FAISS flat", "s", _seconds(found.medians["exact"]), flat, _recall(found, "exact"), floor, 1.0
    )
    size = f"{found.share:.0%} of the vectors' bytes"
    floor = _floor(found.read, setting)
    told = f"{_recall(found, 'index')}; {size}; built in {found.built:.0f} s, opened in {found.opened:.2f} s"
    index = _seconds(found.medians["index"])
    yield Ratio("million-index", f"{what}, by the index", "FAISS flat", "s", index, flat, told, floor, 10.0)
    late, of_flat = _seconds(found.late["index"]), _seconds(found.late["flat"])
    yield Ratio("million-index-late", f"{what}, by the index, 95th percentile", "FAISS flat", "s", late, of_flat, told, floor)
    words = words_search.compare(setting.data, _MANY, _WORDED, setting.rounds)
    what, same = f"the ten best of {_MANY:,} texts by words", f"{words.same:.2f} of the ten best the same"
    sides = [_seconds(words.medians[name]) for name in ("ours", "peer")]
    yield Ratio("million-words", what, "bm25s", "s", sides[0], sides[1], same)
    sides = [_seconds(words.late[name]) for name in ("ours", "peer")]
    yield Ratio("million-words-late", f"{what}, 95th percentile", "bm25s", "s", sides[0], sides[1], same)
    both = [_seconds(words.late[name]) for name in ("both", "peer")]
    what = f"{what} and by meaning, the query encoded, 95th percentile"
    yield Ratio("million-both-late", what, "bm25s, by words alone", "s", both[0], both[1])


def _recall(found: searching.Searched, which: str) -> str:
    return f"recall@10 {found.recall[which]:.4f}"


def _floor(size: float, setting: Setting) -> str:
    return f"{number(size / 1e6)} MB read: {size / setting.rates['memory'] / 1e6:.2g} ms at {setting.rates['memory']:.0f} GB/s"


def _seconds(milliseconds: Sequence[float]) -> list[float]:
    return [value / 1000 for value in milliseconds]


def mine(setting: Setting) -> Iterator[Ratio]:
    """The ten closest pairs of ten thousand."""
    vectors = Drawn.around(None).rows(_MINED) if setting.data is None else mining.some_vectors(setting.data, _MINED)
    top = 10
    found, same = mining.compare(vectors, top, setting.rounds)
    ours = next(iter(found.rounds))
    operations, width = float(_MINED) ** 2 * vectors.shape[1], "int8" if ours == "ours" else "float32"
    floor = f"{operations / 1e9:.0f} G operations: {operations / setting.rates[width] / 1e9:.3f} s in {width}"
    what = f"the {top} closest pairs of {_MINED:,} vectors"
    yield Ratio("mine", what, PEER, "s", found.rounds[ours], found.rounds[mining.PEER], f"{same} of {top} the same", floor, 4.0)


def draw(setting: Setting) -> Iterator[Ratio]:
    """The layout of BANKING77, or of as many vectors drawn around the samples'."""
    if setting.data is None:
        vectors = Drawn.around(None).rows(_MINED // 2)
        texts = [f"text {row}" for row in range(len(vectors))]
        mapping.warm_up(mapping.Workspace(setting.scratch / "compiled"))
    else:
        vectors, texts = mapping.bank(setting.data)
    mapping.peer(vectors)  # compiles, its search for neighbours as well, which few rows do without
    clock = mapping.compare("map", vectors, texts, setting.rounds, with_peer=True)
    told = "trustworthiness {:.4f}, the peer's {:.4f}".format(
        *(statistics.median(clock.kept[name]) for name in (mapping.OURS, mapping.PEER))
    )
    moves = _moves(len(vectors))
    floor = f"{moves['updates'] / 1e6:.0f} M moves of a point, {moves['bytes'] / 1e9:.1f} GB touched, in the processor's cache"
    what = f"a map of {len(vectors):,} texts, their vectors given"
    yield Ratio("map", what, "umap-learn", "s", clock.seconds[mapping.OURS], clock.seconds[mapping.PEER], told, floor)


def _moves(rows: int) -> Mapping[str, float]:
    """At most: an epoch moves both ends of each of 15 edges a row, and one end for each of five rows drawn; two numbers each."""
    epochs = EPOCHS if rows <= LARGE_ROWS else LARGE_EPOCHS
    updates = float(epochs) * rows * 15 * (2 + 5)
    return {"updates": updates, "bytes": updates * 2 * 4 * 2}
