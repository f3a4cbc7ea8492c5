"""The STS sets by which sentence encoders are compared: SemEval 2012 to 2016, the STS Benchmark, SICK-R (tables 1 and 2 of SBERT)."""

from __future__ import annotations

from .base import SUITES, Part, Suite


@SUITES.register("STS12")
class Sts12(Suite):
    """The two surprise sets, OnWN and SMTnews, among them."""

    title = "SemEval-2012 task 6 (Agirre et al. 2012)"
    folders = ("sts12", "sts2012", "STS12-en-test", "STS2012-test")
    parts = (
        Part("MSRpar", 750),
        Part("MSRvid", 750),
        Part("SMTeuroparl", 459),
        Part("OnWN", 750, stems=("surprise.OnWN",)),
        Part("SMTnews", 399, stems=("surprise.SMTnews",)),
    )


@SUITES.register("STS13")
class Sts13(Suite):
    """Without the SMT set, which needs a licence and is in none of the published averages of sentence encoders."""

    title = "SemEval shared task *SEM 2013 (Agirre et al. 2013), without SMT"
    folders = ("sts13", "sts2013", "STS13-en-test", "STS2013-test")
    parts = (Part("FNWN", 189), Part("headlines", 750), Part("OnWN", 561))


@SUITES.register("STS14")
class Sts14(Suite):
    """Six sets."""

    title = "SemEval-2014 task 10 (Agirre et al. 2014)"
    folders = ("sts14", "sts2014", "STS14-en-test", "STS2014-test")
    parts = (
        Part("deft-forum", 450),
        Part("deft-news", 300),
        Part("headlines", 750),
        Part("images", 750),
        Part("OnWN", 750),
        Part("tweet-news", 750),
    )


@SUITES.register("STS15")
class Sts15(Suite):
    """Five sets."""

    title = "SemEval-2015 task 2 (Agirre et al. 2015)"
    folders = ("sts15", "sts2015", "STS15-en-test", "STS2015-test")
    parts = (Part("answers-forums", 375), Part("answers-students", 750), Part("belief", 375), Part("headlines", 750), Part("images", 750))


@SUITES.register("STS16")
class Sts16(Suite):
    """Five sets."""

    title = "SemEval-2016 task 1 (Agirre et al. 2016)"
    folders = ("sts16", "sts2016", "STS16-en-test", "STS2016-test")
    parts = (
        Part("answer-answer", 254),
        Part("headlines", 249),
        Part("plagiarism", 230),
        Part("postediting", 244),
        Part("question-question", 209),
    )


@SUITES.register("STSb")
class StsBenchmark(Suite):
    """The test split."""

    title = "STS Benchmark, test (Cer et al. 2017)"
    folders = ("stsb", "stsbenchmark", "sts-b", "sts-benchmark")
    parts = (Part("sts-test", 1379, stems=("stsb-test", "stsbenchmark-test"), common=("test",)),)


@SUITES.register("SICK-R")
class SickRelatedness(Suite):
    """The relatedness of the test split; its trial split, a tenth as large, where there is no other."""

    title = "SICK relatedness, test (Marelli et al. 2014)"
    folders = ("sick", "sick-r", "sickr", "sick2014")
    parts = (
        Part(
            "SICK_test_annotated",
            4927,
            stems=("sick-test", "sick_test", "sickr-test"),
            common=("test",),
            instead=("trial", "SICK_trial", "dev"),
            note="published figures are of its 4,927 pairs",
        ),
    )
    scale = (1.0, 5.0)
    known_as = ("SICK", "test")


@SUITES.register("STS")
class Sts(Suite):
    """The seven whose average stands in the last column of the tables."""

    title = "All seven sets of similarity, with their average"
    suites = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSb", "SICK-R")
