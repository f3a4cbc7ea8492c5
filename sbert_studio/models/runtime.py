"""Device, precision, batch size and fingerprint of a model."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import StudioError
from .inference.zerogpu import gpu_name

PRECISIONS = ("float32", "bfloat16", "int8", "auto")


def compute_fingerprint(module: nn.Module, parts: Iterable[bytes]) -> str:
    """Return 16 hex digits of ``parts`` and of every weight, by name."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part)
    for name, tensor in sorted(module.state_dict().items()):
        state.update(name.encode())
        if isinstance(tensor, Tensor):
            state.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return state.hexdigest()[:16]


def transformer_identity(network: Any, tokenizer: Any) -> Iterator[bytes]:
    """Yield a transformer's configuration without the folder it was read from, and its tokenizer."""
    config = json.loads(network.config.to_json_string(use_diff=False))
    yield json.dumps({**config, "_name_or_path": ""}, sort_keys=True).encode()
    yield (tokenizer.backend_tokenizer.to_str() if tokenizer.is_fast else repr(sorted(tokenizer.get_vocab().items()))).encode()


def resolve_device(name: str = "auto") -> torch.device:
    """Return the device ``name``; ``auto`` is CUDA, else Apple's GPU, else the CPU, which is also used outside of ZeroGPU slices.

    Raises:
        StudioError: the device is unknown or absent.
    """
    if name == "auto":
        if gpu_name():
            return torch.device("cpu")  # a GPU exists within slices only
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise StudioError(f"there is no device {name!r}", "choose auto, cpu, cuda, cuda:N or mps") from None
    absent = (
        (device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count())
        or (device.type == "mps" and not torch.backends.mps.is_available())
        or device.type not in ("cpu", "cuda", "mps")
    )
    if absent:
        raise StudioError(f"this machine has no device {name!r}", "choose auto or cpu")
    return device


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """Return bfloat16 if the hardware of ``device`` multiplies it, else ``None``."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else None
    if device.type == "cpu":
        return torch.bfloat16 if torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported() else None
    return None


def resolve_precision(name: str, device: torch.device) -> str:
    """Return ``float32``, ``bfloat16`` or ``int8``; ``auto`` is bfloat16 if the hardware multiplies it, else float32.

    Raises:
        StudioError: unknown, or int8 on another device than the CPU.
    """
    if name not in PRECISIONS:
        raise StudioError(f"there is no precision {name!r}", f"choose one of {', '.join(PRECISIONS)}")
    if name == "auto":
        return "float32" if autocast_dtype(device) is None else "bfloat16"
    if name == "int8" and device.type != "cpu":
        raise StudioError(f"int8 runs on the CPU only, and this model is on {device.type}", "choose bfloat16")
    return name


def token_budget(device: torch.device) -> tuple[int, int]:
    """Return (tokens, rows) of one inference batch.

    On a CPU 512 tokens per thread, whose activations fit its cache (8,192 take twice as long); on a GPU enough to amortize a launch.
    """
    if device.type == "cpu":
        return min(8_192, max(1_024, 512 * torch.get_num_threads())), 256
    return 65_536, 2_048


def quantize_dynamic_int8(backbone: Any) -> Any:
    """Return ``backbone`` with int8 linear layers: a scale per channel for weights, per batch for activations.

    For networks that :mod:`sbert_studio.models.inference.int8` does not support. It costs accuracy: all-MiniLM-L6-v2 loses 1.8 points of
    Spearman on a quarter of STSb's test pairs (0.825 → 0.807), mean cosine with the float32 vectors 0.972.

    Raises:
        StudioError: this build of PyTorch has no dynamic quantization.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic
        except ImportError:
            raise StudioError("this build of PyTorch cannot quantise to int8", "choose float32 or bfloat16") from None
        quantize: Any = quantize_dynamic
        return quantize(backbone, {nn.Linear: per_channel_dynamic_qconfig}, dtype=torch.qint8)
