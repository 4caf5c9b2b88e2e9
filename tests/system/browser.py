"""A real Chromium for the tests of the dashboard; `make browser` puts one there where a machine has none."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import BrowserContext, ConsoleMessage, Error, Page, sync_playwright

CACHE = Path(__file__).parents[2] / ".cache" / "browser"
"""Where `make browser` installs one."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING = (
    "No browser was found for the tests of the dashboard. Install Chromium "
    "(on Debian and Ubuntu: apt install chromium), or name one: MILEPOST_BROWSER=/path/to/chrome make test"
)


def find_browser() -> str | None:
    """Return the path of a Chromium: the one that is named, one of the machine, the one of `make browser`."""
    if named := os.environ.get("MILEPOST_BROWSER"):
        return named
    known = next((path for name in NAMES if (path := shutil.which(name))), None)
    return known or next(
        (str(path) for path in sorted(CACHE.glob("chromium-*/chrome-*/chrome")) if os.access(path, os.X_OK)),
        None,
    )


@dataclass
class Browser:
    """A browser with one window, and what its pages have complained about."""

    context: BrowserContext
    complaints: list[str] = field(default_factory=list)
    """Messages of the console, violations of the content security policy among them, and errors of scripts."""

    def open(self, url: str, *, width: int = 1280, height: int = 900) -> Page:
        """Open an address in a page of that size."""
        page = self.context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.on("console", self._heard)
        page.on("pageerror", self._failed)
        page.goto(url)
        return page

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def _failed(self, error: Error) -> None:
        self.complaints.append(str(error))


@contextmanager
def opened() -> Iterator[Browser]:
    """Start a browser that knows nothing, and end it."""
    path = find_browser()
    assert path is not None, MISSING
    with TemporaryDirectory(prefix="browser-") as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=path, headless=True, args=list(FLAGS), color_scheme="light"
        )
        try:
            yield Browser(context)
        finally:
            context.close()


if __name__ == "__main__":
    if find_browser() is None:
        sys.exit(MISSING)
