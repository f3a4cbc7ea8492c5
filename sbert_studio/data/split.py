"""Split examples into training and held-out parts without shared texts, by connected components of rows that share a text."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..errors import StudioError
from ..i18n import _
from .examples import Examples
from .findings import count

MAX_DEV_ROWS = 2_000
_MAX_DROPPED_SHARE = 0.25
_SCORE_BINS = 5
_CHAINED_SHARE = 0.2


def split_examples(
    examples: Examples,
    dev_fraction: float = 0.1,
    seed: int = 12,
    *,
    max_dev: int = MAX_DEV_ROWS,
    groups: bool = False,
    stratify: bool | None = None,
) -> tuple[Examples, Examples]:
    """Split examples into (train, dev) so that no text, ignoring case and spacing, is in both.

    Rows that share a text stay together: whole components are drawn in seeded random order while they fit. If one component contains nearly
    all rows, held-out rows are cut out of it, and rows that share a text with them (at most a quarter of all) are in neither part. If all
    held-out pairs would have the same target, they are drawn again with one of each class or score range first, provided that both parts
    then have different targets.

    Args:
        examples: the examples to split.
        dev_fraction: the share of rows to hold out, in [0, 1); 0 gives an empty dev part.
        seed: random seed; the same seed gives the same split.
        max_dev: the maximum number of held-out rows.
        groups: also keep rows of the same group (:attr:`Examples.groups`) together.
        stratify: hold out classes (or ranges of scores) proportionally; None: for labelled pairs and labelled texts. At least two texts of
            a category stay in the training part, provided that others remain to hold out.

    Raises:
        StudioError: the fraction is out of range, there are no groups, or all rows are connected.
    """
    if not 0 <= dev_fraction < 1:
        raise StudioError(
            _("the held-out share {dev_fraction} is not between 0 and 1", dev_fraction=dev_fraction), "use a number such as 0.1"
        )
    total = len(examples)
    target = min(round(dev_fraction * total), max_dev, total - 1)
    if target <= 0:
        return examples, examples.take([])
    component = connected_rows(examples, groups)
    strata = _strata(examples, stratify)
    generator = np.random.default_rng(seed)
    keep = 2 if examples.kind == "labelled_texts" and stratify is not False else 0
    dev = _draw_components(component, strata, target, generator, keep)
    if dev.any() and has_single_target(examples.take(np.flatnonzero(dev))):
        other = _draw_components(component, _strata(examples, True), target, np.random.default_rng(seed), 1, rare_first=True)
        if not any(has_single_target(examples.take(np.flatnonzero(part))) for part in (other, ~other)):
            dev = other
    dropped = np.zeros(total, dtype=bool)
    if dev.sum() < max(1, target // 2) and not groups:
        dev, dropped = _cut_rows(examples, target, generator)
    if not dev.any():
        dev = _smallest_component(component, 3 * target)
    if not dev.any():
        raise StudioError(
            (
                _("all {total} rows are connected by shared groups or texts, so none can be held out", total=f"{total:,}")
                if groups
                else _("all {total} rows are connected by shared texts, so none can be held out", total=f"{total:,}")
            ),
            "use a separate held-out file, or set the held-out share to 0",
        )
    return examples.take(np.flatnonzero(~dev & ~dropped)), examples.take(np.flatnonzero(dev))


def make_folds(
    examples: Examples, k: int, seed: int = 12, *, groups: bool = False, stratify: bool | None = None
) -> list[tuple[Examples, Examples]]:
    """Return k (train, dev) pairs for cross-validation; each row is held out once, and no text is in both parts of a fold.

    Components, largest first, are assigned to the fold with the fewest rows of their classes, then with the fewest rows.

    Raises:
        StudioError: k is below 2, or there are fewer components than folds.
    """
    if k < 2:
        raise StudioError(_("{k} folds are too few", k=k), "use 2 or more")
    strata = _strata(examples, stratify)
    members = _members(connected_rows(examples, groups))
    if len(members) < k:
        raise StudioError(
            _("the rows form only {sets} without shared texts, too few for {k} folds", sets=count(len(members), "set"), k=k),
            "use fewer folds, or a held-out file",
        )
    order = np.random.default_rng(seed).permutation(len(members))
    order = order[np.argsort([-len(members[index]) for index in order], kind="stable")]
    load = np.zeros((k, int(strata.max()) + 1), dtype=np.int64)
    fold_of = np.zeros(len(examples), dtype=np.int64)
    for index in order:
        rows = members[index]
        added = np.bincount(strata[rows], minlength=load.shape[1])
        # Empty folds first, so that k components always make k folds.
        costs = [(load[fold].sum() > 0, int(load[fold] @ added), int(load[fold].sum()), fold) for fold in range(k)]
        fold = min(costs)[-1]
        load[fold] += added
        fold_of[rows] = fold
    return [(examples.take(np.flatnonzero(fold_of != fold)), examples.take(np.flatnonzero(fold_of == fold))) for fold in range(k)]


def has_single_target(examples: Examples) -> bool:
    """Return True for pairs that all have the same score or label, or none, so that every ranking is equally good."""
    return examples.kind in ("scored_pairs", "labelled_pairs") and examples.targets is not None and len(np.unique(examples.targets)) < 2


def find_leaks(train: Examples, dev: Examples) -> np.ndarray:
    """Return a mask, (n,) bool, of the rows of ``train`` that share a text with ``dev``, ignoring case and spacing."""
    seen = {normalize_text(text) for column in dev.texts for text in column}
    leaks = np.zeros(len(train), dtype=bool)
    for column in train.texts:
        leaks |= np.fromiter((normalize_text(text) in seen for text in column), dtype=bool, count=len(column))
    return leaks


def normalize_text(text: str) -> str:
    """Fold case and collapse whitespace; texts that are then equal count as the same text."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def connected_rows(examples: Examples, groups: bool = False) -> np.ndarray:
    """Return the connected component of each row, (n,) int64; rows are connected by a shared text or, with ``groups``, by a shared group.

    Raises:
        StudioError: ``groups`` is True but the examples have none.
    """
    codes = [_text_codes(examples.texts)]
    if groups:
        if not examples.groups:
            raise StudioError("a split by group was requested, but the examples have no group column", "choose the group column")
        codes.append(_codes(examples.groups))
    return _components(codes, len(examples))


