"""Gradio's import, without the type stubs that it compares with its sources, and writes beside them, each time it is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_HOME, _WRITES = "gradio.component_meta", "create_or_modify_pyi"


class WithoutStubs:
    """Finds the module of Gradio that writes ``.pyi`` files, and leaves out just that: 0.8 of the 2 seconds that its import takes.

    They are for editors; nothing reads them here. A release of Gradio that has no such function is imported as it is.
    """

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module as Python finds it; ``None`` for all others."""
        if name != _HOME:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def run(module: ModuleType) -> None:
                execute(module)
                if callable(getattr(module, _WRITES, None)):
                    setattr(module, _WRITES, _nothing)

            loader.exec_module = run
        return spec


def _nothing(*_given: object, **_named: object) -> None:
    """What is done instead of writing stubs; Gradio does not ask what becomes of it."""


def leave_out_stubs() -> None:
    """Have the import of Gradio, where it is still to come, write no stubs."""
    if _HOME not in sys.modules and not any(isinstance(finder, WithoutStubs) for finder in sys.meta_path):
        sys.meta_path.insert(0, WithoutStubs())
