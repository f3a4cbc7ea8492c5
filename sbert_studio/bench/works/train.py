"""The training bench: the same pairs, objective, batch size, rate and number of steps by our trainer and by the peer's."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError
from ..base import BENCHMARKS, Bench, Benchmark
from ..costs import cost_of
from ..duel import Duel, Round, duel, peer_library

if TYPE_CHECKING:
    from ...data.examples import Examples
    from ...data.progress import Progress

_WARMUP, _DECAY, _LONGEST_GRADIENT = 0.1, 0.01, 1.0


@BENCHMARKS.register("train")
class Train(Benchmark):
    """Pairs a second of cosine regression on scored pairs, everything between the loaded model and the trained one on disk counted.

    Both sides tokenise, train, and write the model's folder and the last checkpoint, the latter without an optimiser, for which nothing
    is left to do. Round ``i`` uses seed ``options.seed + i``. A limit takes rows at even distances, since files are often sorted and the
    first rows short. With ``options.test``, both sides' models are judged by the same code.
    """

    def measure(self, bench: Bench, progress: Progress | None) -> Duel:
        """See :meth:`Benchmark.measure`."""
        options = bench.options
        name, folder = bench.model()
        examples = pairs_of(bench, options.data, options.limit)
        match = Match(bench, name, folder, examples, None if options.test is None else pairs_of(bench, options.test, None))
        contestants = {**{precision: match.ours(precision) for precision in options.precisions}, "peer": match.theirs()}
        found = duel("train", "pairs/s", contestants, options.repeats, progress=progress)
        facts: dict[str, Any] = {"model": name, "pairs": len(examples), "batch_size": options.batch_size, "epochs": options.epochs}
        facts |= cost_of(bench.catalog.load_fresh(name), [text for column in examples.texts for text in column])
        if match.test is not None:
            facts["test_spearman"] = {side: {"mean": statistics.fmean(values), "each": values} for side, values in match.scores.items()}
        return replace(found, facts=facts)


@dataclass(frozen=True)
class Match:
    """Both sides' rounds: what they train on, and the test scores of what they trained.

    Attributes:
        name, folder: of the model that each round starts from.
        examples: scored pairs; test: those on which the trained models are judged, if any.
        scores: by side, a Spearman correlation a round.
    """

    bench: Bench
    name: str
    folder: Path
    examples: Examples
    test: Examples | None
    scores: dict[str, list[float]] = field(default_factory=dict)

    def ours(self, precision: str) -> Round:
        """Our trainer in one precision."""
        from ...evaluation.evaluate import evaluate_examples, main_score
        from ...training.spec import TrainSpec
        from ...training.trainer import train

        options = self.bench.options
        spec = TrainSpec(
            model=self.name,
            objective="cosine",
            epochs=options.epochs,
            batch_size=options.batch_size,
            learning_rate=options.learning_rate,
            warmup_ratio=_WARMUP,
            weight_decay=_DECAY,
            max_grad_norm=_LONGEST_GRADIENT,
            precision=precision,
            dev_fraction=0.0,
        )

        def once(turn: int) -> float:
            encoder = self.bench.catalog.load_fresh(self.name)
            with tempfile.TemporaryDirectory(prefix="sbert-studio-bench-") as scratch:
                seeded = spec.replace(seed=options.seed + turn)
                speed = self._rate(
                    lambda: train(seeded, self.examples, lambda _event: None, lambda: False, encoder=encoder, folder=Path(scratch))
                )
            if self.test is not None:
                self.scores.setdefault(precision, []).append(main_score(evaluate_examples(encoder, self.test))[1])
            return speed

        return once

    def theirs(self) -> Round:
        """The peer's trainer."""
        options, library, device = self.bench.options, peer_library(), str(self.bench.catalog.device)
        data = peer_library("datasets").Dataset.from_dict(_columns(self.examples))

        def once(turn: int) -> float:
            model = library.SentenceTransformer(str(self.folder), device=device)
            with tempfile.TemporaryDirectory(prefix="sbert-studio-bench-") as scratch:
                arguments = library.SentenceTransformerTrainingArguments(
                    output_dir=scratch,
                    num_train_epochs=options.epochs,
                    per_device_train_batch_size=options.batch_size,
                    learning_rate=options.learning_rate,
                    warmup_steps=_WARMUP,  # below 1 it is a part of all steps
                    weight_decay=_DECAY,
                    max_grad_norm=_LONGEST_GRADIENT,
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
                loss = peer_library("sentence_transformers.losses").CosineSimilarityLoss(model)
                trainer = library.SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=loss)
                speed = self._rate(lambda: (trainer.train(), model.save_pretrained(f"{scratch}/model")))
            if self.test is not None:
                self.scores.setdefault("peer", []).append(_judge(model, self.test))
            return speed

        return once

    def _rate(self, once: Callable[[], object]) -> float:
        start = time.perf_counter()
        once()
        return len(self.examples) * self.bench.options.epochs / (time.perf_counter() - start)


def pairs_of(bench: Bench, path: Path | None, limit: int | None) -> Examples:
    """The scored pairs of a file, or of the bundled samples, ``limit`` of them at most, at even distances.

    Raises:
        StudioError: they have no scores.
    """
    from ...data.examples import build_examples, detect_roles
    from ...data.samples import sample

    table = bench.table(path or sample("scored_pairs").path)
    examples, _ = build_examples(table, detect_roles(table))
    if examples.kind != "scored_pairs":
        raise StudioError(f"{table.name} holds {examples.kind.replace('_', ' ')}", "the training bench needs pairs with a score")
    count = min(len(examples), limit or len(examples))
    return examples.take([place * len(examples) // count for place in range(count)])


def _judge(model: Any, test: Examples) -> float:
    """The peer's model by our own measure."""
    from ...evaluation.tasks.sts import evaluate_sts

    left, right = (model.encode(list(column), show_progress_bar=False) for column in test.texts)
    assert test.targets is not None
    return float(evaluate_sts(left, right, test.targets).scores["cosine"]["spearman"])


def _columns(examples: Examples) -> Mapping[str, list[Any]]:
    assert examples.targets is not None
    left, right = examples.texts
    return {"sentence1": list(left), "sentence2": list(right), "score": examples.targets.tolist()}
