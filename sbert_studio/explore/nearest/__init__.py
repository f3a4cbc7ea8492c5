"""The nearest rows by cosine: exactly, or in cells where there are many."""
