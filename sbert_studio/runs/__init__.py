"""Training runs: their records, their execution and their export."""
