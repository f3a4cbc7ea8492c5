"""UMAP's compiled code, kept on disk: all of it, each kind apart, and what is damaged or cannot be written made anew."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def keep_compiled_code(cache: Path) -> None:
    """Have numba keep what it compiles for umap: beside umap's own files, or in ``cache`` where it may not write there.

    Numba asks where as umap decorates its functions, so this must come before the import of umap.
    """
    _choose_folder(cache)
    _only_a_cache()
    _keep_all_of_umap()


def _choose_folder(cache: Path) -> None:
    import numba

    homes = [folder for name in ("umap", "pynndescent") for folder in (find_spec(name) or numba.__spec__).submodule_search_locations or ()]
    if not numba.config.CACHE_DIR and not all(os.access(folder, os.W_OK) for folder in homes):
        numba.config.CACHE_DIR = str(cache) if os.access(cache, os.W_OK) else tempfile.mkdtemp(prefix="sbert-studio-numba-")


@functools.cache
def _only_a_cache() -> None:
    """A file that cannot be read, as a crash or a full disk leaves it, is compiled anew, and one that cannot be written is not kept."""
    from numba.core.caching import IndexDataCacheFile

    load, save = IndexDataCacheFile.load, IndexDataCacheFile.save

    def load_or_none(self: Any, key: Any) -> Any:
        try:
            return load(self, key)
        except Exception:  # whatever unpickling comes to
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_or_not(self: Any, key: Any, data: Any) -> None:
        with contextlib.suppress(Exception):
            save(self, key, data)

    IndexDataCacheFile.load, IndexDataCacheFile.save = load_or_none, save_or_not


@functools.cache
def _keep_all_of_umap() -> None:
    """Keep what umap itself has compiled anew in each process, which takes six seconds of a core every time."""
    from numba.core.dispatcher import Dispatcher
    from umap import layouts, umap_

    for module in (umap_, layouts):
        for function in vars(module).values():
            if not isinstance(function, Dispatcher):
                continue
            # Numba's files are named after the Python function alone, which umap compiles in two ways: each needs a name of its own.
            plain, name = function.py_func, function.py_func.__qualname__
            plain.__qualname__ = f"{name}_parallel" if function.targetoptions.get("parallel") else name
            try:
                function.enable_caching()
            finally:
                plain.__qualname__ = name
