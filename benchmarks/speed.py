"""Measure our speed and sentence-transformers', by turns (A B A B) in one run, on the same work. A ratio above 1: ours is faster.

    python benchmarks/speed.py encode|search|startup|train|memory [--data FILE] [--repeats 2] [--precision float32,bfloat16,int8] [--json]

encode   texts a second, both models loaded and warm
search   exact queries a second, one at a time, for the ten nearest among given vectors
startup  seconds of a new process until two texts are encoded
train    pairs a second of cosine regression on scored pairs, between the loaded model and the trained one on disk
memory   peak MiB of a process that trains, with Python, the libraries and the model; a process for each side and round

Without --data: the samples that come with the program (search: random vectors). Prints one line a value, or with --json one object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timing import Comparison, Round, compare, import_peer, rate, run_speed, seconds

from sbert_studio.errors import StudioError

if TYPE_CHECKING:
    import numpy as np

    from sbert_studio.data.examples import Examples
    from sbert_studio.models.catalog import Catalog
    from sbert_studio.models.sentence_encoder import SentenceEncoder

PEER = "sentence-transformers"
_QUERIES, _VECTORS, _DIMENSION = 50, 100_000, 384
# The peer is measured in the batch size that is its fastest on a sample of the texts.
_BATCH_SIZES, _GPU_BATCH_SIZES, _TRIAL_TEXTS = (16, 32, 64, 128), (64, 128, 256, 512, 1_024, 2_048), 1_000
_WARMUP, _WEIGHT_DECAY, _MAX_GRADIENT_NORM = 0.1, 0.01, 1.0


@dataclass(frozen=True)
class Setup:
    """The options of the command line, and the models they name."""

    options: argparse.Namespace
    catalog: Catalog
    default_model: str

    @property
    def precisions(self) -> list[str]:
        """Our precisions, in the order given."""
        return [part.strip() for part in self.options.precision.split(",") if part.strip()] or ["float32"]

    @property
    def model_name(self) -> str:
        return self.options.model or self.default_model

    def model_folder(self) -> Path:
        """Return the folder that both sides load the model from.

        Raises:
            StudioError: its files are not on this machine, or it has none.
        """
        source = self.catalog.resolve(self.model_name)
        if source.kind == "foreign":
            raise StudioError(f"{self.model_name} has no folder that both sides could load", "choose another model")
        if source.path is None:
            raise StudioError(f"{self.model_name} is not on this machine", "use a bundled model, a run or a folder")
        return source.path

    def texts(self) -> list[str]:
        """Return the distinct texts of every text column of the file, or of the samples.

        Raises:
            StudioError: there are none.
        """
        from sbert_studio.data.corpus import find_text_columns
        from sbert_studio.data.loading.table import read_table
        from sbert_studio.data.samples import list_samples

        tables = [read_table(path) for path in ([self.options.data] if self.options.data else [one.path for one in list_samples()])]
        cells = (text for table in tables for column in find_text_columns(table) for text in table.column(column) if text.strip())
        texts = list(dict.fromkeys(cells))[: self.options.limit]
        if not texts:
            raise StudioError("there are no texts to encode", "name a file with a column of texts")
        return texts

    def pairs(self, path: Path | None, limit: int | None) -> Examples:
        """Return the scored pairs of a file, or of the samples; at most ``limit``, at even distances, since files are often sorted.

        Raises:
            StudioError: they have no scores.
        """
        from sbert_studio.data.examples import build_examples
        from sbert_studio.data.loading.table import read_table
        from sbert_studio.data.samples import get_sample
        from sbert_studio.data.schema.inference import infer_roles

        table = read_table(path or get_sample("scored_pairs").path)
        examples, _ = build_examples(table, infer_roles(table))
        if examples.kind != "scored_pairs":
            raise StudioError(f"{table.name} holds {examples.kind.replace('_', ' ')}", "name a file of pairs with a score")
        count = min(len(examples), limit or len(examples))
        return examples.take([place * len(examples) // count for place in range(count)])


def measure_encode(setup: Setup, progress: Callable[[int, int], None]) -> Comparison:
    """Compare texts a second; facts: least cosine with the peer's float32 vectors, the peer's batch size, tokens, operations a token."""
    import numpy as np

    options, texts, folder = setup.options, setup.texts(), setup.model_folder()
    device, library = setup.catalog.device, import_peer()
    peer = library.SentenceTransformer(str(folder), device=str(device), model_kwargs={"dtype": options.peer_precision})
    vectors: dict[str, np.ndarray] = {}

    def ours(precision: str) -> Round:
        encoder = setup.catalog.load(setup.model_name, precision)
        encoder.encode(texts[:64])
        return lambda _turn: rate(len(texts), lambda: vectors.update({precision: encoder.encode(texts)}))

    def encode_by_peer(some: list[str], batch_size: int) -> np.ndarray:
        return np.asarray(peer.encode(some, batch_size=batch_size, show_progress_bar=False))

    encode_by_peer(texts[:64], 64)
    is_gpu = device.type == "cuda"
    trial = texts if is_gpu else texts[:: -(-len(texts) // _TRIAL_TEXTS)]
    best = max(_GPU_BATCH_SIZES if is_gpu else _BATCH_SIZES, key=lambda size: rate(len(trial), lambda: encode_by_peer(trial, size)))

    def theirs(_turn: int) -> float:
        return rate(len(texts), lambda: vectors.update(peer=encode_by_peer(texts, best)))

    contestants = {**{precision: ours(precision) for precision in setup.precisions}, "peer": theirs}
    measured = compare("encode", "texts/s", contestants, options.repeats, progress=progress)
    if options.peer_precision == "float32":
        exact = vectors.pop("peer")
    else:
        peer = library.SentenceTransformer(str(folder), device=str(device))
        exact = encode_by_peer(texts, best)
    cosines = {name: _least_cosine(own, exact) for name, own in vectors.items()}
    facts = {"model": setup.model_name, "texts": len(texts), "peer_batch": best, "min_cosine": cosines}
    return replace(measured, facts=facts | count_operations(setup.catalog.load_trainable(setup.model_name), texts))


def _least_cosine(left: np.ndarray, right: np.ndarray) -> float:
    from sbert_studio.evaluation.encoding import pairwise_measures

    return float(pairwise_measures(left, right)["cosine"].min())


def count_operations(encoder: SentenceEncoder, texts: Sequence[str]) -> dict[str, int]:
    """Count the tokens of ``texts`` and the operations a token: a multiplication and an addition for each weight of a linear layer.

    Attention's own products, which grow with a text's length, are left out; they are a few per cent for short texts.
    """
    from torch import nn

    pooler = getattr(encoder.backbone, "pooler", None)
    unused = set() if pooler is None else {id(module) for module in pooler.modules()}
    linear = [module for module in encoder.backbone.modules() if isinstance(module, nn.Linear) and id(module) not in unused]
    return {
        "tokens": sum(len(row) for row in encoder.tokenize(texts)),
        "operations": 2 * sum(layer.weight.numel() for layer in linear),
    }


def measure_search(setup: Setup, progress: Callable[[int, int], None]) -> Comparison:
    """Compare exact queries a second."""
    import numpy as np

    from sbert_studio.explore.search import SemanticIndex
    from sbert_studio.models.similarity import unit

    options = setup.options
    if options.data:
        vectors = unit(setup.catalog.load(setup.model_name).encode(setup.texts()))
    else:
        vectors = unit(np.random.default_rng(12).standard_normal((options.limit or _VECTORS, _DIMENSION), dtype=np.float32))
    queries = vectors[:: max(1, len(vectors) // _QUERIES)][:_QUERIES]
    util, index = import_peer().util, SemanticIndex(vectors)
    best: dict[str, list[int]] = {}

    def search_ours() -> None:
        best["ours"] = [index.search(query, 10)[0].row for query in queries]

    def search_theirs() -> None:
        hits = [util.semantic_search(query[None], vectors, top_k=10, score_function=util.dot_score)[0] for query in queries]
        best["peer"] = [first["corpus_id"] for first, *_ in hits]

    contestants = {name: _rated(len(queries), once) for name, once in (("ours", search_ours), ("peer", search_theirs))}
    measured = compare("search", "queries/s", contestants, options.repeats, progress=progress)
    return replace(measured, facts={"vectors": len(vectors), "dim": int(vectors.shape[1]), "same_best": best["ours"] == best["peer"]})


def _rated(amount: int, once: Callable[[], None]) -> Round:
    return lambda _turn: rate(amount, once)


_OURS = "from sbert_studio.services import Studio; Studio(allow_folders=True).explore.similarity('one text', 'another', {model!r})"
_THEIRS = "from sentence_transformers import SentenceTransformer; SentenceTransformer({folder!r}).encode(['one text', 'another'])"


def measure_startup(setup: Setup, progress: Callable[[int, int], None]) -> Comparison:
    """Compare the seconds of a new process, imports and loading included."""
    import_peer()

    def start(code: str) -> Round:
        return lambda _turn: seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True, capture_output=True))

    contestants = {"ours": start(_OURS.format(model=setup.model_name)), "peer": start(_THEIRS.format(folder=str(setup.model_folder())))}
    measured = compare("startup", "seconds", contestants, setup.options.repeats, smaller_is_faster=True, progress=progress)
    return replace(measured, facts={"model": setup.model_name})


def measure_train(setup: Setup, progress: Callable[[int, int], None]) -> Comparison:
    """Compare pairs a second of training, tokenizing and writing the model and the last checkpoint (without optimizer) included.

    Round i uses seed ``--seed`` + i. With ``--test``, both sides' models are evaluated on it by our code.
    """
    options = setup.options
    examples = setup.pairs(options.data, options.limit)
    trainers = Trainers(setup, setup.model_folder(), examples, None if options.test is None else setup.pairs(options.test, None))
    if options.only:
        once = trainers.theirs() if options.only == "peer" else trainers.ours(options.only)
        value = once(0)
        return Comparison("train", "pairs/s", value, value)
    contestants = {**{precision: trainers.ours(precision) for precision in setup.precisions}, "peer": trainers.theirs()}
    measured = compare("train", "pairs/s", contestants, options.repeats, progress=progress)
    facts: dict[str, Any] = {"model": setup.model_name, "pairs": len(examples)}
    facts |= {"batch_size": options.batch_size, "epochs": options.epochs}
    facts |= count_operations(setup.catalog.load_trainable(setup.model_name), [text for column in examples.texts for text in column])
    if trainers.test is not None:
        facts["test_spearman"] = {side: {"mean": statistics.fmean(values), "each": values} for side, values in trainers.scores.items()}
    return replace(measured, facts=facts)


@dataclass(frozen=True)
class Trainers:
    """Both sides' training rounds, with the same pairs, loss, batch size, learning rate and number of steps.

    Attributes:
        folder: the model that each round starts from.
        examples: pairs to train on; test: pairs to evaluate on, if any.
        scores: Spearman's correlations on ``test`` by side, one a round.
    """

    setup: Setup
    folder: Path
    examples: Examples
    test: Examples | None
    scores: dict[str, list[float]] = field(default_factory=dict)

    def ours(self, precision: str) -> Round:
        from sbert_studio.evaluation.evaluate import evaluate_examples, main_score
        from sbert_studio.training.spec import TrainSpec
        from sbert_studio.training.trainer import train

        options, catalog, model = self.setup.options, self.setup.catalog, self.setup.model_name
        spec = TrainSpec(
            model=model,
            loss="cosine",
            epochs=options.epochs,
            batch_size=options.batch_size,
            learning_rate=options.lr,
            warmup_ratio=_WARMUP,
            weight_decay=_WEIGHT_DECAY,
            max_grad_norm=_MAX_GRADIENT_NORM,
            precision=precision,
            dev_fraction=0.0,
        )

        def once(turn: int) -> float:
            encoder, seeded = catalog.load_trainable(model), spec.replace(seed=options.seed + turn)
            with tempfile.TemporaryDirectory(prefix="sbert-studio-speed-") as scratch:
                speed = self._rate(
                    lambda: train(seeded, self.examples, lambda _event: None, lambda: False, encoder=encoder, folder=Path(scratch))
                )
            if self.test is not None:
                self.scores.setdefault(precision, []).append(main_score(evaluate_examples(encoder, self.test))[1])
            return speed

        return once

    def theirs(self) -> Round:
        options, library, device = self.setup.options, import_peer(), str(self.setup.catalog.device)
        left, right = self.examples.texts
        assert self.examples.targets is not None
        columns = {"sentence1": list(left), "sentence2": list(right), "score": self.examples.targets.tolist()}
        data = import_peer("datasets").Dataset.from_dict(columns)

        def once(turn: int) -> float:
            model = library.SentenceTransformer(str(self.folder), device=device)
            with tempfile.TemporaryDirectory(prefix="sbert-studio-speed-") as scratch:
                arguments = library.SentenceTransformerTrainingArguments(
                    output_dir=scratch,
                    num_train_epochs=options.epochs,
                    per_device_train_batch_size=options.batch_size,
                    learning_rate=options.lr,
                    warmup_steps=_WARMUP,  # below 1 it is a fraction of all steps
                    weight_decay=_WEIGHT_DECAY,
                    max_grad_norm=_MAX_GRADIENT_NORM,
                    seed=options.seed + turn,
                    save_strategy="epoch",
                    save_total_limit=1,
                    save_only_model=True,
                    logging_strategy="no",
                    report_to="none",
                    disable_tqdm=True,
                    use_cpu=device == "cpu",
                    bf16=options.peer_precision == "bfloat16",
                    dataloader_pin_memory=device != "cpu",
                )
                loss = import_peer("sentence_transformers.losses").CosineSimilarityLoss(model)
                trainer = library.SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=loss)
                speed = self._rate(lambda: (trainer.train(), model.save_pretrained(f"{scratch}/model")))
            if self.test is not None:
                self.scores.setdefault("peer", []).append(_evaluate_peer(model, self.test))
            return speed

        return once

    def _rate(self, once: Callable[[], object]) -> float:
        return rate(len(self.examples) * self.setup.options.epochs, once)


def measure_memory(setup: Setup, progress: Callable[[int, int], None]) -> Comparison:
    """Compare the peak memory of training processes; the ratio is the peer's divided by ours."""
    options = setup.options
    chosen = {"data": options.data, "limit": options.limit, "batch-size": options.batch_size, "epochs": options.epochs}
    chosen |= {"peer-precision": options.peer_precision, "model": options.model}
    arguments = [word for name, value in chosen.items() if value is not None for word in (f"--{name}", value)]

    def train_alone(side: str) -> Round:
        return lambda _turn: float(run_speed("train", *arguments, "--only", side)["peak_bytes"] / 2**20)

    contestants = {side: train_alone(side) for side in (*setup.precisions, "peer")}
    return compare("memory", "MiB", contestants, options.repeats, smaller_is_faster=True, progress=progress)


