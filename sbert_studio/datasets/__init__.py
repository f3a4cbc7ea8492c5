"""Public benchmarks: file layouts, dataset search in folders, and the evaluation suites of the literature."""
