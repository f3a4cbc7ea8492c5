"""The Evaluate tab."""

from __future__ import annotations

from .tab import Tab


class EvaluateTab(Tab):
    title = "Evaluate"
