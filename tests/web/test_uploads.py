"""Files that are added: dropped anywhere, three at once, cancelled, refused, tried again, named alike."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Error, FilePayload, Locator, Page, Route, expect

from tests.fakes.pdfs import encrypted_pdf, text_pdf
from tests.fakes.process import wait_for
from tests.integration.conftest import Talk

LONG = [f"Page {n}: the lighthouse keeper counts {n} ships." for n in range(600)]
DROP = """([type, name, text, where]) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(text, (letter) => letter.charCodeAt(0))], name));
    const event = new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true});
    document.querySelector(where).dispatchEvent(event);
    return event.defaultPrevented;
}"""


def pdf(name: str, text: str = "") -> FilePayload:
    """A small PDF with other bytes than those of other names."""
    return {"name": name, "mimeType": "application/pdf", "buffer": text_pdf(text or f"This is {name}.")}


@dataclass
class Desk:
    """Somebody who adds files to all chats, in the view of documents."""

    page: Page
    talk: Talk
    sent: list[str] = field(default_factory=list)
    """A mark for each upload that a route of the test has answered."""
    held: list[Route] = field(default_factory=list)
    closed: bool = False

    def add(self, *files: FilePayload) -> None:
        """By the button."""
        with self.page.expect_file_chooser() as chooser:
            self.page.get_by_role("button", name="Add PDFs").click()
        chooser.value.set_files(list(files))

    def entry(self, name: str) -> Locator:
        """Of the tray."""
        return self.page.locator("#tray li", has=self.page.get_by_text(name, exact=True))

    def row(self, name: str) -> Locator:
        """Of the table."""
        return self.page.locator("table.list tbody tr", has_text=name)

    def names(self) -> set[str]:
        """Of all documents in everybody's reach."""
        items = self.talk.service.client.get("/api/documents?limit=200").json()["items"]
        return {item["filename"] for item in items if not item["session_id"]}

    def dismiss(self) -> None:
        """All that is no longer under way."""
        self.page.get_by_role("button", name="Dismiss all").click()
        expect(self.page.locator("#tray")).to_be_hidden()

    def hold(self) -> None:
        """Lets no upload through until `let_go`."""
        self.closed = True
        self.page.route("**/api/documents", self._hold)

    def let_go(self) -> None:
        """Those that were not cancelled arrive."""
        self.closed = False
        for route in self.held:
            with suppress(Error):
                route.continue_()

    def _hold(self, route: Route) -> None:
        if route.request.method == "POST" and self.closed:
            self.held.append(route)
        else:
            route.continue_()


@pytest.fixture
def desk(tab: Page, talk: Talk) -> Iterator[Desk]:
    """Nothing it adds stays."""
    tab.goto("/healthz")
    tab.set_viewport_size({"width": 1200, "height": 700})
    tab.evaluate("localStorage.clear(); sessionStorage.clear()")
    tab.goto("/#/documents")
    expect(tab.locator("h1")).to_have_text("Documents")
    found = Desk(tab, talk)
    try:
        yield found
    finally:
        tab.unroute_all(behavior="ignoreErrors")
        tab.goto("/healthz")
        for item in talk.service.client.get("/api/documents?limit=200").json()["items"]:
            if item["session_id"] in {None, "keyed"}:
                talk.service.client.delete(f"/api/documents/{item['id']}")


def test_three_are_sent_at_once_and_each_can_be_cancelled(desk: Desk) -> None:
    desk.hold()
    desk.add(*(pdf(f"{name}.pdf") for name in ("one", "two", "three", "four", "five")))
    expect(desk.entry("three.pdf")).to_contain_text("Sending")
    expect(desk.entry("four.pdf")).to_contain_text("Waiting")
    expect(desk.page.locator("#tray .ring:visible")).to_have_count(5)
    assert len(desk.held) == 3

    desk.page.get_by_role("button", name="Cancel two.pdf").click()
    desk.page.get_by_role("button", name="Cancel five.pdf").click()
    expect(desk.entry("four.pdf")).to_contain_text("Sending")
    desk.let_go()
    for name in ("one.pdf", "three.pdf", "four.pdf"):
        expect(desk.row(name)).to_contain_text("All chats")
        expect(desk.row(name).get_by_role("button", name=f"Open {name}")).to_be_visible()
    assert desk.names() >= {"one.pdf", "three.pdf", "four.pdf"}
    wait_for(lambda: not desk.names() & {"two.pdf", "five.pdf"})

    desk.hold()
    desk.add(pdf("six.pdf"), pdf("seven.pdf"))
    desk.page.get_by_role("button", name="Cancel all").click()
    expect(desk.page.locator("#tray [data-busy]")).to_have_count(0)
    desk.let_go()


def test_one_that_is_being_read_is_seen_after_a_reload_and_can_be_cancelled(desk: Desk) -> None:
    desk.add({"name": "ships.pdf", "mimeType": "application/pdf", "buffer": text_pdf(LONG)})
    expect(desk.row("ships.pdf")).to_be_visible()
    desk.page.goto("/#/memories")
    expect(desk.entry("ships.pdf")).to_be_visible()
    desk.page.reload()
    expect(desk.entry("ships.pdf")).to_be_visible()
    desk.page.get_by_role("button", name="Cancel ships.pdf").click()
    expect(desk.page.locator("#tray")).to_be_hidden()
    wait_for(lambda: "ships.pdf" not in desk.names())


