"""Alike texts become groups with a name."""