def cluster_rows(texts: Sequence[Sequence[str]]) -> np.ndarray:
    """Return the cluster of each row, (n,) int64 from 0, for confidence intervals: rows that share a text are in one cluster.

    If shared texts chain more than a fifth of the rows together, which does not imply that they are similar, only rows that are equal in
    all texts stay in one cluster.

    Args:
        texts: columns of n texts.
    """
    total = len(texts[0])
    cluster = _components([_text_codes(texts)], total)
    chained = (np.bincount(cluster) > max(1.0, _CHAINED_SHARE * total))[cluster]
    if chained.any():
        rows = _codes(["\0".join(map(normalize_text, row)) for row in zip(*texts, strict=True)])
        cluster = np.unique(np.where(chained, total + rows, cluster), return_inverse=True)[1].astype(np.int64)
    return cluster


def find_pair_classes(examples: Examples) -> np.ndarray | None:
    """Return the class of each pair if the pairs were built from texts with a category, (n,) int64; ``None`` otherwise.

    All texts of a category are then positives of each other, not only those in the same row. Groups count as categories if the rows of
    each group are connected by shared texts and share none with other groups, like the rings of ``classes_to_pairs``. Topics of questions
    and answers do not: most of their rows share no text with another row.
    """
    if examples.kind not in ("positive_pairs", "triplets") or not examples.groups:
        return None
    groups = _codes(examples.groups)
    component = _components([_text_codes(examples.texts[:2])], len(examples))
    names, components = len(set(examples.groups)), int(component.max(initial=-1)) + 1
    combinations = len(np.unique(component * names + groups))
    return groups if combinations == names == components and names < len(examples) else None


