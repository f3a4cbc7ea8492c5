"""Export of a run's model, or of its LoRA adapter, alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...errors import StudioError
from ..run import Run
from .base import EXPORTS, Export, folder_members


@EXPORTS.register("model")
class ModelExport(Export):
    """The folder that sentence-transformers opens, a LoRA merged into it, with its card."""

    help = "the model's folder alone, as sentence-transformers opens it"

    def members(self, run: Run, folder: Path) -> Iterator[tuple[str, Path | str]]:
        """See :meth:`Export.members`."""
        yield from folder_members(folder, "model")


@EXPORTS.register("adapter")
class AdapterExport(Export):
    """The adapter of a LoRA run, as peft opens it."""

    help = "the LoRA adapter alone, a few megabytes"

    def members(self, run: Run, folder: Path) -> Iterator[tuple[str, Path | str]]:
        """See :meth:`Export.members`."""
        if not (folder / "adapter").is_dir():
            raise StudioError(f"{run.name} was tuned whole and has no adapter", "choose model")
        yield from folder_members(folder, "adapter")
