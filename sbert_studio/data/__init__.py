"""Text comes in: tables, corpora, training examples, and what is wrong with them."""
