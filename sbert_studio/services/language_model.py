"""Language models behind an OpenAI-compatible endpoint or on this machine, with retries, time limits and answers cached on disk.

Nothing requires a language model: callers fall back to what the program computes itself, and report for how many prompts they did.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
import logging
import queue
import re
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from ..errors import StudioError, to_valid_utf8
from ..explore.vector_store import evict_files
from ..i18n import _
from ..progress import Progress, checkpoint
from ..workspace import write_json
from .resources import Resources, Service

if TYPE_CHECKING:
    from ..models.generator import TextGenerator

log = logging.getLogger(__name__)
T = TypeVar("T")

_VERSION = 1  # changes when the same prompt may be answered differently
_CACHE_BYTES = 4 << 20  # some 40,000 names
_MAX_RESPONSE = 1 << 20  # bytes
_PARALLEL = 4
_TRIES, _PAUSE, _MAX_PAUSE = 3, 0.5, 20.0  # attempts, and seconds between them: 0.5, 1, … or as the endpoint demands
_MAX_TIMEOUTS = 3  # of all prompts together; then the endpoint counts as down
_POLL_SECONDS, _DAY = 0.2, 86_400.0
_RETRIED = (408, 425, 429, 500, 502, 503, 504)
_CHAT = "/chat/completions"
_MAX_TOKENS = 64  # of an answer of a local model, which is a single line
LOCAL = "local"
"""The URL that stands for a model on this machine: its name is a folder or a Hugging Face id."""
QUOTES = "\"'`*_“”‘’«»「」『』《》 "
"""Characters around an answer that are not part of it."""
_THOUGHT = re.compile(r"<think>.*?(?:</think>|$)", re.DOTALL | re.IGNORECASE)
_MARKUP = re.compile(r"^(?:[-*#>\s]+|\d+[.)]\s+)|[*_`#]+$")
# What a model declines to do; users write "I cannot reset my password" and "unable to log in", too.
_WORK = r"(?:help|assist|comply|fulfil|write|generate|create|produce|provide|answer|respond|continue|process|do (?:that|this|so)|name)"
_DECLINED = re.compile(
    r"(?:i['’]?m |i am )?(?:very )?sorry\s*(?:[,.!;:]|but\b|i\b|$)"
    rf"|(?:i (?:can ?not|can['’]t|won['’]t|am unable to)|i['’]m unable to|unable to)\s+{_WORK}\b"
    r"|i (?:can ?not|can['’]t|won['’]t)[.!]?$"
    r"|as an ai(?: (?:language )?(?:model|assistant))?\s*[,:]"
    r"|(?:很|非常)?(?:抱歉|对不起)[，,。！ ]|我(?:无法|不能)(?:回答|提供|生成|写|完成|帮|协助|满足|处理)",
    re.IGNORECASE,
)


class ModelError(Exception):
    """A prompt without a usable answer; the message is the reason.

    Attributes:
        is_outage: whether the endpoint did not answer, so that asking again later may help.
        hint: how to get an answer.
    """

    is_outage = False
    hint = "check its address, name and key, and the instruction"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Unavailable(ModelError):
    """A reason for which no other prompt can be answered either."""

    is_outage = True


class _Temporary(ModelError):
    """A failure that may not happen again, after ``pause`` seconds if the endpoint named a time."""

    is_outage = True
    hint = "wait a few minutes, then try again; if it happens again, check the endpoint"

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


class _Limited(_Temporary):
    """The endpoint limits the number of requests within a time."""

    hint = "wait, then try again, or use another endpoint: this one limits the number of requests"


@dataclass(frozen=True)
class _Crash:
    """An unexpected error in a thread."""

    error: BaseException


@dataclass(frozen=True)
class Endpoint:
    """Address, model and key of an OpenAI-compatible endpoint.

    Attributes:
        url: base URL, such as ``http://localhost:11434/v1``.
        key: sent as a bearer token; in no log, file or cache.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)

    @classmethod
    def parse(cls, url: str, model: str, key: str = "") -> Endpoint:
        """Check the parts of an endpoint.

        Raises:
            StudioError: a part is missing or invalid. The message contains no key.
        """
        url, model, key = url.strip(), model.strip(), key.strip()
        if not url or not model:
            raise StudioError(
                "the base URL of the language model is missing" if not url else "the name of the language model is missing",
                "set both, such as http://localhost:11434/v1 and llama3.2",
            )
        try:
            parts = urllib.parse.urlsplit(url)
            is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            is_valid = False
        if not is_valid or not url.isascii() or not url.isprintable() or " " in url:
            raise StudioError("the base URL of the language model is invalid", "write it as https://example.org/v1")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise StudioError(
                "the base URL of the language model contains more than an address", "write https://example.org/v1, and the key separately"
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise StudioError("the key of the language model contains characters that no key has", "copy it again")
        return cls(url.rstrip("/").removesuffix(_CHAT).rstrip("/"), model, key)


@dataclass(frozen=True)
class Prompt:
    """Instructions for the model, and the data that they apply to."""

    system: str
    user: str


@dataclass(frozen=True)
class Completion:
    """An answer as the model gave it, with its thoughts.

    Attributes:
        seconds: since the request, or since the answer before it to another request, if that was later: the sum of all answers is the
            time that they take together. ``None`` if unknown.
        tokens: billed tokens of the prompt and of the answer, as the endpoint reported them; ``None`` if it did not.
    """

    text: str
    seconds: float | None = None
    tokens: tuple[int, int] | None = None


class RequestBudget:
    """Number of requests within a day, by all visitors together, since anyone can be any number of visitors.

    Args:
        most: the maximum; 0 for no limit.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._times, self._lock = deque[float](), threading.Lock()

    def spend(self) -> None:
        """Count a request.

        Raises:
            ModelError: the maximum is reached.
        """
        with self._lock:
            now = self._clock()
            while self._times and self._times[0] < now - _DAY:
                self._times.popleft()
            if self._most:
                if len(self._times) >= self._most:
                    raise _Unavailable(_("the limit of {most} requests per day is reached", most=f"{self._most:,}"))
                self._times.append(now)


class LanguageModelService(Service):
    """Opens language models. On a shared page, only the endpoint that its operator configured can be used.

    Otherwise a visitor could make the server send requests to its private network, or receive the operator's key.
    """

    def __init__(self, resources: Resources) -> None:
        super().__init__(resources)
        self._budget = RequestBudget(self.settings.limits.llm_requests)

    @property
    def takes_addresses(self) -> bool:
        """True if the caller may choose the endpoint: on the command line, and on a page that nobody else can reach."""
        return self._resources.allow_folders and self.catalog.allow_folders

    @property
    def is_configured(self) -> bool:
        """True if the settings name an endpoint and a model."""
        return bool(self.settings.llm_url and self.settings.llm_model)

    @property
    def is_offered(self) -> bool:
        """True if the page can use a language model."""
        return self.is_configured or self.takes_addresses

    def open(self, url: str = "", model: str = "", key: str = "") -> LanguageModel:
        """Return a model; parts that are empty come from the settings. The configured key is only sent to the configured URL, if any.

        Raises:
            StudioError: the caller may not choose an endpoint, or it is missing or invalid.
        """
        if not self.takes_addresses and (url or model or key):
            raise StudioError("the language model of a shared page is chosen by its operator", "use the one that is offered, or none")
        known = self.settings
        if (url or known.llm_url).strip() == LOCAL:
            return self._open_local((model or known.llm_model).strip())
        if not key and (not url or not known.llm_url or _same_address(url, known.llm_url)):
            key = known.llm_key
        endpoint = Endpoint.parse(url or known.llm_url, model or known.llm_model, key)
        return LanguageModel(endpoint, self.workspace.cache("language-model"), known.llm_seconds, self._budget)

    def _open_local(self, name: str) -> LanguageModel:
        if not name:
            raise StudioError("the name of the language model is missing", "specify a folder or a Hugging Face id")
        model = self.catalog.load_generator(name, allow_folders=self.takes_addresses or name == self.settings.llm_model)
        cache = self.workspace.cache("language-model")
        return LocalLanguageModel(model, Endpoint(LOCAL, name), cache, self.settings.llm_seconds, self._budget)


class LanguageModel:
    """A language model whose answers are cached on disk, by endpoint, model and prompt.

    Args:
        folder: cache of answers.
        seconds: maximum time of a request.
        budget: counts the requests; ``None`` for no limit.
    """

    _END_SECONDS = 0.1  # seconds to wait for each request that is under way: an answer that is being stored is finished

    def __init__(self, endpoint: Endpoint, folder: Path, seconds: float, budget: RequestBudget | None = None) -> None:
        self.endpoint, self._folder, self._seconds, self._budget = endpoint, folder, seconds, budget
        self._lock = threading.Lock()
        self._timeouts, self._down, self._answered_at = 0, "", 0.0
        own = [urllib.request.ProxyHandler({})] if _is_local(endpoint.url) else []
        self._opener = urllib.request.build_opener(_NoRedirects, *own)

    def ask_all(self, prompts: Sequence[Prompt], accept: Callable[[str], T], progress: Progress | None = None) -> list[T | ModelError]:
        """Return an answer for each prompt, or the reason why there is none. A few prompts are sent at a time.

        Args:
            accept: converts the text of an answer, or raises a ModelError if it is not usable; only usable answers are cached.
        """
        stop, waiting, results = threading.Event(), iter(enumerate(prompts)), queue.SimpleQueue[tuple[int, T | ModelError | _Crash]]()

        def work() -> None:
            for place, prompt in waiting:
                if stop.is_set():
                    return
                try:
                    results.put((place, self._ask(prompt, accept, stop)))
                except BaseException as error:  # raised below
                    results.put((place, _Crash(error)))

        found: dict[int, T | ModelError] = {}
        # Daemon threads, unlike those of a pool: a command that was interrupted does not wait for an endpoint that does not answer.
        threads = [threading.Thread(target=work, name="language-model", daemon=True) for _ in prompts[:_PARALLEL]]
        for thread in threads:
            thread.start()
        try:
            while len(found) < len(prompts):
                checkpoint()
                with suppress(queue.Empty):
                    place, answer = results.get(timeout=_POLL_SECONDS)
                    if isinstance(answer, _Crash):
                        raise answer.error
                    found[place] = answer
                    if progress is not None:
                        progress(len(found), len(prompts))
            return [found[place] for place in range(len(prompts))]
        finally:
            stop.set()
            for thread in threads:
                thread.join(self._END_SECONDS)
            evict_files(self._folder, _CACHE_BYTES, self._folder, "*.json")

    def stored(self, prompt: Prompt) -> Completion | None:
        """Return the answer in the cache; ``None`` if there is none."""
        return _read_completion(self._path(prompt))

    def _path(self, prompt: Prompt) -> Path:
        return self._folder / f"{self._digest(prompt)}.json"

    def _ask(self, prompt: Prompt, accept: Callable[[str], T], stop: threading.Event) -> T | ModelError:
        try:
            path = self._path(prompt)
            known = _read_completion(path)
            if known is not None:
                with suppress(ModelError):
                    return accept(known.text)
            found = self._request(prompt, stop)
            answer = accept(found.text)
        except ModelError as error:
            return error
        try:
            write_json(path, {"answer": found.text, "seconds": found.seconds, "tokens": found.tokens})
        except OSError as error:
            log.warning("an answer of the language model could not be cached: %s", error.strerror)
        return answer

    def _digest(self, prompt: Prompt) -> str:
        parts = (_VERSION, self.endpoint.url, self.endpoint.model, prompt.system, prompt.user)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _request(self, prompt: Prompt, stop: threading.Event) -> Completion:
        for attempt in range(_TRIES):
            if self._down:
                raise _Unavailable(self._down)
            try:
                if self._budget is not None:
                    self._budget.spend()
                return self._complete(prompt, stop)
            except _Unavailable as error:
                self._down = error.reason
                raise
            except _Temporary as error:
                pause = error.pause or _PAUSE * 2**attempt
                if attempt == _TRIES - 1 or pause > _MAX_PAUSE or stop.wait(pause):
                    raise
        raise AssertionError("unreachable")

    def _complete(self, prompt: Prompt, stop: threading.Event) -> Completion:
        began = time.monotonic()
        body = self._post(prompt)
        return Completion(_answer_text(body), self._time_since(began), _billed_tokens(body))

    def _time_since(self, began: float) -> float:
        """Return the seconds of an answer; see :class:`Completion`."""
        with self._lock:
            now = time.monotonic()
            seconds, self._answered_at = now - max(began, self._answered_at), now
            return seconds

    def _post(self, prompt: Prompt) -> bytes:
        # Only what every endpoint accepts: newer models reject max_tokens and a temperature.
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        body = json.dumps({"model": self.endpoint.model, "messages": messages}).encode()
        headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "sbert-studio"}
        request = urllib.request.Request(self.endpoint.url + _CHAT, body, headers)
        if self.endpoint.key:
            request.add_unredirected_header("authorization", f"Bearer {self.endpoint.key}")
        try:
            with self._opener.open(request, timeout=self._seconds) as response:
                return _read_body(response, time.monotonic() + self._seconds)
        except urllib.error.HTTPError as error:
            with error:
                raise _status_error(error.code, error.headers.get("Retry-After", "")) from None
        except TimeoutError:
            raise self._timed_out() from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:  # UnicodeError: a host name that no name can be
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(cause, TimeoutError):
                raise self._timed_out() from None
            if isinstance(cause, ssl.SSLCertVerificationError):
                raise _Unavailable(_("the certificate of the endpoint is invalid")) from None
            if isinstance(cause, http.client.HTTPException | ConnectionResetError):
                raise _Temporary(_("the endpoint ended the connection")) from None
            raise _Unavailable(_("the endpoint cannot be reached")) from None

    def _timed_out(self) -> ModelError:
        reason = _("no answer within {seconds} s", seconds=f"{self._seconds:g}")
        with self._lock:
            self._timeouts += 1
            is_down = self._timeouts >= _MAX_TIMEOUTS
        return _Unavailable(reason) if is_down else _Temporary(reason)


class LocalLanguageModel(LanguageModel):
    """A language model on this machine. It answers one prompt at a time."""

    _END_SECONDS = 5.0  # it ends with the next token, and must not compute while the program exits

    def __init__(self, model: TextGenerator, endpoint: Endpoint, folder: Path, seconds: float, budget: RequestBudget | None = None) -> None:
        super().__init__(endpoint, folder, seconds, budget)
        self._model = model

    def _digest(self, prompt: Prompt) -> str:
        # A folder may get other weights, whose answers differ.
        return super()._digest(replace(prompt, system=f"{self._model.stamp}\n{prompt.system}"))

    def _complete(self, prompt: Prompt, stop: threading.Event) -> Completion:
        with self._model.turn:
            began = time.monotonic()
            deadline = began + self._seconds
            try:
                text, is_complete = self._model.answer(
                    prompt.system, prompt.user, _MAX_TOKENS, lambda: stop.is_set() or time.monotonic() > deadline
                )
            except StudioError as error:
                raise ModelError(error.message) from None
            if not is_complete:
                raise self._timed_out() if time.monotonic() > deadline else ModelError(_("the answer is too long"))
            return Completion(text, self._time_since(began))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which could lead to a private address."""

    def http_error_302(self, *_args: object) -> None:  # type: ignore[override]
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302  # type: ignore[assignment]


def _read_body(response: IO[bytes], deadline: float) -> bytes:
    """Read a response, whose bytes may come slowly."""
    parts, size = [], 0
    while part := response.read1(1 << 16):  # type: ignore[attr-defined]
        parts.append(part)
        size += len(part)
        if size > _MAX_RESPONSE:
            raise ModelError(_("the answer is too long"))
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)


