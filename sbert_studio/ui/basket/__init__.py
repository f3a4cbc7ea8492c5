"""The basket: labelled pairs that a visitor gathers in all tabs for training."""
