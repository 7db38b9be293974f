"""A headless Chromium, driven by Playwright. Where it is missing its tests are skipped, but not in CI."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
MISSING = "install chromium (Debian) to run these"
WAIT_MS = 30_000
"""A busy machine is no fault of the page."""


PROGRAM = next(filter(None, map(shutil.which, PROGRAMS)), None)


def need_chromium() -> None:
    """Of a module that uses it: without a browser it is skipped in one line."""
    if PROGRAM is None and "CI" not in os.environ:
        pytest.skip(MISSING, allow_module_level=True)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser."""
    if PROGRAM is None:
        pytest.fail(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()
