"""Sentence-BERT's experiments: Table 6 (pooling, concatenation, losses), sections 4.3 and 4.4, and Table 7 (speed on a CPU)."""

from __future__ import annotations

from .rows import FOLDS, HUB, HUB_GPU, Row, Sets, stsb_training

# Table 6, over seeds, on the STS Benchmark's dev set

POOLING, CONCATENATION, OBJECTIVE = "pooling", "concatenation", "loss"
SEEDS = (1, 2, 3)
_TRAIN_NLI = (
    "train WORK/nli.csv --dev DATA/stsb/dev.csv --loss softmax {options}--epochs 1 --batch-size 16 --lr 2e-5 --set probe=no "
    "--set blend=no --set soup=1 --set accept_alarm=both --seed SEED --out OUT"
)
_TRAIN_STSB = "--loss {loss} {options}--epochs 1 --batch-size 16 --lr 2e-5 --set blend=no --set soup=1"
_WHY_NLI = (
    "5,773 inference rows, the paper's are a million; on a model that was tuned for sentences before, which so few labels may unsettle"
)
_WHY_STSB = "1 epoch instead of 4, a smaller model, tuned for mean pooling before"


def _nli_row(name: str, title: str, section: str, options: str, paper: float) -> Row:
    return Row(
        name, title, section, (_TRAIN_NLI.format(options=options),), paper={"spearman": paper / 100}, why=_WHY_NLI, seeds=SEEDS, minutes=6,
        prepared=("nli.csv",), network=_network(name),
    )  # fmt: skip


def _stsb_row(name: str, title: str, section: str, loss: str, options: str = "", paper: float | None = None) -> Row:
    command = stsb_training(_TRAIN_STSB.format(loss=loss, options=options))
    figures = {} if paper is None else {"spearman": paper / 100}
    return Row(name, title, section, (command,), paper=figures, why=_WHY_STSB, seeds=SEEDS, minutes=6, network=_network(name))


def _network(name: str) -> str:
    """Return the row with the same network, which depends on the pooling only: the loss's head is not part of it."""
    way = name.rpartition("-")[2]
    if way not in ("max", "cls"):
        return "minilm-untuned"
    return "" if name == f"pooling-stsb-{way}" else f"pooling-stsb-{way}"


def _pooled(way: str) -> str:
    """Return no option for the mean, the default, so that a row that equals another one is run once."""
    return "" if way == "mean" else f"--set pooling={way} "


def _slug(way: str) -> str:
    return "-".join(_SLUGS[part] for part in way.split(","))


_CONCATENATIONS = {
    "u,v": 66.04, "|u-v|": 69.78, "u*v": 70.54, "|u-v|,u*v": 78.37, "u,v,u*v": 77.44, "u,v,|u-v|": 80.78, "u,v,|u-v|,u*v": 80.44,
}  # fmt: skip
_DEFAULT = "u,v,|u-v|"  # the default
_SLUGS = {"u": "u", "v": "v", "|u-v|": "difference", "u*v": "product"}
_LONG = "--epochs 4 --batch-size 16 --lr 2e-5 --set soup=1"
_POOLINGS = {"mean": (80.78, 87.44), "max": (79.07, 69.92), "cls": (79.80, 86.62)}

