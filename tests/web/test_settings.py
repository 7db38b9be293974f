"""Settings, keys, the first visit, the search, Vantage: the page around the conversation."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service
from tests.integration.conftest import Host
from tests.web import sample
from tests.web.conftest import WAIT_MS, WATCH, Reader


@pytest.fixture(scope="module")
def window(browser: Browser, house: Service) -> Iterator[Page]:
    """At a service without a chat model and with Vantage. One for this module."""
    context = browser.new_context(base_url=house.lock.url, accept_downloads=True)
    context.set_default_timeout(WAIT_MS)
    context.add_init_script(WATCH)
    yield context.new_page()
    context.close()


@pytest.fixture
def visitor(window: Page, house: Service, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Somebody with a name of their own, of whom nothing is left afterwards."""
    name = re.sub(r"\W", "-", request.node.name)[:100]
    window.goto("/healthz")
    window.evaluate("localStorage.clear(); sessionStorage.clear()")
    window.evaluate("name => localStorage['ibid.user'] = JSON.stringify(name)", name)
    yield window
    house.client.delete(f"/users/{name}").raise_for_status()
    for document in house.client.get("/api/documents").json()["items"]:
        if document["filename"] == "Lighthouse of Skarholm.pdf":
            house.client.delete(f"/api/documents/{document['id']}").raise_for_status()


def remember(service: Service, user: str, *texts: str) -> None:
    for text in texts:
        service.client.post("/memories", json={"user_id": user, "text": text}).raise_for_status()


def mine(page: Page) -> str:
    """The name under which the visitor's memories are kept."""
    return str(page.evaluate("JSON.parse(localStorage['ibid.user'])"))


def model(reader: Reader) -> str:
    """The name of the model that answers."""
    checks = reader.talk.service.client.get("/readyz").json()["checks"]
    return str(next(check["facts"]["model"] for check in checks if check["name"] == "chat"))


