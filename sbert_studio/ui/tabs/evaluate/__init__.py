"""Evaluate: comparison of models on the same rows, leaderboard, and differences between two models.

Compare models on a file, a public data set or a benchmark suite (STS, SentEval), with confidence intervals and significance tests; a
leaderboard; and what changed between two models: neighbors, pairs, categories and maps.
"""
