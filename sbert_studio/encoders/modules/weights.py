"""The weights of one module: a folder of its own, and tables of rows."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn

from ..storage.backbone import damaged, require_safetensors

_FILE = "model.safetensors"


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The tensors of ``model.safetensors``, in float32 where they are of floating point.

    Raises:
        StudioError: the file is missing or damaged, or a pickle stands in its place.
    """
    require_safetensors(folder)
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return {key: tensor.float() if tensor.is_floating_point() else tensor for key, tensor in load_file(folder / _FILE).items()}
    except (OSError, SafetensorError) as error:
        raise damaged(folder / _FILE) from error


def load_weights(module: nn.Module, folder: Path) -> None:
    """Put the tensors of ``model.safetensors`` into ``module``.

    Raises:
        StudioError: the file is missing or damaged, or does not fit.
    """
    try:
        module.load_state_dict(read_weights(folder))
    except RuntimeError as error:
        raise damaged(folder / _FILE) from error


def write_weights(module: nn.Module, folder: Path) -> None:
    """Write ``model.safetensors``."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file({key: tensor.detach().cpu().contiguous() for key, tensor in module.state_dict().items()}, folder / _FILE)


def table_of(rows: Tensor, *, learns: bool = False, padding: int | None = None) -> nn.Embedding:
    """A lookup table with the (V, d) ``rows``; the row ``padding`` never learns."""
    return nn.Embedding.from_pretrained(rows.contiguous(), freeze=not learns, padding_idx=padding)  # type: ignore[no-untyped-call,no-any-return]
