"""Map: the corpus laid out by UMAP, with clusters; selected texts can be labelled, removed, downloaded and trained on."""

from .view import ORDER, TITLE, build

__all__ = ["ORDER", "TITLE", "build"]
