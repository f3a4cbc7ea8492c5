"""Exploration: search, mining, duplicates, maps, clusters and topics."""

from __future__ import annotations
