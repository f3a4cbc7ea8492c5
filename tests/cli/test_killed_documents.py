"""The way from documents to a trained model, whose commands are killed at random moments and started again: nothing is lost."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Reply, serve_model
from processes import command_line
from tiny_studio import sentences

from sbert_studio.workspace import write_json_lines

pytestmark = [pytest.mark.process, pytest.mark.slow]
KILLS = 1  # of each step
STEPS = ("pairs", "written", "negatives", "train")


class DocumentSteps:
    """Documents and the commands of each step, with what they write undisturbed and how long they take."""

    def __init__(self, folder: Path, model: Path, server: ModelServer) -> None:
        self.folder, self.server = folder, server
        self.environment = {"SBERT_STUDIO_MODEL": str(model), "SBERT_STUDIO_DEVICE": "cpu"}
        documents = folder / "corpus.jsonl"
        texts = sentences(400)
        rows = ({"_id": f"d{n}", "title": " ".join(texts[n].split()[:3]), "text": ". ".join(texts[4 * n : 4 * n + 4])} for n in range(100))
        write_json_lines(documents, rows)
        pairs, mined = folder / "pairs.jsonl", folder / "mined.jsonl"
        asked = ("--from", "llm", "--llm-url", server.url, "--llm-model", "tiny", "--llm-passages", 60, "--llm-depth", 0)
        quick = ("--epochs", 4, "--batch-size", 8, "--set", "checkpoint_every=3", "--set", "blend=no", "--set", "evaluation=split")
        self.commands: Mapping[str, tuple[Any, ...]] = {
            "pairs": ("pairs", documents, "--from", "structure,crop"),
            "written": ("pairs", documents, *asked),
            "negatives": ("negatives", pairs, "--corpus", documents, "--relative-margin", -1),
            "train": ("train", mined, *quick),
        }
        outputs = {"pairs": pairs, "written": folder / "written.jsonl", "negatives": mined, "train": folder / "model"}
        self.seconds, self.whole = {}, {}
        for name, out in outputs.items():
            start = time.monotonic()
            with self.run(name, out, f"home-{name}") as child:
                child.succeed(300)
            self.seconds[name], self.whole[name] = time.monotonic() - start, written(out)

    def run(self, name: str, out: Path, home: str, *resume: object) -> Any:
        command = ("train", "--resume", *resume) if resume else self.commands[name]
        return command_line(self.folder / "logs", *command, "--out", out, **self.environment, SBERT_STUDIO_HOME=str(self.folder / home))


def written(out: Path) -> bytes:
    return (out / "model.safetensors" if out.is_dir() else out).read_bytes()


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[DocumentSteps]:
    with serve_model(lambda prompt: Reply(" ".join(prompt.split()[-6:-1]), seconds=0.05)) as server:
        yield DocumentSteps(tmp_path_factory.mktemp("documents"), tiny_model, server)


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for seed in range(KILLS) for name in STEPS])
def test_a_killed_step_is_started_again_with_the_same_result(steps: DocumentSteps, name: str, seed: int) -> None:
    home, out = f"home-{name}-{seed}", steps.folder / f"killed-{name}-{seed}{'' if name == 'train' else '.jsonl'}"
    asked = len(steps.server.asked)
    with steps.run(name, out, home) as child:
        time.sleep(steps.seconds[name] * random.Random(f"{name} {seed}").uniform(0.2, 0.95))
        child.kill()
    # A run that is not recorded yet has lost nothing: it is started anew.
    runs = [run.parent.name for run in (steps.folder / home / "runs").glob("run-*/run.json")] if name == "train" else []
    with steps.run(name, out, home, *runs) as child:
        child.succeed(300)
    assert written(out) == steps.whole[name]
    if name == "written":  # at most the four requests under way were lost
        assert len(steps.server.asked) - asked <= 60 + 4
