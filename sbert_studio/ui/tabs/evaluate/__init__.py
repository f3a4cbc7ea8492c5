"""Evaluate: comparison of models on the same rows, leaderboard, and differences between two models."""
