"""Base class of export formats, and the export itself: write, open with the format's own runtime, compare, and only then keep."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ... import __version__
from ...errors import StudioError
from ...i18n import _, join
from ...progress import Progress, StoppedError, checkpoint
from ...registry import Registry
from ...serialization import JsonResult, doc
from ...workspace import atomic_file, atomic_folder, file_name, require_writable_file, write_json
from ..card import render_template, short_name
from ..io.digests import find_other_file, write_digests
from .verification import Fidelity, Floor, fitting, shipped_check, verify

if TYPE_CHECKING:
    from ..sentence_encoder import SentenceEncoder

BeginPhase = Callable[[str, str], "Progress | None"]
"""Called with the title and unit of a phase; returns its progress callback, if any."""
FORMATS: Registry[ExportFormat] = Registry("export format")
_CHECK = "verify.json"
# The sections of an export in the card of a model that is itself an export.
_SECTIONS = re.compile(r"\n## (?:Use this export|Verified)\n.*?(?=\n## |\Z)", re.DOTALL)


class ExportFormat(ABC):
    """A format that another program reads.

    Attributes:
        name: set by the registry.
        title: name in menus.
        readers: programs that read it.
        cost: what it costs compared with the original, one phrase.
        extra: optional dependency of this package that writes and verifies it; empty if none is needed.
        packages: modules that must be importable.
        install: how to install what is missing; by default the extra.
        size: bytes of the export per weight of the model.
        floor: limits that an export must meet.
        script, script_file: template and name of the script that encodes texts with the export and nothing of this package.
        usage: template of Markdown that shows how to use the export.
        tags: tags of the model card.
        has_original_layout: whether the original's model card applies to it.
        truncates: whether the runtime truncates long texts itself; if not, only shorter ones are compared.
        note: Markdown for the card about this variant of the format.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    readers: ClassVar[str]
    cost: ClassVar[str] = "the same vectors"
    extra: ClassVar[str] = ""
    packages: ClassVar[tuple[str, ...]] = ()
    install: ClassVar[str] = ""
    size: ClassVar[float] = 4.0
    floor: ClassVar[Floor]
    script: ClassVar[str]
    script_file: ClassVar[str] = "verify.py"
    usage: ClassVar[str]
    tags: ClassVar[tuple[str, ...]] = ()
    has_original_layout: ClassVar[bool] = False
    truncates: ClassVar[bool] = True
    note = ""

    def missing(self, target: Path | None = None) -> list[str]:
        """Return the packages that are not installed; ``target`` is the export to be written, by default in the current folder."""
        return [name for name in self.packages if importlib.util.find_spec(name) is None]

    @abstractmethod
    def check(self, encoder: SentenceEncoder) -> None:
        """Raise a StudioError if the format cannot represent the encoder."""

    def adapt(self, encoder: SentenceEncoder) -> SentenceEncoder:
        """Return the encoder whose vectors the export has; another one only if the difference is documented."""
        return encoder

    @abstractmethod
    def write(self, encoder: SentenceEncoder, folder: Path) -> None:
        """Write everything that the runtime needs into ``folder``: weights, tokenizer, pooling, normalization, prompts."""

    def variants(self, encoder: SentenceEncoder) -> Sequence[ExportFormat]:
        """Return the ways to write the export, smallest first; the first that meets the floor is kept."""
        return (self,)

    def command(self) -> list[str]:
        """Return the command that runs the script in the folder of the export."""
        return [sys.executable, "-P", self.script_file]

    def script_values(self, encoder: SentenceEncoder) -> Mapping[str, Any]:
        """Return further values of the template :attr:`script`."""
        return {}


@dataclass(frozen=True)
class ExportedModel(JsonResult):
    """A verified export."""

    path: Path
    bytes: int
    format: str
    verified: Annotated[Fidelity, doc("comparison with the original model")]


def export_encoder(
    encoder: SentenceEncoder,
    form: ExportFormat,
    target: Path,
    texts: Sequence[str],
    source: str,
    *,
    card: str = "",
    threads: int = 0,
    begin_phase: BeginPhase | None = None,
) -> ExportedModel:
    """Export a float32 encoder into the folder ``target``, or into a zip if its name ends in ``.zip``.

    The export is read by its own runtime and compared on up to 200 texts; if it does not meet its floor, nothing is written.

    Args:
        texts, source: texts to compare, and where they are from.
        card: model card of the original, used by formats that have its layout.
        threads: threads of the runtime; 0 for its default.
        begin_phase: called at the beginning of each phase.

    Raises:
        StudioError: a package is missing, the format cannot represent the model, or the export does not meet its floor.
    """
    require_packages(form, target)
    form.check(encoder)
    encoder = form.adapt(encoder)
    require_free(target)
    try:
        with _destination(target) as part:
            fidelity = _write(encoder, form, part, texts, source, card, threads, begin_phase or (lambda _title, _unit: None))
    except OSError as error:
        raise StudioError(
            _("{name} cannot be written: {reason}", name=target.name, reason=error.strerror),
            "choose another folder, or free some disk space",
        ) from error
    return ExportedModel(target, folder_bytes(target), form.name, fidelity)


