"""OpenAI-compatible server of embeddings and re-ranking."""
