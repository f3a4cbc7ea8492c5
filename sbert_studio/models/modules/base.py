"""Base class of the modules of a sentence encoder, and the files of their weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from torch import Tensor, nn

from ...errors import StudioError, is_of_machine
from ...registry import Registry
from ..io.backbone import damaged, require_finite, require_safetensors

if TYPE_CHECKING:
    from typing import Self


WORDS, WEIGHTS, READER, POOLING, VECTORS, LENGTH = range(6)
"""Where a module stands: what gives a vector a token, what weighs it, what reads it in order, what makes one vector of all, what maps
that vector (there may be several such), and what sets its length."""


class Module(nn.Module, ABC):
    """A step from token ids to the vector of a text.

    Attributes:
        name: what ``modules.json`` calls it, behind the last dot of its type.
        portable: whether sentence-transformers has it as well.
        stage: where it stands among the others.
    """

    name: ClassVar[str]
    portable: ClassVar[bool] = True
    stage: ClassVar[int] = VECTORS

    @classmethod
    @abstractmethod
    def read(cls, folder: Path) -> Self:
        """The module whose files lie in ``folder``, in float32.

        Raises:
            StudioError: a file is missing or damaged, or asks for what is not known here.
        """

    @abstractmethod
    def write(self, folder: Path, inputs: int) -> None:
        """Write the files to ``folder``, which other programs read.

        Args:
            inputs: the width of what enters.
        """

    @property
    def takes(self) -> int | None:
        """The width of what must enter; None: any."""
        return None

    def width(self, inputs: int) -> int:
        """The width of what comes out."""
        return inputs


MODULES: Registry[Module] = Registry("module")


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
