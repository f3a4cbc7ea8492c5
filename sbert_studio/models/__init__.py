"""Models: sentence encoders, cross-encoders, poly-encoders and static embeddings."""
