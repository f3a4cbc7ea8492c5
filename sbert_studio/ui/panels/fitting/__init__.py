"""Making word vectors on the page."""
