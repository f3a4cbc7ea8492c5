"""What a model's similarity says of a table."""
