"""Verbs by which a model is tuned, in the foreground or in the background."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..runs.record import Run, new_run_id, now
from ..workspace import atomic_folder, digest_file, file_name
from .planning import FIRST, Planning
from .reading import existing_file
from .results import Exported, RunView

if TYPE_CHECKING:
    from ..data.asked import Asked
    from ..data.examples import Roles
    from ..data.tables import Table
    from ..training.events import Event


class Tuning(Planning):
    """Files → runs → models. A run id is the permission to see, stop and use a run."""

    def submit(
        self,
        path: str | Path | Table,
        *,
        dev: str | Path | Table | None = None,
        first: str | Path | Table | None = None,
        roles: Roles | Asked | None = None,
        overrides: Mapping[str, Any] | None = None,
        model: str | None = None,
        owner: str = "local",
        name: str | None = None,
    ) -> Run:
        """Queue a run in the background. The files are copied at once; what is wrong with them is raised here.

        Args:
            path, dev: files, or tables that were mended.
            first: a file to learn from before, in a stage of its own, such as NLI before scored pairs.
            roles: what the columns are, or what of it was chosen by hand; the rest is detected.
            overrides: fields of :class:`~sbert_studio.training.spec.TrainSpec`, those of the first stage as ``first.epochs``;
                the advisor chooses the rest.
        """
        run = self._new_run(path, dev=dev, first=first, roles=roles, overrides=overrides or {}, model=model, owner=owner, name=name)
        self.runner.submit(run.id)
        return run

    def train(
        self,
        path: str | Path | Table | None = None,
        *,
        dev: str | Path | Table | None = None,
        first: str | Path | Table | None = None,
        roles: Roles | Asked | None = None,
        overrides: Mapping[str, Any] | None = None,
        model: str | None = None,
        out: str | Path | None = None,
        resume: str | None = None,
        owner: str = "local",
        name: str | None = None,
        emit: Callable[[Event], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        began: Callable[[Run], None] | None = None,
    ) -> Run:
        """Train here and now, and return the run as it ended: finished or stopped.

        Args:
            out: where to put a copy of the model's folder.
            resume: the run to go on with; a file or overrides given as well must be those that it began with.
            emit: told each event.
            began: told the run before its first step.

        Raises:
            StudioError: the run failed for a reason that can be mended. Anything else that is raised is a bug.
        """
        from ..runs.companions import agreed, is_main
        from ..runs.work import accompany, perform

        if out is not None:
            _require_writable(Path(out))

        def begin() -> str:
            chosen = overrides or {}
            if resume is not None:
                if roles is not None:
                    raise StudioError(f"the run {resume} began with columns of its own", "a resumed run keeps its columns; leave them out")
                run = self._taken_up(resume, path, chosen, model)
            elif path is None:
                raise StudioError("there is no file to train on", "name a file, or a run to resume")
            else:
                run = self._new_run(path, dev=dev, first=first, roles=roles, overrides=chosen, model=model, owner=owner, name=name)
            if began is not None:
                began(run)
            return run.id

        run_id = agreed(begin, self.catalog.device.type)
        if not is_main():
            accompany(self.workspace.run(run_id), self.catalog, should_stop)
            return self.store.get(run_id)
        try:
            error = perform(run_id, self.store, self.workspace, lambda: self.catalog, should_stop, emit)
        finally:
            self.store.release(run_id)
        if error is not None:
            raise error
        run = self.store.get(run_id)
        if out is not None and run.model_path is not None:
            with atomic_folder(Path(out)) as part:
                shutil.copytree(run.model_path, part, dirs_exist_ok=True)
        return run

    def run(self, run_id: str, after: int = 0) -> RunView:
        """A run and its events numbered above ``after``; poll with the view's ``cursor``."""
        self.store.recover()
        run = self.store.get(run_id)
        return RunView(run, tuple(self.store.events(run_id, after)), self.runner.position(run_id))

    def runs(self, owner: str | None = None) -> list[Run]:
        """The runs (of one owner), newest first. One whose process died reads as interrupted."""
        self.store.recover()
        return self.store.runs(owner)

    def stop(self, run_id: str) -> Run:
        """Ask a run to stop; its best and its last weights are kept, and it can be resumed."""
        return self.runner.stop(run_id)

    def resume(self, run_id: str) -> Run:
        """Queue an interrupted, stopped or failed run again, to go on from its last checkpoint."""
        self.store.recover()
        run = self.store.take(run_id)
        self.runner.submit(run_id)
        return run

    def delete_run(self, run_id: str) -> None:
        """Remove a run with its model, its data and its events.

        Raises:
            StudioError: it is still under way.
        """
        self.store.recover()
        run = self.store.get(run_id)
        if run.active:
            raise StudioError(f"the run {run_id} is {run.status}", "stop it before deleting it")
        self.store.delete(run_id)

    def export(self, run_id: str, path: str | Path | None = None) -> Exported:
        """A zip of a finished run: model, adapter, spec, data digest, held-out rows, card, ``verify.py``."""
        from ..runs.export import export_run

        run = self.store.get(run_id)
        target = self.workspace.exports() / f"{file_name(run.name, 'model')}-{run.id}.zip" if path is None else Path(path)
        export_run(run, self.workspace.run(run_id), target)
        return Exported(target, target.stat().st_size)

    def _new_run(
        self,
        path: str | Path | Table,
        *,
        dev: str | Path | Table | None,
        first: str | Path | Table | None,
        roles: Roles | Asked | None,
        overrides: Mapping[str, Any],
        model: str | None,
        owner: str,
        name: str | None,
    ) -> Run:
        from ..runs.materials import Materials

        drawn = self._draw_up(path, dev=dev, first=first, roles=roles, overrides=overrides, model=model)
        spec = drawn.spec
        run = Run(
            id=new_run_id(),
            owner=owner,
            name=name or file_name(drawn.table.name).rsplit(".", 1)[0],
            status="queued",
            created=now(),
            model=spec.model,
            objective=spec.objective,
            method=spec.method,
            spec=spec.to_json(),
            rows=len(drawn.examples),
            dev_rows=0 if drawn.dev is None else len(drawn.dev),
        )
        data, held = (Path(item) if isinstance(item, str | Path) else item for item in (path, dev))
        assert data is not None
        folder = self.workspace.run(run.id)
        try:
            Materials(folder).write(spec, drawn.roles, data, held, drawn.reasons, drawn.stage)
            self.store.add(run)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return run

    def _taken_up(self, run_id: str, path: str | Path | Table | None, overrides: Mapping[str, Any], model: str | None) -> Run:
        """The run to resume, if what was said beside its id is what it began with."""
        from ..runs.materials import Materials

        self.store.recover()
        run = self.store.get(run_id)
        asked = {**overrides, **({} if model is None else {"model": model})}
        stage = run.spec.get("first", {})
        known = {**run.spec, **run.spec.get("objective_params", {})}
        known |= {f"{FIRST}{key}": value for key, value in {**stage, **stage.get("objective_params", {})}.items()}
        for name, value in asked.items():
            if value not in (None, "auto") and not _same(value, known.get(name)):
                raise StudioError(
                    f"the run {run_id} began with {name} {known.get(name)!r}, not {value!r}",
                    "a resumed run keeps its settings; leave them out",
                )
        kept = Materials(self.workspace.run(run_id)).source()["data"]
        if isinstance(path, str | Path) and digest_file(existing_file(path)) != kept["sha256"]:
            raise StudioError(f"the run {run_id} began with another file, {kept['name']}", "leave the file out, or start a new run with it")
        return self.store.take(run_id)


def _same(asked: Any, kept: Any) -> bool:
    """Whether a value as it was typed is the value that was kept."""
    try:
        return float(asked) == float(kept)
    except (TypeError, ValueError):
        return str(asked) == str(kept)


def _require_writable(out: Path) -> None:
    """Find out before hours of training that the model has nowhere to go.

    Raises:
        StudioError: it cannot be made, or holds something that is not a model.
    """
    if out.is_file():
        raise StudioError(f"{out.name} is a file", "name a folder that is new, empty or holds a model")
    if out.is_dir() and any(out.iterdir()) and not (out / "modules.json").is_file() and not (out / "config.json").is_file():
        raise StudioError(f"the folder {out.name} holds something that is not a model", "name a folder that is new, empty or holds a model")
    try:
        out.resolve().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StudioError(f"the folder {out} cannot be made: {error.strerror}", "name a folder that you may write") from error
