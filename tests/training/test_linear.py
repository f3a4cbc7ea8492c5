"""Linear layers by oneDNN give the values and the gradients of the plain ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from sbert_studio.training import fast_layers
from sbert_studio.training.fast_layers import QuickLinear, plain_linear, quicken_linear
from sbert_studio.training.trainer import train

from .tiny import Told, never, scored_pairs, small_spec, tiny_encoder

needs_onednn = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this build of PyTorch has no oneDNN")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_layers, "quicker", lambda: True)


def gradients_of(layer: nn.Linear, rows: torch.Tensor) -> list[torch.Tensor | None]:
    rows = rows.clone().requires_grad_()
    layer.zero_grad()
    found = layer(rows)
    (found * torch.arange(found.numel()).view(found.shape).sin()).sum().backward()
    return [found.detach(), rows.grad, layer.weight.grad, None if layer.bias is None else layer.bias.grad]


@needs_onednn
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("shape", [(1, 48), (37, 48), (3, 11, 48)])
@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients_are_those_of_the_plain_layer(shape: tuple[int, ...], bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layer, rows, calls = nn.Linear(48, 80, bias=bias), torch.randn(shape), []
    plain = gradients_of(layer, rows)
    product = fast_layers._product
    monkeypatch.setattr(fast_layers, "_product", lambda *arguments: calls.append(1) or product(*arguments))
    quicken_linear(layer)
    for ours, theirs in zip(gradients_of(layer, rows), plain, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    assert len(calls) == 3  # forward, and two backward


@needs_onednn
@pytest.mark.usefixtures("quick")
def test_frozen_weights_get_no_gradient_and_pass_it_on() -> None:
    torch.manual_seed(0)
    layer, rows = nn.Linear(16, 24).requires_grad_(False), torch.randn(5, 16, requires_grad=True)
    quicken_linear(layer)
    layer(rows).square().sum().backward()
    assert layer.weight.grad is None and layer.bias.grad is None and rows.grad is not None
    torch.testing.assert_close(rows.grad, 2 * (rows @ layer.weight.T + layer.bias).detach() @ layer.weight, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("quick")
def test_half_precision_and_nothing_at_all_take_the_plain_way(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, rows = nn.Linear(16, 24), torch.randn(5, 16)
    quicken_linear(layer)
    monkeypatch.setattr(fast_layers, "_product", lambda *_: pytest.fail("the plain way was not taken"))
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(rows).dtype == torch.bfloat16
    assert layer(rows[:0]).shape == (0, 24)
    assert layer.double()(rows.double()).dtype == torch.float64


@pytest.mark.usefixtures("quick")
def test_only_plain_layers_become_quick_and_each_becomes_plain_again() -> None:
    class Own(nn.Linear):
        pass

    network = nn.Sequential(nn.Linear(3, 3), Own(3, 3))
    names = list(network.state_dict())
    quicken_linear(network)
    assert [type(layer) for layer in network] == [QuickLinear, Own]
    plain_linear(network)
    assert [type(layer) for layer in network] == [nn.Linear, Own]
    assert list(network.state_dict()) == names


def test_where_it_is_not_quicker_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_layers, "quicker", lambda: False)
    network = nn.Sequential(nn.Linear(3, 3))
    quicken_linear(network)
    assert type(network[0]) is nn.Linear


@pytest.mark.slow
@needs_onednn
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_training_uses_them_and_leaves_plain_ones(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, calls, product = tiny_encoder(), [], fast_layers._product
    monkeypatch.setattr(fast_layers, "_product", lambda *arguments: calls.append(1) or product(*arguments))
    train(small_spec(epochs=1, method=method, lora_r=4), scored_pairs(24), Told(), never, encoder=encoder, folder=tmp_path)
    assert calls
    assert not any(isinstance(module, QuickLinear) for module in encoder.modules())
