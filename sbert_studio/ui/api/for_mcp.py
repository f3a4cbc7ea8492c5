"""Answers to MCP clients as JSON: Gradio 6.31 prints them as Python does."""

from __future__ import annotations

import json
from typing import Any


def answer_in_json(server: Any) -> None:
    """Have Gradio's MCP server (``Blocks.mcp_server_obj``; ``None`` where MCP is off) answer with JSON, which every client reads."""
    if server is None:
        return
    printed = server.postprocess_output_data

    def in_json(data: Any, root_url: str) -> Any:
        return printed([json.dumps(one, ensure_ascii=False) if isinstance(one, dict | list) else one for one in data], root_url)

    server.postprocess_output_data = in_json
