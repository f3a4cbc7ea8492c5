"""Training specification: all settings that determine a run, as plain data, and the default loss for each kind of examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic import Field as pydantic_field

from ..errors import StudioError
from ..i18n import _
from ..losses import LOSSES, losses_of
from ..losses.base import missing_teacher
from ..registry import Field
from ..settings import DEFAULT_MODEL
from .events import rename_settings

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..data.schema.roles import Kind

SMALL = 1_000
"""Maximum number of rows of a small dataset."""
DEFAULT_EPOCHS = 4.0
"""Passes over a few thousand rows; the advisor increases or reduces it for other numbers of rows and kinds of examples."""
SHAPE = (
    *("architecture", "head", "recurrent", "hidden", "bidirectional", "learn_words", "pooling", "projection", "activation", "codes"),
    *("prompt", "layers"),
)
"""Settings of the model's architecture; they also apply to the first stage of a run."""
_FREE = ("loss_params", "first")
_SUPPORTED_KINDS = {"cross": "pairs with a score or a label", "poly": "pairs and triplets"}


def setting(
    default: Any,
    help: str,
    *,
    min: float | None = None,
    max: float | None = None,
    step: float | None = None,
    choices: Sequence[str] = (),
    label: str = "",
) -> Any:
    """Return a field of :class:`TrainSpec` with its default, help, bounds and label."""
    more: Any = {"step": step, "choices": list(choices), "label": label}
    return pydantic_field(default, description=help, ge=min, le=max, json_schema_extra=more)