def _evaluate_peer(model: Any, test: Examples) -> float:
    from sbert_studio.evaluation.tasks.sts import evaluate_sts

    left, right = (model.encode(list(column), show_progress_bar=False) for column in test.texts)
    assert test.targets is not None
    return float(evaluate_sts(left, right, test.targets).scores["cosine"]["spearman"])


TASKS = {"encode": measure_encode, "search": measure_search, "startup": measure_startup, "train": measure_train, "memory": measure_memory}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="speed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=list(TASKS))
    parser.add_argument("--peer", choices=[PEER], default=PEER, help="library to compare with")
    parser.add_argument("--data", type=Path, metavar="FILE", help="texts, or pairs with a score; default: the samples")
    parser.add_argument("--test", type=Path, metavar="FILE", help="train: evaluate both sides' models on these scored pairs")
    parser.add_argument("--limit", type=int, help="use at most this many rows")
    parser.add_argument("--repeats", type=int, default=2, help="rounds of each side; train takes the next seed each time (%(default)s)")
    parser.add_argument("--precision", default="float32", help="ours, or several separated by commas (%(default)s)")
    parser.add_argument("--peer-precision", choices=["float32", "bfloat16"], default="float32", help="the peer's (%(default)s)")
    parser.add_argument("--batch-size", type=int, default=16, help="train: rows a step, on both sides (%(default)s)")
    parser.add_argument("--epochs", type=float, default=1.0, help="train: passes over the rows, on both sides (%(default)s)")
    parser.add_argument("--lr", type=float, default=2e-5, help="train: highest learning rate, on both sides (%(default)s)")
    parser.add_argument("--seed", type=int, default=12, help="train: seed of the first round (%(default)s)")
    parser.add_argument("--only", metavar="SIDE", help="train: one round of one side, a precision or peer")
    parser.add_argument("--model", help="bundled name, run id or folder; default: the default model")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one task; return 0, or 2 where the data or the model do not fit."""
    options = _parser().parse_args(arguments)
    try:
        measured = measure(options)
    except StudioError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    answer = measured.to_json()
    print(json.dumps(answer) if options.json else "\n".join(f"{name:15} {value}" for name, value in answer.items()))
    return 0


def measure(options: argparse.Namespace) -> Comparison:
    """Measure the task that ``options`` name; whatever libraries print goes to stderr.

    Raises:
        StudioError: the peer is not installed, or the data or the model do not fit.
    """
    from sbert_studio.services import Studio

    def show(done: int, total: int) -> None:
        print(f"{options.task}: {done} of {total} rounds", file=sys.stderr, flush=True)

    with redirect_stdout(sys.stderr), Studio(allow_folders=True) as studio:
        return TASKS[options.task](Setup(options, studio.catalog, studio.settings.default_model), show)


if __name__ == "__main__":
    sys.exit(main())
