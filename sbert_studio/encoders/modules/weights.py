"""The weights of one module: a folder of its own, and tables of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor, nn

from ...errors import StudioError, is_of_machine
from ..storage.backbone import damaged, require_finite, require_safetensors

_FILE = "model.safetensors"


def read_weights(folder: Path, whole_numbers: Sequence[str] = ()) -> dict[str, Tensor]:
    """The tensors of ``model.safetensors``, in float32.

    Args:
        whole_numbers: the names of tensors that may hold such; they stay as they are.

    Raises:
        StudioError: the file is missing or damaged, or a pickle stands in its place; or a tensor holds whole numbers, as a compressed
            model's do, or numbers that are not finite.
    """
    require_safetensors(folder)
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found = load_file(folder / _FILE)
    except (OSError, SafetensorError) as error:
        if is_of_machine(error):
            raise
        raise damaged(folder / _FILE) from error
    kept = {key: tensor for key, tensor in found.items() if key in whole_numbers}
    rest = {key: tensor for key, tensor in found.items() if key not in whole_numbers}
    require_finite(rest, folder / _FILE)
    return {**kept, **{key: tensor.float() for key, tensor in rest.items()}}


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], folder: Path) -> None:
    """Put ``weights``, which :func:`read_weights` has read from ``folder``, into ``module``.

    Raises:
        StudioError: they do not fit.
    """
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise damaged(folder / _FILE) from error


def require_shape(weights: Mapping[str, Tensor], key: str, shape: tuple[int, ...], folder: Path) -> None:
    """Refuse settings that ask for another size than the weights have, before anything of that size is made.

    Raises:
        StudioError: the tensor is of another shape, or missing.
    """
    if key not in weights or tuple(weights[key].shape) != shape:
        raise StudioError(f"the settings in {folder.name} do not fit the weights beside them", "copy the folder again")


def write_weights(module: nn.Module, folder: Path) -> None:
    """Write ``model.safetensors``."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file({key: tensor.detach().cpu().contiguous() for key, tensor in module.state_dict().items()}, folder / _FILE)


def table_of(rows: Tensor, *, learns: bool = False, padding: int | None = None) -> nn.Embedding:
    """A lookup table with the (V, d) ``rows``; the row ``padding`` never learns."""
    return nn.Embedding.from_pretrained(rows.contiguous(), freeze=not learns, padding_idx=padding)  # type: ignore[no-untyped-call,no-any-return]
