"""Training runs: records, background execution and export."""
