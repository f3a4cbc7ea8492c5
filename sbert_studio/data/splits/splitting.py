"""Training and held-out parts that share no sentence: split by connected components of texts."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from ...errors import StudioError
from ..examples import Examples
from ..findings import count

MOST_DEV = 2_000
_MOST_DROPPED = 0.25
_SCORE_BINS = 5
_CHAINED = 0.2


def split(
    examples: Examples,
    dev_fraction: float = 0.1,
    seed: int = 12,
    *,
    max_dev: int = MOST_DEV,
    groups: bool = False,
    stratify: bool | None = None,
) -> tuple[Examples, Examples]:
    """Divide examples into (train, dev) so that no text (case and blanks aside) is on both sides.

    Rows that share a text stay together; whole components are drawn in a seeded order while they fit. Where one
    component holds nearly everything, held-out rows are cut out of it, and the rows that share a text with them
    (at most a quarter of all) are in neither part. Pairs that would be held out all with the same target are drawn anew, one of each
    class or range of scores first, where that leaves both parts with different targets.

    Args:
        examples: what to divide.
        dev_fraction: the held-out share of rows, in [0, 1); 0 gives an empty dev.
        seed: the same seed gives the same split.
        max_dev: the most held-out rows.
        groups: keep rows of one group (:attr:`Examples.groups`) together too.
        stratify: hold out the classes (or ranges of scores) in their proportion; None: for labelled pairs and labelled texts. Of a
            category at least two texts stay to be learned from, as far as that leaves any to hold out.

    Raises:
        StudioError: the fraction is out of range, groups are asked for and there are none, or every row hangs together.
    """
    if not 0 <= dev_fraction < 1:
        raise StudioError(f"the held-out share {dev_fraction} is not between 0 and 1", "give a number such as 0.1")
    total = len(examples)
    target = min(round(dev_fraction * total), max_dev, total - 1)
    if target <= 0:
        return examples, examples.take([])
    component = components(examples, groups)
    strata = _strata(examples, stratify)
    generator = np.random.default_rng(seed)
    dev = _fill(component, strata, target, generator, 2 if examples.kind == "labelled_texts" and stratify is not False else 0)
    if dev.any() and all_alike(examples.take(np.flatnonzero(dev))):
        other = _fill(component, _strata(examples, True), target, np.random.default_rng(seed), 1, each=True)
        if not any(all_alike(examples.take(np.flatnonzero(part))) for part in (other, ~other)):
            dev = other
    dropped = np.zeros(total, dtype=bool)
    if dev.sum() < max(1, target // 2) and not groups:
        dev, dropped = _cut(examples, target, generator)
    if not dev.any():
        dev = _smallest(component, 3 * target)
    if not dev.any():
        raise StudioError(
            f"all {total:,} rows hang together by shared {'groups or ' if groups else ''}texts, so that none can be held out",
            "give a held-out file of its own, or set the held-out share to 0",
        )
    return examples.take(np.flatnonzero(~dev & ~dropped)), examples.take(np.flatnonzero(dev))


def folds(
    examples: Examples, k: int, seed: int = 12, *, groups: bool = False, stratify: bool | None = None
) -> list[tuple[Examples, Examples]]:
    """k (train, dev) pairs for cross-validation; each row is held out once, no text is on both sides of a fold.

    Components, largest first, go to the fold that has the fewest rows of their classes, then the fewest rows.

    Raises:
        StudioError: k is below 2, or there are fewer components than folds.
    """
    if k < 2:
        raise StudioError(f"{k} folds are too few", "give 2 or more")
    component = components(examples, groups)
    strata = _strata(examples, stratify)
    members = _members(component)
    if len(members) < k:
        raise StudioError(
            f"the rows form {count(len(members), 'set')} that share no text, too few for {k} folds", "use fewer folds, or a held-out file"
        )
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(members))
    order = order[np.argsort([-len(members[index]) for index in order], kind="stable")]
    load = np.zeros((k, int(strata.max()) + 1), dtype=np.int64)
    fold_of = np.zeros(len(examples), dtype=np.int64)
    for index in order:
        rows = members[index]
        added = np.bincount(strata[rows], minlength=load.shape[1])
        # Empty folds first, so that k components always make k folds.
        cost = [(load[fold].sum() > 0, int(load[fold] @ added), int(load[fold].sum()), fold) for fold in range(k)]
        fold = min(cost)[-1]
        load[fold] += added
        fold_of[rows] = fold
    return [(examples.take(np.flatnonzero(fold_of != fold)), examples.take(np.flatnonzero(fold_of == fold))) for fold in range(k)]


def all_alike(examples: Examples) -> bool:
    """Whether these are pairs that all have the same score or label, or none: no ranking of them is better than another."""
    return examples.kind in ("scored_pairs", "labelled_pairs") and examples.targets is not None and len(np.unique(examples.targets)) < 2


def leaking(train: Examples, dev: Examples) -> np.ndarray:
    """(n,) bool: the rows of ``train`` that hold a text of ``dev``, case and blanks aside."""
    seen = {plain(text) for column in dev.texts for text in column}
    found = np.zeros(len(train), dtype=bool)
    for column in train.texts:
        found |= np.fromiter((plain(text) in seen for text in column), dtype=bool, count=len(column))
    return found


def plain(text: str) -> str:
    """A text without case, and with single blanks: what makes two texts the same for a split."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def components(examples: Examples, groups: bool = False) -> np.ndarray:
    """(n,) int64: the connected component of each row; rows are joined by a shared text (and, if asked, group).

    Raises:
        StudioError: groups are asked for and there are none.
    """
    columns = [_codes([plain(text) for text in column]) for column in _stacked(examples.texts)]
    if groups:
        if not examples.groups:
            raise StudioError("a split by group was asked for, but the examples have no group column", "choose the group column")
        columns.append(_codes(examples.groups))
    return _joined(columns, len(examples))