def require_packages(form: ExportFormat, target: Path) -> None:
    """Raise a StudioError that names the packages and the extra to install if one is missing."""
    if missing := form.missing(target):
        raise StudioError(
            _("{title} needs packages that are not installed: {names}", title=form.title, names=", ".join(missing)),
            install_hint(form),
        )


def install_hint(form: ExportFormat) -> str:
    """Return how to install the packages of a format."""
    return form.install or _("install them with pip install 'sbert-studio[{extra}]'", extra=form.extra)


def require_free(target: Path) -> None:
    """Raise a StudioError unless ``target`` is absent, a zip, an empty folder or an earlier export, so that no other file is lost."""
    if _is_zip(target):
        require_writable_file(target)
    elif target.is_dir():
        if other := find_other_file(target, _CHECK):
            raise StudioError(
                _("{name} exists already, with the file {file}", name=target.name, file=other),
                "choose a new folder, or a file that ends in .zip",
            )
    elif target.exists() or target.is_symlink():
        raise StudioError(_("{name} exists already", name=target.name), "choose a new folder, or a file that ends in .zip")


def _is_zip(target: Path) -> bool:
    return target.suffix.lower() == ".zip"


def folder_bytes(path: Path) -> int:
    """Return the size of a file, or of all files in a folder."""
    return path.stat().st_size if path.is_file() else sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


@contextmanager
def _destination(target: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes ``target``, or its zip, unless the block fails."""
    if not _is_zip(target):
        with atomic_folder(target) as part:
            yield part
        return
    with tempfile.TemporaryDirectory(prefix=".part-", dir=target.parent) as scratch, atomic_file(target) as zipped:
        folder = Path(scratch) / file_name(target.stem, "model")
        folder.mkdir()
        yield folder
        with zipfile.ZipFile(zipped, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(folder.parent).as_posix())


def _write(
    encoder: SentenceEncoder,
    form: ExportFormat,
    folder: Path,
    texts: Sequence[str],
    source: str,
    card: str,
    threads: int,
    begin: BeginPhase,
) -> Fidelity:
    title = _("the {title} export of {name}", title=form.title, name=short_name(encoder.name))
    try:
        if not form.truncates:
            texts = fitting(encoder, texts)
        for variant in form.variants(encoder):
            checkpoint()
            begin("writing the export", "")
            variant.write(encoder, folder)
            script = render_template(variant.script, title=variant.title, **variant.script_values(encoder))
            (folder / variant.script_file).write_text(script, encoding="utf-8")
            fidelity = verify(encoder, folder, variant.command(), texts, source, threads, begin)
            if not (failures := fidelity.failures(variant.floor)):
                break
    except StoppedError:
        raise
    except StudioError as error:
        raise StudioError(_("{title} was not written: {reason}", title=title, reason=error.message), error.hint) from error
    if failures:
        raise StudioError(
            _("{title} was not written: its vectors differ too much ({reasons})", title=title, reasons=join(", ", failures)),
            "choose another format, and please report this",
        )
    header = {"format": form.name, "model": short_name(encoder.name), "version": __version__}
    write_json(folder / _CHECK, shipped_check(encoder, fidelity, form.floor, header, truncates=form.truncates))
    (folder / "README.md").write_text(_card(encoder, variant, fidelity, card), encoding="utf-8")
    write_digests(folder)
    return fidelity


def _card(encoder: SentenceEncoder, form: ExportFormat, fidelity: Fidelity, card: str) -> str:
    """Return the original's card with a section on the export, or a card of its own if the layout differs from the original's."""
    values = {"model": encoder, "form": form, "found": fidelity, "floor": form.floor}
    section = render_template("export/section.md.j2", **values)
    if not card or not form.has_original_layout:
        return render_template("export/card.md.j2", **values) + section
    return _SECTIONS.sub("", card).rstrip() + "\n" + section
