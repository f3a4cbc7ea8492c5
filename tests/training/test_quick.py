from __future__ import annotations

import pytest
import torch
from torch import nn

from sbert_studio.training.fast_layers import QuickDropout, quicken
from sbert_studio.training.optim import Optimiser

from .tiny import small_spec, tiny_encoder


def test_dropout_drops_the_asked_part_and_scales_the_rest() -> None:
    layer = QuickDropout(0.1).train()
    torch.manual_seed(0)
    out = layer(torch.ones(1000, 1001))
    assert (out == 0).float().mean() == pytest.approx(0.1, abs=2e-3)
    assert torch.unique(out).tolist() == [0.0, pytest.approx(1 / 0.9)]
    assert out.mean() == pytest.approx(1.0, abs=3e-3)


def test_dropout_follows_torchs_random_state_and_differs_from_call_to_call() -> None:
    layer, x = QuickDropout(0.5).train(), torch.ones(7, 13)
    torch.manual_seed(3)
    first, second = layer(x), layer(x)
    torch.manual_seed(3)
    assert torch.equal(layer(x), first)
    assert not torch.equal(first, second)
    assert torch.equal(layer.eval()(x), x)


def test_the_gradient_of_dropout_passes_where_the_value_does() -> None:
    x = torch.randn(50, 3, requires_grad=True)
    out = QuickDropout(0.3).train()(x)
    out.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, (out != 0).float() / 0.7)


def test_a_row_gradient_takes_the_steps_of_a_dense_one() -> None:
    def tune(sparse: bool) -> tuple[dict[str, torch.Tensor], list[float]]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(50, 4, sparse=sparse), nn.Linear(4, 3))
        optimiser = Optimiser(dict(model.named_parameters()), small_spec(max_grad_norm=0.5, learning_rate=0.1), 10)
        norms = []
        for step in range(10):
            words = torch.randint(0, 50, (6,), generator=torch.Generator().manual_seed(step)).repeat(2)
            loss = model(words).square().sum()
            loss.backward()
            norms.append(float(optimiser.step(step, loss.detach())))
        return dict(model.named_parameters()), norms

    dense, sparse = tune(False), tune(True)
    assert dense[1] == pytest.approx(sparse[1], rel=1e-5)
    for name, value in dense[0].items():
        torch.testing.assert_close(sparse[0][name], value, atol=1e-6, rtol=1e-5)


def test_quicken_changes_no_vector_and_no_state() -> None:
    encoder = tiny_encoder()
    before, names = encoder.encode(["cat dog", "red"]), list(encoder.state_dict())
    quicken(encoder.backbone)
    assert (encoder.encode(["cat dog", "red"]) == before).all()
    assert list(encoder.state_dict()) == names
    assert any(isinstance(module, QuickDropout) for module in encoder.modules())
