"""A name → an encoder, to be shared or to be trained; the shared ones are kept in memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..caches import LruCache, unread
from ..errors import StudioError
from ..identity import ANONYMOUS, OWNER, Identity, current_identity
from ..progress import checkpoint
from ..workspace import Workspace, existing
from .card import languages_in, license_in
from .cross_encoder import CrossEncoder, Head, is_cross_folder, load_cross, new_cross
from .external import FOREIGN, load_foreign
from .external import is_installed as has_package
from .hub import HUB_ID, Hub
from .inference.machine import Machine, machine
from .io.backbone import read_json
from .io.bundled import BUNDLED
from .io.bundled import is_installed as is_bundled_here
from .io.digests import folder_stamp
from .io.load import load_folder
from .io.sources import Source, fetched, find_source, require_unaltered
from .lora import load_adapter
from .poly_encoder import PolyEncoder, is_poly_folder, new_poly, with_codes
from .runtime import resolve_device, resolve_precision
from .sentence_encoder import SentenceEncoder
from .static.vectors import PACKAGED, is_installed

if TYPE_CHECKING:
    from .base import Encoder
    from .zerogpu_encoder import Elsewhere

_BUDGET = 2 << 30
Shared = SentenceEncoder | CrossEncoder | PolyEncoder
Kind = TypeVar("Kind", SentenceEncoder, CrossEncoder, PolyEncoder)


@dataclass(frozen=True)
class CatalogSettings:
    """What a catalogue may load, for one of the same in another process; see :class:`Catalog`."""

    home: Path
    allow_folders: bool = True
    max_model_bytes: int = 0
    max_cache_bytes: int = 0
    chosen: frozenset[str] = frozenset()

    def open(self, device: str) -> Catalog:
        """Return a catalogue that may load the same, on ``device``."""
        return Catalog(
            Workspace(self.home),
            device=device,
            allow_folders=self.allow_folders,
            max_model_bytes=self.max_model_bytes,
            max_cache_bytes=self.max_cache_bytes,
            chosen=self.chosen,
        )


class Catalog:
    """Finds encoders by name, and keeps the last few used ones in memory, each loaded once however many threads ask.

    Args:
        workspace: where our runs lie.
        device: ``auto`` or a device's name.
        budget: bytes that the weights of the models in memory may take; the one used last stays whatever it takes.
        allow_folders: whether a name may be a path; on a shared host a visitor's must not. Where none may, the Hub is asked as nobody
            (:data:`~sbert_studio.identity.ANONYMOUS`), or as the visitor who has signed in, and never as this machine's owner.
        elsewhere: makes who encodes many texts for a shared encoder, where a GPU is lent: of the catalogue's settings, the name, the
            precision and the fingerprint.
        max_model_bytes: of a model of the Hub; 0 for no limit. max_cache_bytes: of those that visitors asked for, together.
        chosen: names that whoever runs this has chosen for everybody, which may be paths.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        device: str = "auto",
        budget: int = _BUDGET,
        allow_folders: bool = True,
        elsewhere: Callable[[CatalogSettings, str, str, str], Elsewhere] | None = None,
        max_model_bytes: int = 0,
        max_cache_bytes: int = 0,
        chosen: Collection[str] = (),
    ) -> None:
        self.workspace = workspace
        self.device = resolve_device(device)
        self.allow_folders = allow_folders
        self._elsewhere = elsewhere
        self._chosen = frozenset(chosen)
        self._max_model_bytes, self._max_cache_bytes = max_model_bytes, max_cache_bytes
        self._hub = Hub(workspace.hub, max_bytes=max_model_bytes, max_cache_bytes=max_cache_bytes)
        self._models: LruCache[Encoder | CrossEncoder | PolyEncoder] = LruCache(budget, lambda model: model.memory)

    @property
    def settings(self) -> CatalogSettings:
        """What it may load."""
        return CatalogSettings(self.workspace.home, self.allow_folders, self._max_model_bytes, self._max_cache_bytes, self._chosen)

    @property
    def bytes(self) -> int:
        """What the models in memory take."""
        return self._models.bytes

    @staticmethod
    def bundled() -> list[str]:
        """The names of the models that came with the program."""
        return [name for name in BUNDLED if is_bundled_here(name)]

    @staticmethod
    def tables() -> list[str]:
        """The names of the tables of words whose packages are installed."""
        return [name for name in PACKAGED if is_installed(name)]

    @staticmethod
    def foreign() -> list[str]:
        """The names of the frozen encoders whose packages are installed."""
        return [name for name in FOREIGN if has_package(name)]

    def resolve(self, name: str, *, allow_folders: bool | None = None) -> Source:
        """Where ``name`` leads; nothing is loaded or fetched.

        Raises:
            StudioError: it can be none of the four, is a run without a model, or is a folder where none is allowed.
        """
        allowed = self.allow_folders if allow_folders is None else allow_folders
        return find_source(name, self.workspace, allowed or name.strip() in self._chosen)

    @property
    def identity(self) -> Identity:
        """On whose behalf the Hub is asked now."""
        return current_identity() or (OWNER if self.allow_folders else ANONYMOUS)

    def _fetched(self, source: Source) -> Path:
        return fetched(source, self._hub, self.identity)

    @functools.cached_property
    def machine(self) -> Machine:
        """What this machine is quick at."""
        return machine(self.workspace.home)

    def precision(self, name: str) -> tuple[str, str]:
        """``float32``, ``bfloat16`` or ``int8``; and of ``auto`` why, in a sentence.

        Raises:
            StudioError: unknown, or int8 anywhere but on the CPU.
        """
        if name == "auto" and self.device.type == "cpu":
            return self.machine.auto()
        found = resolve_precision(name, self.device)
        return found, "what this device multiplies fastest in, of those that keep the meaning" if name == "auto" else ""

    def load(self, name: str, precision: str = "float32", *, allow_folders: bool | None = None) -> Encoder:
        """The shared encoder ``name``, for inference only, from memory where it is resident.

        Raises:
            StudioError: as :meth:`resolve`; or it cannot be fetched or read; or it scores pairs.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        precision, _ = self.precision(precision)
        if source.kind == "foreign":
            return cast("Encoder", self._models.get((source.name,), lambda: load_foreign(source.name), checkpoint))
        folder = self._fetched(source)
        _refuse_cross(source, folder)
        _refuse_poly(source, folder)
        return self._kept(folder, precision, lambda: self._shared(source, folder, name, precision))

    def load_cross(self, name: str, *, allow_folders: bool | None = None) -> CrossEncoder:
        """The shared cross-encoder ``name``, for inference only, from memory where it is resident.

        Raises:
            StudioError: as :meth:`load`; or it is no cross-encoder.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        folder = self._fetched(source)
        return self._kept(folder, "cross", lambda: load_cross(folder, source.name, self.device).freeze(packed=self._packs("float32")))

    def load_poly(self, name: str, *, allow_folders: bool | None = None) -> PolyEncoder:
        """The shared poly-encoder ``name``, for inference only, from memory where it is resident.

        Raises:
            StudioError: as :meth:`load`; or it is no poly-encoder.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        folder = self._fetched(source)
        return self._kept(folder, "poly", lambda: self._shared_poly(source, folder))

    def load_scorer(self, name: str, *, allow_folders: bool | None = None) -> CrossEncoder | PolyEncoder:
        """The shared model ``name`` that scores pairs, of whichever family, for inference only.

        Raises:
            StudioError: as :meth:`load`; or it scores no pairs.
        """
        load = self.load_poly if self.is_poly(name, allow_folders=allow_folders) else self.load_cross
        return load(name, allow_folders=allow_folders)

    def load_either(self, name: str, *, allow_folders: bool | None = None) -> Encoder | CrossEncoder | PolyEncoder:
        """The shared model ``name``, of whichever family, for inference only.

        Raises:
            StudioError: as :meth:`resolve`; or it cannot be fetched or read.
        """
        if self.is_cross(name, allow_folders=allow_folders) or self.is_poly(name, allow_folders=allow_folders):
            return self.load_scorer(name, allow_folders=allow_folders)
        return self.load(name, allow_folders=allow_folders)

    def load_within(self, name: str, *, allow_folders: bool | None = None) -> Encoder:
        """The shared encoder ``name``, or, of a poly-encoder, the encoder within it.

        Raises:
            StudioError: as :meth:`load`.
        """
        if self.is_poly(name, allow_folders=allow_folders):
            return self.load_poly(name, allow_folders=allow_folders).encoder
        return self.load(name, allow_folders=allow_folders)

    def is_cross(self, name: str, *, allow_folders: bool | None = None) -> bool:
        """Whether ``name`` is a cross-encoder, which reads pairs and has no vectors; an id of the hub is fetched.

        Raises:
            StudioError: as :meth:`resolve`; or it cannot be fetched.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        return source.kind != "foreign" and is_cross_folder(self._fetched(source))

    def require_trainable(self, name: str, *, allow_folders: bool | None = None) -> None:
        """Refuse a model that cannot be tuned; an id of the hub is fetched.

        Raises:
            StudioError: as :meth:`resolve`; or it is frozen, or cannot be fetched.
        """
        self._fetched(self.resolve(name, allow_folders=allow_folders))

    def is_poly(self, name: str, *, allow_folders: bool | None = None) -> bool:
        """Whether ``name`` is a poly-encoder; an id of the hub is fetched.

        Raises:
            StudioError: as :meth:`resolve`; or it cannot be fetched.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        return source.kind != "foreign" and is_poly_folder(self._fetched(source))

    def load_fresh_cross(
        self, name: str, *, head: Head = "linear", labels: int = 1, seed: int = 12, allow_folders: bool | None = None
    ) -> CrossEncoder:
        """A new float32 cross-encoder of its owner's own, to be trained: on the backbone of ``name``, with a new head drawn from ``seed``.

        Where ``name`` is a cross-encoder with such a head, its head is kept.

        Raises:
            StudioError: as :meth:`load`; or it is an adapter's folder.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        folder = self._fetched(source)
        require_unaltered(source, folder)
        if _is_adapter(folder):
            raise StudioError(
                f"{source.name} is an adapter alone", "begin a cross-encoder from the whole model: the run, or its model folder"
            )
        encoder = new_cross(folder, head=head, labels=labels, seed=seed, name=source.name).to(self.device)
        encoder.base = source.base
        encoder.license, encoder.languages = license_in(folder), languages_in(folder)
        return encoder

    def load_fresh_poly(self, name: str, *, codes: int, seed: int = 12, allow_folders: bool | None = None) -> PolyEncoder:
        """A new float32 poly-encoder of its owner's own, to be trained: on the encoder ``name``, with new codes drawn from ``seed``.

        Where ``name`` is a poly-encoder with as many codes, its codes are kept.

        Raises:
            StudioError: as :meth:`load`; or the encoder pools in several ways at once.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        folder = self._fetched(source)
        _refuse_cross(source, folder)
        return new_poly(self._read(source, folder), folder, codes=codes, seed=seed)

    def load_fresh(self, name: str, *, allow_folders: bool | None = None) -> SentenceEncoder:
        """A new float32 encoder of its owner's own, to be trained.

        Raises:
            StudioError: as :meth:`load`.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        folder = self._fetched(source)
        _refuse_cross(source, folder)
        _refuse_poly(source, folder)
        return self._read(source, folder)

    def _kept(self, folder: Path, how: str, read: Callable[[], Kind]) -> Kind:
        """What ``read`` gives, from memory where it is resident."""

        def made() -> Kind:
            found: Any = read()
            unread([tensor.data_ptr() for tensor in (*found.parameters(), *found.buffers())])
            return cast(Kind, found)

        return cast(Kind, self._models.get((str(folder), folder_stamp(folder), how), made, checkpoint))

    def _packs(self, precision: str) -> bool:
        """Whether a model that stays on this processor multiplies faster by packed weights."""
        return self.device.type == "cpu" and self._elsewhere is None and self.machine.packs(precision)

    def _shared_poly(self, source: Source, folder: Path) -> PolyEncoder:
        return with_codes(self._read(source, folder, frozen=True), folder).freeze(packed=self._packs("float32"))

    def _shared(self, source: Source, folder: Path, name: str, precision: str) -> SentenceEncoder:
        encoder = self._read(source, folder, frozen=True).freeze(precision, packed=self._packs(precision))
        if self._elsewhere is not None:
            # A name that led to a folder was allowed to, by whoever asked for it.
            settings = replace(self.settings, chosen=self._chosen | {name.strip()}) if source.kind == "folder" else self.settings
            encoder.elsewhere = self._elsewhere(settings, name, precision, encoder.fingerprint)
        return encoder

    def _read(self, source: Source, folder: Path, frozen: bool = False) -> SentenceEncoder:
        require_unaltered(source, folder)
        if _is_adapter(folder):
            return self._read_adapter(source, folder)
        encoder = load_folder(folder, source.name, self.device, frozen)
        encoder.base = source.base
        encoder.license, encoder.languages = license_in(folder), languages_in(folder)
        if source.kind == "bundled" and not BUNDLED[source.name].exact:
            encoder.note = f"The weights are those of {source.base}, rounded to four bits."
        return encoder

    def _read_adapter(self, source: Source, folder: Path) -> SentenceEncoder:
        """The base model that an adapter's folder names, with the adapter merged into it.

        Raises:
            StudioError: the base is a folder that is not here, or is an adapter itself.
        """
        base = str(read_json(folder / "adapter_config.json", dict).get("base_model_name_or_path"))
        here = self.allow_folders and (path := existing(base)) is not None and path.is_dir()
        if not (here or HUB_ID.fullmatch(base)):
            raise StudioError(
                f"{source.name} is an adapter alone, and its base model is named by a path of another machine ({base})",
                "write the base's Hugging Face id, or where it lies here, into base_model_name_or_path of adapter_config.json",
            )
        if _is_adapter(self._fetched(self.resolve(base, allow_folders=here))):
            raise StudioError(
                f"{source.name} is an adapter alone, and so is its base model ({base})",
                "name the whole model in base_model_name_or_path of adapter_config.json, or merge the base's adapter into its model first",
            )
        encoder = self.load_fresh(base, allow_folders=here)
        load_adapter(encoder, folder)
        encoder.merge_adapter()
        encoder.name, encoder.base = source.name, base
        return encoder


def _is_adapter(folder: Path) -> bool:
    """Tell if an adapter lies in ``folder`` without a model that it belongs to."""
    return (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file()


def _refuse_cross(source: Source, folder: Path) -> None:
    if is_cross_folder(folder):
        what = f"{source.name} is a cross-encoder: it reads pairs and has no vectors"
        raise StudioError(what, "use it for re-ranking or in Evaluate; tuning goes on with the architecture cross")


def _refuse_poly(source: Source, folder: Path) -> None:
    if is_poly_folder(folder):
        what = f"{source.name} is a poly-encoder: it scores pairs, a query in several vectors with a candidate in one"
        raise StudioError(what, "use it for re-ranking or in Evaluate; tuning goes on with the architecture poly")
