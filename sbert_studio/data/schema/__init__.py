"""Schema inference: the kind of examples in a table, and the role of each column."""
