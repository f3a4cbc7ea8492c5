"""GloVe against plain loops and autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sbert_studio.errors import StudioError
from sbert_studio.models.static import glove
from sbert_studio.models.static.glove import (
    Factors,
    GloVe,
    NonzeroCells,
    cooccurrences,
    default_x_max,
    fit_factors,
    glove_gradients,
    glove_loss,
)
from sbert_studio.progress import StoppedError, stoppable

from .texts import FOOD, SEA, nearest_words, two_worlds

SIZE, WIDTH = 9, 5


def _counted(texts: list[list[int]], window: int) -> np.ndarray:
    """Section 3 and 4.2 as a plain loop."""
    found = np.zeros((SIZE, SIZE))
    for text in texts:
        for here, word in enumerate(text):
            for there, other in enumerate(text):
                if here != there and abs(here - there) <= window:
                    found[word, other] += 1 / abs(here - there)
    return found


def _random_texts(seed: int = 0) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, SIZE, rng.integers(0, 14)).tolist() for _ in range(30)]


def _flat(texts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([word for text in texts for word in text], np.int32), np.cumsum([0, *map(len, texts)])


def _double(seed: int = 1) -> Factors:
    rng = np.random.default_rng(seed)
    return Factors(*(rng.normal(size=shape) for shape in ((SIZE, WIDTH), (SIZE, WIDTH), SIZE, SIZE)))


@pytest.mark.parametrize("window", [1, 3, 20])
@pytest.mark.parametrize("places", [2_000_000, 40])
def test_counts_are_those_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch, window: int, places: int) -> None:
    monkeypatch.setattr(glove, "_BLOCK_PAIRS", places)
    texts = _random_texts()
    found = cooccurrences(*_flat(texts), SIZE, window)
    np.testing.assert_allclose(found.toarray(), _counted(texts, window), atol=1e-12)


def test_texts_that_give_too_many_or_no_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glove, "_MAX_CELLS", 10)
    with pytest.raises(StudioError, match="too many word pairs"):
        cooccurrences(*_flat(_random_texts()), SIZE, 3)
    with pytest.raises(StudioError, match="no text contains two known words"):
        GloVe().learn(["bread", "bread", "soup", "soup"])


@pytest.mark.parametrize("x_max", [0.7, 100])
def test_loss_is_equation_8(x_max: float) -> None:
    texts, factors = _random_texts(), _double()
    counts = _counted(texts, 4)
    expected = 0.0
    for i in range(SIZE):
        for j in range(SIZE):
            if x := counts[i, j]:
                f = (x / x_max) ** 0.75 if x < x_max else 1.0
                product = sum(factors.words[i, k] * factors.contexts[j, k] for k in range(WIDTH))
                expected += f * (product + factors.word_bias[i] + factors.context_bias[j] - np.log(x)) ** 2
    cells = NonzeroCells.from_matrix(cooccurrences(*_flat(texts), SIZE, 4), x_max, 0.75, np.float64)
    assert glove_loss(factors, cells) == pytest.approx(expected, rel=1e-6)


def test_gradient_of_a_batch_is_that_of_autograd_and_adds_up_repeated_words() -> None:
    rng = np.random.default_rng(5)
    rows, columns = rng.integers(0, SIZE - 2, (2, 40), dtype=np.int32)
    cells = NonzeroCells(rows, columns, rng.normal(size=40), rng.random(40))
    factors = _double()
    w, c, b, d = (torch.tensor(part, requires_grad=True) for part in factors.parts())
    i, j = torch.tensor(rows.astype(int)), torch.tensor(columns.astype(int))
    errors = (w[i] * c[j]).sum(1) + b[i] + d[j] - torch.tensor(cells.log)
    (torch.tensor(cells.weight) * errors**2).sum().backward()
    step = glove_gradients(factors, cells)
    for parameter, touched, gradient in zip((w, c, b, d), step.rows, step.gradients, strict=True):
        dense = np.zeros(parameter.shape)
        dense[touched] = gradient
        np.testing.assert_allclose(dense, parameter.grad.numpy(), rtol=1e-9, atol=1e-9)


def test_one_step_is_that_of_adagrad() -> None:
    cells = NonzeroCells.from_matrix(cooccurrences(*_flat(_random_texts()), SIZE, 3), 2.0, 0.75, np.float64)
    ours, theirs = _double(), [torch.tensor(part, requires_grad=True) for part in _double().parts()]
    optimiser = torch.optim.Adagrad(theirs, lr=0.05, initial_accumulator_value=0.1, eps=0)
    for _ in range(3):  # all cells fit into one step, so that an epoch is a step
        w, c, b, d = theirs
        i, j = torch.tensor(cells.rows.astype(int)), torch.tensor(cells.columns.astype(int))
        optimiser.zero_grad()
        (torch.tensor(cells.weight) * ((w[i] * c[j]).sum(1) + b[i] + d[j] - torch.tensor(cells.log)) ** 2).sum().backward()
        optimiser.step()
    fit_factors(cells, ours, epochs=3, rate=0.05)
    for mine, other in zip(ours.parts(), theirs, strict=True):
        np.testing.assert_allclose(mine, other.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_words_of_one_world_are_neighbours_and_the_seed_decides() -> None:
    texts, learner = two_worlds(), GloVe(GloVe.Params(width=12, epochs=30))
    first = learner.learn(texts)
    for world in (FOOD, SEA):
        assert set(nearest_words(first, world[0], 5)) == set(world[1:])
    np.testing.assert_array_equal(first.matrix, learner.learn(texts).matrix)
    assert not np.array_equal(first.matrix, learner.learn(texts, seed=13).matrix)
    assert first.counts is not None and first.counts.sum() == 3200


def test_progress_ends_at_the_total_and_it_can_be_stopped() -> None:
    told: list[tuple[int, int]] = []
    learner = GloVe(GloVe.Params(width=4, epochs=3))
    learner.learn(two_worlds(), progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told) and told[-1][0] == told[-1][1]
    steps = len(told)
    with stoppable(lambda: len(told) > steps), pytest.raises(StoppedError):
        learner.learn(two_worlds(), progress=lambda done, total: told.append((done, total)))
    assert len(told) == steps + 1


def test_x_max_follows_the_size_of_the_texts() -> None:
    assert [default_x_max(words) for words in (10**4, 10**5, 10**7, 10**9, 10**11)] == pytest.approx([1, 1, 10, 100, 100])