def _components(codes: Sequence[np.ndarray], total: int) -> np.ndarray:
    """Return the connected component of each row, (total,) int64. Each array contains a code for every row, once or several times."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, nodes, offset = [], [], total
    for column in codes:
        rows.append(np.tile(np.arange(total), len(column) // total))
        nodes.append(column + offset)
        offset += int(column.max()) + 1
    row, node = np.concatenate(rows), np.concatenate(nodes)
    graph = coo_array((np.ones(len(row), dtype=np.int8), (row, node)), shape=(offset, offset))
    _, labels = connected_components(graph, directed=False)
    component: np.ndarray = np.unique(labels[:total], return_inverse=True)[1].astype(np.int64)
    return component


def _text_codes(texts: Sequence[Sequence[str]]) -> np.ndarray:
    """Return a code for each text, column by column; equal texts have the same code in every column."""
    return _codes([normalize_text(text) for column in texts for text in column])


def _codes(values: Sequence[str]) -> np.ndarray:
    known: dict[str, int] = {}
    return np.fromiter((known.setdefault(value, len(known)) for value in values), dtype=np.int64, count=len(values))


def _members(component: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(component, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(component[order])) + 1)


def _strata(examples: Examples, stratify: bool | None) -> np.ndarray:
    """Return the class, score bin or group of each row, (n,) int64; all 0 without stratification."""
    has_classes = examples.kind in ("labelled_pairs", "labelled_texts")
    wanted = has_classes if stratify is None else stratify
    if wanted and examples.targets is not None:
        if has_classes:
            return examples.targets.astype(np.int64)
        return np.minimum((examples.targets * _SCORE_BINS).astype(np.int64), _SCORE_BINS - 1)
    if wanted and examples.groups:
        return _codes(examples.groups)
    return np.zeros(len(examples), dtype=np.int64)


def _draw_components(
    component: np.ndarray, strata: np.ndarray, target: int, generator: np.random.Generator, keep: int = 0, *, rare_first: bool = False
) -> np.ndarray:
    """Draw whole components in random order while their rows fit, both in total and within each stratum's share.

    Args:
        keep: the number of rows of each stratum that must not be drawn.
        rare_first: draw one component of each stratum before a second one of any, rare strata first.
    """
    members = _members(component)
    sizes = np.bincount(strata)
    quota = np.minimum(np.ceil(sizes * (target / len(strata))), np.maximum(0, sizes - keep))
    taken = np.zeros_like(quota)
    dev = np.zeros(len(component), dtype=bool)
    order = generator.permutation(len(members))
    if rare_first:
        order = _rare_first(order, members, strata, sizes)
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


def _rare_first(order: np.ndarray, members: Sequence[np.ndarray], strata: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    rarest = [min(strata[rows].tolist(), key=lambda stratum: (sizes[stratum], stratum)) for rows in members]
    drawn: Counter[int] = Counter()
    keys = []
    for index in order:
        keys.append((drawn[rarest[index]], int(sizes[rarest[index]])))
        drawn[rarest[index]] += 1
    return order[sorted(range(len(order)), key=lambda place: keys[place])]


def _cut_rows(examples: Examples, target: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the rows to hold out, preferring texts shared by few other rows, and of the rows dropped as a result."""
    total = len(examples)
    codes = _text_codes(examples.texts).reshape(len(examples.texts), total).T
    frequency = np.bincount(codes.ravel())
    order = generator.permutation(total)
    order = order[np.argsort(frequency[codes[order]].sum(axis=1), kind="stable")]
    rows_of_text: dict[int, list[int]] = {}
    for row, texts in enumerate(codes.tolist()):
        for text in texts:
            rows_of_text.setdefault(text, []).append(row)
    dev = np.zeros(total, dtype=bool)
    dropped = np.zeros(total, dtype=bool)
    for row in order:
        if dev.sum() >= target:
            break
        neighbours = np.array(sorted({other for text in codes[row].tolist() for other in rows_of_text[text]}), dtype=np.int64)
        new = neighbours[~dropped[neighbours] & ~dev[neighbours] & (neighbours != row)]
        if dropped.sum() - dropped[row] + len(new) > _MAX_DROPPED_SHARE * total:
            break
        dev[row], dropped[row] = True, False
        dropped[new] = True
    return dev, dropped


def _smallest_component(component: np.ndarray, limit: int) -> np.ndarray:
    """Return a mask of the smallest component; empty if it has more than ``limit`` rows or half of all rows."""
    sizes = np.bincount(component)
    smallest = int(sizes.argmin())
    fits = len(sizes) > 1 and sizes[smallest] <= min(limit, len(component) // 2)
    return component == smallest if fits else np.zeros(len(component), dtype=bool)
