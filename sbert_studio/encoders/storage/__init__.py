"""A model's folder: where it lies, what it holds, how it is read and written."""
