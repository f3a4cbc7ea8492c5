"""Models: all models and runs with their details and actions, and training of static embeddings."""