@pytest.mark.parametrize("where", ["#rail", "#main h1", ".search, .nothing"])
def test_a_drop_anywhere_adds_the_file_and_never_leaves_the_page(desk: Desk, where: str) -> None:
    text = text_pdf(f"Dropped on {where}.").decode("latin-1")
    assert desk.page.evaluate(DROP, ["dragover", "dropped.pdf", text, where])
    expect(desk.page.get_by_text("Drop PDFs to add them")).to_be_visible()
    assert desk.page.evaluate(DROP, ["drop", "dropped.pdf", text, where])
    expect(desk.page.get_by_text("Drop PDFs to add them")).to_be_hidden()
    expect(desk.row("dropped.pdf")).to_be_visible()
    assert desk.page.url.endswith("/#/documents")


def test_what_is_no_pdf_or_too_large_is_refused_before_it_is_sent(desk: Desk) -> None:
    def large(route: Route) -> None:
        desk.sent.append(route.request.method)
        problem = {
            "type": "urn:ibid:problem:too-large",
            "title": "Too large",
            "status": 413,
            "detail": "A file has at most 1 MiB.",
        }
        route.fulfill(status=413, content_type="application/problem+json", body=json.dumps(problem))

    desk.page.route(
        "**/api/documents", lambda route: route.continue_() if route.request.method == "GET" else large(route)
    )
    word: FilePayload = {"name": "letter.pdf", "mimeType": "application/pdf", "buffer": b"PK\3\4 a letter"}
    note: FilePayload = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"A note."}
    none: FilePayload = {"name": "none.pdf", "mimeType": "application/pdf", "buffer": b""}
    desk.add(word, note, none)
    expect(desk.entry("letter.pdf")).to_contain_text("It is not a PDF.")
    expect(desk.entry("note.txt")).to_contain_text("Reference texts")
    expect(desk.entry("none.pdf")).to_contain_text("empty")
    assert not desk.sent

    big = b"%PDF-1.7\n" + b" " * (2 << 20)
    desk.add({"name": "big.pdf", "mimeType": "application/pdf", "buffer": big})
    expect(desk.entry("big.pdf")).to_contain_text("too large")
    desk.add({"name": "bigger.pdf", "mimeType": "application/pdf", "buffer": big})
    expect(desk.entry("bigger.pdf")).to_contain_text("a file may have 1 MB")
    assert len(desk.sent) == 1, "a lower limit than the page knew is known after the first refusal"
    desk.dismiss()


def test_the_largest_size_is_known_before_anything_is_sent(desk: Desk) -> None:
    """From the list that the page asks for first; both sizes are named."""

    def listed(route: Route) -> None:
        if route.request.method == "POST":
            desk.sent.append(route.request.url)
            return route.abort()
        reply = route.fetch()
        return route.fulfill(response=reply, json=reply.json() | {"max_size": 1 << 20})

    desk.page.route(re.compile(r"/api/documents(\?|$)"), listed)
    desk.page.reload()
    big = b"%PDF-1.7\n" + b" " * (3 << 19)
    desk.add({"name": "big.pdf", "mimeType": "application/pdf", "buffer": big})
    expect(desk.entry("big.pdf")).to_contain_text("too large: it has 1.6 MB, and a file may have 1 MB.")
    assert not desk.sent
    assert desk.entry("big.pdf").get_by_text("Retry").count() == 0
    desk.dismiss()


def test_its_progress_is_followed_again_after_a_fault(desk: Desk) -> None:
    def broken(route: Route) -> None:
        desk.sent.append(route.request.url)
        route.fulfill(status=500, json={"title": "Broken"}) if len(desk.sent) == 1 else route.continue_()

    desk.page.route("**/api/documents/*/events", broken)
    desk.add({"name": "ships.pdf", "mimeType": "application/pdf", "buffer": text_pdf(LONG)})
    while len(desk.sent) < 2:
        desk.page.wait_for_timeout(50)
    desk.page.get_by_role("button", name="Cancel ships.pdf").click()
    expect(desk.page.locator("#tray")).to_be_hidden()


def test_a_failed_one_says_why_and_stays_in_the_library_when_dismissed(desk: Desk) -> None:
    locked: FilePayload = {"name": "locked.pdf", "mimeType": "application/pdf", "buffer": encrypted_pdf()}
    desk.add(locked)
    expect(desk.entry("locked.pdf")).to_contain_text("opens only with a password")
    expect(desk.row("locked.pdf")).to_contain_text("opens only with a password")
    desk.page.get_by_role("button", name="Dismiss locked.pdf").click()
    expect(desk.page.locator("#tray")).to_be_hidden()
    desk.page.get_by_role("button", name="Add locked.pdf again").click()
    expect(desk.entry("locked.pdf")).to_contain_text("opens only with a password")
    desk.dismiss()
    expect(desk.row("locked.pdf")).to_have_count(1)
    desk.page.get_by_role("button", name="Remove locked.pdf").click()
    desk.page.goto("/healthz")
    wait_for(lambda: "locked.pdf" not in desk.names())


