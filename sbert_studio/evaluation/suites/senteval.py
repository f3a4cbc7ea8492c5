"""The transfer sets by which SentEval compares sentence encoders (Conneau & Kiela 2018; table 5 of SBERT)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .base import SUITES, Part, Suite

if TYPE_CHECKING:
    from ...data.distributions import Split


class _Transfer(Suite):
    """Texts with a class in a file without a split, judged by ten folds."""

    task = "senteval"
    scale = None
    known_as: ClassVar[tuple[str, Split]] = ("", "all")


class _Split(_Transfer):
    """A set that is learned from its train split."""

    known_as = ("", "test")


@SUITES.register("MR")
class MovieReviews(_Transfer):
    """Sentiment of snippets."""

    title = "Movie reviews (Pang & Lee 2005), ten folds"
    folders = ("mr",)
    parts = (Part("MR", 10_662, stems=("rt-polarity",), common=("all", "data"), note="10,662 texts"),)


@SUITES.register("CR")
class CustomerReviews(_Transfer):
    """Sentiment towards products."""

    title = "Customer reviews (Hu & Liu 2004), ten folds"
    folders = ("cr",)
    parts = (Part("CR", 3_775, stems=("custrev",), common=("all", "data"), note="3,775 texts"),)


@SUITES.register("SUBJ")
class Subjectivity(_Transfer):
    """Opinions and plots."""

    title = "Subjectivity (Pang & Lee 2004), ten folds"
    folders = ("subj",)
    parts = (Part("SUBJ", 10_000, common=("all", "data"), note="10,000 texts"),)


@SUITES.register("MPQA")
class Opinions(_Transfer):
    """Polarity of phrases from the news."""

    title = "Opinion polarity (Wiebe et al. 2005), ten folds"
    folders = ("mpqa",)
    parts = (Part("MPQA", 10_606, common=("all", "data"), note="10,606 texts"),)


@SUITES.register("SST2")
class StanfordSentiment(_Split):
    """Its dev split chooses the penalty."""

    title = "Stanford sentiment of two classes, test (Socher et al. 2013)"
    folders = ("sst2", "sst-2", "binary")
    parts = (Part("SST2", 1_821, ("sst2-test",), ("test",), note="1,821 texts, and 67,349 of train beside them", learned=67_349),)


@SUITES.register("TREC")
class Questions(_Split):
    """Six types of questions."""

    title = "TREC question types, test (Li & Roth 2002)"
    folders = ("trec",)
    parts = (Part("TREC", 500, ("trec-test",), ("test",), note="500 texts, and 5,452 of train beside them", learned=5_452),)


@SUITES.register("MRPC")
class Paraphrases(_Split):
    """Pairs of sentences from the news."""

    title = "Microsoft Research paraphrases, test (Dolan & Brockett 2005)"
    folders = ("mrpc",)
    parts = (Part("MRPC", 1_725, ("mrpc-test",), ("test",), note="1,725 pairs, and 4,076 of train beside them", learned=4_076),)
    kind = "labelled_pairs"


@SUITES.register("SentEval")
class SentEval(Suite):
    """The seven whose average stands in the last column of the tables."""

    title = "All seven of SentEval's transfer sets, with their average"
    suites = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")
