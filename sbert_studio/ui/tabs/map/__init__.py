"""Map: the corpus laid out by UMAP, with clusters; selected texts can be labelled, removed, downloaded and trained on."""
