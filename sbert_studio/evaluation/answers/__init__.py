"""What models say of each row, and where two of them differ."""
