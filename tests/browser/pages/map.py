"""The Map tab."""

from __future__ import annotations

from .tab import Tab


class MapTab(Tab):
    title = "Map"
