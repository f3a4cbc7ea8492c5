"""Public benchmarks: their file layouts, searching folders for them, and the evaluation suites of the literature."""
