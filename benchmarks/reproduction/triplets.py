"""Sentence-BERT's section 4.4: the triplet loss on Wikipedia's sections, and the same protocol on sets that are at hand."""

from __future__ import annotations

from .rows import Row, Sets

SECTION = "triplets"
SEEDS = (1, 2, 3)
_NETWORK = "minilm-untuned"
_TRAIN = (
    "train WORK/{file} --objective triplet --set judge=split --epochs 1 --batch-size 16 --lr 2e-5 --set blend=no --set soup=1 "
    "--set accept_alarm=both --seed SEED --out OUT"
)
_PAPER = 0.8042  # SBERT base, on the sections' 222,957 test triplets
_WIKIPEDIA = "1,500 triplets of 1.8 million, judged on 1,000 of 222,957; MiniLM stands in for BERT base"
_EASY = "intents at random are easy to tell apart"


def _pair_of_rows(name: str, title: str, file: str, test: str, why: str, *, original: str = "") -> tuple[Row, Row]:
    """Return the row of the untuned model and that of the tuned one."""
    sets = Sets("", test, task="triplets", folder="WORK")
    untuned = Row(
        f"{name}-untuned", f"{title}, MiniLM untuned", SECTION, model="all-MiniLM-L6-v2", sets=sets, minutes=0.3, prepared=(test,),
        network=_NETWORK, original=original,
    )  # fmt: skip
    tuned = Row(
        name, f"{title}, triplet loss", SECTION, (_TRAIN.format(file=file),), paper={"accuracy": _PAPER}, why=why, sets=sets, seeds=SEEDS,
        minutes=4, prepared=(file, test), network=_NETWORK, original=original,
    )  # fmt: skip
    return untuned, tuned


ROWS = (
    *_pair_of_rows(
        "triplets-sections", "Wikipedia's sections", "wikisections-triplets.csv", "wikisections-triplets-test.csv", _WIKIPEDIA,
        original="the set Wikipedia sections (Ein Dor et al. 2018) in DATA/wikisections",
    ),
    *_pair_of_rows(
        "triplets-nli", "premise, entailed, contradicting (SNLI, SICK)", "nli-triplets.csv", "nli-triplets-test.csv",
        "stands in for Wikipedia's sections; 671 triplets to learn from, judged on SNLI's test rows",
    ),
    *_pair_of_rows(
        "triplets-trec", "TREC's question types", "trec-triplets.csv", "trec-triplets-test.csv",
        "stands in for Wikipedia's sections; 1,500 triplets, all of the six types are trained on",
    ),
    *_pair_of_rows(
        "triplets-banking77", "BANKING77's intents", "banking77-triplets.csv", "banking77-triplets-test.csv",
        f"stands in for Wikipedia's sections; 1,500 triplets, all of the 77 intents are trained on; {_EASY}",
    ),
    *_pair_of_rows(
        "triplets-banking77-unseen", "BANKING77, unseen intents", "banking77-some-triplets.csv", "banking77-unseen-triplets-test.csv",
        f"stands in for Wikipedia's sections, whose test articles are unseen: judged on 26 intents, trained on the 51 others; {_EASY}",
    ),
)  # fmt: skip
