"""Catalog of models: loads models by name, shared from a memory cache for inference, or as a new copy for training."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..caches import LruCache, release_mapped_pages
from ..errors import StudioError
from ..i18n import _
from ..identity import ANONYMOUS, OWNER, Identity, current_identity
from ..progress import checkpoint
from ..workspace import Workspace, existing_path
from .card import read_languages, read_license
from .cross_encoder import CrossEncoder, Head, create_cross_encoder, is_cross_encoder_folder, load_cross_encoder
from .external import EXTERNAL_ENCODERS, load_external
from .external import is_package_installed as has_external_package
from .hub import HUB_ID, Hub
from .inference.machine import resolve_device, resolve_precision
from .inference.speed import MachineSpeed, measure_machine
from .io.backbone import read_json
from .io.bundled import BUNDLED
from .io.bundled import is_installed as is_bundled_here
from .io.digests import folder_stamp
from .io.load import load_adapter, load_folder
from .io.sources import ModelSource, fetch_folder, find_source, require_unaltered
from .poly_encoder import PolyEncoder, attach_codes, create_poly_encoder, is_poly_encoder_folder
from .sentence_encoder import SentenceEncoder
from .static.vectors import VECTOR_PACKAGES
from .static.vectors import is_package_installed as has_vector_package

if TYPE_CHECKING:
    from .base import Encoder
    from .generator import TextGenerator
    from .inference.zerogpu import ZeroGPUEncoder

_BUDGET = 2 << 30
Kind = TypeVar("Kind", SentenceEncoder, CrossEncoder, PolyEncoder)


@dataclass(frozen=True)
class CatalogSettings:
    """Settings of a :class:`Catalog`, for opening an equivalent one in another process."""

    home: Path
    allow_folders: bool = True
    max_model_bytes: int = 0
    max_cache_bytes: int = 0
    chosen: frozenset[str] = frozenset()

    def open(self, device: str) -> Catalog:
        return Catalog(
            Workspace(self.home),
            device=device,
            allow_folders=self.allow_folders,
            max_model_bytes=self.max_model_bytes,
            max_cache_bytes=self.max_cache_bytes,
            chosen=self.chosen,
        )


class Catalog:
    """Loads models by name and caches recently used ones; concurrent requests for a model load it once.

    Methods that take a name raise a :class:`StudioError` if it cannot be resolved, downloaded (this includes Hub models) or read, or if
    the model is of another family than requested.

    Args:
        workspace: contains the runs.
        device: ``auto`` or a device name.
        budget: bytes of weights kept in memory; the most recently used model is always kept.
        allow_folders: whether names may be paths. If not, on a shared host, the Hub is accessed as :data:`~sbert_studio.identity.ANONYMOUS`
            or as the signed-in visitor, never as this machine's owner.
        zerogpu: creates the encoder for GPU slices from the catalog's settings, name, precision and fingerprint.
        max_model_bytes: limit per Hub model; 0 for none.
        max_cache_bytes: limit of all Hub models downloaded by visitors; 0 for none.
        chosen: models configured by the host; they may be paths.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        device: str = "auto",
        budget: int = _BUDGET,
        allow_folders: bool = True,
        zerogpu: Callable[[CatalogSettings, str, str, str], ZeroGPUEncoder] | None = None,
        max_model_bytes: int = 0,
        max_cache_bytes: int = 0,
        chosen: Collection[str] = (),
    ) -> None:
        self.workspace = workspace
        self.device = resolve_device(device)
        self.allow_folders = allow_folders
        self._zerogpu = zerogpu
        self._chosen = frozenset(chosen)
        self._max_model_bytes, self._max_cache_bytes = max_model_bytes, max_cache_bytes
        self._hub = Hub(workspace.hub, max_bytes=max_model_bytes, max_cache_bytes=max_cache_bytes, default_models=chosen)
        self._models: LruCache[Encoder | CrossEncoder | PolyEncoder | TextGenerator] = LruCache(budget, lambda model: model.memory)

    @property
    def settings(self) -> CatalogSettings:
        return CatalogSettings(self.workspace.home, self.allow_folders, self._max_model_bytes, self._max_cache_bytes, self._chosen)

    @property
    def bytes(self) -> int:
        return self._models.bytes

    @staticmethod
    def bundled() -> list[str]:
        return [name for name in BUNDLED if is_bundled_here(name)]

    @staticmethod
    def tables() -> list[str]:
        return [name for name in VECTOR_PACKAGES if has_vector_package(name)]

    @staticmethod
    def external() -> list[str]:
        return [name for name in EXTERNAL_ENCODERS if has_external_package(name)]

    def resolve(self, name: str, *, allow_folders: bool | None = None) -> ModelSource:
        """Resolve ``name`` without loading or downloading anything."""
        allowed = self.allow_folders if allow_folders is None else allow_folders
        return find_source(name, self.workspace, allowed or name.strip() in self._chosen)

    @property
    def identity(self) -> Identity:
        return current_identity() or (OWNER if self.allow_folders else ANONYMOUS)

    def _fetch(self, source: ModelSource) -> Path:
        return fetch_folder(source, self._hub, self.identity)

    def is_downloaded(self, hub_id: str) -> bool:
        """Return True if a model of the Hub needs no download."""
        return self._hub.is_downloaded(hub_id, self.identity)

    def _locate(self, name: str, allow_folders: bool | None) -> tuple[ModelSource, Path]:
        source = self.resolve(name, allow_folders=allow_folders)
        return source, self._fetch(source)

    @functools.cached_property
    def machine(self) -> MachineSpeed:
        return measure_machine(self.workspace.home)

    def precision(self, name: str) -> tuple[str, str]:
        """Return ``float32``, ``bfloat16`` or ``int8``, and for ``auto`` one sentence with the reason."""
        if name == "auto" and self.device.type == "cpu":
            return self.machine.auto_precision()
        found = resolve_precision(name, self.device)
        return found, "the fastest precision on this device that preserves quality" if name == "auto" else ""

    def load(self, name: str, precision: str = "float32", *, allow_folders: bool | None = None) -> Encoder:
        """Return the shared encoder ``name``, for inference only."""
        source = self.resolve(name, allow_folders=allow_folders)
        precision, _ = self.precision(precision)
        if source.kind == "foreign":
            return cast("Encoder", self._models.get((source.name,), lambda: load_external(source.name), checkpoint))
        folder = self._fetch(source)
        _refuse_pair_scorers(source, folder)
        return self._cached(folder, precision, lambda: self._shared(source, folder, name, precision))

    def load_cross_encoder(self, name: str, *, allow_folders: bool | None = None) -> CrossEncoder:
        """Return the shared cross-encoder ``name``, for inference only."""
        source, folder = self._locate(name, allow_folders)
        return self._cached(
            folder, "cross", lambda: load_cross_encoder(folder, source.name, self.device).freeze(packed=self._packs("float32"))
        )

    def load_poly_encoder(self, name: str, *, allow_folders: bool | None = None) -> PolyEncoder:
        source, folder = self._locate(name, allow_folders)
        return self._cached(folder, "poly", lambda: self._shared_poly(source, folder))

    def load_scorer(self, name: str, *, allow_folders: bool | None = None) -> CrossEncoder | PolyEncoder:
        load = self.load_poly_encoder if self.is_poly_encoder(name, allow_folders=allow_folders) else self.load_cross_encoder
        return load(name, allow_folders=allow_folders)

    def load_any(self, name: str, *, allow_folders: bool | None = None) -> Encoder | CrossEncoder | PolyEncoder:
        if self.is_cross_encoder(name, allow_folders=allow_folders) or self.is_poly_encoder(name, allow_folders=allow_folders):
            return self.load_scorer(name, allow_folders=allow_folders)
        return self.load(name, allow_folders=allow_folders)

    def load_vector_encoder(self, name: str, *, allow_folders: bool | None = None) -> Encoder:
        """Return the shared encoder ``name``, or the inner encoder of a poly-encoder."""
        if self.is_poly_encoder(name, allow_folders=allow_folders):
            return self.load_poly_encoder(name, allow_folders=allow_folders).encoder
        return self.load(name, allow_folders=allow_folders)

    def is_cross_encoder(self, name: str, *, allow_folders: bool | None = None) -> bool:
        source = self.resolve(name, allow_folders=allow_folders)
        return source.kind != "foreign" and is_cross_encoder_folder(self._fetch(source))

    def require_trainable(self, name: str, *, allow_folders: bool | None = None) -> None:
        self._locate(name, allow_folders)

    def is_poly_encoder(self, name: str, *, allow_folders: bool | None = None) -> bool:
        source = self.resolve(name, allow_folders=allow_folders)
        return source.kind != "foreign" and is_poly_encoder_folder(self._fetch(source))

    def load_trainable_cross_encoder(
        self, name: str, *, head: Head = "linear", labels: int = 1, seed: int = 12, allow_folders: bool | None = None
    ) -> CrossEncoder:
        """Return a new float32 cross-encoder on the backbone of ``name``, with a new head initialized from ``seed``.

        If ``name`` is a cross-encoder with the same head, its weights are kept.
        """
        source, folder = self._locate(name, allow_folders)
        require_unaltered(source, folder)
        if _is_adapter(folder):
            raise StudioError(
                _("{name} is only an adapter", name=source.name), "start from the full model instead: the run, or its model folder"
            )
        encoder = create_cross_encoder(folder, head=head, labels=labels, seed=seed, name=source.name).to(self.device)
        return _with_origin(encoder, source, folder)

    def load_trainable_poly_encoder(self, name: str, *, codes: int, seed: int = 12, allow_folders: bool | None = None) -> PolyEncoder:
        """Return a new float32 poly-encoder on the encoder ``name``, with new codes drawn from ``seed``.

        If ``name`` is a poly-encoder with the same number of codes, they are kept.
        """
        source, folder = self._locate(name, allow_folders)
        _refuse_pair_scorers(source, folder, poly=False)
        return create_poly_encoder(self._read(source, folder), folder, codes=codes, seed=seed)

    def load_trainable(self, name: str, *, allow_folders: bool | None = None) -> SentenceEncoder:
        source, folder = self._locate(name, allow_folders)
        _refuse_pair_scorers(source, folder)
        return self._read(source, folder)

    def load_generator(self, name: str, *, allow_folders: bool | None = None) -> TextGenerator:
        """Return the shared causal language model ``name``, which writes text."""
        from .generator import TextGenerator

        folder = self._locate(name, allow_folders)[1]
        key = (str(folder), folder_stamp(folder), "generator")
        return cast("TextGenerator", self._models.get(key, lambda: TextGenerator.load(folder, self.device), checkpoint))

    def _cached(self, folder: Path, variant: str, read: Callable[[], Kind]) -> Kind:
        def load() -> Kind:
            model: Any = read()
            release_mapped_pages([tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())])
            return cast(Kind, model)

        return cast(Kind, self._models.get((str(folder), folder_stamp(folder), variant), load, checkpoint))

    def _packs(self, precision: str) -> bool:
        return self.device.type == "cpu" and self._zerogpu is None and self.machine.prefers_packed(precision)

    def _shared_poly(self, source: ModelSource, folder: Path) -> PolyEncoder:
        return attach_codes(self._read(source, folder, frozen=True), folder).freeze(packed=self._packs("float32"))

    def _shared(self, source: ModelSource, folder: Path, name: str, precision: str) -> SentenceEncoder:
        encoder = self._read(source, folder, frozen=True).freeze(precision, packed=self._packs(precision))
        if self._zerogpu is not None:
            # The caller was allowed to use this folder, so its slices are too.
            settings = replace(self.settings, chosen=self._chosen | {name.strip()}) if source.kind == "folder" else self.settings
            encoder.zerogpu = self._zerogpu(settings, name, precision, encoder.fingerprint)
        return encoder

    def _read(self, source: ModelSource, folder: Path, frozen: bool = False) -> SentenceEncoder:
        require_unaltered(source, folder)
        if _is_adapter(folder):
            return self._read_adapter(source, folder)
        encoder = _with_origin(load_folder(folder, source.name, self.device, frozen), source, folder)
        if source.kind == "bundled" and not BUNDLED[source.name].exact:
            encoder.note = _("The weights are those of {base}, rounded to 4 bits.", base=source.base)
        return encoder

    def _read_adapter(self, source: ModelSource, folder: Path) -> SentenceEncoder:
        base = str(read_json(folder / "adapter_config.json", dict).get("base_model_name_or_path"))
        is_local = self.allow_folders and (path := existing_path(base)) is not None and path.is_dir()
        if not (is_local or HUB_ID.fullmatch(base)):
            raise StudioError(
                _(
                    "{name} is only an adapter, and its base model is a path on another machine ({base})",
                    name=source.name,
                    base=base,
                ),
                "write the base's Hugging Face id, or where it lies here, into base_model_name_or_path of adapter_config.json",
            )
        if _is_adapter(self._fetch(self.resolve(base, allow_folders=is_local))):
            raise StudioError(
                _("{name} is only an adapter, and so is its base model ({base})", name=source.name, base=base),
                "specify the full model in base_model_name_or_path of adapter_config.json, or merge the base model's adapter first",
            )
        encoder = self.load_trainable(base, allow_folders=is_local)
        load_adapter(encoder, folder)
        encoder.merge_adapter()
        encoder.name, encoder.base = source.name, base
        return encoder


def _is_adapter(folder: Path) -> bool:
    return (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file()


def _with_origin(encoder: Kind, source: ModelSource, folder: Path) -> Kind:
    encoder.base, encoder.license, encoder.languages = source.base, read_license(folder), read_languages(folder)
    return encoder


def _refuse_pair_scorers(source: ModelSource, folder: Path, *, poly: bool = True) -> None:
    if is_cross_encoder_folder(folder):
        kind, what = "cross", _("{name} is a cross-encoder, which encodes pairs jointly and has no vectors", name=source.name)
    elif poly and is_poly_encoder_folder(folder):
        kind, what = (
            "poly",
            _("{name} is a poly-encoder, which compares several vectors of a query with one of a candidate", name=source.name),
        )
    else:
        return
    raise StudioError(what, _("use it for re-ranking or in Evaluate; to fine-tune it further, choose the architecture {kind}", kind=kind))
