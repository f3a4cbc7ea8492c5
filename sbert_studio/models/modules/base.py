"""Base class of the modules of a sentence encoder, and the files of their weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from torch import Tensor, nn

from ...errors import StudioError, is_machine_error
from ...registry import Registry
from ..io.backbone import damaged_file_error, require_finite, require_safetensors

if TYPE_CHECKING:
    from typing import Self


# Stages of modules: token vectors, token weights, recurrent network, pooling, maps of the pooled vector (any number), and its length.
EMBEDDING, WEIGHTING, RECURRENCE, POOLING, PROJECTION, NORMALIZATION = range(6)
MODULES: Registry[Module] = Registry("module")
_FILE = "model.safetensors"


class Module(nn.Module, ABC):
    """A step from token ids to the vector of a text.

    Attributes:
        name: its name in ``modules.json``, the last part of the type.
        portable: sentence-transformers has it, too.
        stage: its position among the other modules.
    """

    name: ClassVar[str]
    portable: ClassVar[bool] = True
    stage: ClassVar[int] = PROJECTION

    @classmethod
    @abstractmethod
    def read(cls, folder: Path) -> Self:
        """Load the module from ``folder``, in float32.

        Raises:
            StudioError: a file is missing or damaged, or asks for something unsupported.
        """

    @abstractmethod
    def write(self, folder: Path, inputs: int) -> None:
        """Write the module's files in sentence-transformers' layout.

        Args:
            inputs: width of the inputs.
        """

    @property
    def input_width(self) -> int | None:
        """Required width of the inputs; ``None`` for any."""
        return None

    def output_width(self, inputs: int) -> int:
        """Return the width of the outputs."""
        return inputs


def read_weights(folder: Path, integer_tensors: Sequence[str] = ()) -> dict[str, Tensor]:
    """Return the tensors of ``model.safetensors`` in float32.

    Args:
        integer_tensors: names of tensors that may hold integers; they stay unchanged.

    Raises:
        StudioError: the file is missing, damaged or a pickle, or a tensor holds integers, like a compressed model's, or non-finite numbers.
    """
    require_safetensors(folder)
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found = load_file(folder / _FILE)
    except (OSError, SafetensorError) as error:
        if is_machine_error(error):
            raise
        raise damaged_file_error(folder / _FILE) from error
    kept = {key: tensor for key, tensor in found.items() if key in integer_tensors}
    rest = {key: tensor for key, tensor in found.items() if key not in integer_tensors}
    require_finite(rest, folder / _FILE)
    return {**kept, **{key: tensor.float() for key, tensor in rest.items()}}


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], folder: Path) -> None:
    """Load ``weights``, read from ``folder``, into ``module``.

    Raises:
        StudioError: they do not fit.
    """
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise damaged_file_error(folder / _FILE) from error


def require_shape(weights: Mapping[str, Tensor], key: str, shape: tuple[int, ...], folder: Path) -> None:
    """Check a tensor's shape against the settings, before a module of that size is created.

    Raises:
        StudioError: the tensor is missing or has another shape.
    """
    if key not in weights or tuple(weights[key].shape) != shape:
        raise StudioError(f"the settings in {folder.name} do not match its weights", "copy the folder again")


def write_weights(module: nn.Module, folder: Path) -> None:
    """Write ``model.safetensors``."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file({key: tensor.detach().cpu().contiguous() for key, tensor in module.state_dict().items()}, folder / _FILE)


def make_embedding(rows: Tensor, *, trainable: bool = False, padding: int | None = None) -> nn.Embedding:
    """Return an embedding of the (V, d) ``rows``; the ``padding`` row is never trained."""
    return nn.Embedding.from_pretrained(rows.contiguous(), freeze=not trainable, padding_idx=padding)  # type: ignore[no-untyped-call,no-any-return]
