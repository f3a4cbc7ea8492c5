"""Base class of the modules of a sentence encoder, and functions for their weight files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from torch import Tensor, nn

from ...errors import StudioError
from ...i18n import _
from ...registry import Registry
from ..io.backbone import damaged_file_error, read_tensors, require_safetensors, write_tensors

# Stages of modules: token vectors, token weights, recurrent network, pooling, projections (any number), and normalization.
EMBEDDING, WEIGHTING, RECURRENCE, POOLING, PROJECTION, NORMALIZATION = range(6)
MODULES: Registry[Module] = Registry("module")
_FILE = "model.safetensors"


class Module(nn.Module, ABC):
    """A step between token ids and the vector of a text.

    Attributes:
        name: its name in ``modules.json``, the last component of the type.
        portable: whether sentence-transformers supports it.
        stage: its position relative to other modules.
    """

    name: ClassVar[str]
    portable: ClassVar[bool] = True
    stage: ClassVar[int] = PROJECTION

    @classmethod
    @abstractmethod
    def read(cls, folder: Path) -> Self:
        """Load the module from ``folder``, in float32."""

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
    """Return the tensors of ``model.safetensors`` in float32; ``integer_tensors`` are returned unchanged."""
    require_safetensors(folder)
    return read_tensors(folder / _FILE, integer_tensors)


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], folder: Path) -> None:
    """Load ``weights``, which were read from ``folder``, into ``module``."""
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise damaged_file_error(folder / _FILE) from error


def require_shape(weights: Mapping[str, Tensor], key: str, shape: tuple[int, ...], folder: Path) -> None:
    """Check a tensor's shape against the settings before a module of that size is created."""
    if key not in weights or tuple(weights[key].shape) != shape:
        raise StudioError(_("the settings in {name} do not match its weights", name=folder.name), "copy the folder again")


def write_weights(module: nn.Module, folder: Path) -> None:
    """Write ``model.safetensors``."""
    write_tensors(module.state_dict(), folder / _FILE)


def make_embedding(rows: Tensor, *, trainable: bool = False, padding: int | None = None) -> nn.Embedding:
    """Return an embedding with the (V, d) ``rows``; the ``padding`` row is never trained."""
    return nn.Embedding.from_pretrained(rows.contiguous(), freeze=not trainable, padding_idx=padding)  # type: ignore[no-untyped-call,no-any-return]