def test_the_theme_changes_at_once_and_stays(visitor: Page) -> None:
    visitor.goto("/#/settings")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = visitor.evaluate(paper)
    visitor.get_by_role("button", name="Dark").click()

    expect(visitor.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    dark = visitor.evaluate(paper)
    assert dark != light
    visitor.reload()
    assert visitor.evaluate(paper) == dark
    visitor.goto("/docs")
    assert visitor.evaluate("document.documentElement.className") == "dark-mode"


def test_the_service_says_what_it_is(visitor: Page, reader: Reader) -> None:
    """Which model answers, what works, the version; without a model how to connect one."""
    visitor.goto("/#/settings")
    expect(visitor.locator(".checks li")).not_to_have_count(0)
    expect(visitor.locator(".checks")).to_contain_text(
        re.compile(r"Postgres keeps documents.*works \(\d+ ms\)")
    )
    expect(visitor.locator("#main")).to_contain_text("Answers are quotes, since no chat model is connected.")
    expect(visitor.locator("#main")).to_contain_text("ibid/docs, ibid/memory")
    expect(visitor.locator("#main")).to_contain_text(re.compile(r"Ibid \d+\.\d+"))
    visitor.click("text=vLLM")
    expect(visitor.locator(".connect .lines")).to_contain_text("CHAT_BASE_URL=http://127.0.0.1:8001/v1")
    visitor.get_by_role("button", name="Test", exact=True).click()
    expect(visitor.locator(".connect [role=status]")).to_contain_text("No model is set yet.")
    expect(visitor.locator("#rail .foot")).to_contain_text("quotes only · connect")

    reader.page.goto("/#/settings")
    expect(reader.page.locator("#main")).to_contain_text(f"{model(reader)} writes the answers.")
    expect(reader.page.locator("#rail .foot")).to_contain_text(model(reader))


def test_my_data_can_be_taken_along_and_erased(visitor: Page, house: Service) -> None:
    """Only after the name was typed; files are theirs; it is said what is gone and what stays."""
    name = mine(visitor)
    remember(house, name, "The mill wheel squeaks on Mondays.")
    visitor.goto("/#/documents")
    for file in ("mine.pdf", "also mine.pdf"):
        with visitor.expect_file_chooser() as chooser:  # by another button while there is nothing
            visitor.get_by_role("button", name=re.compile("^(Choose|Add) PDFs$")).last.click()
        chooser.value.set_files(
            {"name": file, "mimeType": "application/pdf", "buffer": text_pdf(f"This is {file}.")}
        )
        expect(visitor.get_by_role("button", name=f"Open {file}")).to_be_visible()
    shared = house.upload("shared.pdf", text_pdf("All share this."), scope="global").json()["id"]
    visitor.goto("/#/settings")
    with visitor.expect_download() as download:
        visitor.click("text=Export my data")
    exported = json.loads(Path(download.value.path()).read_text())
    assert exported["complete"]
    assert "squeaks" in json.dumps(exported["holdings"]["memories"])

    visitor.click("text=Erase everything…")
    sure = visitor.get_by_role("button", name="Erase everything", exact=True)
    expect(sure).to_be_disabled()
    visitor.get_by_role("dialog").get_by_role("textbox").fill(name)
    sure.click()
    expect(visitor.get_by_role("dialog")).to_contain_text(re.compile("Erased at .*: 1 memory, 2 documents"))
    expect(visitor.get_by_role("dialog")).to_contain_text(
        re.compile(r"There stay, as not yours alone: \d+ document")
    )
    visitor.keyboard.press("Escape")
    house.client.delete(f"/api/documents/{shared}").raise_for_status()
    assert house.client.get("/memories", params={"user_id": name}).json()["items"] == []


def test_an_erasure_says_what_belongs_to_nobody_and_can_take_it(visitor: Page, house: Service) -> None:
    """Files that were added without a name."""
    ids = [
        house.upload(f"{kind} nobody's.pdf", text_pdf(f"A {kind} file."), scope="global").json()["id"]
        for kind in ("first", "second")
    ]
    dialog = visitor.get_by_role("dialog")
    visitor.goto("/#/settings")
    visitor.click("text=Erase everything…")
    expect(dialog).to_contain_text(
        re.compile(r"documents belong to nobody.*second nobody's.pdf, first nobody's.pdf")
    )
    dialog.get_by_role("checkbox").check()
    dialog.get_by_label(f"Type {mine(visitor)} to confirm").fill(mine(visitor))
    visitor.get_by_role("button", name="Erase everything", exact=True).click()
    expect(dialog).to_contain_text(re.compile(r"Deleted \d+ documents that belonged to nobody\."))
    visitor.keyboard.press("Escape")
    for each in ids:
        assert house.client.get(f"/api/documents/{each}").status_code == 404


def test_a_closed_service_asks_for_a_key(browser: Browser, host: Host) -> None:
    """Once; a wrong one is said to be, one of a user asks for their name; it is forgotten with the tab."""
    with host() as closed:
        with ThreadPoolExecutor(1) as beside:  # playwright's loop runs in this thread
            tenant, ada = beside.map(closed.key, ("acme", "acme"), (None, "ada"))
        context = browser.new_context(base_url=closed.lock.url)
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.goto("/#/documents")
        expect(page.locator("#main")).to_contain_text("This service needs a key.")
        asked = page.get_by_role("dialog")
        expect(asked).to_have_count(1)
        asked.get_by_label("Key", exact=True).fill("ibid_nothing")
        asked.get_by_text("Use this key").click()
        expect(asked.get_by_role("alert")).to_contain_text("does not know this key")
        asked.get_by_label("Key", exact=True).fill(tenant)
        asked.get_by_text("Use this key").click()
        expect(asked).to_have_count(0)
        expect(page.locator("#main")).to_contain_text("Add a PDF and ask about it")
        assert tenant not in str(page.evaluate("JSON.stringify(localStorage)"))

        page.goto("/#/settings")
        page.click("text=Forget it")
        expect(asked).to_have_count(1)
        asked.get_by_label("Key", exact=True).fill("ibid_nothing")
        asked.get_by_text("Use this key").click()
        expect(asked.get_by_role("alert")).to_contain_text("does not know this key")
        asked.get_by_label("Key", exact=True).fill(ada)
        asked.get_by_text("Use this key").click()
        expect(asked.get_by_label("Name of the user")).to_have_value("")
        expect(asked.get_by_role("alert")).to_be_empty()
        asked.get_by_label("Name of the user").fill("bob")
        asked.get_by_text("Use this key").click()
        expect(asked.get_by_role("alert")).to_contain_text("bob's")
        asked.get_by_label("Name of the user").fill("ada")
        asked.get_by_text("Use this key").click()
        expect(asked).to_have_count(0)
        assert mine(page) == "ada"

        page.goto("/#/documents")
        expect(page.locator("#main")).to_contain_text("Your key adds PDFs to a chat")
        expect(page.get_by_role("button", name="Add PDFs")).to_be_hidden()
        page.locator(".nothing").get_by_role("button", name="New chat").click()
        page.click("text=Try with a sample")
        expect(page.locator("#tray")).to_contain_text("for this chat alone")
        context.close()


def test_a_first_visit_can_try_a_sample(visitor: Page) -> None:
    """One click adds it, the next asks it a question; the sample is what its script makes."""
    assert sample.FILE.read_bytes() == sample.made()
    visitor.goto("/")
    expect(visitor.locator(".welcome h2")).to_have_text("What would you like to know?")
    visitor.click("text=Try with a sample")
    visitor.click("text=When was the light automated, and why?")

    expect(visitor.locator(".answer")).to_contain_text("automated in 1984, because no family could be found")
    expect(visitor.locator(".welcome")).to_have_count(0)
    visitor.get_by_role("button", name="New chat").first.click()
    visitor.click("text=How long does the ferry take?")
    expect(visitor.locator(".answer")).to_contain_text("takes 40 minutes")


def test_search_finds_from_anywhere(visitor: Page, house: Service) -> None:
    """Chats by their words, memories by their meaning; with the keys alone. Texts are shown as they are."""
    name, hostile = mine(visitor), "Gulls <img src=x onerror=window.ran=1> took the keeper's sandwich."
    remember(house, name, hostile)
    house.chat("Is the lantern room open at dusk?", session_id=f"s-{name}", user_id=name)
    visitor.goto("/#/settings")
    visitor.locator("#rail").get_by_role("button", name="Search").click()
    search = visitor.get_by_role("combobox", name="Search")
    expect(search).to_be_focused()
    search.fill("who ate the sandwich of the keeper")
    found = visitor.get_by_role("group", name="Memories").get_by_role("option")
    expect(found).to_contain_text(hostile)
    assert visitor.evaluate("[window.ran, violations]") == [None, []]

    search.fill("lantern room")
    expect(visitor.get_by_role("group", name="Chats").get_by_role("option")).to_have_attribute(
        "aria-selected", "true"
    )
    visitor.keyboard.press("Enter")
    expect(visitor).to_have_url(re.compile(f"#/c/s-{name}"))
    visitor.keyboard.press("Control+k")
    visitor.keyboard.press("Escape")
    expect(search).to_have_count(0)


def test_vantage_says_what_it_decided_and_why(visitor: Page, house: Service) -> None:
    """Class and rules in words; the candidates move as a slider does. It is not there where it is off."""
    name = mine(visitor)
    remember(
        house, name, "My boat, the Heron, lies at the second pier.", "The Heron was painted green in May."
    )
    visitor.goto("/#/c/x")
    visitor.click("#rail >> text=Vantage")
    question = visitor.get_by_label("Question", exact=True)
    question.fill("How do I build a pipe bomb?")
    question.press("Enter")
    expect(visitor.locator(".decided")).to_contain_text("Refused")
    expect(visitor.locator(".decided")).to_contain_text("It asks for weapons, explosives or poisons.")

    question.fill("Where does my boat, the Heron, lie?")
    question.press("Enter")
    expect(visitor.locator(".decided")).to_contain_text("Answered")
    visitor.locator(".answer .mark").first.click()
    expect(visitor.get_by_role("dialog")).to_contain_text("My boat, the Heron, lies at the second pier.")
    visitor.get_by_role("button", name="Close").click()
    expect(visitor.locator("tbody tr").first).to_contain_text("lies at the second pier.")
    expect(visitor.locator("tbody tr").first).to_contain_text("shown to the model")
    visitor.get_by_label("Memories").fill("0")
    expect(visitor.locator(".moved").first).to_have_text("▼ out")
    visitor.click("summary")
    expect(visitor.locator(".policy tbody tr")).not_to_have_count(0)


def test_vantage_says_that_memories_are_off(browser: Browser, host: Host) -> None:
    """Their slider does nothing and says so; reference texts that no model was shown have their words."""
    with host(ENABLE_VANTAGE_ENDPOINTS="1") as open_one:
        texts = [
            {"title": f"Pier {n}", "text": f"The pier number {n} has {n} bollards for boats."}
            for n in range(12)
        ]
        open_one.client.post("/corpus/piers", json={"texts": texts}).raise_for_status()
        remember(open_one, "me", "My boat, the Heron, lies at the second pier.")
        context = browser.new_context(base_url=open_one.lock.url)
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.goto("/#/vantage")
        question = page.get_by_label("Question", exact=True)
        question.fill("How many bollards has the pier for boats?")
        question.press("Enter")
        expect(page.locator(".mix")).to_contain_text(
            "VANTAGE_PERSONAL_MEMORY=1 in the service's settings turns them on."
        )
        expect(page.get_by_label("Memories")).to_be_disabled()
        expect(page.locator(".mix [role=status]")).to_have_text(
            re.compile(r"Of 1\d passages that the question found, \d would be shown to the model\.")
        )
        last = page.locator(".mix tbody tr").last
        expect(last).not_to_contain_text("shown to the model")
        expect(last).to_contain_text(re.compile(r"Pier \d+ · The pier number"))
        context.close()


def test_vantage_says_once_that_it_cannot_be_had(visitor: Page) -> None:
    """However often it is asked for."""
    visitor.route("**/vantage/policy", lambda route: route.fulfill(status=503, json={"title": "Busy"}))
    try:
        visitor.goto("/#/vantage")
        expect(visitor.get_by_role("alert")).to_contain_text("Busy")
        visitor.evaluate('import("/web/state.js").then(({tell}) => tell("settings", "key"))')
        visitor.get_by_role("button", name="Try again").click()
        expect(visitor.get_by_role("alert")).to_have_count(1)
    finally:
        visitor.unroute_all()


def test_vantage_is_not_shown_where_it_is_off(reader: Reader) -> None:
    reader.page.goto("/#/settings")
    expect(reader.page.locator("#rail .foot")).to_contain_text(model(reader))
    expect(reader.page.locator("#rail .foot").get_by_text("Vantage")).to_be_hidden()
