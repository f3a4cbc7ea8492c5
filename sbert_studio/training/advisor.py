"""Automatic training settings, derived from the data, the model and the device, with a reason for each choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ..data.language import detect_main_script
from ..errors import StudioError
from ..i18n import _
from ..losses import LOSSES, loss_title, losses_of
from ..registry import fields_of
from ..settings import DEFAULT_MODEL, MULTILINGUAL_HUB_ID
from .samplers import MIN_CLASS_BATCH, require_two_classes
from .spec import DEFAULT_EPOCHS, SMALL, TrainSpec, default_loss, require_learnable, require_teacher

if TYPE_CHECKING:
    from ..data.examples import Examples

_DECODERS = ("llama", "qwen", "mistral", "gemma", "gpt", "phi", "opt", "bloom", "falcon", "smollm", "stablelm", "olmo")
_MULTILINGUAL = ("multilingual", "xlm", "labse", "m3", "zh", "chinese", "qwen", "e5", "distiluse", "gemma")
_SMALL_MODEL = 50_000_000  # weights
_SOUP_LIMIT = 20_000  # rows
_BATCH_TOKENS, _FEW_NEGATIVES = 8_192, 32  # without a GPU: tokens of a batch, about 3 GB, beyond which it is as small as for few rows
_FULL_LIMIT = {"cpu": 150_000_000, "cuda": 400_000_000, "mps": 200_000_000}


@dataclass(frozen=True)
class Advice:
    """A training specification with a reason for each choice."""

    spec: TrainSpec
    reasons: tuple[str, ...]


def advise(
    examples: Examples,
    *,
    info: Mapping[str, Any],
    device: str = "cpu",
    lengths: Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    multilingual: str = "",
) -> Advice:
    """Choose settings for fine-tuning on ``examples``.

    Args:
        info: the encoder's description (``Encoder.describe()``).
        device: ``cpu``, ``cuda`` or ``mps``, optionally with an index.
        lengths: token counts of the untruncated texts, or of a sample.
        overrides: the user's settings of :class:`TrainSpec` or of the loss; dependent settings follow them.
        multilingual: model to suggest for texts in another script; empty if none is available.

    Raises:
        StudioError: an override is unknown or invalid, or its loss does not support this kind of examples.
    """
    chosen = {name: value for name, value in (overrides or {}).items() if value is not None and not (name == "loss" and value == "auto")}
    # Validate before computing anything from them: a batch size of 0 would cause a division by zero.
    settings = {item.name: item for item in TrainSpec.settings()}
    chosen = {name: settings[name].parse(value) if name in settings else value for name, value in chosen.items()}
    advisor = _Advisor(examples, info, device.partition(":")[0], lengths, chosen)
    advisor.choose_settings(multilingual)
    spec_names = set(settings) | ({"loss_params"} if isinstance(chosen.get("loss_params"), Mapping) else set())
    own = {name: value for name, value in chosen.items() if name not in spec_names}
    spec = TrainSpec.from_json({**advisor.values, **{name: value for name, value in chosen.items() if name in spec_names}})
    known = [item.name for item in fields_of(losses_of(spec.architecture)[spec.loss].Params)]
    for name in own:
        if name not in known:
            names = [*known, *settings]
            close = get_close_matches(name, names, n=1) or [one for one in names if _initials(one) == name]
            raise StudioError(
                _("there is no setting {name} for training with {loss}", name=repr(name), loss=spec.loss),
                _("did you mean {name}?", name=close[0]) if close else _("known: {listed}", listed=", ".join(names)),
            )
    require_learnable(spec, examples.kind)
    require_teacher(spec, examples)
    if losses_of(spec.architecture)[spec.loss].classes_in_batch:
        require_two_classes(spec.batch_size)
    if own:
        spec = spec.replace(loss_params={**spec.loss_params, **own})
    return Advice(spec, tuple(advisor.reasons))


def _initials(name: str) -> str:
    """Return the initials of a setting, such as ``lr`` for ``learning_rate``."""
    return "".join(word[0] for word in name.split("_") if word)


class _Advisor:
    def __init__(
        self, examples: Examples, info: Mapping[str, Any], device: str, lengths: Sequence[int] | None, chosen: Mapping[str, Any]
    ) -> None:
        self.examples, self.rows = examples, len(examples)
        self.scored = examples.kind in ("scored_pairs", "labelled_pairs")
        self.parameters = int(info.get("parameters") or 0)
        self.backbone = f"{info.get('backbone', '')} {info.get('name', '')}".lower()
        self.name = str(chosen.get("model") or info.get("name") or DEFAULT_MODEL)
        self.longest = int(info.get("max_length") or 0)
        self.device, self.lengths, self.chosen = device, lengths, chosen
        self.architecture = chosen.get("architecture", "siamese")
        self.words = info.get("kind") == "words"
        self.recurrent = self.words and bool(chosen.get("recurrent") or info.get("backbone") != "word vectors")
        self.values: dict[str, Any] = {"model": self.name}
        self.reasons: list[str] = []

    def choose_settings(self, multilingual: str) -> None:
        self._loss()
        if self.words and not self.recurrent and not self.chosen.get("projection"):
            self._set("learn_words", True, "Word vectors are trained: the model has no other trainable weights.")
        self._method()
        self._batch_size()
        self._rate()
        self._epochs()
        if self._soups or "soup" in self.chosen:
            self._set("soup", 3, "Soup 3: trained three times from the same weights; in our tests, the mean was better than each of them.")
        if self._soups:
            self._set("dropout", 0.0, "No dropout: averaging several runs already regularizes, and scored higher without dropout.")
        self._length()
        steps = self.rows // int(self.values["batch_size"])
        if steps > 1_000 and "evaluations_per_epoch" not in self.chosen:
            times = self.values["evaluations_per_epoch"] = min(10, steps // 500)
            self.reasons.append(
                _(
                    "{times} evaluations per epoch: an epoch has {steps} steps, and the best checkpoint may occur within it.",
                    times=times,
                    steps=f"{steps:,}",
                )
            )
        script = detect_main_script(islice(chain.from_iterable(zip(*self.examples.texts, strict=True)), 2_000))
        if script and not any(word in self.backbone for word in _MULTILINGUAL):
            better = multilingual or MULTILINGUAL_HUB_ID
            self.reasons.append(
                _(
                    "Most texts are in {script} script, which {name} barely supports: {better} would be a far better starting point.",
                    script=script,
                    name=self.name,
                    better=better,
                )
            )

    def _set(self, name: str, value: Any, reason: str) -> None:
        self.values[name] = self.chosen.get(name, value)
        if name in self.chosen:
            value = self.chosen[name]
            shown = loss_title(value) if name == "loss" else f"{value:g}" if isinstance(value, float) else value
            reason = _("{name} {shown}: chosen by you.", name=name.replace("_", " ").capitalize(), shown=shown)
        self.reasons.append(reason)

    def _loss(self) -> None:
        if self.architecture == "cross":
            self.reasons.append("Architecture cross: encodes both texts jointly. Slower and more accurate; for re-ranking, not for search.")
        teacher = str(self.chosen.get("teacher") or "")
        name = default_loss(self.examples.kind, self.examples.labels, self.rows, self.examples.ordered, self.architecture, teacher)
        if self.architecture == "poly":
            self.reasons.append(
                "Architecture poly: compares several vectors of the query with one cached vector of each candidate. "
                "Re-ranks search hits at little cost, less accurately than a cross-encoder."
            )
        labels = len(self.examples.labels)
        why = {
            "cosine+cosent": _(
                "{rows} scored pairs: fitting the scores and their order together gained most in our measurements", rows=f"{self.rows:,}"
            ),
            "cosine": _(
                "only {rows} scored pairs: fitting the scores gained more than fitting their order in our measurements",
                rows=f"{self.rows:,}",
            ),
            "cosent": "the labels order pairs by similarity, which CoSENT learns",
            "softmax": "the labels have no order: a classifier on (u, v, |u−v|) learns them",
            "in_batch": "there are no scores: each text should find its own match in the whole batch",
            "supcon+prototypes": _(
                "texts in the same category (of {labels}) should be close together, and far from the others", labels=labels
            ),
            "margin_mse": _("the teacher {teacher} says by how much each positive should lead its negatives", teacher=teacher),
            "gist": _("each text should find its own match; {teacher} leaves out candidates that may match too", teacher=teacher),
            "embedding_mse": _("each text should get the vector that {teacher} gives it", teacher=teacher),
            "simcse": "there are only sentences: each should match itself under a different dropout mask",
            "mse": (
                _("the scores are fitted through a sigmoid") if self.chosen.get("head") == "mlp" else _("the scores are fitted directly")
            ),
            "binary_cross_entropy": "two labels: a score separates similar from dissimilar pairs, and can rank",
            "cross_entropy": _("{labels} labels: each pair is classified into one of them", labels=labels),
        }[name]
        self._set("loss", name, _("Loss {title}: {why}.", title=losses_of(self.architecture)[name].title, why=why))

    def _method(self) -> None:
        decoder = any(word in self.backbone for word in _DECODERS)
        size = _("{parameters} million weights", parameters=f"{self.parameters / 1e6:.0f}")
        if self.words:
            if self.chosen.get("method") == "lora":
                raise StudioError("a model of word vectors has no layers for an adapter", "use the method full")
            self._set("method", "full", "Method full: a model of word vectors has no attention layers for adapters.")
        elif decoder or self.parameters > _FULL_LIMIT.get(self.device, _FULL_LIMIT["cpu"]):
            why = "a language model" if decoder else _("{size} on {device}", size=size, device=self.device)
            self._set("method", "lora", _("Method LoRA: {why}; adapters need a fraction of the memory.", why=why))
        else:
            self._set(
                "method",
                "full",
                _("Method full: {size} are few enough to train all of them, which is at least as good as adapters.", size=size),
            )

    def _batch_size(self) -> None:
        name = self.values["loss"]
        if self.architecture == "cross":
            size, why = 16, "a new head needs many steps"
        elif name in LOSSES and LOSSES[name].classes_in_batch:
            size = max(MIN_CLASS_BATCH, min(32, self.rows))
            why = "each text is compared with texts of its own and many other categories at once"
        elif name in LOSSES and LOSSES[name].in_batch:
            size = max(2, min(128 if self.device == "cuda" and self.rows > 20_000 else 64 if self.rows > SMALL else 32, self.rows))
            why = "the other rows of a batch are the negatives, so it should be large"
            tokens = len(self.examples.texts) * sum(self.lengths) / len(self.lengths) if self.lengths else 0
            if self.device != "cuda" and size > _FEW_NEGATIVES and size * tokens > _BATCH_TOKENS:
                size = _FEW_NEGATIVES
                why = _("the other rows of a batch are the negatives, and {tokens} tokens per row take much memory", tokens=round(tokens))
        elif self.rows > SMALL:
            size, why = 32, _("with {rows} rows there are enough steps", rows=f"{self.rows:,}")
        elif self.rows > 16:
            size, why = 16, _("with {rows} rows, smaller batches give more steps", rows=f"{self.rows:,}")
        else:
            size, why = 16, _("each step uses all {rows} rows at once", rows=f"{self.rows:,}")
        self._set("batch_size", size, _("Batch size {size}: {why}.", size=size, why=why))

    def _rate(self) -> None:
        small = self.parameters <= _SMALL_MODEL
        if self.words:
            rate, why = 1e-3, "a new recurrent network trains at Adam's usual rate" if self.recurrent else "each word occurs rarely"
        elif self.values["method"] == "lora":
            rate = 5e-4 if self.parameters <= 4 * _SMALL_MODEL else 2e-4
            why = "adapters start at zero and need a higher rate"
        elif self.architecture == "cross":
            rate, why = (5e-5, "a small model with a new head tolerates a higher rate") if small else (2e-5, "the usual rate for BERT")
        elif self.examples.kind == "labelled_texts":
            rate = 2e-4 if small else 4e-5
            why = "the highest rate that we tried on small models gained the most, and blending preserves what the model knew"
        elif self.rows <= SMALL and self.scored:
            rate = 1e-4 if small else 4e-5
            why = "with few rows seen only a few times, a high rate learns the most, and blending preserves what the model knew"
        elif self.rows <= SMALL:
            rate, why = 2e-5, "with few rows, a low rate preserves what the model knows"
        elif self.values["loss"] in ("simcse", "tsdae"):
            rate, why = 3e-5, "the rate of the SimCSE and TSDAE papers"
        elif small and self._soups:
            rate, why = 1e-4, "the mean of several runs gains most if each of them has trained slightly too fast"
        elif small:
            rate, why = 5e-5, "small models tolerate a higher rate"
        else:
            rate, why = 2e-5, "the usual rate for a model of this size"
        self._set("learning_rate", rate, _("Learning rate {rate}: {why}.", rate=f"{rate:g}", why=why))

    def _epochs(self) -> None:
        from .members import MIN_ROWS

        has_high_rate = self.scored and self.architecture != "cross" and self.values["method"] == "full"
        few = 3.0 if has_high_rate else 6.0
        steps = ((SMALL, few, DEFAULT_EPOCHS), (20_000, DEFAULT_EPOCHS, 3.0), (100_000, 2.0, 1.0), (float("inf"), 1.0, 1.0))
        epochs = next(first if self.scored else second for most, first, second in steps if self.rows <= most)
        if self.examples.kind == "labelled_texts" and self.rows <= 5_000:
            epochs = 3.0  # six were no better
        if self.words:
            epochs *= 2
        is_small = self.rows <= SMALL and self.examples.kind != "labelled_texts"
        if is_small and (self.words or not has_high_rate):
            why = "with few rows, more passes help"
        elif is_small:
            why = (
                _("at a high rate this is enough, and leaves time to evaluate every row")
                if self.rows >= MIN_ROWS
                else _("at a high rate this is enough")
            )
        else:
            why = "the best of these is kept" if epochs > 1 else "there are enough rows for a single pass"
        shown = f"{epochs:g}"
        self._set(
            "epochs",
            epochs,
            (
                _("{epochs} epochs of {rows} rows: {why}.", epochs=shown, rows=f"{self.rows:,}", why=why)
                if epochs > 1
                else _("{epochs} epoch of {rows} rows: {why}.", epochs=shown, rows=f"{self.rows:,}", why=why)
            ),
        )

    @property
    def _soups(self) -> bool:
        if int(self.chosen.get("soup") or 2) < 2:
            return False
        alone = int(self.chosen.get("seeds") or 1) == 1 and not self.chosen.get("folds") and "epochs" not in self.chosen
        siamese = self.architecture == "siamese" and not self.words
        fits = self.examples.kind == "scored_pairs" and siamese and self.values["method"] == "full"
        return fits and alone and SMALL < self.rows <= _SOUP_LIMIT and self.parameters <= _SMALL_MODEL

    def _length(self) -> None:
        if not self.lengths or not self.longest or self.architecture == "cross" or self.words:
            return
        ordered = sorted(self.lengths)
        if chosen := int(self.chosen.get("max_length") or 0):
            self._set("max_length", chosen, "")
            if longer := sum(length > chosen for length in ordered):
                shown = f"{longer / len(ordered):.0%}" if longer >= 0.01 * len(ordered) else _("less than 1%")
                self.reasons[-1] = _(
                    "Max length {length} tokens, chosen by you: {cut} of the texts are longer and will be cut.", length=chosen, cut=shown
                )
            return
        most, cut = ordered[-1], sum(length > self.longest for length in ordered) / len(ordered)
        if cut > 0.01:
            wanted = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
            length = max(min(512, -(-wanted // 16) * 16), self.longest)
            self._set(
                "max_length", length,
                _("Max length {length} tokens: {cut} of the texts are longer than the model's maximum of {longest}.",
            length=length,
            cut=f"{cut:.0%}",
            longest=self.longest),
            )  # fmt: skip
        elif most > self.longest:
            self.reasons.append(
                _("Max length {longest} tokens: fewer than one text in a hundred is longer and will be truncated.", longest=self.longest)
            )
        else:
            self.reasons.append(
                _("Max length {longest} tokens: the longest text has {most}, so nothing is truncated.", longest=self.longest, most=most)
            )
