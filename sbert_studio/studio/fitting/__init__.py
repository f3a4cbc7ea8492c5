"""Tables of words: made, kept, told of."""