def _status_error(status: int, retry_after: str) -> ModelError:
    if status in (401, 403):
        return _Unavailable(_("the endpoint rejected the key (HTTP status {status})", status=status))
    if status == 404:
        return _Unavailable(_("the endpoint has no such address or model (HTTP status {status})", status=status))
    if 300 <= status < 400:
        return _Unavailable(_("the endpoint redirects to another address (HTTP status {status})", status=status))
    reason = _("the endpoint answered with HTTP status {status}", status=status)
    if status not in _RETRIED:
        return ModelError(reason)
    kind = _Limited if status == http.HTTPStatus.TOO_MANY_REQUESTS else _Temporary
    return kind(reason, float(retry_after) if retry_after.isdecimal() else 0.0)


def _answer_text(body: bytes) -> str:
    """Return the text of a chat completion."""
    try:
        choice = json.loads(body)["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        text, refusal = message.get("content"), message.get("refusal")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise ModelError(_("the response is not a chat completion")) from None
    if refusal or reason == "content_filter":
        raise ModelError(_("the model declined"))
    if not isinstance(text, str) or not text.strip():
        raise ModelError(_("the answer is empty"))
    return to_valid_utf8(text)


def _billed_tokens(body: bytes) -> tuple[int, int] | None:
    """Return the tokens of the prompt and of the answer, thoughts included, that a chat completion reports."""
    usage = json.loads(body).get("usage")
    sent, received = (usage.get("prompt_tokens"), usage.get("completion_tokens")) if isinstance(usage, dict) else (None, None)
    return (sent, received) if type(sent) is int and type(received) is int and min(sent, received) >= 0 else None


def single_line(answer: str) -> str:
    """Return the only line of an answer, without its thoughts, markup and quotation marks; empty if there is none.

    Raises:
        ModelError: the model declined, or the answer has several lines.
    """
    lines = [line.strip() for line in _THOUGHT.sub("", answer).splitlines() if line.strip()]
    if lines and _DECLINED.match(lines[0].strip(QUOTES)):
        raise ModelError(_("the model declined"))
    if len(lines) > 1:
        raise ModelError(_("the answer is longer than one line"))
    return _MARKUP.sub("", lines[0]).strip(QUOTES) if lines else ""


def _read_completion(path: Path) -> Completion | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        seconds, tokens = found.get("seconds"), found.get("tokens")  # absent in earlier versions
        billed = None if tokens is None else (int(tokens[0]), int(tokens[1]))
        text = found["answer"]
        return Completion(text, None if seconds is None else float(seconds), billed) if isinstance(text, str) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None


def _same_address(url: str, configured: str) -> bool:
    try:
        other = Endpoint.parse(configured, "any").url
    except StudioError:  # a model on this machine, or a mistake that does not concern ``url``
        return False
    return Endpoint.parse(url, "any").url == other


def _is_local(url: str) -> bool:
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
