"""The parts of the Similarity tab: two texts, their words, several sentences, a file of pairs."""
