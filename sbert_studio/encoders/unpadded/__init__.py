"""The tokens of a batch one behind the other, without padding: how a GPU computes with them."""
