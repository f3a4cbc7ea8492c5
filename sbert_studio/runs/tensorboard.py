"""TensorBoard log of a run: ``tensorboard --logdir <home>/runs`` shows all runs side by side."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..workspace import file_name
from .files import RunFiles

FOLDER = "tensorboard"
_CURVES = {"loss": "train/loss", "learning_rate": "train/learning_rate", "grad_norm": "train/gradient_norm"}
_CURVES |= {"pairs_per_second": "train/rows_per_second", "epoch": "train/epoch"}
_FLUSH_EVERY = 5.0  # seconds; the library waits for the disk each time
_AT_ONCE = ("evaluated", "finished", "stopped", "failed")


class TensorBoardLog:
    """Event files in the folder ``tensorboard/`` of a run, written from the same events as the store.

    Curves are ``train/…`` and ``held_out/…`` (each score of each evaluation); notices and the spec are texts. If a run has several members,
    each gets its own folder, which TensorBoard lists as a run. A resumed run opens another file, whose first entry makes readers discard
    the points after its checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self._files = RunFiles(folder)
        self._root = self._folder = folder / FOLDER
        self._writer: Any = None
        self._step = self._notes = 0
        self._flushed = 0.0
        self._broken = False

    def write(self, body: Mapping[str, Any]) -> str:
        """Log an event in the form of :func:`~sbert_studio.training.events.to_json`, without ever raising.

        Returns:
            The reason if this call disabled logging; otherwise an empty string.
        """
        if self._broken:
            return ""
        try:
            self._log(body)
        except Exception as error:  # a full disk, a deleted folder or a missing library must not stop training
            self._broken = True
            self.close()
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            return f"the TensorBoard log cannot be written ({reason}); the run goes on without it"
        return ""

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.close()
            except Exception:
                self._broken = True  # a full disk, which the last event reported

    def _log(self, body: Mapping[str, Any]) -> None:
        from tensorboardX import summary

        kind = body["type"]
        if kind == "part":
            self.close()
            self._folder = self._root / f"{body['number']:02d}-{file_name(str(body['title']), 'part').replace(' ', '-')}"
            self._step = self._notes = 0
        elif kind == "started":
            self._step = int(body.get("step") or 0)
            self._begin(self._step)
        elif kind == "step":
            self._step = int(body["step"])
            for name, tag in _CURVES.items():
                self._scalar(tag, body.get(name))
        elif kind == "evaluated":
            self._step = int(body["step"])
            self._scalar(f"held_out/{body['metric']}", body["score"])
            for tag, value in _numbers(body["scores"]):
                self._scalar(f"held_out/{tag}", value)
        elif kind in ("notice", "failed"):
            self._notes += 1
            self._add(summary.text(f"notes/{self._notes}", str(body["message"])))
        if self._writer is not None and (kind in _AT_ONCE or time.monotonic() - self._flushed > _FLUSH_EVERY):
            self._writer.flush()
            self._flushed = time.monotonic()

    def _begin(self, step: int) -> None:
        from tensorboardX import summary
        from tensorboardX.proto.event_pb2 import Event, SessionLog

        self.close()
        if self._open():
            session = SessionLog(status=SessionLog.START)
            self._writer.write_event(Event(wall_time=time.time(), step=step + 1 if step else 0, session_log=session))
        if not step:
            rows = "".join(f"| {name} | `{value}` |\n" for name, value in self._files.spec().to_json().items())
            self._add(summary.text("spec", f"| setting | value |\n| --- | --- |\n{rows}"), step=0)

    def _open(self) -> int:
        """Open a new file. Return the number of earlier files."""
        from tensorboardX.event_file_writer import EventsWriter

        self._folder.mkdir(parents=True, exist_ok=True)
        earlier = len(list(self._folder.glob("events.*")))
        # The library names files by the second; the number distinguishes and orders two files of the same second.
        self._writer = EventsWriter(str(self._folder / "events"), f".{earlier:03d}")
        return earlier

    def _scalar(self, tag: str, value: Any) -> None:
        from tensorboardX import summary

        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            self._add(summary.scalar(tag, float(value)))

    def _add(self, summary: Any, step: int | None = None) -> None:
        from tensorboardX.proto.event_pb2 import Event

        if self._writer is None:  # a run that failed before its first step
            self._open()
        self._writer.write_event(Event(wall_time=time.time(), step=self._step if step is None else step, summary=summary))


def _numbers(scores: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    # The main score has its own name.
    for name, value in scores.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{above}{name}/")
        elif isinstance(value, list | tuple) and len(value) == 2:
            yield from ((f"{above}{name}/{end}", item) for end, item in zip(("low", "high"), value, strict=True))
        elif isinstance(value, int | float) and f"{above}{name}" not in ("score", "rows", "seconds"):
            yield f"{above}{name}", value
