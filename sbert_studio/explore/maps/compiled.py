"""The compiled loops, kept on disk: beside their source or in a folder of ours, and what is damaged or cannot be written made anew."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def kernels(cache: Path) -> Any:
    """The module of the compiled loops; numba keeps their code beside it, or in ``cache`` where it may not write there."""
    keep_compiled(cache)
    from . import kernels as found

    return found


def keep_compiled(cache: Path, *packages: str) -> None:
    """Have numba keep what it compiles beside its source, here and in ``packages``, or in ``cache`` where it may not write there.

    Numba asks where as it meets the functions, so this must come before their import.
    """
    _choose_folder(cache, *packages)
    _only_a_cache()


def _choose_folder(cache: Path, *packages: str) -> None:
    import numba

    found = [spec for spec in map(find_spec, packages) if spec is not None]
    homes = [str(Path(__file__).parent), *(folder for spec in found for folder in spec.submodule_search_locations or ())]
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
