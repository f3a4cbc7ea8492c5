"""Finds a Chromium for the browser tests, or installs one. Run as a script by ``make test``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

# The headless shell has no window around the page, which takes a fifth of the browser's processor time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
    "--use-gl=swiftshader", "--enable-webgl", "--ignore-gpu-blocklist",
]  # fmt: skip
_PLAYWRIGHT_LIMIT, _APT_LIMIT = 300, 900


def find_chromium() -> str | None:
    """A Chromium on PATH, else the one that playwright downloaded; ``None`` where there is neither."""
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
    return str(own) if own.is_file() else None


def install() -> str | None:
    """Playwright's own Chromium, else Debian's packages; ``None`` where none can be had."""
    _try([sys.executable, "-m", "playwright", "install", "chromium"], _PLAYWRIGHT_LIMIT)
    found = find_chromium()
    if found or not shutil.which("apt-get"):
        return found
    prefix = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    if prefix and not shutil.which("sudo"):
        return None
    _try([*prefix, "apt-get", "update"], _APT_LIMIT)
    for package in NAMES[:2]:
        install = [*prefix, "apt-get", "install", "--yes", "--no-install-recommends", package]
        _try(install, _APT_LIMIT, {"DEBIAN_FRONTEND": "noninteractive"})
        if found := find_chromium():
            return found
    return None


def _try(command: list[str], limit: int, extra: dict[str, str] | None = None) -> None:
    """Run a command that may fail: what matters is whether a Chromium is there afterwards."""
    print("+", " ".join(command), file=sys.stderr)
    try:
        subprocess.run(command, timeout=limit, check=False, stdout=subprocess.DEVNULL, env={**os.environ, **(extra or {})})
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"  {error}", file=sys.stderr)


def main() -> int:
    """0 with the path on stdout, 1 with what to do on stderr."""
    found = find_chromium() or install()
    if found:
        print(found)
        return 0
    print(
        "error: the browser tests need a Chromium, and none could be found or installed. "
        "hint: install the package chromium (Debian, Ubuntu: apt-get install chromium) or Google Chrome, and run make test again.",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