_ABLATIONS = (
    *(
        _nli_row(f"concat-{_slug(way)}", f"({way})", CONCATENATION, "" if way == _DEFAULT else f'--set concatenation="{way}" ', paper)
        for way, paper in _CONCATENATIONS.items()
    ),
    *(
        _nli_row(f"pooling-nli-{way}", f"{way.upper()}, NLI, classification", POOLING, _pooled(way), paper)
        for way, (paper, _) in _POOLINGS.items()
    ),
    *(
        _stsb_row(f"pooling-stsb-{way}", f"{way.upper()}, STSb, regression", POOLING, "cosine", _pooled(way), paper)
        for way, (_, paper) in _POOLINGS.items()
    ),
    *(
        Row(
            f"bert-pooling-stsb-{way}", f"{way.upper()}, STSb, regression, BERT base", POOLING,
            (stsb_training(f"--model google-bert/bert-base-uncased --loss cosine --set pooling={way} {_LONG}"),),
            paper={"spearman": paper / 100}, needs=HUB_GPU, seeds=tuple(range(1, 11)),
        )
        for way, (_, paper) in _POOLINGS.items()
    ),
    _nli_row("objective-classification", "classification (NLI)", OBJECTIVE, "", 80.78),
    _stsb_row("objective-regression", "regression (STSb, cosine)", OBJECTIVE, "cosine", paper=87.44),
    _stsb_row("objective-cosent", "CoSENT (STSb)", OBJECTIVE, "cosent"),
    _stsb_row("objective-both", "regression and CoSENT (STSb)", OBJECTIVE, "cosine+cosent"),
    Row(
        "objective-two-stages", "classification (NLI), then regression (STSb)", OBJECTIVE,
        (
            stsb_training(
                _TRAIN_STSB.format(loss="cosine", options=""),
                first="--first WORK/nli.csv --set first.loss=softmax --set first.epochs=1 --set first.probe=no ",
            ),
        ),
        why=_WHY_NLI, seeds=SEEDS, minutes=12, prepared=("nli.csv",), network="minilm-untuned",
    ),
)  # fmt: skip

# Section 4.4: the triplet loss on Wikipedia's sections, and the same protocol on sets that are available

TRIPLETS = "triplets"
_NETWORK = "minilm-untuned"
_TRAIN_TRIPLETS = (
    "train WORK/{file} --loss triplet --set evaluation=split --epochs 1 --batch-size 16 --lr 2e-5 --set blend=no --set soup=1 "
    "--set accept_alarm=both --seed SEED --out OUT"
)
_PAPER_TRIPLETS = 0.8042  # SBERT base, on the sections' 222,957 test triplets
_WHY_WIKIPEDIA = "1,500 triplets of 1.8 million, judged on 1,000 of 222,957; MiniLM stands in for BERT base"
_WHY_EASY = "intents at random are easy to tell apart"


def _triplet_rows(name: str, title: str, file: str, test: str, why: str, *, original: str = "") -> tuple[Row, Row]:
    """Return the row of the untuned model and that of the tuned one."""
    sets = Sets("", test, task="triplets", folder="WORK")
    untuned = Row(
        f"{name}-untuned", f"{title}, MiniLM untuned", TRIPLETS, model="all-MiniLM-L6-v2", sets=sets, minutes=0.3, prepared=(test,),
        network=_NETWORK, original=original,
    )  # fmt: skip
    tuned = Row(
        name, f"{title}, triplet loss", TRIPLETS, (_TRAIN_TRIPLETS.format(file=file),), paper={"accuracy": _PAPER_TRIPLETS}, why=why,
        sets=sets, seeds=SEEDS, minutes=4, prepared=(file, test), network=_NETWORK, original=original,
    )  # fmt: skip
    return untuned, tuned


_TRIPLETS = (
    *_triplet_rows(
        "triplets-sections", "Wikipedia's sections", "wikisections-triplets.csv", "wikisections-triplets-test.csv", _WHY_WIKIPEDIA,
        original="the set Wikipedia sections (Ein Dor et al. 2018) in DATA/wikisections",
    ),
    *_triplet_rows(
        "triplets-nli", "premise, entailed, contradicting (SNLI, SICK)", "nli-triplets.csv", "nli-triplets-test.csv",
        "stands in for Wikipedia's sections; 671 triplets to learn from, judged on SNLI's test rows",
    ),
    *_triplet_rows(
        "triplets-trec", "TREC's question types", "trec-triplets.csv", "trec-triplets-test.csv",
        "stands in for Wikipedia's sections; 1,500 triplets, all of the six types are trained on",
    ),
    *_triplet_rows(
        "triplets-banking77", "BANKING77's intents", "banking77-triplets.csv", "banking77-triplets-test.csv",
        f"stands in for Wikipedia's sections; 1,500 triplets, all of the 77 intents are trained on; {_WHY_EASY}",
    ),
    *_triplet_rows(
        "triplets-banking77-unseen", "BANKING77, unseen intents", "banking77-some-triplets.csv", "banking77-unseen-triplets-test.csv",
        f"stands in for Wikipedia's sections, whose test articles are unseen: judged on 26 intents, trained on the 51 others; {_WHY_EASY}",
    ),
)  # fmt: skip

