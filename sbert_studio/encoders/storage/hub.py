"""Fetching a model from the Hugging Face Hub: weights as safetensors, settings as JSON, and no code."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

from ...errors import StudioError

# "name" or "owner/name", as the Hub allows them.
HUB_ID = re.compile(r"(?:[A-Za-z0-9][\w.-]{0,95}/)?[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_ALLOWED = ["*.safetensors", "*.json", "*.txt", "*.model", "README.md"]
# Other forms of the same weights, which some repositories keep beside the ones that are read.
_IGNORED = ["onnx/*", "openvino/*", "*/onnx/*", "*.onnx*", "tf_*", "flax_*", "original/*"]


def transport_errors() -> list[type[Exception]]:
    """What the Hub's client raises where nothing answers: it speaks HTTP by httpx, and from its second version on by httpx2."""
    found = [importlib.import_module(name) for name in ("httpx", "httpx2") if importlib.util.find_spec(name) is not None]
    return [module.HTTPError for module in found]


def fetch(hub_id: str) -> Path:
    """The folder of ``hub_id``'s newest version: fetched, or from the Hub's own cache when it cannot be reached.

    Raises:
        StudioError: there is no such model, it is not open to all, or the Hub cannot be reached.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

    unreachable: tuple[type[BaseException], ...] = (LocalEntryNotFoundError, HfHubHTTPError, OSError, *transport_errors())
    try:
        return Path(snapshot_download(hub_id, allow_patterns=_ALLOWED, ignore_patterns=_IGNORED, etag_timeout=10))
    except GatedRepoError as error:
        raise StudioError(
            f"the model {hub_id} asks for a licence to be accepted first", "accept it on huggingface.co and log in"
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise StudioError(f"there is no model {hub_id!r} here or on the Hugging Face Hub", "check its spelling") from error
    except unreachable as error:
        raise StudioError(
            f"there is no model {hub_id!r} on this machine, and the Hugging Face Hub cannot be reached", "check the name, or go online"
        ) from error
