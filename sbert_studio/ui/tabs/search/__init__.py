"""Search: semantic, lexical and hybrid search, and near-duplicates of a corpus."""
