"""A model that was made here, put on the Hugging Face Hub with the token of whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from .resources import Service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MADE_HERE = ("run", "fitted")


@dataclass(frozen=True)
class PushedModel:
    """Where a model is now. ``url``: of the repository's page; ``bytes``: what was sent."""

    url: str
    bytes: int


class ModelService(Service):
    """Models → the Hub."""

    def push(
        self,
        model: str,
        repository: str,
        token: str,
        *,
        private: bool = True,
        endpoint: str | None = None,
        begin: Callable[[str], None] = lambda phase: None,
    ) -> PushedModel:
        """Put the folder that sentence-transformers opens into a repository, which is made where there is none.

        Args:
            model: a run's id, or that of a table of words that was made here.
            repository: ``name``, which then belongs to whoever the token is of, or ``owner/name``.
            token: an access token that may write; never this machine's own on a shared page.
            private: whether only its owner sees a repository that is made now; one that is there stays as it is.
            endpoint: of another hub than huggingface.co.
            begin: told each phase as it begins.

        Raises:
            StudioError: the model was not made here or is damaged, the name cannot be one, the token may not write there, or the hub
                cannot be reached.
        """
        from huggingface_hub import CommitOperationAdd, HfApi

        from ..models.io.digests import require_undamaged

        source = self.catalog.resolve(model)
        if source.kind not in _MADE_HERE or source.path is None:
            raise StudioError(f"{model} was not made here", "choose a run of yours, or word vectors of yours")
        require_undamaged(source.path, model)
        files = _files(source.path)
        api = HfApi(endpoint=endpoint, token=token, library_name="sbert-studio")
        with _in_words(repository):
            begin("asking the Hub")
            made = api.create_repo(_named(repository), private=private, exist_ok=True)
            begin(f"sending {sum(path.stat().st_size for _, path in files) / 1e6:,.0f} MB")
            adds = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=path) for name, path in files]
            api.create_commit(made.repo_id, operations=adds, commit_message=f"{source.name}, tuned in SBERT Studio")
        return PushedModel(str(made), sum(path.stat().st_size for _, path in files))


def _files(folder: Path) -> list[tuple[str, Path]]:
    return [(path.relative_to(folder).as_posix(), path) for path in sorted(folder.rglob("*")) if path.is_file()]


def _named(repository: str) -> str:
    """A name as the Hub takes it.

    Raises:
        StudioError: it cannot be one.
    """
    from ..models.hub import HUB_ID

    name = repository.strip().removeprefix("https://huggingface.co/").strip("/")
    if not HUB_ID.fullmatch(name) or ".." in name or "--" in name:
        raise StudioError(
            f"{repository[:80]!r} cannot be the name of a repository", "take letters, digits, - _ and ., such as my-name/my-model"
        )
    return name


_WHY = {
    401: ("the Hub does not know who you are", "sign in again"),
    403: ("you may not write to {0} on the Hub", "take a name of your own, or sign in with the right to write"),
    404: ("there is no {0} on the Hub that you may write to", "take a name of your own"),
    409: ("{0} is there already, and is something else than a model", "take another name"),
}


@contextmanager
def _in_words(repository: str) -> Iterator[None]:
    """What the Hub answers, as an error that says how to mend it."""
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError, OfflineModeIsEnabled

    from ..models.hub import transport_errors

    unreachable: tuple[type[BaseException], ...] = (OfflineModeIsEnabled, OSError, *transport_errors())
    try:
        yield
    except LocalTokenNotFoundError:
        raise StudioError(*_WHY[401]) from None
    except HfHubHTTPError as error:
        status = _status(error)
        what, how = _WHY.get(status, ("the Hub refused ({1}): {2}", "try again later"))
        raise StudioError(what.format(repository, status or "no status", error.server_message or "without a word"), how) from None
    except unreachable as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise StudioError("the Hugging Face Hub cannot be reached", "go online, or download the zip and upload it yourself") from None


def _status(error: Any) -> int:
    return int(getattr(error.response, "status_code", 0) or 0)
