"""Files of every supported format, read into a table of text columns."""
