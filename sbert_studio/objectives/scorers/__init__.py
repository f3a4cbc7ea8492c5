"""Losses of models that give a pair a score."""
