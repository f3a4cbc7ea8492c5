"""Base class of exports: the files of a finished run in one zip, written atomically; the same run gives the same bytes."""

from __future__ import annotations

import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from ...errors import StudioError
from ...models.io.digests import require_undamaged
from ...registry import Registry
from ...workspace import atomic_file, file_name
from ..run import Run

_EPOCH = (2020, 1, 1, 0, 0, 0)  # time of all entries, so that the same run gives the same bytes
_TEMPLATES = Path(__file__).parents[1] / "templates"


class Export(ABC):
    """An export format.

    Attributes:
        name: set by the registry.
        help: one phrase on the contents of the zip.
    """

    name: ClassVar[str]
    help: ClassVar[str]

    @abstractmethod
    def members(self, run: Run, folder: Path) -> Iterator[tuple[str, Path | str | bytes]]:
        """Yield the name within the zip and the content of each file: its path, its text or its bytes.

        The files in the run's ``folder`` have already been verified. A run that was evaluated in folds has no held-out rows.

        Raises:
            StudioError: the run lacks the data to export.
        """


EXPORTS: Registry[Export] = Registry("export")


def folder_members(folder: Path, name: str) -> Iterator[tuple[str, Path | str]]:
    """Yield every file inside the folder ``name`` of a run, with its path relative to ``folder``."""
    for path in sorted((folder / name).rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def write_zip(export: Export, run: Run, folder: Path, target: Path) -> None:
    """Write the zip of a run with a model, atomically. It contains one folder, and no paths of this machine.

    Raises:
        StudioError: the run has no model yet, its files are damaged, or ``target`` cannot be written.
    """
    if not (folder / "model").is_dir():
        is_finished = run.status == "finished"
        hint = "its folder was changed by hand; delete the run, and train it again" if is_finished else "export it once it is finished"
        raise StudioError(f"the run {run.id} is {run.status} and has no model", hint)
    for stem in ("model", "adapter"):
        if (folder / stem).is_dir():
            require_undamaged(folder / stem, run.id)
    if target.is_dir():
        raise StudioError(f"{target.name} is a folder", "name a file that ends in .zip")
    top = file_name(run.name, "model").replace(" ", "-")
    try:
        with atomic_file(target) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for name, content in export.members(run, folder):
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
        raise StudioError(f"{target.name} cannot be written: {error.strerror}", "choose another folder, or free some disk space") from error


def render(template: str, **values: Any) -> str:
    """Return the text of a template in ``templates/``; texts are escaped by the caller."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
    )
    return environment.get_template(template).render(values)