# Section 4.3: argument facets in ten folds and across topics, and the same protocols on pairs of three genres

FOLDS_SECTION = "folds"
_TRAIN_FOLDS = (
    "train {file} --loss cosine {folds} --epochs 1 --batch-size 16 --lr 2e-5 --set blend=no --set soup=1 --set accept_alarm=both "
    "--seed SEED --out OUT"
)
_TEN_FOLDS, _ACROSS_TOPICS = "--folds 10", "--folds 3 --group topic --set by_group=yes"
_WHY_FOLDS = "1 epoch, so that nothing is chosen by the held-out rows; MiniLM stands in for BERT base"
_WHY_GENRES = (
    f"750 pairs of SemEval-2014's headlines, images and glosses (OnWN) stand in for 6,000 of three topics; a fold of ten "
    f"mixes genres, so that the gains compare and not the figures; {_WHY_FOLDS}"
)
_FACETS = "the set Argument Facet Similarity (Misra et al. 2016) in DATA/afs"


def _fold_row(name: str, title: str, folds: str, paper: float, *, original: bool, minutes: float) -> Row:
    file = "DATA/afs" if original else "WORK/sts14-topics.csv"
    return Row(
        name, title, FOLDS_SECTION, (_TRAIN_FOLDS.format(file=file, folds=folds),), paper={"spearman": paper},
        why=_WHY_FOLDS if original else _WHY_GENRES, sets=FOLDS, minutes=minutes, prepared=() if original else ("sts14-topics.csv",),
        network="minilm-untuned", original=_FACETS if original else "",
    )  # fmt: skip


_FOLDS = (
    _fold_row("facets-folds", "argument facets, 10 folds", _TEN_FOLDS, 0.7413, original=True, minutes=40),
    _fold_row("facets-topics", "argument facets, across topics", _ACROSS_TOPICS, 0.5065, original=True, minutes=10),
    _fold_row("genres-folds", "three genres, 10 folds", _TEN_FOLDS, 0.7413, original=False, minutes=5),
    _fold_row(
        "genres-topics", "three genres, each judged by what learned from the two others", _ACROSS_TOPICS, 0.5065, original=False, minutes=2
    ),
)

# Table 7: sentences a second on a CPU, with and without batches of similar length

BATCHING = "batching"
_WHY_SPEED = "2 cores; texts of the STS Benchmark, some 12 words each"

_WHY_MINILM = f"{_WHY_SPEED}; MiniLM stands in for BERT base and has a fifth of its weights"


def _speed_row(
    name: str,
    title: str,
    model: str,
    paper: float,
    *,
    is_length_sorted: bool = True,
    network: str = "",
    needs: str = "",
    why: str = _WHY_SPEED,
) -> Row:
    return Row(
        name, title, BATCHING, model=model, paper={"speed": paper}, why=why, sets=None, is_length_sorted=is_length_sorted,
        network=network, needs=needs,
    )  # fmt: skip


_BATCHING = (
    _speed_row("speed-glove", "Average GloVe", "glove-6B-50d", 6469, network="glove-pretrained"),
    _speed_row("speed-infersent", "InferSent", "WORK/infersent-12", 137, network="infersent"),
    _speed_row("speed-use", "Universal Sentence Encoder", "universal-sentence-encoder", 67, network="use"),
    _speed_row("speed-minilm", "MiniLM, in the order of the texts", "all-MiniLM-L6-v2", 44, is_length_sorted=False, why=_WHY_MINILM),
    _speed_row("speed-minilm-smart", "MiniLM, smart batching", "all-MiniLM-L6-v2", 83, network="minilm-untuned", why=_WHY_MINILM),
    _speed_row(
        "speed-sbert",
        "S-BERT base, in the order of the texts",
        "sentence-transformers/bert-base-nli-mean-tokens",
        44,
        is_length_sorted=False,
        needs=HUB,
    ),
    _speed_row("speed-sbert-smart", "S-BERT base, smart batching", "sentence-transformers/bert-base-nli-mean-tokens", 83, needs=HUB),
)

ROWS = (*_ABLATIONS, *_TRIPLETS, *_FOLDS, *_BATCHING)
