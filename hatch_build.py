"""Metadata of the package that depends on where it is built: the description of PyPI, and addresses of the repository."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Metadata(MetadataHookInterface):
    """Fill in ``readme`` and ``urls``.

    The README begins with the settings of a Space, and its links and pictures are relative. PyPI shows neither, so that the settings are
    left out, and links are completed by the repository's address, which GitHub's builds know (``GITHUB_REPOSITORY``).
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Update the metadata of pyproject.toml."""
        text = re.sub(r"\A---\n.*?\n---\n+", "", (Path(self.root) / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
        if repository := os.environ.get("GITHUB_REPOSITORY"):
            address = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{repository}"
            text = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#)", rf"\g<1>{address}/raw/HEAD/", text)
            text = re.sub(r"(?<!\!)(\[[^\]]*\]\()(?!https?:|#)", rf"\g<1>{address}/blob/HEAD/", text)
            metadata["urls"] = {
                "Repository": address,
                "Changelog": f"{address}/blob/HEAD/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
