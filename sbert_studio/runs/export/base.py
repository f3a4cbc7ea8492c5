"""What every export promises: files of a finished run in one zip, whole or not at all, the same run giving the same bytes."""

from __future__ import annotations

import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from ...encoders.storage.digests import require_whole
from ...errors import StudioError
from ...registry import Registry
from ...workspace import atomic_file, file_name
from ..run import Run

_EPOCH = (2020, 1, 1, 0, 0, 0)


class Export(ABC):
    """One way to hand on a run.

    Attributes:
        name: the registry sets it.
        help: one sentence of what is in the zip.
    """

    name: ClassVar[str]
    help: ClassVar[str]

    @abstractmethod
    def members(self, run: Run, folder: Path) -> Iterator[tuple[str, Path | str]]:
        """The name within the zip, and the content, of each file; every damaged one of ``folder``, the run's own, was refused before.

        Raises:
            StudioError: the run lacks what is to be handed on.
        """


EXPORTS: Registry[Export] = Registry("export")


def below(folder: Path, stem: str) -> Iterator[tuple[str, Path | str]]:
    """Every file below a folder of a run, by its name from ``folder`` on."""
    for path in sorted((folder / stem).rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def write_zip(kind: Export, run: Run, folder: Path, target: Path) -> None:
    """Write the zip of a run that has a model; it holds one folder, and no path of this machine.

    Raises:
        StudioError: the run has no model yet, its files are damaged, or ``target`` cannot be written.
    """
    if not (folder / "model").is_dir():
        done = run.status == "finished"
        gone = "its folder was changed by hand; delete the run, and train it again" if done else "export it once it is finished"
        raise StudioError(f"the run {run.id} is {run.status} and has no model", gone)
    for stem in ("model", "adapter"):
        if (folder / stem).is_dir():
            require_whole(folder / stem, run.id)
    if target.is_dir():
        raise StudioError(f"{target.name} is a folder", "name a file that ends in .zip")
    top = file_name(run.name, "model").replace(" ", "-")
    try:
        with atomic_file(target) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for name, content in kind.members(run, folder):
                entry = zipfile.ZipInfo(f"{top}/{name}", _EPOCH)
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_STORED if name.endswith(".safetensors") else zipfile.ZIP_DEFLATED
                if isinstance(content, Path):
                    entry.file_size = content.stat().st_size
                    with content.open("rb") as source, archive.open(entry, "w") as sink:
                        while block := source.read(1 << 20):
                            sink.write(block)
                else:
                    archive.writestr(entry, content)
    except OSError as error:
        raise StudioError(f"{target.name} cannot be written: {error.strerror}", "choose another folder, or make room") from error
