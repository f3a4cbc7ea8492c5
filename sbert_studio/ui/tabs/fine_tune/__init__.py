"""Fine-tune: a file of examples, settings that fit it, and the run as it trains."""
