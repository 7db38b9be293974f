"""The page for keyboards, screen readers and phones: axe finds nothing in any state, in light, dark and at
360 px; Tab reaches everything in the order in which it is seen.

Pictures of each state are kept in tests/web/out/ (not in git), to be looked at.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.conftest import packages
from tests.integration.conftest import Talk
from tests.web.conftest import MILL, QUESTION, WAIT_MS

__all__ = ["packages"]

OUT = Path(__file__).with_name("out")
USER = "axe"
LOOKS = {
    "light": ("light", 1440, 860),
    "dark": ("dark", 900, 760),
    "phone": ("light", 360, 740),
}
REPLY = """\
It was **built in 1843** [mill.pdf#1] and closed [mill.pdf#2].

| Year | What |
|:-----|:-----|
| 1843 | built [mill.pdf#1] |"""
PROBLEMS = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.flatMap(
    ({id, nodes}) => nodes.map(({target, failureSummary}) => `${id}: ${target} ${failureSummary}`))"""

CLOSE = "document.querySelectorAll('dialog[open]').forEach((one) => one.close())"


@pytest.fixture(scope="module")
def axe(packages: Path) -> str:
    """The script of axe-core."""
    return (packages / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def furnished(talk: Talk) -> Iterator[Talk]:
    """A chat with an answer, a document, memories, reference texts, a project."""
    client = talk.service.client
    talk.model.reply = REPLY
    assert talk.service.upload("mill.pdf", MILL, session_id="axe").status_code == 201
    talk.service.chat(QUESTION, session_id="axe", thread_id="axe", user_id=USER)
    for text in ("I like mills.", "My sister owns a mill."):
        client.post("/memories", json={"user_id": USER, "text": text}).raise_for_status()
    texts = [{"text": "A mill grinds grain.", "title": "Mills"}]
    client.post("/corpus/axe", json={"texts": texts}).raise_for_status()
    knowledge = {"overview": "A mill", "rules": "Be brief."}
    client.put("/projects/axe/knowledge", json=knowledge).raise_for_status()
    yield talk
    client.delete("/corpus/axe").raise_for_status()
    client.delete(f"/users/{USER}").raise_for_status()


@pytest.fixture(scope="module")
def tabs(browser: Browser, furnished: Talk) -> Iterator[dict[str, Page]]:
    """A tab for each look, which stays open."""
    OUT.mkdir(exist_ok=True)
    found, contexts = {}, []
    for look, (scheme, width, height) in LOOKS.items():
        context = browser.new_context(
            base_url=furnished.service.lock.url,
            color_scheme="dark" if scheme == "dark" else "light",
            viewport={"width": width, "height": height},
            reduced_motion="reduce",
        )
        context.set_default_timeout(WAIT_MS)
        context.add_init_script(f"localStorage['ibid.user'] = '\"{USER}\"'")
        contexts.append(context)
        found[look] = context.new_page()
    yield found
    for context in contexts:
        context.close()


def answered(page: Page) -> None:
    page.goto("/#/c/axe")
    expect(page.locator(".answer table")).to_be_visible()


def panel(page: Page) -> None:
    answered(page)
    page.locator(".answer .mark").first.click()
    expect(page.locator("#panel")).to_be_visible()
    expect(page.locator("#panel :is(img, mark)").first).to_be_visible()


def why(page: Page) -> None:
    panel(page)
    page.locator("#panel").get_by_role("tab", name=re.compile("Why")).click()
    expect(page.locator("#panel [role=tabpanel]:visible")).to_contain_text(re.compile("\\w"))


def empty(page: Page) -> None:
    page.goto("/#/c/axe-new")
    expect(page.locator(".welcome h2")).to_be_visible()


def settings(page: Page) -> None:
    page.goto("/#/settings")
    expect(page.locator(".checks")).to_be_visible()


def library(name: str, text: str) -> Callable[[Page], None]:
    def shown(page: Page) -> None:
        page.goto(f"/#/{name}")
        expect(page.locator("#main")).to_contain_text(text)

    return shown


def key(page: Page) -> None:
    settings(page)
    page.click("text=Enter a key")


def erase(page: Page) -> None:
    settings(page)
    page.click("text=Erase everything…")


def search(page: Page) -> None:
    settings(page)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("mill")
    expect(page.get_by_role("group", name="Memories")).to_be_visible()


def rail(page: Page) -> None:
    settings(page)
    if page.locator("#open-rail").is_visible():
        page.click("#open-rail")
    page.locator("#rail .chats button").first.click()
    expect(page.get_by_role("menu")).to_be_visible()


def reference(page: Page) -> None:
    page.goto("/nothing/here")


STATES: dict[str, Callable[[Page], None]] = {
    "empty": empty,
    "answer": answered,
    "panel": panel,
    "why": why,
    "documents": library("documents", "mill.pdf"),
    "memories": library("memories", "My sister owns a mill."),
    "texts": library("texts", "axe"),
    "texts-open": library("texts/axe", "Mills"),
    "projects": library("projects", "axe"),
    "project": library("projects/axe", "What the model is told"),
    "settings": settings,
    "key": key,
    "erase": erase,
    "search": search,
    "rail": rail,
    "missing": reference,
}


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(tabs: dict[str, Page], axe: str, state: str) -> None:
    found = {}
    for look, page in tabs.items():
        page.evaluate(CLOSE)
        STATES[state](page)
        page.screenshot(path=OUT / f"{state}-{look}.png")
        if not page.evaluate("Boolean(window.axe)"):
            page.evaluate(axe)
        found[look] = page.evaluate(PROBLEMS)
    assert {look: problems for look, problems in found.items() if problems} == {}


def walk(page: Page, most: int = 80) -> list[str]:
    """The parts of the page that Tab goes through, in order; what has the focus is always seen to have it."""
    found: list[str] = []
    for _ in range(most):
        page.keyboard.press("Tab")
        part, seen, name = page.evaluate(FOCUSED)
        if not part:
            break
        assert seen, f"the focus is not seen at {name} in {part}"
        if found[-1:] != [part]:
            found.append(part)
    return found


FOCUSED = """() => {
    const one = document.activeElement;
    const part = one.closest("#rail, #main, #panel")?.id ?? "";
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    const frame = one.closest(".composer > .card"); // shows it for its field
    const drawn = style.outlineStyle !== "none" || style.backgroundImage !== "none"; // the panel's edge
    const marked = drawn || (frame && getComputedStyle(frame).borderColor !== rest);
    return [part, !part || Boolean(box.width && box.height && marked), one.outerHTML.slice(0, 90)];
}"""


def test_tab_goes_from_the_rail_to_the_answer_to_its_source(tabs: dict[str, Page]) -> None:
    page = tabs["light"]
    page.evaluate(CLOSE)
    panel(page)
    page.evaluate("document.activeElement.blur()")
    page.evaluate("window.rest = getComputedStyle(document.querySelector('.composer > .card')).borderColor")
    page.evaluate(
        "document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute('tabindex')"
    )

    assert walk(page) == ["rail", "main", "panel"]
    page.keyboard.press("Escape")


def test_the_rail_of_a_phone_opens_and_closes_by_keys(tabs: dict[str, Page]) -> None:
    """The focus goes in and comes back; while it is closed, no key reaches what is in it."""
    page = tabs["phone"]
    page.evaluate(CLOSE)
    settings(page)
    opener = page.locator("#open-rail")
    assert page.evaluate("document.getElementById('rail').inert")
    opener.focus()
    page.keyboard.press("Enter")
    expect(opener).to_have_attribute("aria-expanded", "true")
    assert page.evaluate("document.getElementById('rail').contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(opener).to_have_attribute("aria-expanded", "false")
    expect(opener).to_be_focused()
    assert page.evaluate("document.getElementById('rail').inert")


def test_a_dialog_gives_the_focus_back(tabs: dict[str, Page]) -> None:
    page = tabs["light"]
    page.evaluate(CLOSE)
    settings(page)
    erasing = page.get_by_role("button", name="Erase everything…")
    erasing.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Type axe to confirm")).to_be_focused()
    page.keyboard.press("Escape")
    expect(erasing).to_be_focused()


def test_a_menu_is_used_by_keys_and_a_list_drawn_anew_keeps_the_focus(tabs: dict[str, Page]) -> None:
    """Arrows, Home and End go through a menu; Esc goes back to its button, Tab on from there."""
    page = tabs["light"]
    page.evaluate(CLOSE)
    settings(page)
    opener = page.locator("#rail .chats button").first
    opener.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("menu")).to_have_count(0)
    assert page.evaluate("document.activeElement !== document.body")
    opener.focus()
    with page.expect_response("**/api/sessions?*"):
        page.evaluate("""() => void import("/web/state.js").then(({tell}) => tell("sessions", "nothing"))""")
    expect(opener).to_be_focused()


def test_what_shows_under_a_pointer_is_there_for_a_finger(browser: Browser, furnished: Talk) -> None:
    """The menu of a chat, on a wide screen that is touched."""
    context = browser.new_context(
        base_url=furnished.service.lock.url,
        viewport={"width": 1100, "height": 800},
        has_touch=True,
        is_mobile=True,
    )
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    page.goto("/#/settings")
    opener = page.locator("#rail .chats button").first
    expect(opener).to_have_css("opacity", "1")
    opener.tap()
    expect(page.get_by_role("menuitem", name="Rename")).to_be_visible()
    context.close()
