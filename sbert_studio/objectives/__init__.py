"""Vectors and targets become a loss. An objective never holds an encoder."""
