"""Evaluation: tasks, metrics, confidence intervals and comparisons."""

from __future__ import annotations
