"""Losses beside those of Sentence-BERT and CoSENT: AnglE, contrastive and online contrastive, and SimCSE."""

from __future__ import annotations

from .rows import MRPC, Row, stsb_training

CONTRASTIVE, SIMCSE = "contrastive", "simcse"
SEEDS = (1, 2, 3)
_NETWORK = "minilm-untuned"
_STSB = "--epochs 1 --batch-size 16 --lr 2e-5 --set blend=no --set soup=1"
_MRPC = (
    "train DATA/mrpc/train.csv --objective {options} --set judge=split --epochs 1 --batch-size 32 --lr 2e-5 --set blend=no --set soup=1 "
    "--set accept_alarm=both --seed SEED --out OUT"
)
_SMALL = "1 epoch of a smaller model that was tuned for sentences before; the paper tunes BERT base"
_UNREPORTED = "its source reports no figure for sentences"
_WEIGHTED = "--set cosine_weight=1 --set in_batch_weight=1"


def _stsb(name: str, title: str, options: str, paper: float | None, why: str, minutes: float = 6) -> Row:
    command = stsb_training(f"--objective {options} {_STSB}")
    return Row(name, title, CONTRASTIVE, (command,), paper=_paper(paper), why=why, seeds=SEEDS, minutes=minutes, network=_NETWORK)


def _mrpc(name: str, title: str, options: str, paper: float | None, why: str) -> Row:
    command = _MRPC.format(options=options)
    return Row(
        name, title, CONTRASTIVE, (command,), paper=_paper(paper), why=why, sets=MRPC, seeds=SEEDS, minutes=4, network=_NETWORK
    )  # fmt: skip


def _paper(spearman: float | None) -> dict[str, float]:
    return {} if spearman is None else {"spearman": spearman / 100}


_CONTRASTIVE = (
    _mrpc("mrpc-contrastive", "MRPC, contrastive (Hadsell et al. 2006)", "contrastive", None, _UNREPORTED),
    _mrpc("mrpc-online-contrastive", "MRPC, online contrastive", "online_contrastive", None, _UNREPORTED),
    _mrpc("mrpc-angle", "MRPC, AnglE, all three terms", f"angle {_WEIGHTED}", 62.20, _SMALL),
    _stsb("stsb-angle", "STSb, AnglE, the angle alone", "angle", None, "the paper's figure is of all three terms"),
    _stsb("stsb-angle-weighted", "STSb, AnglE, all three terms", f"angle {_WEIGHTED}", 86.26, _SMALL),
)


def _simcse(name: str, title: str, file: str, options: str, paper: float, why: str, minutes: float) -> Row:
    command = (
        f"train WORK/{file} {options} --batch-size 64 --set temperature=0.05 --set blend=no --set soup=1 --set accept_alarm=both "
        "--seed SEED --out OUT"
    )
    return Row(
        name, title, SIMCSE, (command,), paper=_paper(paper), why=why, seeds=SEEDS, minutes=minutes, prepared=(file,), network=_NETWORK
    )  # fmt: skip


_UNSUPERVISED = "--objective simcse --epochs 1 --lr 3e-5"
_SUPERVISED = "--objective simcse_supervised --set judge=split --epochs 1 --lr 5e-5"
_BEFORE = "MiniLM has learned from a billion pairs before, the paper's BERT from none: ours begins above where the paper ends"
_SIMCSE = (
    Row(
        "simcse-untuned", "MiniLM, untuned", SIMCSE, model="all-MiniLM-L6-v2", minutes=0.5, network=_NETWORK,
        why="tuned on a billion pairs by its makers",
    ),
    _simcse(
        "simcse-stsb", "unsupervised, sentences of STSb", "stsb-sentences.csv", _UNSUPERVISED, 76.85,
        f"4,800 sentences, the paper's are a million of Wikipedia; {_BEFORE}", 5,
    ),
    _simcse(
        "simcse-sick", "unsupervised, sentences of SICK", "sick-sentences.csv", _UNSUPERVISED, 76.85,
        f"4,800 sentences, the paper's are a million of Wikipedia; {_BEFORE}", 5,
    ),
    _simcse(
        "simcse-nli", "supervised, entailment and contradiction of SNLI and SICK", "nli-triplets.csv", _SUPERVISED, 84.25,
        "671 triplets and batches of 64, 1 epoch; the paper's are 276,000 in batches of 512, 3 epochs", 3,
    ),
)  # fmt: skip

ROWS = (*_CONTRASTIVE, *_SIMCSE)
