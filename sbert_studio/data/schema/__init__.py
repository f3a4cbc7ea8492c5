"""Schema inference: what kind of examples a table holds, and which column plays which part."""
