"""Each objective equals a loop written from its paper's equation, in value and in gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from sbert_studio.losses.softmax import CONCATENATIONS

from . import equations
from .batches import Batch, batch, make

DISTANCES = ("euclidean", "cosine", "manhattan")
BINARY = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 1])


def agree(objective: torch.nn.Module, data: Batch, expected: Callable[[Sequence[Tensor]], Tensor]) -> None:
    ours, theirs = data.leaves(), data.leaves()
    value, reference = objective(ours, data.targets, data.ids), expected(theirs)
    assert value.item() == pytest.approx(reference.item(), abs=1e-9)
    value.backward()
    reference.backward()
    for mine, loop in zip(ours, theirs, strict=True):
        assert mine.grad is not None
        assert torch.allclose(mine.grad, loop.grad, atol=1e-9, rtol=0)


def binary() -> Batch:
    data = batch("labelled_pairs")
    return Batch(data.columns, BINARY, data.ids)


def test_cosine_regression_is_the_mean_squared_error() -> None:
    data = batch("scored_pairs")
    agree(make("cosine"), data, lambda columns: equations.cosine_regression(columns, data.targets))


def test_ordered_classes_are_spread_over_zero_to_one() -> None:
    data = batch("labelled_pairs")
    agree(make("cosine"), data, lambda columns: equations.cosine_regression(columns, data.targets / 2))


@pytest.mark.parametrize("kind", ["scored_pairs", "labelled_pairs"])
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_cosent_sums_over_pairs_in_order(kind: str, scale: float) -> None:
    data = batch(kind)
    agree(make("cosent", scale=scale), data, lambda columns: equations.cosent(columns, data.targets, scale))


def test_cosent_on_binary_labels_compares_positives_with_negatives() -> None:
    data = binary()

    def loop(columns: Sequence[Tensor]) -> Tensor:
        scores = [20 * equations.cos(u, v) for u, v in zip(*columns, strict=True)]
        terms = [(scores[k] - scores[i]).exp() for i in range(9) for k in range(9) if BINARY[i] == 1 and BINARY[k] == 0]
        return (1 + sum(terms)).log()

    agree(make("cosent", labels=2), data, loop)


def test_the_combined_objective_adds_five_times_the_regression() -> None:
    data = batch("scored_pairs")
    agree(make("cosine+cosent"), data, lambda columns: equations.combined(columns, data.targets))
    agree(make("cosine+cosent", cosine_weight=2), data, lambda columns: equations.combined(columns, data.targets, 2))


@pytest.mark.parametrize("kind", ["scored_pairs", "labelled_pairs"])
def test_angle_divides_complex_numbers(kind: str) -> None:
    data = batch(kind)
    agree(make("angle"), data, lambda columns: equations.angle(columns, data.targets))


def test_angle_takes_the_absolute_value_of_pairs_that_point_away() -> None:
    data = batch("scored_pairs")
    away = Batch([data.columns[0], -data.columns[1]], data.targets, data.ids)
    agree(make("angle"), away, lambda columns: equations.angle(columns, data.targets))


@pytest.mark.parametrize(
    ("kind", "positive"),
    [("scored_pairs", [t >= 0.6 for t in (0, 0.75, 0.25, 1, 0.5, 0, 0.75, 0.25, 1)]), ("labelled_pairs", [t == 2 for t in (0, 2, 1) * 3])],
)
def test_the_whole_of_angle_is_the_weighted_sum_of_its_three_terms(kind: str, positive: list[bool]) -> None:
    data = batch(kind)

    def loop(columns: Sequence[Tensor]) -> Tensor:
        terms = equations.cosent(columns, data.targets), equations.angle_in_batch(columns, positive), equations.angle(columns, data.targets)
        return 0.5 * terms[0] + 3 * terms[1] + terms[2]

    agree(make("angle", cosine_weight=0.5, in_batch_weight=3.0), data, loop)


def test_a_text_that_stands_in_the_batch_twice_is_no_negative_of_itself_for_angle() -> None:
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


def test_angle_with_in_batch_negatives_asks_for_batches_without_repeats_and_survives_one_without_positives() -> None:
    whole = make("angle", labels=2, in_batch_weight=1.0)
    assert whole.in_batch and not make("angle").in_batch
    data = binary()
    none = torch.zeros(9, dtype=torch.int64)
    leaves = data.leaves()
    loss = whole(leaves, none)
    loss.backward()
    assert loss.item() == 0 and all(bool((leaf.grad == 0).all()) for leaf in leaves)


@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.parametrize("negatives", [1, 3])
def test_triplet(metric: str, negatives: int) -> None:
    data = batch("triplets", negatives=negatives)
    agree(make("triplet", distance=metric, margin=0.5), data, lambda columns: equations.triplet(columns, metric, 0.5))


def test_triplet_defaults_to_the_papers_distance_and_margin() -> None:
    agree(make("triplet"), batch("triplets"), lambda columns: equations.triplet(columns, "euclidean", 1.0))


@pytest.mark.parametrize("concatenation", CONCATENATIONS)
def test_softmax_over_each_concatenation(concatenation: str) -> None:
    data = batch("labelled_pairs")
    objective = make("softmax", concatenation=concatenation).double()
    weight, bias = objective.head.weight, objective.head.bias  # type: ignore[union-attr]
    agree(objective, data, lambda columns: equations.softmax(columns, data.targets, weight.detach(), bias.detach(), concatenation))  # type: ignore[arg-type,union-attr]


def test_softmax_has_all_seven_concatenations_of_the_ablation() -> None:
    assert set(CONCATENATIONS) == {"u,v", "|u-v|", "u*v", "|u-v|,u*v", "u,v,u*v", "u,v,|u-v|", "u,v,|u-v|,u*v"}


@pytest.mark.parametrize("metric", DISTANCES)
def test_contrastive(metric: str) -> None:
    margin = 0.5 if metric == "cosine" else 3.0
    data = binary()
    settings = {"distance": metric, "margin": margin}
    agree(make("contrastive", labels=2, **settings), data, lambda columns: equations.contrastive(columns, BINARY, metric, margin))
    agree(
        make("online_contrastive", labels=2, **settings),
        data,
        lambda columns: equations.online_contrastive(columns, BINARY, metric, margin),
    )


def test_online_contrastive_leaves_pairs_alone_that_are_exactly_as_far_as_the_other_side() -> None:
    u = torch.eye(4, dtype=torch.float64)
    v = u.roll(1, 0)
    assert make("online_contrastive", labels=2)([u, v], torch.tensor([0, 1, 0, 1])).item() == 0
    assert make("online_contrastive", labels=2)([u, v], torch.tensor([1, 1, 1, 1])).item() == 0
    assert make("online_contrastive", labels=2, margin=2.0)([u, v], torch.tensor([0, 0, 0, 0])).item() == 0


def test_contrastive_weighs_scores_between_zero_and_one() -> None:
    data = batch("scored_pairs")
    agree(make("contrastive"), data, lambda columns: equations.contrastive(columns, data.targets, "cosine", 0.5))


@pytest.mark.parametrize("negatives", [0, 1, 2])
@pytest.mark.parametrize("symmetric", [False, True])
def test_in_batch_negatives(negatives: int, symmetric: bool) -> None:
    data = batch("triplets", negatives=negatives)
    one_way = equations.in_batch

    def loop(columns: Sequence[Tensor]) -> Tensor:
        return (one_way(columns) + one_way((columns[1], columns[0]))) / 2 if symmetric else one_way(columns)

    agree(make("in_batch", symmetric=symmetric), data, loop)


def test_simcse_divides_by_its_temperature() -> None:
    agree(make("simcse"), batch("sentences"), lambda columns: equations.in_batch(columns, 1 / 0.05))
    agree(make("simcse", temperature=0.1), batch("sentences"), lambda columns: equations.in_batch(columns, 1 / 0.1))
    agree(make("simcse_supervised"), batch("triplets"), lambda columns: equations.in_batch(columns, 1 / 0.05))


@pytest.mark.parametrize("equation", ["linear", "squared", "threshold"])
def test_naive_cosine(equation: str) -> None:
    data = binary()
    assert any(equations.cos(u, v) > 0.7 for u, v in zip(*data.columns, strict=True)), "the threshold divides this batch"
    agree(make("naive_cosine", equation=equation, labels=2), data, lambda columns: equations.naive_cosine(columns, BINARY, equation))
