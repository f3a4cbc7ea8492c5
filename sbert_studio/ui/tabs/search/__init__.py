"""Search: find texts by meaning, by words or by both; and near-duplicates of a corpus."""
