"""Runs being carried out."""
