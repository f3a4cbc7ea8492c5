"""Texts in batches through a network, with nothing computed that need not be."""
