"""Map: UMAP projection of the corpus with clusters; selected texts can be labelled, removed, downloaded and used for training."""
