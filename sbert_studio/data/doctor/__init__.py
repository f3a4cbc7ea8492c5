"""Find problems in a training file and fix them."""