def test_what_did_not_arrive_is_tried_again(desk: Desk) -> None:
    desk.page.route(
        "**/api/documents",
        lambda route: route.continue_() if route.request.method == "GET" else route.abort(),
    )
    desk.add(pdf("wire.pdf"))
    expect(desk.entry("wire.pdf")).to_contain_text("cannot be reached")
    desk.page.unroute_all()
    desk.page.get_by_role("button", name="Retry wire.pdf").click()
    expect(desk.row("wire.pdf")).to_contain_text("All chats")


def test_the_same_file_is_known_and_another_of_its_name_is_asked_about(desk: Desk) -> None:
    desk.add(pdf("plan.pdf", "The first plan."))
    expect(desk.entry("plan.pdf")).to_contain_text("Ready: 1 page")
    expect(desk.page.locator("#tray")).to_be_hidden()
    desk.add(pdf("plan.pdf", "The first plan."))
    expect(desk.entry("plan.pdf")).to_contain_text("You have this file already.")
    desk.dismiss()
    desk.add(pdf("evil\u202efdp.pdf"))
    expect(desk.entry("evilfdp.pdf")).to_contain_text("Ready: 1 page")
    expect(desk.row("evilfdp.pdf").get_by_role("button", name="Open evilfdp.pdf")).to_be_visible()
    desk.dismiss()
    twins = [pdf(f"twin {n}.pdf", "Twins.") for n in (1, 1, 1)]
    desk.add(*twins)
    expect(desk.entry("twin 1.pdf").filter(has_text="You have this file already.")).to_have_count(2)
    expect(desk.entry("twin 1.pdf").filter(has_text="Ready: 1 page")).to_have_count(1)
    desk.dismiss()

    desk.add(pdf("plan.pdf", "The second plan."))
    expect(desk.entry("plan.pdf")).to_contain_text("Another file of this name is here already.")
    desk.page.get_by_role("button", name="Keep both plan.pdf").click()
    expect(desk.entry("plan (2).pdf")).to_contain_text("Ready: 1 page")
    desk.dismiss()

    desk.add(pdf("plan.pdf", "The other plan."))
    desk.page.get_by_role("button", name="Keep both plan.pdf").click()
    expect(desk.entry("plan (3).pdf")).to_contain_text("Ready: 1 page")
    desk.dismiss()

    desk.add(pdf("plan.pdf", "The third plan."))
    desk.page.get_by_role("button", name="Replace plan.pdf").click()
    expect(desk.entry("plan.pdf")).to_contain_text("Ready: 1 page")
    desk.page.fill(".search", "third plan")
    expect(desk.page.locator(".found")).to_contain_text("The third plan.")
    assert desk.names() >= {"plan.pdf", "plan (2).pdf", "plan (3).pdf"}


def test_what_was_removed_and_is_added_again_stays(desk: Desk) -> None:
    """The removal can still be undone, and must not take the new one with it."""
    again = pdf("again.pdf")
    desk.add(again)
    expect(desk.entry("again.pdf")).to_contain_text("Ready: 1 page")
    expect(desk.page.locator("#tray")).to_be_hidden()
    desk.page.get_by_role("button", name="Remove again.pdf").click()
    expect(desk.page.get_by_role("button", name="Undo")).to_be_visible()
    desk.add(again)
    expect(desk.entry("again.pdf")).to_contain_text("Ready: 1 page")
    expect(desk.page.get_by_role("button", name="Undo")).to_have_count(0)
    desk.page.reload()
    expect(desk.row("again.pdf")).to_be_visible()
    assert "again.pdf" in desk.names()


def test_a_key_that_may_not_write_for_all_adds_to_the_chat(desk: Desk) -> None:
    def refuse(route: Route) -> None:
        body = (route.request.post_data_buffer or b"").decode("latin-1")
        if route.request.method == "POST" and "global" in body:
            desk.sent.append("global")
            problem = {"type": "urn:ibid:problem:forbidden", "title": "Forbidden", "status": 403}
            route.fulfill(status=403, content_type="application/problem+json", body=json.dumps(problem))
        else:
            route.continue_()

    desk.page.route("**/api/documents", refuse)
    desk.add(pdf("mine.pdf"))
    expect(desk.entry("mine.pdf")).to_contain_text("Open a chat and add it there.")
    desk.page.goto("/#/c/keyed")
    for name in ("mine.pdf", "mine-too.pdf"):
        text = text_pdf(f"This is {name}.").decode("latin-1")
        assert desk.page.evaluate(DROP, ["drop", name, text, "#rail"])
        expect(desk.page.locator("#tray li[data-stage=ready]", has_text=name)).to_be_visible()
    reach = desk.talk.service.client.get("/api/documents?session_id=keyed").json()["items"]
    assert {item["filename"] for item in reach if item["session_id"] == "keyed"} == {
        "mine.pdf",
        "mine-too.pdf",
    }
    assert len(desk.sent) == 1, "what the key may do is learnt once"
