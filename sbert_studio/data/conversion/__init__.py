"""Examples of one kind made into another."""
