"""Rows beyond one file or machine: shards of Parquet, carried out by an engine, each kept whole or not at all."""
