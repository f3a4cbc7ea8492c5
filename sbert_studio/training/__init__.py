"""Examples become a better encoder."""
