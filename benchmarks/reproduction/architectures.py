"""Humeau et al. 2020: a poly-encoder beside a bi-encoder and a cross-encoder, in accuracy and in the time of a query."""

from __future__ import annotations

from .rows import Row, Sets, stsb_training

SCORED, CANDIDATES, TIMES = "poly-scored", "poly-ranked", "poly-times"
SEEDS = (1, 2, 3)
TIMED = 1_000
"""Candidates that a query is scored against when its time is taken."""
_NLI = Sets("", "nli-candidates.csv", task="triplets", folder="WORK")
_STSB = "--epochs 1 --batch-size 16 --lr 2e-5 --set blend=no --set soup=1"
_RANK = "--set evaluation=split --epochs 1 --lr 2e-5 --set blend=no --set soup=1 --set accept_alarm=both --seed SEED --out OUT"
_POLY, _CROSS = "--set architecture=poly --set codes=16", "--set architecture=cross --set head=linear"
_UNREPORTED = "the paper has no scored pairs"
_NEW_HEAD = "its head begins at random, the vectors of the two others as they are"

_SCORED = (
    Row(
        "scored-bi", "STSb, bi-encoder", SCORED, (stsb_training(f"--loss cosine {_STSB}"),), why=_UNREPORTED, seeds=SEEDS, minutes=6,
        network="minilm-untuned",
    ),
    Row(
        "scored-poly", "STSb, poly-encoder, 16 codes", SCORED, (stsb_training(f"{_POLY} --loss cosine {_STSB}"),), why=_UNREPORTED,
        seeds=SEEDS, minutes=6,
    ),
    Row(
        "scored-cross", "STSb, cross-encoder", SCORED, (stsb_training(f"{_CROSS} --loss mse {_STSB}"),),
        why=f"{_UNREPORTED}; {_NEW_HEAD}", seeds=SEEDS, minutes=6, network="minilm-linear",
    ),
)  # fmt: skip


def _ranked(name: str, title: str, file: str, options: str, paper: float, why: str, network: str, minutes: float) -> Row:
    command = f"train WORK/{file} {options} {_RANK}"
    return Row(
        name, title, CANDIDATES, (command,), paper={"accuracy": paper}, why=why, sets=_NLI, seeds=SEEDS, minutes=minutes,
        prepared=(file, "nli-candidates.csv"), network=network,
    )  # fmt: skip


_WHY = "200 premises of SNLI, each with what it entails among 20, and 671 triplets to learn from; the paper's are ConvAI2's dialogues"
_RANKED = (
    Row(
        "ranked-untuned", "MiniLM, untuned", CANDIDATES, model="all-MiniLM-L6-v2", sets=_NLI, minutes=0.3, prepared=("nli-candidates.csv",),
        network="minilm-untuned",
    ),
    _ranked("ranked-bi", "bi-encoder", "nli-triplets.csv", "--loss in_batch --batch-size 32", 0.817, _WHY, "minilm-untuned", 2),
    _ranked(
        "ranked-poly", "poly-encoder, 16 codes", "nli-triplets.csv", f"{_POLY} --loss in_batch --batch-size 32", 0.832, _WHY,
        "scored-poly", 2,
    ),
    _ranked(
        "ranked-cross", "cross-encoder", "nli-pairs.csv", f"{_CROSS} --loss binary_cross_entropy --batch-size 16", 0.848,
        f"{_WHY}; {_NEW_HEAD}", "minilm-linear", 4,
    ),
)  # fmt: skip


def _timed(name: str, title: str, paper: float, *commands: str, why: str = "") -> Row:
    return Row(
        name, title, TIMES, commands, model="OUT" if commands else "all-MiniLM-L6-v2", paper={"milliseconds": paper}, sets=None,
        why=f"1 thread; MiniLM has a fifth of BERT base's weights{why}", candidates=TIMED,
    )  # fmt: skip


_SHORT = "; queries of some 12 words, the paper's are dialogues of several turns: less of the time is that of reading the query"
_TIMED = (
    _timed("timed-bi", "bi-encoder", 115),
    _timed("timed-poly", "poly-encoder, 16 codes", 122, stsb_training(f"{_POLY} --loss cosine {_STSB}"), why=_SHORT),
    _timed("timed-cross", "cross-encoder", 21_700, stsb_training(f"{_CROSS} --loss mse {_STSB}"), why=_SHORT),
)

ROWS = (*_SCORED, *_RANKED, *_TIMED)
