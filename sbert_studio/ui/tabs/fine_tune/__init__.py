"""Fine-tune: upload examples, review the settings, and follow the run."""
