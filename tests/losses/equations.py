"""The papers' equations as plain loops over rows, in torch scalars so that their gradients can be compared too."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

Columns = Sequence[Tensor]


def cos(u: Tensor, v: Tensor) -> Tensor:
    return (u @ v) / ((u @ u).sqrt() * (v @ v).sqrt())


def distance(u: Tensor, v: Tensor, metric: str) -> Tensor:
    if metric == "cosine":
        return 1 - cos(u, v)
    return ((u - v) ** 2).sum().sqrt() if metric == "euclidean" else (u - v).abs().sum()


def mean(terms: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(terms)).mean()


def positive_part(x: Tensor) -> Tensor:
    return x if x > 0 else x * 0


def cosine_regression(columns: Columns, t: Tensor) -> Tensor:
    return mean([(cos(u, v) - t[i]) ** 2 for i, (u, v) in enumerate(zip(*columns, strict=True))])


def ranking(scores: Sequence[Tensor], t: Tensor) -> Tensor:
    total = torch.ones((), dtype=torch.float64)
    for i in range(len(scores)):
        for k in range(len(scores)):
            if t[i] > t[k]:
                total = total + (scores[k] - scores[i]).exp()
    return total.log()


def cosent(columns: Columns, t: Tensor, scale: float = 20.0) -> Tensor:
    return ranking([scale * cos(u, v) for u, v in zip(*columns, strict=True)], t)


def combined(columns: Columns, t: Tensor, weight: float = 5.0) -> Tensor:
    return weight * cosine_regression(columns, t) + cosent(columns, t)


def complex_angle(u: Tensor, v: Tensor) -> Tensor:
    """AnglE divides complex vectors: |Σ of the parts of z / w, made unit length|, z and w the rows as complex vectors of half the width."""
    half = len(u) // 2
    a, b, c, d = u[:half], u[half:], v[:half], v[half:]
    square = (c**2 + d**2).sum()
    real, imaginary = (a * c + b * d) / square, (b * c - a * d) / square
    ratio = ((a**2 + b**2).sum() / square).sqrt()
    return (torch.cat([real, imaginary]) / ratio).sum().abs()


def angle(columns: Columns, t: Tensor) -> Tensor:
    return ranking([20.0 * complex_angle(u, v) for u, v in zip(*columns, strict=True)], t)


def angle_in_batch(columns: Columns, positive: Sequence[bool], scale: float = 20.0) -> Tensor:
    """AnglE's in-batch term: the sum of the numerator's logarithms runs over positive pairs, the denominator's over all of the batch."""
    terms = []
    for i, (x, y) in enumerate(zip(*columns, strict=True)):
        if positive[i]:
            bottom = sum((scale * cos(x, other)).exp() for other in columns[1])
            terms.append(-((scale * cos(x, y)).exp() / bottom).log())
    return mean(terms)


def triplet(columns: Columns, metric: str, margin: float) -> Tensor:
    anchor, positive, *negatives = columns
    return mean(
        [
            positive_part(distance(a, p, metric) - distance(a, negative[i], metric) + margin)
            for negative in negatives
            for i, (a, p) in enumerate(zip(anchor, positive, strict=True))
        ]
    )


def contrastive(columns: Columns, t: Tensor, metric: str, margin: float) -> Tensor:
    terms = []
    for i, (u, v) in enumerate(zip(*columns, strict=True)):
        d = distance(u, v, metric)
        terms.append(0.5 * (t[i] * d**2 + (1 - t[i]) * positive_part(margin - d) ** 2))
    return mean(terms)


def in_batch(columns: Columns, scale: float = 20.0) -> Tensor:
    anchors, positives, *negatives = columns
    terms = []
    for i, a in enumerate(anchors):
        bottom = sum((scale * cos(a, c)).exp() for column in (positives, *negatives) for c in column)
        terms.append(-((scale * cos(a, positives[i])).exp() / bottom).log())
    return mean(terms)


def naive_cosine(columns: Columns, t: Tensor, equation: str) -> Tensor:
    terms = []
    for i, (u, v) in enumerate(zip(*columns, strict=True)):
        c = cos(u, v)
        if equation == "linear":
            terms.append(t[i] * (1 - c) + (1 - t[i]) * (1 + c))
        elif equation == "squared":
            terms.append(t[i] * (1 - c) ** 2 + (1 - t[i]) * c**2)
        else:
            terms.append(t[i] * (1 - c) + (1 - t[i]) * (c if c > 0.7 else torch.tensor(0.7, dtype=torch.float64)))
    return mean(terms)
