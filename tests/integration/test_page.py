"""The page at `/`, used in a browser: what a reader sees, with a real service and a scripted model."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from tests.fakes.model import Fault
from tests.fakes.pdfs import text_pdf
from tests.integration.conftest import Talk

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


MILL = text_pdf(
    [
        "The mill was built in 1843 by Anna Keller.",
        "The mill closed in 1960. <script>window.ran = 1</script><img src=x onerror='window.ran = 1'>",
    ]
)
QUESTION = "When was the mill built, and when did the mill close?"
MARKDOWN = """\
## The mill

It was **built in 1843 [mill.pdf#1]**, then *closed* [mill.pdf#1]. See [the register](https://example.com/mill).

| Year | What |
|:-----|-----:|
| 1843 | built [mill.pdf#1] |

1. one
   - nested `code [mill.pdf#1]`

> quoted [mill.pdf#1]

```python
print("[mill.pdf#1]")
```

[mill.pdf#1]: end"""
HOSTILE = """\
<script>window.ran = 1</script> <img src=x onerror="window.ran = 1"> [mill.pdf#1]

<iframe srcdoc="<script>parent.ran = 1</script>"></iframe>

[a](javascript:window.ran=1) [b](data:text/html,<script>1</script>) [c](//evil.example/x)
<javascript:window.ran=1>

![i](https://evil.example/i.png) <svg onload="window.ran = 1"></svg> &lt;b&gt;

[mill.pdf#1]: javascript:window.ran=1
"""
LONG = "\n\n".join(f"Paragraph {n} is about the mill [mill.pdf#1]. {'More words. ' * 30}" for n in range(12))

WATCH = """
    window.violations = [];
    addEventListener("securitypolicyviolation", (event) => violations.push(event.blockedURI));
"""

need_chromium()
expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for this module."""
    with chromium() as running:
        yield running


@dataclass
class Reader:
    """Somebody at the page, in a session of their own."""

    page: Page
    talk: Talk
    session: str
    elsewhere: list[str] = field(default_factory=list)
    """Addresses that the browser asked which are not the service's."""

    def requested(self, sent: Request) -> None:
        """Told of every request of the page."""
        if not sent.url.startswith(self.talk.service.lock.url):
            self.elsewhere.append(sent.url)

    def ask(self, question: str = QUESTION, reply: str = MARKDOWN) -> None:
        """Type a question, to which the model will say `reply`."""
        self.talk.model.reply = reply
        self.page.fill("#message", question)
        self.page.press("#message", "Enter")

    def ended(self) -> None:
        """Wait for the end of the answer."""
        expect(self.page.locator("#stop")).to_be_hidden()

    def asked(self, question: str = QUESTION, reply: str = MARKDOWN) -> None:
        """And have the whole answer."""
        self.ask(question, reply)
        self.ended()

    def to_go(self) -> int:
        """Pixels from what is seen to the end of the page."""
        gone = "document.documentElement.scrollHeight - window.innerHeight - window.scrollY"
        return int(self.page.evaluate(gone))

    def sees(self, text: str) -> bool:
        """True if a paragraph is in view, and not behind the question's form."""
        box = self.page.locator("#turns p", has_text=text).last.bounding_box()
        form = self.page.locator("#ask").bounding_box()
        assert box
        assert form
        return box["y"] >= 0 and box["y"] + box["height"] <= form["y"] + 1


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
    """At a page 700 px high, with the mill's PDF uploaded; nothing it does may reach elsewhere."""
    session = re.sub(r"\W", "-", request.node.name)[:100]
    response = talk.service.upload("mill.pdf", MILL, session_id=session)
    assert response.status_code == 201, response.text
    tab.goto("/healthz")
    tab.set_viewport_size({"width": 900, "height": 700})
    tab.evaluate(f"localStorage.clear(); sessionStorage.clear(); localStorage['ibid.session'] = '{session}'")
    found = Reader(tab, talk, session)
    tab.on("request", found.requested)
    reply = talk.model.reply
    try:
        tab.goto("/")
        expect(tab.locator("#documents li")).to_have_count(1)
        yield found
    finally:
        talk.model.reply, talk.model.fault = reply, Fault()
        tab.remove_listener("request", found.requested)
    assert found.elsewhere == []


def test_markdown_is_shown_as_it_is_meant(reader: Reader) -> None:
    """Headings, emphasis, lists, tables, quotes, code and links; marks stay marks, but not in code."""
    reader.asked()
    answer = reader.page.locator(".answer")

    assert answer.locator("h4").inner_text() == "The mill"
    assert answer.locator("strong").inner_text() == "built in 1843 mill.pdf#1"
    assert answer.locator("em").inner_text() == "closed"
    assert answer.locator("td").all_inner_texts() == ["1843", "built mill.pdf#1"]
    assert answer.locator("ol > li > ul > li code").inner_text() == "code [mill.pdf#1]"
    assert "quoted" in answer.locator("blockquote").inner_text()
    assert answer.locator("pre").inner_text().strip() == 'print("[mill.pdf#1]")'
    link = answer.locator("a")
    assert (link.get_attribute("href"), link.get_attribute("rel")) == (
        "https://example.com/mill",
        "noopener noreferrer nofollow",
    )
    assert answer.locator(".chip").count() == 5
    answer.locator("strong .chip").click()
    expect(reader.page.locator("#passage-text")).to_contain_text("built in 1843 by Anna Keller")


def test_nothing_in_a_text_runs(reader: Reader) -> None:
    """Of a model, a PDF, a file's name or a question: it is shown, and the browser has nothing to refuse."""
    page, name = reader.page, "<img src=x onerror=window.ran=1>.pdf"
    assert reader.talk.service.upload(name, text_pdf("Loam."), session_id=reader.session).status_code == 201
    page.reload()
    expect(page.locator("#documents")).to_contain_text(name)
    reader.asked(f"{QUESTION} <img src=x onerror=window.ran=1>", HOSTILE)
    page.locator(".answer .chip").first.click()
    expect(page.locator("#passage-text")).not_to_have_text("…")
    page.click("#close")
    page.reload()
    expect(page.locator(".sources")).to_have_count(1)

    assert '<img src=x onerror="window.ran = 1">' in page.locator(".answer").inner_text()
    assert page.locator("#turns :is(script, img, iframe, svg), #documents img, #passage img").count() == 0
    links = [one.get_attribute("href") for one in page.locator(".answer a").all()]
    assert links == ["https://evil.example/i.png"], "an image is a link that one may follow"
    assert page.evaluate("[window.ran, violations]") == [None, []]


def test_a_reload_shows_what_was_said(reader: Reader) -> None:
    """Questions, answers, their sources and what was told of them: the same as before."""
    reader.asked()
    reader.asked(reply="The year is 1843, as [ghost.pdf#7] says.")
    shown = reader.page.locator("#turns").inner_text()
    reader.page.reload()
    expect(reader.page.locator(".sources")).to_have_count(2)
    restored = reader.page.locator("#turns").inner_text()

    def timeless(text: str) -> str:
        return re.sub(r"\d+\.\d s", "", text)

    assert timeless(restored) == timeless(shown)
    assert reader.page.locator("#empty").is_hidden()
    reader.page.locator(".answer .chip").first.click()
    expect(reader.page.locator("#passage-text")).to_contain_text("built in 1843")


def test_what_the_model_did_not_cite_does_not_look_cited(reader: Reader) -> None:
    """The nearest passages are called so, and a citation that was removed is told."""
    reader.asked(reply="The year is 1843, as [ghost.pdf#7] says.")
    item = reader.page.locator("#turns li").first

    assert item.locator("summary").inner_text() == "Closest passages (the model cited none)"
    assert item.locator(".answer").inner_text() == "The year is 1843, as says."
    assert item.locator(".answer .chip").count() == 0
    assert "1 invented citation was removed." in item.inner_text()


def test_the_view_follows_the_answer(reader: Reader) -> None:
    """While its reader is at the end; who has gone up stays there, and is told that there is more."""
    reader.asked(reply=LONG)
    assert reader.to_go() <= 1

    reader.talk.model.fault = Fault(only="chat", pace=0.006)
    reader.ask(reply=LONG)
    expect(reader.page.locator(".answer").last).to_contain_text("Paragraph 3")
    reader.page.evaluate("window.scrollTo(0, 0)")
    expect(reader.page.locator("#below")).to_be_visible()
    assert reader.page.evaluate("window.scrollY") == 0
    reader.page.click("#below")
    reader.ended()
    expect(reader.page.locator("#below")).to_be_hidden()
    assert reader.to_go() <= 1


def test_how_an_answer_ended_is_seen(reader: Reader) -> None:
    """That it was stopped, and that it broke off: in view, whatever is."""
    reader.talk.model.fault = Fault(only="chat", stall_after=500)
    reader.ask(reply=LONG)
    expect(reader.page.locator(".answer")).to_contain_text("Paragraph 6")
    reader.page.evaluate("window.scrollTo(0, 0)")
    reader.page.click("#stop")
    reader.ended()
    assert reader.sees("Stopped.")

    reader.talk.model.fault = Fault(only="chat", close_after=500)
    reader.asked(reply=LONG)
    assert reader.sees("The chat model failed")


def test_a_file_that_is_being_read_is_said_to_be(reader: Reader) -> None:
    """By the question's form and below an answer that could not know it; then it can be asked again."""
    page = reader.page
    ships = text_pdf([f"Page {n}: the lighthouse keeper counts {n} ships." for n in range(600)])
    page.set_input_files("#files", {"name": "ships.pdf", "mimeType": "application/pdf", "buffer": ships})
    expect(page.locator("#reading")).to_have_text("Reading ships.pdf…")
    reader.asked("Which gulls does the lighthouse keeper feed?", "I do not know.")
    expect(page.locator("#turns")).to_contain_text("Reading ships.pdf…")
    page.click("text=Ask again", timeout=3 * WAIT_MS)
    reader.ended()

    assert page.locator("#reading").is_hidden()
    assert "ships.pdf has been read." in page.locator("#turns").inner_text()
    assert "passages read" in page.locator("#turns > li").last.inner_text()


def test_the_reference_can_be_tried(reader: Reader) -> None:
    """Swagger UI, with nothing from elsewhere and nothing that the policy had to stop."""
    reader.page.goto("/docs")
    chat = reader.page.locator("#operations-chat-chat")
    chat.locator(".opblock-summary").click()
    chat.locator("textarea").fill(f'{{"message": "{QUESTION}", "session_id": "{reader.session}"}}')
    chat.locator(".execute").click()

    expect(chat.locator(".live-responses-table")).to_contain_text("event: done")
    expect(chat.locator(".live-responses-table")).to_contain_text("mill.pdf#1")
    assert reader.page.evaluate("violations") == []
