"""Search, closest pairs and the map, beside FAISS, sentence-transformers and umap-learn; vectors are given."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

import mapping
import mining
import searching
from drawn import Drawn

from sbert_studio.explore.maps.layout import EPOCHS, EPOCHS_OF_MANY, MANY

from .base import Ratio, Setting
from .encoding import PEER

_SEARCHED, _MINED, _QUERIES = 100_000, 10_000, 300


def search(setting: Setting) -> Iterator[Ratio]:
    """The ten nearest among vectors drawn around those of real sentences, a query at a time."""
    source = Drawn.around(setting.data)
    folder = setting.scratch / "search"
    folder.mkdir()
    medians, recall = searching.one_size(source, _SEARCHED, setting.rounds, _QUERIES, folder, growth=False)
    size = _SEARCHED * source.real.shape[1] * 4
    floor = f"{size / 1e6:.0f} MB read: {size / setting.rates['memory'] / 1e6:.1f} ms at {setting.rates['memory']:.0f} GB/s"
    seconds = {name: [value / 1000 for value in values] for name, values in medians.items()}
    what = f"the ten nearest of {_SEARCHED:,} vectors"
    yield Ratio("search-exact", f"{what}, exact", "FAISS flat", "s", seconds["exact"], seconds["flat"], "recall 1", floor, 1.0)
    if setting.data is None:
        return  # around so few sentences the ten nearest lie in too many cells: the index itself says that it is no use
    told = f"recall@10 {recall:.4f}"
    yield Ratio("search-index", f"{what}, by the index", "FAISS flat", "s", seconds["index"], seconds["flat"], told, floor, 10.0)


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
    epochs = EPOCHS if rows <= MANY else EPOCHS_OF_MANY
    updates = float(epochs) * rows * 15 * (2 + 5)
    return {"updates": updates, "bytes": updates * 2 * 4 * 2}
