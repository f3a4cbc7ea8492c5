"""Files whose values hold lists and objects: JSON, JSON lines and Parquet, spread to plain cells."""
