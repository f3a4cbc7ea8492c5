"""The most similar pairs of a corpus (paraphrase mining): exact, or, of very many texts, by lists of texts that lie together."""
