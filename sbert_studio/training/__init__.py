"""Training: specification, automatic settings, trainer, and evaluation during training."""

from __future__ import annotations
