"""Sentences that are in both the training and the held-out file."""

from __future__ import annotations

import numpy as np

from ...findings import Finding, count, drop_rows
from ...splits.splitting import leaking
from .context import CheckContext


def leaks(patient: CheckContext) -> list[Finding]:
    """Training rows that hold a held-out text, so that the held-out score would flatter."""
    if patient.dev is None:
        return []
    rows = patient.rows(np.flatnonzero(leaking(patient.examples, patient.dev)))
    if not rows:
        return []
    message = f"{count(len(rows), 'row')} of {len(patient.examples):,} with a text that is in the held-out file too"
    return [Finding("warning", message, rows, drop_rows(rows) if len(rows) < len(patient.examples) else None)]
