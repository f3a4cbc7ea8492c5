"""Training and held-out parts that share no sentence."""
