"""Hook of mkdocs: links from docs/ to other files of the repository lead to its address, or are plain text without one."""

from __future__ import annotations

import os
import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)")
# Where the site is built from, such as https://github.com/OWNER/NAME/blob/main.
_REPOSITORY = os.environ.get("DOCS_REPOSITORY", "").rstrip("/")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the page with links that lead outside docs/ changed."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def change(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[2]))
        if target.startswith("docs/") and target.endswith((".md", ".png", ".svg")):
            return found[0]
        return f"[{found[1]}]({_REPOSITORY}/{target}{found[3] or ''})" if _REPOSITORY else found[1]

    return _LINK.sub(change, markdown)
