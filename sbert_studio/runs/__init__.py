"""What was done and what is being done."""