def hanging_together(texts: Sequence[Sequence[str]]) -> np.ndarray:
    """(n,) int64: a number for each row, 0 to the number of clusters less one, the same for rows that share a text.

    Where shared texts chain a large part of the rows (:data:`_CHAINED`), which says little of how alike they are, of these only rows that
    are equal in all texts have the same number.

    Args:
        texts: columns of n texts.
    """
    total, columns = len(texts[0]), [[plain(text) for text in column] for column in texts]
    found = _joined([_codes([text for column in columns for text in column])], total)
    chained = (np.bincount(found) > max(1.0, _CHAINED * total))[found]
    if chained.any():
        rows = _codes(["\0".join(row) for row in zip(*columns, strict=True)])
        found = np.unique(np.where(chained, total + rows, found), return_inverse=True)[1].astype(np.int64)
    return found


def _joined(columns: Sequence[np.ndarray], total: int) -> np.ndarray:
    """(total,) int64: the connected component of each row; ``columns`` hold codes of the rows, once or several times over."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, nodes, offset = [], [], total
    for codes in columns:
        rows.append(np.tile(np.arange(total), len(codes) // total))
        nodes.append(codes + offset)
        offset += int(codes.max()) + 1
    row, node = np.concatenate(rows), np.concatenate(nodes)
    graph = coo_array((np.ones(len(row), dtype=np.int8), (row, node)), shape=(offset, offset))
    _, labels = connected_components(graph, directed=False)
    found: np.ndarray = np.unique(labels[:total], return_inverse=True)[1].astype(np.int64)
    return found


def _stacked(texts: Sequence[Sequence[str]]) -> list[list[str]]:
    """All text columns as one, so that a text has one code whatever column it stands in."""
    return [[text for column in texts for text in column]]


def _codes(values: Sequence[str]) -> np.ndarray:
    known: dict[str, int] = {}
    return np.fromiter((known.setdefault(value, len(known)) for value in values), dtype=np.int64, count=len(values))


def _members(component: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(component, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(component[order])) + 1)


def _strata(examples: Examples, stratify: bool | None) -> np.ndarray:
    """(n,) int64: the class, score range or group of each row; all 0 where nothing is kept in proportion."""
    classed = examples.kind in ("labelled_pairs", "labelled_texts")
    wanted = classed if stratify is None else stratify
    if wanted and examples.targets is not None:
        if classed:
            return examples.targets.astype(np.int64)
        return np.minimum((examples.targets * _SCORE_BINS).astype(np.int64), _SCORE_BINS - 1)
    if wanted and examples.groups:
        return _codes(examples.groups)
    return np.zeros(len(examples), dtype=np.int64)


def _fill(
    component: np.ndarray, strata: np.ndarray, target: int, generator: np.random.Generator, stay: int = 0, *, each: bool = False
) -> np.ndarray:
    """Draw whole components in a random order while their rows fit, both in all and within each stratum's share.

    Args:
        stay: of each stratum at least so many rows are not drawn.
        each: draw one component of each stratum before a second one of any, rare strata first.
    """
    members = _members(component)
    sizes = np.bincount(strata)
    quota = np.minimum(np.ceil(sizes * (target / len(strata))), np.maximum(0, sizes - stay))
    taken = np.zeros_like(quota)
    dev = np.zeros(len(component), dtype=bool)
    order = generator.permutation(len(members))
    if each:
        rarest = [min(strata[rows].tolist(), key=lambda one: (sizes[one], one)) for rows in members]
        seen = np.zeros_like(sizes)
        turns = []
        for index in order:
            turns.append((int(seen[rarest[index]]), int(sizes[rarest[index]])))
            seen[rarest[index]] += 1
        order = order[sorted(range(len(order)), key=lambda place: turns[place])]
    for index in order:
        rows = members[index]
        if taken.sum() + len(rows) > target:
            continue
        added = taken + np.bincount(strata[rows], minlength=len(quota))
        if (added > quota).any():
            continue
        taken = added
        dev[rows] = True
        if taken.sum() == target:
            break
    return dev


def _cut(examples: Examples, target: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(dev, dropped): single rows held out, those whose texts few others share first, and the rows lost by it."""
    total = len(examples)
    codes = _codes([plain(text) for text in _stacked(examples.texts)[0]]).reshape(len(examples.texts), total).T
    frequency = np.bincount(codes.ravel())
    order = generator.permutation(total)
    order = order[np.argsort(frequency[codes[order]].sum(axis=1), kind="stable")]
    touching: dict[int, list[int]] = {}
    for row, texts in enumerate(codes.tolist()):
        for text in texts:
            touching.setdefault(text, []).append(row)
    dev = np.zeros(total, dtype=bool)
    lost = np.zeros(total, dtype=bool)
    for row in order:
        if dev.sum() >= target:
            break
        neighbours = np.array(sorted({other for text in codes[row].tolist() for other in touching[text]}), dtype=np.int64)
        new = neighbours[~lost[neighbours] & ~dev[neighbours] & (neighbours != row)]
        if lost.sum() - lost[row] + len(new) > _MOST_DROPPED * total:
            break
        dev[row], lost[row] = True, False
        lost[new] = True
    return dev, lost


def _smallest(component: np.ndarray, most: int) -> np.ndarray:
    """The rows of the smallest component, if they are at most ``most`` and not all."""
    sizes = np.bincount(component)
    smallest = int(sizes.argmin())
    fits = len(sizes) > 1 and sizes[smallest] <= min(most, len(component) // 2)
    return component == smallest if fits else np.zeros(len(component), dtype=bool)
