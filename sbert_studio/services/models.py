"""Model service: list the available models, and upload models to the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..errors import StudioError
from ..i18n import _, join, to_sentence
from ..models.hub import HUB_ID, transport_errors
from ..models.io.digests import require_undamaged
from .resources import Service
from .results import ModelSummary
from .static_embeddings import list_static_models

_UPLOADABLE_KINDS = ("run", "fitted")


@dataclass(frozen=True)
class PushedModel:
    """An uploaded model: the URL of its repository and the number of bytes sent."""

    url: str
    bytes: int


class ModelService(Service):
    """Models that can be used by name."""

    def list_models(self, owner: str | None = None) -> list[ModelSummary]:
        """List the installed models, then (one owner's) runs and static models, newest first. No model is loaded.

        Damaged models are listed with a description of the damage.
        """
        runs = [run for run in self.store.runs(owner) if run.model_path is not None]
        usable = [run for run in runs if run.status == "finished" or (run.model_path is not None and run.model_path.is_dir())]
        return (
            self._installed()
            + [self._summarize(run.id, "run", run.name, {"before": dict(run.before), "after": dict(run.after)}) for run in usable]
            + self._static(owner)
        )

    def list_available(self, owner: str | None = None) -> tuple[list[ModelSummary], list[str]]:
        """Return (:meth:`list_models`, notices). If the store cannot be read, runs are listed by their folders.

        Because a folder does not identify its owner, a visitor of a shared page then sees only installed and static models.
        """
        try:
            return self.list_models(owner), []
        except StudioError as error:
            if owner not in (None, "local"):
                notice = _("{message}; your own models are listed again once it can be read", message=error.message)
                return self._installed() + self._static(owner), [notice]
            folders = sorted(self.workspace.home.glob("runs/run-*/model"))
            runs = [self._summarize(folder.parent.name, "run", folder.parent.name) for folder in folders]
            return self._installed() + runs + self._static(owner), [
                _("{message}; the runs are listed by their folders", message=error.message)
            ]

    def _installed(self) -> list[ModelSummary]:
        kinds = {"bundled": self.catalog.bundled(), "foreign": self.catalog.external(), "table": self.catalog.tables()}
        return [self._summarize(name, kind, name) for kind, names in kinds.items() for name in names]

    def _static(self, owner: str | None) -> list[ModelSummary]:
        def sentences(notes: tuple[str, ...]) -> str:
            return join(" ", (to_sentence(note) for note in notes))

        records = list_static_models(self.workspace, owner)
        return [replace(self._summarize(one.id, "fitted", one.name), note=sentences(one.notes)) for one in records]

    def _summarize(self, name: str, kind: str, title: str, scores: Mapping[str, Any] | None = None) -> ModelSummary:
        from ..models.io.sources import describe_source, read_model_info

        try:
            info = describe_source(self.catalog.resolve(name))
        except StudioError:
            info = read_model_info(None)
        note = "Frozen: it can be used and evaluated, but not fine-tuned." if kind == "foreign" else ""
        return ModelSummary(name=name, kind=kind, title=title, note=note, scores=scores or {}, **asdict(info))

    def push_to_hub(
        self,
        model: str,
        repository: str,
        token: str,
        *,
        private: bool = True,
        endpoint: str | None = None,
        begin_phase: Callable[[str], None] = lambda phase: None,
    ) -> PushedModel:
        """Upload a model's sentence-transformers folder to a repository, which is created if needed.

        Args:
            model: id of a run or of a locally trained static model.
            repository: ``name``, for the account of the token, or ``owner/name``.
            token: an access token with write permission; on a shared page never this machine's own.
            private: visibility of a new repository; an existing one keeps its visibility.
            endpoint: URL of a hub other than huggingface.co.
            begin_phase: called with the title of each phase.

        Raises:
            StudioError: the model was not trained here or is damaged, the name is invalid, the token lacks permission, or the hub is
                unreachable.
        """
        from huggingface_hub import CommitOperationAdd, HfApi

        source = self.catalog.resolve(model)
        if source.kind not in _UPLOADABLE_KINDS or source.path is None:
            raise StudioError(_("{model} was not trained here", model=model), "choose one of your runs or static embedding models")
        require_undamaged(source.path, model)
        folder = source.path
        files = [(path.relative_to(folder).as_posix(), path) for path in sorted(folder.rglob("*")) if path.is_file()]
        size = sum(path.stat().st_size for _, path in files)
        api = HfApi(endpoint=endpoint, token=token, library_name="sbert-studio")
        with _translated_errors(repository):
            begin_phase("contacting the Hub")
            created = api.create_repo(_repository_name(repository), private=private, exist_ok=True)
            begin_phase(_("uploading {size} MB", size=f"{size / 1e6:,.0f}"))
            additions = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=path) for name, path in files]
            api.create_commit(
                created.repo_id, operations=additions, commit_message=_("{name}, fine-tuned with SBERT Studio", name=source.name)
            )
        return PushedModel(str(created), size)


def _repository_name(repository: str) -> str:
    name = repository.strip().removeprefix("https://huggingface.co/").strip("/")
    if not HUB_ID.fullmatch(name) or ".." in name or "--" in name:
        raise StudioError(
            _("{repository} is not a valid repository name", repository=repr(repository[:80])),
            "use letters, digits, - _ and ., such as my-name/my-model",
        )
    return name


# Message and hint by HTTP status.
_HUB_ERRORS = {
    401: ("the Hub does not recognize your token", "sign in again"),
    403: ("you have no permission to write to {repository} on the Hub", "use a name in your own account, or sign in with write permission"),
    404: ("there is no repository {repository} on the Hub that you can write to", "use a name in your own account"),
    409: ("{repository} already exists and is not a model", "use another name"),
}


@contextmanager
def _translated_errors(repository: str) -> Iterator[None]:
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError, OfflineModeIsEnabled

    unreachable: tuple[type[BaseException], ...] = (OfflineModeIsEnabled, OSError, *transport_errors())
    try:
        yield
    except LocalTokenNotFoundError:
        raise StudioError(*_HUB_ERRORS[401]) from None
    except HfHubHTTPError as error:
        status = int(getattr(error.response, "status_code", 0) or 0)
        what, how = _HUB_ERRORS.get(status, ("the Hub rejected the upload ({status}): {reason}", "try again later"))
        values = {"repository": repository, "status": status or "no status", "reason": error.server_message or "no reason given"}
        raise StudioError(_(what, **values), how) from None
    except unreachable as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise StudioError("the Hugging Face Hub cannot be reached", "go online, or download the zip and upload it yourself") from None
