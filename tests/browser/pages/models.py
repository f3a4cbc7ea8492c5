"""The Models tab."""

from __future__ import annotations

from .tab import Tab


class ModelsTab(Tab):
    title = "Models"
