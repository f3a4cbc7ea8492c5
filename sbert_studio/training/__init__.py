"""Training: specification, advisor, trainer and evaluation during training."""

from __future__ import annotations
