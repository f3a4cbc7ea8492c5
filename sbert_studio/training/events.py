"""Events of a run, as plain data for storage, page and terminal; tracked examples; and training throughput."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import StudioError
from ..i18n import _
from ..serialization import to_plain

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..models.base import Encoder, PairScorer
    from ..models.trainable import Trainable


@dataclass(frozen=True)
class Started:
    """The run is ready for its first step, or for the step after its checkpoint.

    Attributes:
        steps: number of optimizer steps.
        rows, dev_rows: number of training rows and of held-out rows.
        step: steps already taken, for resumed runs.
        run_step, run_steps: the same over all members of the run.
        reasons: reasons for the settings.
    """

    steps: int
    epochs: float
    rows: int
    dev_rows: int
    loss: str
    method: str
    device: str
    precision: str
    batch_size: int
    step: int = 0
    reasons: tuple[str, ...] = ()
    run_step: int = 0
    run_steps: int = 0


@dataclass(frozen=True)
class Step:
    """A step was taken; about five per second are emitted, always including the first and the last.

    Attributes:
        step: from 1 to ``steps``.
        epoch: fractional epochs completed.
        pairs_per_second: recent rows per second.
        seconds_left: remaining time of the run, including evaluations.
        grad_norm: gradient norm before clipping.
        run_step, run_steps: steps taken and in total over all members of the run.
    """

    step: int
    steps: int
    epoch: float
    loss: float
    learning_rate: float
    pairs_per_second: float
    seconds_left: float
    grad_norm: float
    run_step: int = 0
    run_steps: int = 0


@dataclass(frozen=True)
class Evaluated:
    """The held-out rows were evaluated; step 0 is the base model. ``best``: best evaluation so far."""

    step: int
    metric: str
    score: float
    scores: Mapping[str, Any]
    best: bool


@dataclass(frozen=True)
class Pinned:
    """Scores of the tracked example pairs and query; they are not used for training.

    Attributes:
        step: steps taken; 0 is the initial model.
        similarities: similarity of each pair.
        order: indices of the texts ranked for the query, nearest first.
        nearest: similarities of the first few texts.
        kept: True for the final model.
    """

    step: int
    similarities: tuple[float, ...]
    order: tuple[int, ...] = ()
    nearest: tuple[float, ...] = ()
    kept: bool = False


@dataclass(frozen=True)
class Saved:
    """A checkpoint was written."""

    step: int
    path: str


@dataclass(frozen=True)
class Notice:
    """A message; the run continues.

    Attributes:
        passing: True if it only applies until the run is resumed.
    """

    message: str
    passing: bool = False


@dataclass(frozen=True)
class Phase:
    """The current activity outside of steps, until the next step, member, phase or end."""

    title: str


@dataclass(frozen=True)
class Part:
    """A member of a run (first stage, seed, fold) begins; step counts restart.

    Attributes:
        number: from 1 to ``of``.
        title: such as "seed 13" or "first stage".
    """

    number: int
    of: int
    title: str


@dataclass(frozen=True)
class PartEnded:
    """The member announced by :class:`Part` ended; ``before`` and ``after`` as in :class:`Ended`."""

    number: int
    of: int
    title: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True)
class Ended:
    """The run ended. ``before`` and ``after``: ``{"metric", "score", "step", **scores}``, empty without held-out rows."""

    steps: int
    seconds: float
    pairs_per_second: float
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    model: str


@dataclass(frozen=True)
class Finished(Ended):
    """All steps were taken."""


@dataclass(frozen=True)
class Stopped(Ended):
    """The run was stopped and kept its best model."""


@dataclass(frozen=True)
class Asks(Ended):
    """An alarm stopped the run with a ``question`` (JSON of :class:`~sbert_studio.data.findings.Question`).

    There is no model yet; the run is resumed or restarted once the question is answered.
    """

    question: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """The run ended with an error that the user can fix."""

    message: str
    hint: str = field(default="")


Event: TypeAlias = Started | Step | Evaluated | Pinned | Saved | Notice | Phase | Part | PartEnded | Finished | Stopped | Asks | Failed
_TYPES: dict[str, type[Event]] = {
    kind.__name__.lower(): kind
    for kind in (Started, Step, Evaluated, Pinned, Saved, Notice, Phase, Part, PartEnded, Finished, Stopped, Asks, Failed)
}


def to_json(event: Event) -> dict[str, Any]:
    """Return ``{"type": "step", ...}`` as plain JSON; NaN and infinity become ``None``."""
    return {"type": type(event).__name__.lower(), **to_plain(dataclasses.asdict(event))}


def from_json(values: Mapping[str, Any]) -> Event:
    """Read an event written by :func:`to_json`, ignoring unknown fields.

    Raises:
        KeyError: the type is unknown.
    """
    kind: Callable[..., Event] = _TYPES[values["type"]]
    values = rename_settings(values) if kind is Started else values
    known = {item.name for item in dataclasses.fields(_TYPES[values["type"]])}
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items() if name in known}
    return kind(**given)


FORMER_NAMES = {"loss": "objective", "loss_params": "objective_params", "evaluation": "judge"}
"""Setting names of earlier versions, which remain part of a run's identity."""
_CURRENT_NAMES = {former: name for name, former in FORMER_NAMES.items()}


