"""Each loss against its equation, computed with plain loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from sbert_studio.losses import LOSSES, Loss
from sbert_studio.losses.base import KnownPositives
from sbert_studio.losses.cosent import ranking_loss
from sbert_studio.losses.multiple_negatives_ranking import false_negative_mask

from . import equations
from .batches import Batch, batch, make

BINARY = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 1])
SCORED, LABELLED = batch("scored_pairs"), batch("labelled_pairs")
BINARY_PAIRS = Batch(LABELLED.columns, BINARY, LABELLED.ids)
Loop = Callable[[Sequence[Tensor]], Tensor]


def whole_angle(data: Batch, is_positive: list[bool]) -> Loop:
    def loop(columns: Sequence[Tensor]) -> Tensor:
        cosent, angle = equations.cosent(columns, data.targets), equations.angle(columns, data.targets)
        return 0.5 * cosent + 3 * equations.angle_in_batch(columns, is_positive) + angle

    return loop


CASES: dict[str, tuple[Loss, Batch, Loop]] = {
    "cosine, ordered classes": (make("cosine"), LABELLED, lambda columns: equations.cosine_regression(columns, LABELLED.targets / 2)),
    "cosine+cosent": (make("cosine+cosent"), SCORED, lambda columns: equations.combined(columns, SCORED.targets)),
    "cosine+cosent, w 2": (make("cosine+cosent", cosine_weight=2), SCORED, lambda columns: equations.combined(columns, SCORED.targets, 2)),
    "angle, three terms, scores": (
        make("angle", cosine_weight=0.5, in_batch_weight=3.0),
        SCORED,
        whole_angle(SCORED, [t >= 0.6 for t in (0, 0.75, 0.25, 1, 0.5, 0, 0.75, 0.25, 1)]),
    ),
    "angle, three terms, classes": (
        make("angle", cosine_weight=0.5, in_batch_weight=3.0),
        LABELLED,
        whole_angle(LABELLED, [t == 2 for t in (0, 2, 1) * 3]),
    ),
    "triplet, three negatives": (
        make("triplet", margin=0.5),
        batch("triplets", negatives=3),
        lambda columns: equations.triplet(columns, "euclidean", 0.5),
    ),
    "contrastive, scores": (make("contrastive"), SCORED, lambda columns: equations.contrastive(columns, SCORED.targets, "cosine", 0.5)),
    **{
        f"naive cosine, {name}": (
            make("naive_cosine", equation=name, labels=2),
            BINARY_PAIRS,
            lambda columns, name=name: equations.naive_cosine(columns, BINARY, name),
        )
        for name in ("linear", "squared", "threshold")
    },
}


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient_equal_the_equation(case: str) -> None:
    loss, data, loop = CASES[case]
    ours, theirs = data.leaves(), data.leaves()
    value, expected = loss(ours, data.targets, data.ids), loop(theirs)
    assert value.item() == pytest.approx(expected.item(), abs=1e-9)
    value.backward()
    expected.backward()
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.allclose(mine.grad, other.grad, atol=1e-9, rtol=0)  # type: ignore[arg-type]


def test_angle_in_batch_masks_equal_texts_and_is_zero_without_a_positive() -> None:
    data = batch("labelled_pairs", 4)
    # Row 0 is positive; row 1 pairs the same anchor with another positive, row 2 with a negative; row 3 repeats row 0's partner.
    ids = [torch.tensor([0, 0, 0, 3]), torch.tensor([10, 11, 12, 10])]
    targets = torch.tensor([1, 1, 0, 0])
    value = make("angle", labels=2, in_batch_weight=1.0)(data.columns, targets, ids) - make("angle", labels=2)(data.columns, targets)
    first, second = data.columns

    def term(anchor: int, candidates: tuple[int, ...]) -> Tensor:
        scores = {other: (20 * equations.cos(first[anchor], second[other])).exp() for other in candidates}
        return -(scores[anchor] / sum(scores.values())).log()

    assert value.item() == pytest.approx((term(0, (0, 2)) + term(1, (1, 2, 3))).item() / 2, abs=1e-9)
    loss = make("angle", labels=2, in_batch_weight=1.0)
    assert loss.in_batch and not make("angle").in_batch
    leaves = BINARY_PAIRS.leaves()
    value = loss(leaves, torch.zeros(9, dtype=torch.int64))
    value.backward()
    assert value.item() == 0 and all(bool((leaf.grad == 0).all()) for leaf in leaves)


def test_online_contrastive_ignores_pairs_exactly_as_far_as_the_other_kind() -> None:
    u = torch.eye(4, dtype=torch.float64)
    v = u.roll(1, 0)
    for targets, settings in (([0, 1, 0, 1], {}), ([1, 1, 1, 1], {}), ([0, 0, 0, 0], {"margin": 2.0})):
        assert make("online_contrastive", labels=2, **settings)([u, v], torch.tensor(targets)).item() == 0


def quadratic(scores: Tensor, targets: Tensor) -> Tensor:
    """The definition, with a matrix of all pairs."""
    differences = scores[None, :] - scores[:, None]  # [i, j] = s_j − s_i
    chosen = differences[targets[:, None] > targets[None, :]]
    return torch.cat([scores.new_zeros(1), chosen]).logsumexp(0)


@pytest.mark.parametrize("levels", [2, 3, 6, 10_000])
@pytest.mark.parametrize("rows", [2, 17, 300])
def test_it_equals_the_quadratic_form_with_and_without_ties(levels: int, rows: int) -> None:
    random = torch.Generator().manual_seed(levels + rows)
    scores = 20 * (2 * torch.rand(rows, generator=random, dtype=torch.float64) - 1)
    targets = torch.randint(levels, (rows,), generator=random) / levels
    ours, theirs = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    value, reference = ranking_loss(ours, targets), quadratic(theirs, targets)
    value.backward()
    reference.backward()
    assert value.item() == pytest.approx(reference.item(), abs=1e-9)
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-9, rtol=0)  # type: ignore[arg-type]


def test_float32_keeps_six_digits_over_the_whole_range_of_cosines() -> None:
    random = torch.Generator().manual_seed(0)
    scores = 20 * (2 * torch.rand(500, generator=random) - 1)
    targets = torch.randint(5, (500,), generator=random)
    ours, theirs = scores.clone().requires_grad_(), scores.double().requires_grad_()
    value, reference = ranking_loss(ours, targets), quadratic(theirs, targets)
    value.backward()
    reference.backward()
    assert value.item() == pytest.approx(reference.item(), rel=1e-6)
    assert torch.allclose(ours.grad.double(), theirs.grad, atol=1e-6, rtol=1e-4)  # type: ignore[union-attr,arg-type]


@pytest.mark.parametrize("targets", [[0.5], [0.5, 0.5, 0.5]])
def test_without_two_different_targets_the_loss_is_zero_with_a_gradient_of_zero(targets: list[float]) -> None:
    scores = torch.linspace(-20, 20, len(targets)).requires_grad_()
    loss = ranking_loss(scores, torch.tensor(targets))
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(scores.grad, torch.zeros(len(targets)))  # type: ignore[arg-type]


def test_scores_far_beyond_exp_do_not_overflow_and_large_batches_save_no_square() -> None:
    scores = torch.tensor([2000.0, -2000.0, 0.0]).requires_grad_()
    loss = ranking_loss(scores, torch.tensor([0, 1, 2]))
    loss.backward()
    assert loss.item() == pytest.approx(4000)
    assert torch.allclose(scores.grad, torch.tensor([1.0, -1.0, 0.0]))  # type: ignore[arg-type]
    rows, saved = 100_000, []
    scores = torch.randn(rows, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor.numel()) or tensor, lambda tensor: tensor):
        loss = ranking_loss(scores, torch.arange(rows) % 7)
    loss.backward()
    assert max(saved) <= rows + 1
    assert torch.isfinite(scores.grad).all()  # type: ignore[arg-type]


def test_equal_texts_and_known_positives_are_masked_and_nothing_else() -> None:
    #          row        0  1  2  3
    anchors = torch.tensor([1, 2, 1, 9])
    positives = torch.tensor([5, 6, 7, 5])
    negatives = torch.tensor([6, 1, 5, 8])
    expected = torch.tensor(
        [  # candidates: 5  6  7  5 | 6  1  5  8
            [0, 0, 1, 1, 0, 1, 1, 0],  # anchor 1, positive 5; 7 belongs to the same anchor
            [0, 0, 0, 0, 1, 0, 0, 0],  # anchor 2, positive 6
            [1, 0, 0, 0, 0, 1, 0, 0],  # anchor 1, positive 7; 5 in column 0 belongs to the same anchor
            [1, 0, 0, 0, 0, 0, 1, 0],  # anchor 9, positive 5
        ],
        dtype=torch.bool,
    )
    assert torch.equal(false_negative_mask([anchors, positives, negatives]), expected)
    relation = KnownPositives.from_rows(np.array([[1, 2, 1], [5, 6, 6]]))
    anchors, positives = torch.tensor([1, 2]), torch.tensor([5, 6])
    assert false_negative_mask([anchors, positives], relation).tolist() == [[False, True], [False, False]]
    assert false_negative_mask([positives, anchors], relation).tolist() == [[False, False], [True, False]]
    assert not false_negative_mask([anchors, positives]).any()


def test_the_exchanged_direction_masks_by_its_own_roles() -> None:
    """Row 1's positive is the text of row 0's anchor. Only anchor 0 and positive 1 may not be held against each other."""
    data = batch("positive_pairs", rows=3)
    data.ids[1][1] = data.ids[0][0]
    first, second = data.columns
    away = [[1], [], []], [[], [0], []]  # by direction and row: the candidates that are left out
    terms = []
    for (anchors, candidates), masked in zip(((first, second), (second, first)), away, strict=True):
        for row in range(3):
            scores = [(20 * equations.cos(anchors[row], candidates[j])).exp() for j in range(3) if j not in masked[row]]
            terms.append(-((20 * equations.cos(anchors[row], candidates[row])).exp() / sum(scores)).log())
    expected = equations.mean(terms[:3]) / 2 + equations.mean(terms[3:]) / 2
    assert make("in_batch", symmetric=True)(data.columns, None, data.ids).item() == pytest.approx(expected.item(), abs=1e-9)


@pytest.mark.parametrize("name", ["in_batch", "simcse"])
def test_a_batch_of_one_text_alone_costs_nothing(name: str) -> None:
    data = batch("sentences")
    same = [torch.zeros_like(column) for column in data.ids]
    leaves = data.leaves()
    loss = make(name)(leaves, None, same)
    loss.backward()
    assert loss.item() == 0
    assert all(torch.equal(leaf.grad, torch.zeros_like(leaf)) for leaf in leaves)


@pytest.mark.parametrize("name", ["in_batch", "simcse_supervised"])
def test_an_objective_that_knows_all_rows_leaves_their_positives_out(name: str) -> None:
    data = batch("positive_pairs", rows=4)
    objective = make(name)
    before = objective(data.columns, None, data.ids).item()
    rows = np.stack([ids.numpy() for ids in data.ids])
    objective.set_known_positives(KnownPositives.from_rows(rows))
    assert objective(data.columns, None, data.ids).item() == before, "the batch's own rows say nothing new"
    everything = np.stack([np.repeat(rows[0], 4), np.tile(rows[1], 4)])
    objective.set_known_positives(KnownPositives.from_rows(everything))
    assert objective(data.columns, None, data.ids).item() == pytest.approx(0), "where all belong together there is no negative"
    objective.set_known_positives(KnownPositives.from_rows(rows, np.zeros(4, np.int64)))
    assert objective(data.columns, None, data.ids).item() == pytest.approx(0), "and so it is within one class"


NAMES = [name for name in LOSSES if LOSSES[name].classes_in_batch]


def members(data: Batch, i: int) -> tuple[list[int], list[int]]:
    """The siblings of text i, and the texts of other classes; neither says the same as i."""
    others = [j for j in range(len(data.targets)) if data.ids[0][j] != data.ids[0][i]]
    return [j for j in others if data.targets[j] == data.targets[i]], [j for j in others if data.targets[j] != data.targets[i]]


def supcon(vectors: Tensor, data: Batch, temperature: float) -> Tensor:
    terms = []
    for i, z in enumerate(vectors):
        siblings, others = members(data, i)
        if siblings:
            below = sum((equations.cos(z, vectors[a]) / temperature).exp() for a in (*siblings, *others))
            logs = [((equations.cos(z, vectors[p]) / temperature).exp() / below).log() for p in siblings]
            terms.append(-sum(logs) / len(siblings))
    return equations.mean(terms)


def batch_hard(vectors: Tensor, data: Batch, distance: str, margin: float | None) -> Tensor:
    terms = []
    for i, z in enumerate(vectors):
        siblings, others = members(data, i)
        if siblings and others:
            farthest = max(equations.distance(z, vectors[p], distance) for p in siblings)
            nearest = min(equations.distance(z, vectors[n], distance) for n in others)
            gap = farthest - nearest
            terms.append((1 + gap.exp()).log() if margin is None else equations.positive_part(gap + margin))
    return equations.mean(terms)


def repeated() -> Batch:
    """Nine texts of three classes, one of them alone in its class; text 4 repeats text 1, text 6 repeats text 0 under another class.
    Under dropout the vectors of two copies are not the same.
    """
    data = batch("labelled_texts", rows=9)
    data.targets[:] = torch.tensor([0, 1, 0, 1, 1, 0, 1, 2, 0])
    for copy, first in ((4, 1), (6, 0)):
        data.ids[0][copy] = data.ids[0][first]
    return data


def agree(name: str, data: Batch, expected: Tensor, column: Tensor, **settings: object) -> None:
    ours = data.columns[0].detach().clone().requires_grad_()
    value = make(name, **settings)([ours], data.targets, data.ids)
    value.backward()
    expected.backward()
    assert value.item() == pytest.approx(expected.item(), abs=1e-9)
    assert torch.allclose(ours.grad, column.grad, atol=1e-9, rtol=0)
    assert ours.grad.abs().max() > 1e-4


@pytest.mark.parametrize("data", [batch("labelled_texts", 12), repeated()], ids=["distinct", "repeated"])
@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_supervised_contrastive_is_the_papers_equation(data: Batch, temperature: float) -> None:
    column = data.leaves()[0]
    agree("supcon", data, supcon(column, data, temperature), column, temperature=temperature)


def prototypes(vectors: Tensor, points: Tensor, data: Batch, temperature: float) -> Tensor:
    terms = []
    for z, own in zip(vectors, data.targets.tolist(), strict=True):
        raised = [(equations.cos(z, point) / temperature).exp() for point in points]
        terms.append(-(raised[own] / sum(raised)).log())
    return equations.mean(terms)


@pytest.mark.parametrize("data", [batch("labelled_texts", 12), repeated()], ids=["distinct", "repeated"])
def test_prototypes_are_a_softmax_over_the_cosines_with_one_point_a_class(data: Batch) -> None:
    column, ours = data.leaves()[0], data.columns[0].detach().clone().requires_grad_()
    objective = make("supcon+prototypes", temperature=0.2, prototype_weight=0.7, prototype_temperature=0.3).double()
    points = objective.prototypes.detach().clone().requires_grad_()
    value = objective([ours], data.targets, data.ids)
    expected = supcon(column, data, 0.2) + 0.7 * prototypes(column, points, data, 0.3)
    value.backward()
    expected.backward()
    assert value.item() == pytest.approx(expected.item(), abs=1e-9)
    assert torch.allclose(ours.grad, column.grad, atol=1e-9, rtol=0)  # type: ignore[arg-type]
    assert torch.allclose(objective.prototypes.grad, points.grad, atol=1e-9, rtol=0) and points.grad.abs().max() > 1e-4  # type: ignore


def test_prototypes_begin_as_the_mean_of_their_class() -> None:
    objective = make("supcon+prototypes")
    before = objective.prototypes.detach().clone()
    vectors, classes = torch.randn(6, before.shape[1]), torch.tensor([0, 0, 1, 1, 1, 0])
    objective.initialize_head([vectors], classes)
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    for own in (0, 1):
        mean = unit[classes == own].mean(dim=0)
        assert torch.allclose(objective.prototypes[own], mean / mean.norm(), atol=1e-6)
    alone = before[2] / before[2].norm()
    assert torch.allclose(objective.prototypes[2], alone, atol=1e-6), "a class without a text keeps its direction"


@pytest.mark.parametrize("data", [batch("labelled_texts", 12), repeated()], ids=["distinct", "repeated"])
@pytest.mark.parametrize(("distance", "margin"), [("cosine", 0.2), ("euclidean", 5.0), ("cosine", None)])
def test_batch_hard_looks_at_the_farthest_sibling_and_the_nearest_other(data: Batch, distance: str, margin: float | None) -> None:
    column = data.leaves()[0]
    settings = {"soft_margin": True} if margin is None else {"margin": margin}
    agree("batch_hard", data, batch_hard(column, data, distance, margin), column, distance=distance, **settings)


@pytest.mark.parametrize("name", NAMES)
def test_a_text_that_says_the_same_is_no_negative(name: str) -> None:
    """Text 4 repeats text 1 under another class: told of it, the loss is lower than where the two must part."""
    data = batch("labelled_texts")
    data.columns[0][4] = data.columns[0][0]
    assert data.targets is not None and data.targets[4] != data.targets[0]
    apart = make(name)(data.columns, data.targets, data.ids).item()
    data.ids[0][4] = data.ids[0][0]
    assert make(name)(data.columns, data.targets, data.ids).item() < apart - 0.01


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("targets", [[0] * 6, list(range(6))], ids=["one class", "no siblings"])
def test_a_batch_that_teaches_nothing_costs_a_finite_loss(name: str, targets: Sequence[int]) -> None:
    data = batch("labelled_texts", rows=6)
    leaves = data.leaves()
    loss = make(name, labels=6)(leaves, torch.tensor(targets), data.ids)
    loss.backward()
    assert torch.isfinite(loss) and leaves[0].grad is not None and torch.isfinite(leaves[0].grad).all()
    if name != "supcon+prototypes" and (len(set(targets)) > 1 or name == "batch_hard"):
        assert loss.item() == 0 and torch.equal(leaves[0].grad, torch.zeros_like(leaves[0].grad))
