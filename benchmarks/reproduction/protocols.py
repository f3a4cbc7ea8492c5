"""Sentence-BERT's section 4.3: argument facets in ten folds and across topics, and the same protocols on pairs of three genres."""

from __future__ import annotations

from .rows import FOLDS, Row

SECTION = "folds"
_TRAIN = (
    "train {file} --objective cosine {folds} --epochs 1 --batch-size 16 --lr 2e-5 --set blend=no --set soup=1 --set accept_alarm=both "
    "--seed SEED --out OUT"
)
_TEN, _ACROSS = "--folds 10", "--folds 3 --group topic --set by_group=yes"
_SMALL = "1 epoch, so that nothing is chosen by the held-out rows; MiniLM stands in for BERT base"
_GENRES = (
    f"750 pairs of SemEval-2014's headlines, images and glosses (OnWN) stand in for 6,000 of three topics; a fold of ten "
    f"mixes genres, so that the gains compare and not the figures; {_SMALL}"
)
_ORIGINAL = "the set Argument Facet Similarity (Misra et al. 2016) in DATA/afs"


def _row(name: str, title: str, folds: str, paper: float, *, original: bool, minutes: float) -> Row:
    file = "DATA/afs" if original else "WORK/sts14-topics.csv"
    return Row(
        name, title, SECTION, (_TRAIN.format(file=file, folds=folds),), paper={"spearman": paper}, why=_SMALL if original else _GENRES,
        sets=FOLDS, minutes=minutes, prepared=() if original else ("sts14-topics.csv",), network="minilm-untuned",
        original=_ORIGINAL if original else "",
    )  # fmt: skip


ROWS = (
    _row("facets-folds", "argument facets, 10 folds", _TEN, 0.7413, original=True, minutes=40),
    _row("facets-topics", "argument facets, across topics", _ACROSS, 0.5065, original=True, minutes=10),
    _row("genres-folds", "three genres, 10 folds", _TEN, 0.7413, original=False, minutes=5),
    _row("genres-topics", "three genres, each judged by what learned from the two others", _ACROSS, 0.5065, original=False, minutes=2),
)
