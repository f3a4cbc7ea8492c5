"""The command ``serve``: an OpenAI-compatible server of embeddings and re-ranking."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import StudioError
from ..progress import StoppedError
from ..shutdown import SHUTDOWN
from .completion import complete_models
from .options import open_studio
from .output import print_message, warn_unknown_variables
from .page import address_errors, exit_now, require_free

if TYPE_CHECKING:
    from ..server.app import Server

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Encoder or re-ranker: a bundled name, a run id, a folder or a hub id.", autocompletion=complete_models
        ),
    ],
    reranker: Annotated[
        str, typer.Option(metavar="MODEL", help="Cross-encoder or poly-encoder for /v1/rerank.", show_default="MODEL")
    ] = "",
    name: Annotated[str, typer.Option(metavar="ID", help="Model id that clients use.", show_default="the model's name")] = "",
    host: Annotated[str, typer.Option(help="Address to bind.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="TCP port; 0 for a free one.", min=0, max=65535)] = 8000,
    precision: Annotated[Literal["float32", "bfloat16", "int8", "auto"], typer.Option(help="Precision of the weights.")] = "float32",
    input_type: Annotated[
        str,
        typer.Option(
            metavar="query|document|similarity",
            help="Prompt for requests that do not choose one.",
            show_default="such requests are refused if the model has several prompts",
        ),
    ] = "",
    query_prompt: Annotated[str, typer.Option(help="Prompt for queries, or none.", show_default="the model's")] = "",
    document_prompt: Annotated[str, typer.Option(help="Prompt for other texts, or none.", show_default="the model's")] = "",
    api_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Accepted API keys, one per line.", show_default="SBERT_STUDIO_API_KEYS")
    ] = None,
    max_inputs: Annotated[int, typer.Option(min=1, help="Maximum number of texts per request.")] = 2_048,
    max_tokens: Annotated[int, typer.Option(min=1, help="Maximum number of tokens per request.")] = 300_000,
    max_body_mb: Annotated[int, typer.Option(min=1, help="Maximum size of a request, in MiB.")] = 16,
    max_queue: Annotated[int, typer.Option(min=1, help="Maximum number of requests at a time.")] = 256,
    timeout: Annotated[float, typer.Option(min=0.1, help="Maximum time of a request, in seconds.")] = 60.0,
) -> None:
    """Serve a model with the API of OpenAI: embeddings, and re-ranking."""
    from ..settings import limit_kernel_cache

    limit_kernel_cache()
    warn_unknown_variables()
    require_free(host, port)
    with SHUTDOWN.leaving_with(0):
        try:
            keys = _read_keys(api_key_file)
            print_message("loading the model")
            from ..models.prompts import SearchSettings
            from ..server.app import Server, open_listener
            from ..server.engine import ServerEngine, ServerOptions
            from ..server.gate import ServerLimits

            options = ServerOptions(model, name, reranker, precision, input_type, SearchSettings(query_prompt, document_prompt))
            limits = ServerLimits(max_inputs, max_tokens, max_body_mb, max_queue, timeout)
            with open_studio() as studio:
                server = Server(lambda observe: ServerEngine(studio.catalog, options, observe), limits, (*studio.settings.api_keys, *keys))
                server.engine.warm_up()
                with address_errors(host, port):
                    listener = open_listener(host, port)
                server.serve(listener, lambda: _announce(server, host, listener.getsockname()[1]), SHUTDOWN.wait)
        except StoppedError:
            if not SHUTDOWN.is_requested():
                raise
        exit_now()


def _announce(server: Server, host: str, port: int) -> None:
    engine = server.engine
    shown = f"[{host}]" if ":" in host else host
    lines = [f"serving {', '.join(engine.models)} at http://{shown}:{port}/v1; stop with Ctrl-C"]
    if engine.encoder is not None:
        details: dict[str, Any] = engine.encoder.views["document"].describe()
        lines.append(f"{engine.encoder.dim} dimensions, {details['precision']} on {details['device']}; {engine.encoder.describe_prompts()}")
    methods = [*engine.rerankers] or [f"the similarity of {engine.encoder.name}'s embeddings" if engine.encoder else ""]
    lines.append(f"re-ranking by {', '.join(methods)}")
    if not server.gate.has_keys:
        lines.append("no API key is set, so every program that reaches this address can use it (SBERT_STUDIO_API_KEYS, --api-key-file)")
        if host not in _LOOPBACK:
            lines.append(f"warning: {host} is reachable from other machines")
    for line in lines:
        print_message(line)


def _read_keys(file: Path | None) -> tuple[str, ...]:
    if file is None:
        return ()
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        keys = tuple(line for line in lines if line and not line.startswith("#"))  # a comment is easily guessed
    except (OSError, UnicodeDecodeError) as error:
        raise StudioError(f"the API keys in {file} cannot be read: {error}", "pass a text file with one key per line") from None
    if not keys:
        raise StudioError(f"{file} contains no API key", "write one key per line")
    return keys
