"""The two further sets of the SBERT paper: argument facets (section 4.3) and Wikipedia's sections (section 4.4)."""

from __future__ import annotations

from .base import SUITES, Part, Suite


@SUITES.register("AFS")
class ArgumentFacets(Suite):
    """Untuned: the paper's figures are of ten folds, and of each topic learned from the two others."""

    title = "Argument facet similarity, by topic (Misra et al. 2016)"
    folders = ("afs", "argument-facets")
    parts = (Part("AFS", 6_000, common=("all", "data")),)
    task = "topics"
    group = "topic"
    known_as = ("AFS", "all")


@SUITES.register("WikiSections")
class WikipediaSections(Suite):
    """Triplets, two sentences of which are of one section."""

    title = "Wikipedia section triplets, test (Ein Dor et al. 2018)"
    folders = ("wikisections", "wiki-sections", "wikipedia-sections")
    parts = (Part("WikiSections", 222_957, stems=("wikisections-test",), note="222,957 triplets"),)
    task = "triplets"
    scale = None
    known_as = ("Wikipedia sections", "test")