def rename_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under their current names; such as ``loss``, which earlier versions called ``objective``."""
    found = {_CURRENT_NAMES.get(name, name): value for name, value in values.items()}
    return {**found, "first": rename_settings(found["first"])} if isinstance(found.get("first"), Mapping) else found


_RECENT = 50  # number of steps over which the displayed rate is averaged
_SHOWN_EVERY = 0.2  # seconds


def format_rate(rate: float) -> str:
    """Format rows per second: ``72``, with one decimal below ten."""
    return f"{rate:,.0f}" if round(rate, 1) >= 10 else f"{rate:.1f}"


class Throughput:
    """Count rows and seconds of steps, without evaluations and checkpoints.

    Attributes:
        rows, seconds: totals, including those before a resume.
    """

    def __init__(self, rows: int = 0, seconds: float = 0.0) -> None:
        self.rows, self.seconds = rows, seconds
        self._recent: deque[tuple[int, float]] = deque(maxlen=_RECENT)
        self._start = time.perf_counter()
        self._shown = 0.0

    def begin(self) -> None:
        self._start = time.perf_counter()

    def end(self, rows: int) -> None:
        now = time.perf_counter()
        took, self._start = now - self._start, now
        self.rows, self.seconds = self.rows + rows, self.seconds + took
        self._recent.append((rows, took))

    @property
    def rate(self) -> float:
        rows, seconds = (sum(values) for values in zip(*self._recent, strict=True)) if self._recent else (0, 0.0)
        return rows / seconds if seconds > 0 else 0.0

    def left(self, steps: int) -> float:
        return steps * sum(seconds for _, seconds in self._recent) / max(1, len(self._recent))

    def is_due(self) -> bool:
        now = time.perf_counter()
        if now - self._shown < _SHOWN_EVERY:
            return False
        self._shown = now
        return True


MAX_PAIRS, MAX_CHARACTERS, NEAREST = 5, 1_000, 5
"""Maximum number of tracked pairs, maximum characters of a tracked text, and number of nearest texts with reported similarities."""
_MAX_TEXTS = 512  # encoding them takes one or two seconds on two busy cores, at every evaluation of every fold


@dataclass(frozen=True)
class TrackedExamples:
    """Tracked pairs and query.

    Attributes:
        pairs: at most :data:`MAX_PAIRS` pairs.
        query: a query ranked against the texts ``among``; empty for none.
        among: distinct texts of the file.
        of: number of distinct texts in the file.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    query: str = ""
    among: tuple[str, ...] = ()
    of: int = 0

    @classmethod
    def parse(cls, pairs: Sequence[tuple[str, str]], query: str) -> TrackedExamples | None:
        """Create from user input, skipping blank pairs; ``None`` if all input is blank.

        Raises:
            StudioError: one text of a pair is blank, a text is too long, or there are too many pairs.
        """
        named = [(number, left.strip(), right.strip()) for number, (left, right) in enumerate(pairs, start=1)]
        filled = [(number, left, right) for number, left, right in named if left or right]
        for number, left, right in filled:
            if not (left and right):
                raise StudioError(_("tracked pair {number} has only one text", number=number), "enter the other text, or clear both")
        if len(filled) > MAX_PAIRS:
            raise StudioError(
                _("there are {filled} tracked pairs", filled=len(filled)), _("track at most {max_pairs}", max_pairs=MAX_PAIRS)
            )
        if any(len(text) > MAX_CHARACTERS for text in (query.strip(), *(text for _, *both in filled for text in both))):
            raise StudioError(
                _("a tracked text is longer than {max_characters} characters", max_characters=f"{MAX_CHARACTERS:,}"), "shorten it"
            )
        found = cls(tuple((left, right) for _, left, right in filled), query.strip())
        return found if found.pairs or found.query else None

    def with_texts(self, examples: Examples) -> TrackedExamples:
        import numpy as np

        if not self.query:
            return self
        texts = list(dict.fromkeys(text for row in zip(*examples.texts, strict=True) for text in row if text != self.query))
        places = np.unique(np.linspace(0, len(texts) - 1, min(len(texts), _MAX_TEXTS)).round().astype(np.int64))
        return replace(self, among=tuple(texts[place] for place in places.tolist()) if texts else (), of=len(texts))

    def to_json(self) -> dict[str, Any]:
        return {"pairs": [list(pair) for pair in self.pairs], "query": self.query, "among": list(self.among), "of": self.of}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TrackedExamples | None:
        """Read the result of :meth:`to_json`; ``None`` if empty or damaged."""
        try:
            pairs = tuple((str(left), str(right)) for left, right in values.get("pairs") or ())
            found = cls(pairs, str(values.get("query") or ""), tuple(map(str, values.get("among") or ())), int(values.get("of") or 0))
        except (TypeError, ValueError):
            return None
        return found if found.pairs or found.query else None

    def score(self, model: Encoder | PairScorer | Trainable, step: int, *, is_final: bool = False) -> Pinned | None:
        """Return the event with a model's current scores; ``None`` for classifiers.

        Args:
            step: training steps of the model.
            is_final: True for the final model.
        """
        import numpy as np

        from ..evaluation.encoding import pair_similarities
        from ..models.base import PairScorer

        if isinstance(model, PairScorer) and model.labels != 1:
            return None
        left = [*(one for one, _ in self.pairs), *([self.query] * len(self.among))]
        right = [*(two for _, two in self.pairs), *self.among]
        many = len(self.pairs)
        of_pairs = pair_similarities(model, left[:many], right[:many]) if many else np.array([])
        of_texts = pair_similarities(model, left[many:], right[many:], ("query", "document")) if self.among else np.array([])
        order = np.argsort(-of_texts, kind="stable")
        nearest = tuple(of_texts[order[:NEAREST]].tolist())
        return Pinned(step, tuple(of_pairs.tolist()), tuple(order.tolist()), nearest, is_final)
