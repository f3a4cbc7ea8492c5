"""Reading of strangers' files in a child process with limits on time and memory.

Parsers of PDF, DOCX and HTML are large and see any bytes: in a child process, a crash, an endless loop or a memory leak costs one file. The
child inherits no open files, writes none, and gets each path and returns each result as a line of JSON.
"""

from __future__ import annotations

import json
import math
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from ...progress import checkpoint
from .extraction import extract
from .sections import Extracted, ExtractionError

MEMORY_BYTES = 2 << 30
"""Address space of the child process; its libraries take about a quarter."""

SECONDS = 60.0
"""Maximum processor time of reading one file."""

_KILLED = {-9: "memory", -24: "too_slow"}  # exit code by signal: SIGKILL, SIGXCPU
_GRACE_SECONDS = 5
_BUSY = 5  # times the processor time that reading may take on a busy machine; Windows has no limit of processor time
_POLL_SECONDS, _START_SECONDS = 0.2, 60.0
_START = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {__name__} import serve; serve(*map(int, sys.argv[2:]))"


class DocumentReader:
    """A child process that reads files; started at the first file, and again after one that it did not survive.

    Args:
        seconds: maximum processor time of reading one file.
        memory: maximum address space in bytes; not enforced on Windows.
    """

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY_BYTES) -> None:
        self._seconds, self._memory = seconds, memory
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def __enter__(self) -> DocumentReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, path: Path, suffix: str) -> Extracted:
        """Return the content of a file.

        Raises:
            ExtractionError: the file cannot be read within the limits.
            StoppedError: the work was cancelled.
        """
        try:
            process = self._start()
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # the end of the process is noticed below
                process.stdin.write(json.dumps([str(path), suffix]).encode() + b"\n")
                process.stdin.flush()
            answer = self._wait(self._seconds * (1 if sys.platform == "win32" else _BUSY))
        except BaseException:
            self.close()
            raise
        if "error" in answer:
            raise ExtractionError(answer["error"])
        sections = [(list(headings), str(text), int(page)) for headings, text, page in answer["sections"]]
        return Extracted(answer["title"], sections, answer["scanned_pages"], answer["repaired"], answer["trimmed"])

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):  # a broken pipe
                        stream.close()

    def _wait(self, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while True:
            try:
                line = self._answers.get(timeout=_POLL_SECONDS)
                break
            except queue.Empty:
                checkpoint()
                if time.monotonic() > end:
                    raise ExtractionError("too_slow") from None
        if not line:  # killed by the system for lack of memory or for processor time, or a crash of a parser
            raise ExtractionError(_KILLED.get(0 if self._process is None else self._process.wait(), "damaged"))
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        command = [sys.executable, "-P", "-c", _START, json.dumps(sys.path), str(self._memory), str(math.ceil(self._seconds))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, close_fds=True)
        self._answers = queue.SimpleQueue()
        threading.Thread(target=_collect, args=(self._process.stdout, self._answers), daemon=True).start()
        self._wait(_START_SECONDS)  # not part of the time for a file
        return self._process


def _collect(stream: IO[bytes], answers: queue.SimpleQueue[bytes]) -> None:
    with suppress(ValueError, OSError):  # closed by the other thread
        for line in stream:
            answers.put(line)
    answers.put(b"")


def serve(memory: int, seconds: int) -> None:
    """Read files in the child process until its input ends."""
    _limit_resources(memory)
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # parsers that print must not disturb the answers
    answers.write(b"{}\n")
    answers.flush()
    for line in sys.stdin.buffer:
        path, suffix = json.loads(line)
        _limit_processor_time(seconds)
        answers.write(json.dumps(_read(Path(path), suffix)).encode() + b"\n")
        answers.flush()


def _read(path: Path, suffix: str) -> dict[str, Any]:
    try:
        return asdict(extract(path, suffix))
    except ExtractionError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "memory"}
    except PermissionError:
        return {"error": "unreadable"}
    except Exception:  # parsers raise any exception for damaged files
        return {"error": "damaged"}


def _limit_resources(memory: int) -> None:
    try:
        import resource
    except ImportError:  # not available on Windows
        return
    for kind, limit in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        with suppress(OSError, ValueError):  # a lower limit may already apply, and macOS has no limit of the address space
            resource.setrlimit(kind, (limit, limit))


def _limit_processor_time(seconds: int) -> None:
    """End this process after so many seconds of processor time from now, in case the parent has died and cannot end it."""
    try:
        import resource
    except ImportError:
        return
    used = math.ceil(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (used + seconds + _GRACE_SECONDS, most))
