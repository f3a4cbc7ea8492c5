"""The Fine-tune tab."""

from __future__ import annotations

from .tab import Tab


class FineTuneTab(Tab):
    title = "Fine-tune"