class TrainSpec(BaseModel):
    """Settings of a run. The same spec and examples give the same model, bit-identical on a CPU.

    Where the help says so, 0 or an empty text keeps the model's own setting. ``loss_params`` are the settings of the loss; ``first`` is the
    spec of a first stage on other examples (such as NLI before scored pairs).

    Raises:
        StudioError: a value has the wrong type, is out of bounds, or is not an allowed choice.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = setting(DEFAULT_MODEL, "Base model: a bundled name, a run, a folder or a hub id.")
    loss: str = setting("auto", "The loss; auto chooses one for the kind of examples.")
    architecture: str = setting(
        "siamese",
        "siamese compares the vectors of two texts; cross encodes both jointly (slower, more accurate, for "
        "re-ranking); poly compares several vectors of the first with one of the second (re-ranking nearly as fast as "
        "search).",
        choices=("siamese", "cross", "poly"),
    )
    codes: int = setting(16, "Number of vectors per query in a poly-encoder.", min=1, max=512, step=1)
    head: str = setting(
        "linear", "Scoring head of a cross-encoder: one linear layer, or 512 units with ReLU before it.", choices=("linear", "mlp")
    )
    method: str = setting("full", "Train all weights, or small low-rank adapters added to them.", choices=("full", "lora"))
    epochs: float = setting(DEFAULT_EPOCHS, "Number of passes over the training rows.", min=0.01, max=1000, step=0.5)
    soup: int = setting(
        1,
        "Number of runs from the same weights, with the rows in different orders, whose weights are averaged.",
        min=1,
        max=20,
        step=1,
    )
    batch_size: int = setting(32, "Rows per step.", min=1, max=65536, step=1)
    learning_rate: float = setting(5e-5, "Maximum learning rate, reached after the warm-up.", min=0, max=1, step=1e-6)
    warmup_ratio: float = setting(0.1, "Share of all steps over which the learning rate rises from 0.", min=0, max=1, step=0.01)
    weight_decay: float = setting(0.01, "Decoupled weight decay; not applied to biases and normalization layers.", min=0, max=1, step=0.01)
    max_grad_norm: float = setting(1.0, "Gradients with a larger norm are clipped to this value; 0: no clipping.", min=0, max=1e6, step=0.1)
    seed: int = setting(12, "Determines the split, the order of rows and dropout.", min=0, max=2**31 - 1, step=1)
    precision: str = setting(
        "auto", "Precision of the forward pass; auto uses bfloat16 if the device computes it fast.", choices=("auto", "float32", "bfloat16")
    )
    max_length: int = setting(
        0, "Maximum text length in tokens; longer texts are truncated. 0: the model's own.", min=0, max=131072, step=1
    )
    micro_batch: int = setting(
        0, "Rows per forward pass; gradients are accumulated over a batch. 0: the whole batch at once.", min=0, max=65536
    )
    lora_r: int = setting(16, "Rank of the adapters.", min=1, max=1024, step=1)
    lora_alpha: int = setting(32, "Scale of the adapters; their output is multiplied by alpha / r.", min=1, max=4096, step=1)
    lora_dropout: float = setting(0.05, "Dropout on the adapters' input.", min=0, max=0.95, step=0.01)
    prompt: str = setting(
        "",
        "Text to prepend to every text, none for no prompt, or a JSON object of prompts by name (query, "
        "document, default), saved with the model; if empty, each column uses the model's own prompt for "
        "queries, documents or comparisons.",
    )
    pooling: str = setting(
        "",
        "Pooling of the token vectors; empty: the model's own.",
        choices=("", "mean", "cls", "max", "last", "weighted_mean"),
    )
    projection: int = setting(0, "Width of a Dense layer after the pooling; 0 adds none.", min=0, max=65536, step=1)
    activation: str = setting("gelu", "Activation of that layer; identity leaves it linear.", choices=("gelu", "tanh", "identity"))
    recurrent: str = setting(
        "",
        "A new network over the word vectors, in order; empty leaves the model unchanged.",
        choices=("", "rnn", "lstm", "gru"),
    )
    hidden: int = setting(256, "Width of that network's state.", min=1, max=8192, step=1)
    bidirectional: bool = setting(False, "Add a second network that reads the text backward.")
    learn_words: bool = setting(False, "Also train the word vectors; off freezes them.")
    teacher: str = setting(
        "",
        "Model that the losses margin_mse, distill_kl, embedding_mse and gist imitate: an encoder or, for scores, a cross-encoder; "
        "empty: the teacher column of the file.",
    )
    matryoshka: str = setting("", "Smaller embedding sizes to train as well, such as 256,128,64; empty: the full size only.")
    adaptive_layers: bool = setting(
        False, "Also train the vectors after every earlier layer, so that the model can be cut to its first layers."
    )
    layers: int = setting(0, "Keep only the first layers of the model; 0 keeps all.", min=0, max=1000, step=1)
    dropout: float = setting(-1.0, "Dropout of the backbone during training; -1 keeps the model's own.", min=-1, max=0.95, step=0.01)
    gradient_checkpointing: bool = setting(False, "Recompute activations instead of storing them: slower, but needs less memory.")
    dev_fraction: float = setting(0.1, "Share of rows held out for evaluation if there is no held-out file.", min=0, max=0.9, step=0.01)
    by_group: bool = setting(False, "Keep all rows of a group on one side of every split: train on some topics, evaluate on others.")
    stratify: str = setting(
        "auto", "Keep class proportions on both sides of a split; auto does so for labels.", choices=("auto", "yes", "no")
    )
    evaluation: str = setting(
        "auto",
        "Evaluate on one held-out part (split), or on every row once by cross-validation, after which the model "
        "is trained on all rows (folds). auto uses folds below 1,000 rows, or 2,500 texts with a category.",
        choices=("auto", "split", "folds"),
    )
    max_folds: int = setting(
        0, "Maximum number of folds of the cross-validation of small files; 0: 3 to 5, depending on their rows.", min=0, max=100, step=1
    )
    blend: bool = setting(
        True,
        "Keep whichever is best on the held-out rows: the base model, the fine-tuned model or a blend of their weights; "
        "off keeps the fine-tuned model.",
    )
    accept_alarm: str = setting(
        "",
        "Warnings that do not stop the training: the rows contradict the model (below_chance), general quality decreases "
        "(general), or both.",
        choices=("", "below_chance", "general", "both"),
        label="Continue despite warnings",
    )
    folds: int = setting(0, "Number of cross-validation folds; 0 for a single split.", min=0, max=100)
    seeds: int = setting(1, "Number of runs with different seeds, to measure random variation.", min=1, max=100, step=1)
    evaluations_per_epoch: int = setting(1, "Evaluations on the held-out rows per epoch.", min=1, max=1000, step=1)
    checkpoint_every: int = setting(0, "Steps between checkpoints; 0 writes one about every 90 seconds.", min=0, max=10**9, step=1)
    loss_params: Mapping[str, Any] = {}
    first: Mapping[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, values: dict[str, Any]) -> dict[str, Any]:
        known = {item.name: item for item in cls.settings()}
        found = {name: known[name].parse(value) if name in known else value for name, value in values.items()}
        if first := found.get("first"):
            found["first"] = cls.from_json(first).to_json()
        if found.get("max_folds") == 1:
            raise StudioError("one fold is not a cross-validation", "choose 2 or more, or evaluation=split")
        if found.get("folds") == 1:
            raise StudioError("one fold is not a cross-validation", "choose 2 or more, or 0 for a single split")
        if -1 < found.get("dropout", -1) < 0:
            raise StudioError(
                _("dropout is {dropout}", dropout=f"{found['dropout']:g}"), "choose -1 (the model's own) or a value from 0 to 0.95"
            )
        _parse_widths(found.get("matryoshka", ""))
        return found

    @property
    def widths(self) -> tuple[int, ...]:
        return _parse_widths(self.matryoshka)

    @classmethod
    @cache
    def settings(cls) -> list[Field]:
        """Return the fields that a form or the command line can set: all except ``loss_params`` and ``first``."""
        found = []
        for name, item in cls.model_fields.items():
            extra: Any = item.json_schema_extra
            if name not in _FREE and item.annotation is not None:
                bounds = {key: next((getattr(one, key) for one in item.metadata if hasattr(one, key)), None) for key in ("ge", "le")}
                choices, label = tuple(extra["choices"]), extra["label"]
                help = item.description or ""
                found.append(Field(name, item.annotation, item.default, help, bounds["ge"], bounds["le"], extra["step"], choices, label))
        return found

    def to_json(self) -> dict[str, Any]:
        return self.model_dump()

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TrainSpec:
        """Read the result of :meth:`to_json`; absent or null values take their default.

        Raises:
            StudioError: a name is unknown, or a value is invalid.
        """
        values = rename_settings(values)
        for name in values:
            if name not in cls.model_fields:
                raise StudioError(
                    _("there is no training setting {name}", name=repr(name)),
                    _("known: {model_fields}", model_fields=", ".join(cls.model_fields)),
                )
        return cls(**{name: value for name, value in values.items() if value is not None})

    def replace(self, **values: Any) -> TrainSpec:
        return TrainSpec(**{**self.to_json(), **values})


def _parse_widths(matryoshka: str) -> tuple[int, ...]:
    parts = [part.strip() for part in matryoshka.split(",") if part.strip()]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise StudioError(_("matryoshka is {matryoshka}", matryoshka=repr(matryoshka)), "use comma-separated integers, such as 256,128,64")
    return tuple(int(part) for part in parts)


def default_loss(
    kind: Kind,
    labels: Sequence[str] = (),
    rows: int = SMALL + 1,
    ordered: bool = True,
    architecture: str = "siamese",
    teacher: str = "",
) -> str:
    """Return the default loss, given a kind of examples, their class names, number and order, an architecture and a teacher.

    Raises:
        StudioError: the architecture does not support such examples.
    """
    name = {
        "scored_pairs": "cosine+cosent" if rows > SMALL else "cosine",
        "labelled_pairs": "cosent" if ordered else "softmax",
        "positive_pairs": "in_batch",
        "triplets": "in_batch",
        "labelled_texts": "supcon+prototypes",
        "sentences": "simcse",
    }[kind]
    if teacher:
        name = {"triplets": "margin_mse", "positive_pairs": "gist", "sentences": "embedding_mse"}.get(kind, name)
    if architecture == "cross":
        binary = "binary_cross_entropy" if len(labels) == 2 and ordered else "cross_entropy"
        name = {"scored_pairs": "mse", "labelled_pairs": binary}.get(kind, "")
    elif architecture == "poly" and name == "softmax":
        raise StudioError(
            _("the labels {labels} have no order for the score of a poly-encoder", labels=", ".join(labels[:6])),
            "choose the architecture cross, which predicts classes, or specify the order of the labels",
        )
    if name not in losses_of(architecture):
        scored = "choose the architecture siamese, or give each pair a score or a label"
        hint = scored if architecture == "cross" else "choose the architecture siamese"
        raise StudioError(
            _(
                "a {architecture}-encoder can be trained on {kinds}, not on {kind}",
                architecture=architecture,
                kinds=_SUPPORTED_KINDS[architecture],
                kind=kind.replace("_", " "),
            ),
            hint,
        )
    return name


def describe_supported_kinds(architecture: str) -> str:
    """Return a sentence with the kinds of examples that an architecture supports."""
    return (
        _("a {architecture}-encoder can be trained on {kinds}", architecture=architecture, kinds=_SUPPORTED_KINDS[architecture])
        if architecture in _SUPPORTED_KINDS
        else "choose another kind of examples"
    )


def require_learnable(spec: TrainSpec, kind: Kind) -> None:
    """Check that the loss supports a kind of examples.

    Raises:
        StudioError: the loss does not support the kind.
    """
    known = losses_of(spec.architecture)
    if kind not in known[spec.loss].kinds:
        fitting = ", ".join(name for name in known if kind in known[name].kinds)
        raise StudioError(
            _("the loss {loss} cannot be trained on {kind}", loss=spec.loss, kind=kind.replace("_", " ")),
            _("choose one of {fitting}", fitting=fitting) if fitting else describe_supported_kinds(spec.architecture),
        )


def require_teacher(spec: TrainSpec, examples: Examples) -> None:
    """Check that a loss that imitates a teacher has one, and that a teacher is used.

    Raises:
        StudioError: there is no teacher, or one that the loss does not use.
    """
    loss = losses_of(spec.architecture)[spec.loss]
    if loss.teacher and not spec.teacher and examples.teacher is None:
        raise missing_teacher(loss.title)
    if spec.teacher and not loss.teacher:
        fitting = ", ".join(name for name in LOSSES if LOSSES[name].teacher and examples.kind in LOSSES[name].kinds)
        raise StudioError(
            _("the loss {loss} does not imitate a teacher", loss=spec.loss),
            _("omit the teacher, or choose one of {fitting}", fitting=fitting) if fitting else _("omit the teacher"),
        )


def resolve_loss(spec: TrainSpec, examples: Examples) -> TrainSpec:
    """Return ``spec`` with ``auto`` replaced by the default loss.

    Raises:
        StudioError: the architecture does not support such examples.
    """
    if spec.loss != "auto":
        return spec
    rows = len(examples)
    return spec.replace(loss=default_loss(examples.kind, examples.labels, rows, examples.ordered, spec.architecture, spec.teacher))
