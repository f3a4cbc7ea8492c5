"""What the untuned model's similarity says of a table."""
