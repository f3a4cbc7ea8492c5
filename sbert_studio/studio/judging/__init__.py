"""What there is to judge by, the judging, and what is remembered of it."""
