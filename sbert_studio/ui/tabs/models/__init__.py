"""Models: all models and runs with their details and actions, and training of static embeddings.

List all models and runs with their scores. Export any model for another program, verified, or train static embeddings.
"""
