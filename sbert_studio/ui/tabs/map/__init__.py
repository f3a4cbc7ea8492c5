"""Map: UMAP projection of the corpus with topics; selected texts can be labelled, removed, downloaded and used for training.

UMAP in 2-D or 3-D with named topics. Click a point or lasso a region: the selected texts appear in a list, where you can label,
download, remove or train on them. Color and filter by any column: numbers, dates, categories, lists and booleans. Export what the filters
show as CSV, XLSX, PNG or one HTML file.
"""
