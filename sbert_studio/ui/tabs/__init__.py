"""One file a tab: TITLE, ORDER, build(studio)."""
