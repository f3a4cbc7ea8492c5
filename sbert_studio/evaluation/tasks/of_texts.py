"""What the tasks share that judge by texts with a category: any column of classes beside any column of texts will do."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .base import Rows, Task

if TYPE_CHECKING:
    from ...data.examples import Examples
    from ...data.schema.roles import Kind, Roles
    from ...data.tables import Table
    from ..classes import ClassRoles


class OfTexts(Task):
    """A task of texts and their classes. It looks at each text alone, so that a model needs vectors for it."""

    kinds: ClassVar[tuple[Kind, ...]] = ("labelled_texts",)
    needs_vectors = True

    def read(self, table: Table, known: Roles | ClassRoles | None = None) -> Rows:
        """The texts that have a class; see :meth:`.base.Task.read`."""
        import numpy as np

        from ...data.examples import Examples
        from ..classes import ClassRoles, class_account, class_roles, class_roles_of, classed_texts

        found = known if isinstance(known, ClassRoles) else class_roles_of(known) if known is not None else None
        roles = found or class_roles(table)
        texts, labels, notes = classed_texts(table, roles)
        account = class_account(table, roles)
        names = tuple(sorted(set(labels)))
        places = {name: place for place, name in enumerate(names)}
        targets = np.fromiter((places[label] for label in labels), np.int64, len(labels))
        left = [row for reason in account.reasons for row in reason.rows]
        lines = table.lines[~np.isin(table.lines, left)]
        return Rows(Examples("labelled_texts", (tuple(texts),), targets, lines, names), notes, account)


def categories_of(examples: Examples) -> list[str]:
    """The name of each text's category."""
    return [] if examples.targets is None else [examples.labels[place] for place in examples.targets.tolist()]
