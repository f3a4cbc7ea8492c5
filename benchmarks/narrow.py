"""Ten narrow or noisy files, and five good small ones: does a default training ever leave a model that is worse than the untuned one?

    python benchmarks/narrow.py DATA [--quick]

DATA is the folder that benchmarks/figures.py describes, with sts13/ and sts14/ beside. Every file is cut from a public set, trained on by
`sbert-studio train FILE` with no other option (but `--as-read` where the table is asked about: scores in a random order look doubtful,
and shall), and judged on rows of its own that no training saw, with the true scores: untuned and tuned on the same bootstrap resamples.
Prints a Markdown table; the last line counts the files whose model is worse beyond chance. `--quick` takes few rows and one epoch, to see
that it runs.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import studio

from sbert_studio.data.examples import Examples, build_examples, detect_roles
from sbert_studio.data.samples import sample
from sbert_studio.data.splits.splitting import leaking
from sbert_studio.data.tables import read_table, write_csv
from sbert_studio.evaluation.bootstrap import paired_gain
from sbert_studio.evaluation.evaluate import evaluate_examples, main_score
from sbert_studio.evaluation.report import describe_run, verdict
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.workspace import Workspace

MODEL = "all-MiniLM-L6-v2"
_MOST_TEST = 1_000


@dataclass(frozen=True)
class Case:
    """A file to train on: columns of text, and what is written as the target; ``test`` holds the true ones."""

    name: str
    texts: tuple[tuple[str, ...], ...]
    targets: list[object]
    test: Examples


def cases(data: Path, quick: bool) -> Iterator[Case]:
    """The ten narrow ones, then the good ones."""
    rng = np.random.default_rng(12)
    stsb, stsb_test = read(data / "stsb/train.csv"), read(data / "stsb/test.csv")
    most = 40 if quick else 10**6

    def cut(name: str, source: Examples, rows: int, test: Examples | None = None, noise: float = 0.0) -> Case:
        order = rng.permutation(len(source))
        rows = min(rows, most)
        learned = source.take(np.sort(order[:rows]))
        unseen = source.take(np.sort(order[rows:])) if test is None else test
        unseen = unseen.take(np.flatnonzero(~leaking(unseen, learned)))
        unseen = unseen.take(np.sort(rng.permutation(len(unseen))[:_MOST_TEST]))
        assert learned.targets is not None
        targets = learned.targets.copy()
        wrong = np.flatnonzero(rng.random(rows) < noise)
        targets[wrong] = targets[rng.permutation(wrong)]
        written = [learned.labels[int(one)] for one in targets] if learned.labels else [round(float(one) * 5, 3) for one in targets]
        return Case(name, learned.texts, list(written), unseen)

    yield cut("300 pairs, scores shuffled", stsb, 300, stsb_test, noise=1.0)
    yield cut("400 pairs, half of the scores shuffled", stsb, 400, stsb_test, noise=0.5)
    yield cut("80 pairs", stsb, 80, stsb_test)
    yield cut("30 pairs", stsb, 30, stsb_test)
    yield cut("one genre: image captions", read(data / "sts14/images.csv"), 300)
    yield cut("one genre: forum posts", read(data / "sts14/deft-forum.csv"), 200)
    yield cut("one topic: headlines", read(data / "sts13/headlines.csv"), 300)
    alike = read(data / "sick/train.csv")
    assert alike.targets is not None
    yield cut("near duplicates only", alike.take(np.flatnonzero(alike.targets >= 0.75)), 300)
    yield cut("100 paraphrases by 0/1", read(data / "mrpc/train.csv"), 100, read(data / "mrpc/test.csv"))
    yield cut("300 Chinese pairs, an English model", read(data / "stsb-zh/train.csv"), 300, read(data / "stsb-zh/dev.csv"))
    yield cut("good: 300 STSb pairs", stsb, 300, stsb_test)
    yield cut("good: 300 MRPC pairs", read(data / "mrpc/train.csv"), 300, read(data / "mrpc/test.csv"))
    for draw in ("second", "third"):
        yield cut(f"good: a {draw} 300 MRPC pairs", read(data / "mrpc/train.csv"), 300, read(data / "mrpc/test.csv"))
    own = read(sample("scored_pairs").path)
    yield Case("good: the sample", own.texts, [round(float(one) * 5, 3) for one in own.targets], stsb_test)  # type: ignore[union-attr]


def read(path: Path) -> Examples:
    """The examples of a file, as they are found."""
    table = read_table(path)
    return build_examples(table, detect_roles(table))[0]


def measured(case: Case, folder: Path, untuned: TransformerEncoder, options: tuple[str, ...]) -> tuple[str, bool]:
    """A row of the table, and whether the model became worse beyond chance."""
    path = folder / "pairs.csv"
    write_csv(path, {"sentence1": case.texts[0], "sentence2": case.texts[1], "score": case.targets})
    began = time.perf_counter()
    found = studio("train", path, "--as-read", "--model", MODEL, "--out", folder / "model", *options)
    seconds = time.perf_counter() - began
    if found["status"] != "finished":
        return f"| {case.name} | {found['status']} | | | {seconds:.0f} s |", False
    before, after = (evaluate_examples(model, case.test) for model in (untuned, load_folder(folder / "model")))
    (_, then), (metric, now) = main_score(before), main_score(after)
    change = paired_gain(before.resampled, after.resampled)
    low, high = change["gain_interval"]
    own = "; ".join(describe_run(found["before"], found["after"])) or "nothing judged it"
    unseen = f"{metric} {then:.4f} → {now:.4f}, {now - then:+.4f} [{low:+.4f}, {high:+.4f}] on {len(case.test):,}: {verdict(change)}"
    return f"| {case.name} | {own} | {unseen} | {found['after'].get('strength', 1):g} | {seconds:.0f} s |", high < 0


def main(arguments: list[str], judge: Callable[..., tuple[str, bool]] = measured) -> int:
    """Print the table; 1 where a model became worse beyond chance."""
    quick = "--quick" in arguments
    places = [argument for argument in arguments if not argument.startswith("--")]
    if len(places) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    options = ("--set", "epochs=1") if quick else ()
    worse = files = 0
    print("| file | what the run says | rows it never saw | strength | time |\n| --- | --- | --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as place:
        untuned = Catalog(Workspace(Path(place) / "home"), device="cpu").load(MODEL)
        for number, case in enumerate(cases(Path(places[0]), quick)):
            folder = Path(place) / str(number)
            folder.mkdir()
            row, bad = judge(case, folder, untuned, options)
            files, worse = files + 1, worse + bad
            print(row, flush=True)
    print(f"\n{worse} of {files} models are worse than the untuned one beyond chance.")
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
