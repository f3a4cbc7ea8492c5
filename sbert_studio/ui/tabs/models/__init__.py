"""Models: all models and runs with their details and actions, and training of static embeddings.

List all models and runs with their scores. Download any model as a sentence-transformers folder, or train static embeddings.
"""
