"""Documents: files of text with headings, read safely, and cut into passages that fit a model."""
