"""Models: all models and runs, what can be done with each, and training static embeddings."""
