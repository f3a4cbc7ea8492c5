"""Models that give a pair of texts a score."""
