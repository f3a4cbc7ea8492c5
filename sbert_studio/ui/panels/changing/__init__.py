"""Showing what changed from one model to another."""
