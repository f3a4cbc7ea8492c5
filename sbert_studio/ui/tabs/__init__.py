"""Tabs: a module or a folder each, with TITLE, ORDER and build(studio, page)."""
