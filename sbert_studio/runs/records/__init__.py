"""The memory of all runs: the database, and its mirror in files."""
