"""Evaluate: comparison of models on the same rows, leaderboard, and differences between two models.

Compare models on a file, a public dataset or a benchmark suite (STS, SentEval), with confidence intervals and significance tests. Rank all
evaluated models on a leaderboard. Compare two models in detail: neighbors, pairs, categories and maps.
"""
