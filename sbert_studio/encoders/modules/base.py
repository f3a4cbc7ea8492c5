"""What every module of a sentence encoder can do beside its ``forward``: be read from its folder, and written to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from torch import nn

from ...registry import Registry

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
