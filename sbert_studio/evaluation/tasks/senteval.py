"""Texts or pairs with a class, judged by a classifier as SentEval does (Conneau & Kiela 2018)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import StudioError
from .base import REGISTRY, Rows, Shape, Task, WithVectors
from .of_texts import OfTexts, categories_of

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ...data.schema.roles import Roles
    from ...data.tables import Table
    from ..classes import ClassRoles
    from ..measures.categories import Known
    from ..report import Report


@REGISTRY.register("senteval")
class SentEval(OfTexts):
    """A logistic regression that chooses its penalty by itself."""

    order = 9
    title = "Texts or pairs with a class: SentEval's regression"
    help = "Accuracy and F1 of a logistic regression with a penalty chosen unseen, learned from rows of its own or in ten folds."
    kinds = ("labelled_texts", "labelled_pairs")
    main = ("accuracy",)
    learns = True
    known_use = "The regression learns from them: the train.csv of a test.csv. Without them it learns from the rows above, in ten folds."

    def fits(self, shape: Shape) -> bool:
        """Nothing: it is chosen by name."""
        return False

    def read(self, table: Table, known: Roles | ClassRoles | None = None) -> Rows:
        """Labelled pairs where the table has them, else texts with a class."""
        from ...data.schema.inference import infer_roles
        from ...data.schema.roles import Roles

        if known is None:
            with contextlib.suppress(StudioError):
                known = infer_roles(table)
        if isinstance(known, Roles) and known.kind == "labelled_pairs":
            return Task.read(self, table, known)
        return super().read(table, known)

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.senteval.cross_validated`."""
        from ..measures.senteval import cross_validated

        return cross_validated(_features(vectors), categories_of(examples), positive=_positive(examples))

    def judge_taught(self, judged: WithVectors, known: WithVectors, dev: WithVectors | None) -> Report:
        """See :func:`~sbert_studio.evaluation.measures.senteval.train_and_test`."""
        from ..measures.senteval import train_and_test

        (train, taught), (test, truth) = ((_features(one.vectors), categories_of(one.examples)) for one in (known, judged))
        if train.shape[1] != test.shape[1]:
            raise StudioError("single texts teach nothing of pairs, nor pairs of single texts", "give two files of one kind")
        if not set(taught) & set(truth):
            classes = ", ".join(sorted(set(truth))[:6])
            raise StudioError(f"none of the classes {classes} is among those of the known rows", "give the set's own training rows")
        features, labels = (None, []) if dev is None else (_features(dev.vectors), categories_of(dev.examples))
        return train_and_test(train, taught, test, truth, dev=features, dev_labels=labels, positive=_positive(judged.examples))


def _features(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """The vectors of single texts as they are; of pairs what parts and what joins them."""
    from ..measures.senteval import pair_features

    return vectors[0] if len(vectors) == 1 else pair_features(vectors[0], vectors[1])


def _positive(examples: Examples) -> str | None:
    """The class of two that says that a pair is alike: paraphrases are told by the F1 of it."""
    alike = examples.kind == "labelled_pairs" and examples.ordered and len(examples.labels) == 2
    return examples.labels[1] if alike else None
