"""The page at `/`, used in a browser: what a reader sees, with a real service and a scripted model.

One browser and one tab per module. Without Chromium these tests are skipped, but not in CI.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, expect, sync_playwright

from tests.fakes.model import Fault
from tests.fakes.pdfs import text_pdf
from tests.integration.conftest import Talk, host, house, talk

__all__ = ["host", "house", "talk"]

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
MISSING = "install chromium (Debian) to run these"
WAIT_MS = 30_000
"""A busy machine is no fault of the page."""
PROGRAM = next(filter(None, map(shutil.which, PROGRAMS)), None)
WATCH = """
    window.violations = [];
    addEventListener("securitypolicyviolation", (event) => violations.push(event.blockedURI));
"""
MILL = text_pdf(
    [
        "The mill was built in 1843 by Anna Keller.",
        "The mill closed in 1960. <script>window.ran = 1</script><img src=x onerror='window.ran = 1'>",
    ]
)
QUESTION = "When was the mill built, and when did the mill close?"

expect.set_options(timeout=WAIT_MS)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser."""
    if PROGRAM is None and "CI" not in os.environ:
        pytest.skip(MISSING)
    if PROGRAM is None:
        pytest.fail(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for this module."""
    with chromium() as running:
        yield running


@dataclass
class Reader:
    """Somebody at the page, in a session of their own that has the mill's PDF."""

    page: Page
    talk: Talk
    session: str
    elsewhere: list[str] = field(default_factory=list)
    """Addresses that the browser asked which are not the service's."""

    @property
    def chat(self) -> str:
        """The address of the session's chat."""
        return f"/#/c/{self.session}"

    @property
    def last(self) -> Locator:
        """The last question with its answer."""
        return self.page.locator(".turn").last

    def requested(self, sent: Request) -> None:
        """Told of every request of the page."""
        if not sent.url.startswith((self.talk.service.lock.url, "blob:")):
            self.elsewhere.append(sent.url)

    def upload(self, name: str, content: bytes) -> None:
        """A file for this session alone."""
        response = self.talk.service.upload(name, content, session_id=self.session)
        assert response.status_code == 201, response.text

    def ask(self, question: str = QUESTION, reply: str = "It was built in 1843 [mill.pdf#1].") -> None:
        """Type a question, to which the model will say `reply`."""
        self.talk.model.reply = reply
        self.page.fill("#message", question)
        self.page.press("#message", "Enter")

    def ended(self) -> None:
        """Wait for the end of the answer."""
        expect(self.last).to_have_attribute("aria-busy", "false")

    def asked(self, question: str = QUESTION, reply: str = "It was built in 1843 [mill.pdf#1].") -> None:
        """And have the whole answer."""
        before = self.page.locator(".turn").count()
        self.ask(question, reply)
        expect(self.page.locator(".turn")).to_have_count(before + 1)
        self.ended()


@pytest.fixture(scope="module")
def tab(browser: Browser, talk: Talk) -> Iterator[Page]:
    """One for this module: a new one costs two seconds of a processor."""
    context = browser.new_context(base_url=talk.service.lock.url)
    context.set_default_timeout(WAIT_MS)
    context.add_init_script(WATCH)
    yield context.new_page()
    context.close()


@pytest.fixture
def reader(tab: Page, talk: Talk, request: pytest.FixtureRequest) -> Iterator[Reader]:
    """In the chat of a session of its own, with nothing remembered; nothing it does may reach elsewhere."""
    found = Reader(tab, talk, re.sub(r"\W", "-", request.node.name)[:100])
    found.upload("mill.pdf", MILL)
    tab.goto("/healthz")
    tab.set_viewport_size({"width": 1200, "height": 700})
    tab.evaluate("localStorage.clear(); sessionStorage.clear()")
    tab.on("request", found.requested)
    reply = talk.model.reply
    try:
        tab.goto(found.chat)
        yield found
    finally:
        talk.model.reply, talk.model.fault = reply, Fault()
        tab.remove_listener("request", found.requested)
    assert found.elsewhere == []
