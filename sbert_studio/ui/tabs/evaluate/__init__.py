"""Evaluate: models compared on the same rows, the leaderboard, and the differences between two models."""
