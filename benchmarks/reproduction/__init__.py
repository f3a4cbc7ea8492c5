"""The systems of the literature, each trained and judged by the commands that a user would type; see ``benchmarks/reproduce.py``."""
