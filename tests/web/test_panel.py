"""The source panel beside the conversation: the page, the text, and why a passage was read or was not."""

from io import BytesIO

import pytest
from playwright.sync_api import Page, Route, expect
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from tests.fakes.pdfs import text_pdf
from tests.web.conftest import Reader

WIDTH, HEIGHT = 612, 792
LEFT, BASE, SIZE = 90, 430, 11
QUOTED = "The weir was raised by two feet in 1871."
HOSTILE = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
PATIENCE = 0.02
"""Of a page's width and height: how far from the letters a mark may be."""


def register() -> bytes:
    """Three sheets; the second is printed as page 1 and has a sentence at a known place."""
    out = BytesIO()
    canvas = Canvas(out, pagesize=(WIDTH, HEIGHT), invariant=1)
    canvas.addPageLabel(0, "ROMAN_LOWER")
    canvas.addPageLabel(1, "ARABIC")
    for sheet in (1, 2, 3):
        canvas.setFont("Helvetica", SIZE)
        canvas.rect(72, 72, WIDTH - 144, HEIGHT - 144)
        if sheet == 2:
            canvas.drawString(LEFT, BASE + 60, "Records of the river Stour.")
            canvas.drawString(LEFT, BASE, QUOTED)
            canvas.drawString(LEFT, BASE - 60, "The keeper was paid ten shillings a year.")
        canvas.showPage()
    canvas.save()
    return out.getvalue()


@pytest.fixture
def page(reader: Reader) -> Page:
    return reader.page


def opened(reader: Reader, question: str, reply: str) -> None:
    """Ask, and open the first mark with the keyboard."""
    reader.asked(question, reply)
    reader.last.locator("[data-n]").first.focus()
    reader.page.keyboard.press("Enter")
    expect(reader.page.locator("#panel")).to_be_visible()


def weir(reader: Reader) -> None:
    """The register's sentence, quoted and open."""
    reader.upload("weir.pdf", register())
    opened(reader, "When was the weir raised, and by how much?", f"“{QUOTED}” [weir.pdf#1]")


def stored(reader: Reader, name: str) -> dict[str, str]:
    """A document of the session, by the name of its file."""
    client = reader.talk.service.client
    items = client.get("/api/documents", params={"session_id": reader.session}).json()["items"]
    found: dict[str, str] = next(each for each in items if each["filename"] == name)
    return found


def test_the_quoted_sentence_is_marked_where_it_stands(reader: Reader, page: Page) -> None:
    """Over the page as the service draws it, at 30 % of the height, with the printed page and the sheet."""
    weir(reader)
    expect(page.locator("#panel .name")).to_have_text("weir.pdf")
    expect(page.locator("#panel .at")).to_have_text("page 1 (sheet 2 of 3)")
    expect(page.locator(".sheet img")).to_be_visible()
    expect(page.locator(".spot.quoted")).to_have_count(1)
    page.wait_for_function("""() => {
      const desk = document.querySelector(".desk").getBoundingClientRect();
      const spot = document.querySelector(".spot.quoted").getBoundingClientRect();
      return Math.abs((spot.top - desk.top) / desk.height - 0.3) < 0.02;
    }""")
    sheet, spot = page.locator(".sheet").bounding_box(), page.locator(".spot.quoted").bounding_box()
    assert sheet
    assert spot
    left, top = (spot["x"] - sheet["x"]) / sheet["width"], (spot["y"] - sheet["y"]) / sheet["height"]
    right, bottom = left + spot["width"] / sheet["width"], top + spot["height"] / sheet["height"]
    end = LEFT + stringWidth(QUOTED, "Helvetica", SIZE)
    assert (left, right) == pytest.approx((LEFT / WIDTH, end / WIDTH), abs=PATIENCE)
    assert top == pytest.approx((HEIGHT - BASE - SIZE) / HEIGHT, abs=PATIENCE)
    assert bottom == pytest.approx((HEIGHT - BASE) / HEIGHT, abs=PATIENCE)

    page.click("text=↓ Sheet 3")
    expect(page.get_by_alt_text("Sheet 3 of 3")).to_be_visible()
    expect(page.locator("text=↓ Sheet")).to_have_count(0)
    page.click("#tab-text")
    expect(page.locator("#panel-text mark")).to_have_text(QUOTED)


def test_a_page_that_cannot_be_drawn_can_be_asked_for_again(reader: Reader, page: Page) -> None:
    """And what cannot be marked is said."""
    failing = [True]

    def drawn(route: Route) -> None:
        route.fulfill(status=503, json={"title": "Busy"}) if failing[0] else route.continue_()

    page.route("**/pages/*.webp*", drawn)
    page.route("**/chunks/*boxes=1*", lambda route: route.fulfill(status=503, json={"title": "Busy"}))
    try:
        weir(reader)
        expect(page.locator(".sheet")).to_contain_text("Sheet 2 could not be drawn.")
        expect(page.locator("#panel-page")).to_contain_text("The passage could not be marked on this page.")
        failing[0] = False
        page.click(".sheet >> text=Try again")
        expect(page.locator(".sheet img")).to_be_visible()
    finally:
        page.unroute_all()


def test_everything_is_in_reach_of_the_keyboard(reader: Reader, page: Page) -> None:
    """Tabs, steps through the sources, the width; closing goes back to the mark."""
    reader.upload("weir.pdf", register())
    reply = "In 1871 [weir.pdf#1], in 1843 [mill.pdf#1]."
    opened(reader, "When was the weir raised, and the mill built?", reply)
    expect(page.locator(".spot.quoted")).to_have_count(1)  # the sentence nearest to what is said
    first = page.url
    expect(page.locator("#tab-page")).to_be_focused()
    expect(page.locator("#panel .title .name")).to_have_text("weir.pdf")
    page.keyboard.press("]")
    expect(page.locator("#panel .title .name")).to_have_text("mill.pdf")
    expect(page.locator("#panel .steps")).to_contain_text("2 of 2")
    assert page.url != first
    page.keyboard.press("[")
    expect(page.locator("#panel .steps")).to_contain_text("1 of 2")
    assert page.url == first

    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-text")).to_be_focused()
    expect(page.locator("#panel-text")).to_contain_text(QUOTED)
    page.keyboard.press("End")
    expect(page.locator("#tab-why")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-page")).to_have_attribute("aria-selected", "true")

    edge = page.get_by_role("separator", name="Width of the source panel")
    edge.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#panel")).to_have_css("width", "488px")
    page.reload()
    expect(page.locator("#panel .title .name")).to_have_text("weir.pdf")
    expect(page.locator("#panel")).to_have_css("width", "488px")

    expect(reader.last.locator("[data-n]").first).to_be_visible()
    reader.last.locator("[data-n]").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    expect(reader.last.locator("[data-n]").first).to_be_focused()
    assert page.url == first.rpartition("/")[0]


def test_why_a_passage_lost(reader: Reader, page: Page) -> None:
    """In two clicks: the list, and the passage; what has changed since is said in words."""
    reader.upload("soup.pdf", text_pdf("Boil the leeks for an hour, then add cream and a bay leaf."))
    reader.asked("When was the mill built?", "It was built in 1843 [mill.pdf#1].")
    reader.last.get_by_text("Why?").click()
    page.locator("#panel-why .candidate", has_text="1843").click()
    expect(page.locator("#panel .title .name")).to_have_text("mill.pdf")
    page.go_back()
    expect(page.locator("#tab-why")).to_have_attribute("aria-selected", "true")
    reader.last.locator("[data-n]").first.click()
    page.click("#tab-why")
    lost = page.locator("#panel-why .candidate", has_text="leeks")
    expect(lost).to_contain_text("below the threshold")
    expect(lost).to_contain_text("similarity")
    expect(page.locator(".candidates .line")).to_contain_text("too little in common with the question")
    expect(page.locator("#panel-why .candidate", has_text="1843")).to_contain_text("cited")
    page.fill("#panel-why input", "bay leaf")
    expect(page.locator(".candidate:visible")).to_have_count(1)
    page.click("text=Compare with today")
    expect(page.locator("#panel .today")).to_contain_text("Identical")
    lost.click()
    expect(page.locator("#panel .title .name")).to_have_text("soup.pdf")

    mill = stored(reader, "mill.pdf")["id"]
    assert reader.talk.service.client.delete(f"/api/documents/{mill}").status_code == 204
    page.click("#tab-why")
    page.click("text=Compare with today")
    expect(page.locator("#panel .today")).to_contain_text("mill.pdf#1 was deleted.")
    page.reload()
    expect(page.locator("#panel-page")).to_contain_text("not stored any more")


def test_an_answer_that_is_gone_says_so(reader: Reader, page: Page) -> None:
    """Also one that never was; and a number that the answer has not."""
    page.goto(f"{reader.chat}/01a21d38-c4bb-74ee-affc-d15b4fe15549/1")
    expect(page.locator("#panel")).to_contain_text("This answer is gone")
    page.locator("#panel").get_by_text("Close", exact=True).click()
    expect(page.locator("#panel")).to_be_hidden()
    reader.asked()
    link = reader.last.locator("a[href*='/c/']").first.get_attribute("href")
    assert link
    page.goto(f"/{link.rpartition('/')[0]}/77")
    expect(page.locator("#panel")).to_contain_text("This answer has no source 77.")


def test_what_is_stored_does_not_run(reader: Reader, page: Page) -> None:
    """A script in a file's name, its text and its title, in all tabs."""
    name = "<img src=x onerror=window.ran=1>.pdf"
    reader.upload(name, text_pdf(f"The ferry sank in 1902. {HOSTILE}", title=HOSTILE))
    label = stored(reader, name)["label"]
    opened(reader, "When did the ferry sink?", f"“The ferry sank in 1902.” [{label}#1]")
    expect(page.locator("#panel .title .name")).to_have_text(name)
    expect(page.locator(".sheet img")).to_be_visible()
    page.click("#tab-text")
    expect(page.locator("#panel-text")).to_contain_text("<script>window.ran = 1</script>")
    page.click("#tab-why")
    expect(page.locator("#panel-why .candidate", has_text="ferry")).to_contain_text("<script>")
    assert page.evaluate("window.ran") is None
    assert page.evaluate("violations") == []


def test_memories_have_no_page(reader: Reader, page: Page) -> None:
    client = reader.talk.service.client
    text = "Anna has a dentist appointment with Dr. Brown on Friday."
    assert client.post("/memories", json={"text": text, "user_id": reader.session}).status_code == 201
    reader.talk.model.reply = "It is Dr. Brown."
    whose = {"user_id": reader.session, "session_id": reader.session}
    asked = {"message": "Who is the dentist of Anna?", "sources": ["memories"], "stream": False}
    reply = client.post("/api/chat", json=asked | whose).json()
    page.goto(f"{reader.chat}/{reply['answer_id']}/1")
    expect(page.locator("#panel-text")).to_contain_text(text)
    expect(page.locator("#tab-page")).to_be_hidden()


@pytest.mark.parametrize(
    ("width", "height", "left", "top"), [(1300, 700, 780, 0), (900, 700, 450, 0), (390, 760, 0, 190)]
)
def test_it_has_its_place_on_every_screen(  # noqa: PLR0917 - a table
    reader: Reader, page: Page, width: int, height: int, left: int, top: int
) -> None:
    """Beside the conversation, over its right half, or below as a sheet."""
    page.set_viewport_size({"width": width, "height": height})
    weir(reader)
    expect(page.locator(".sheet img")).to_be_visible()
    place = page.locator("#panel").bounding_box()
    assert place
    assert (place["x"], place["y"]) == pytest.approx((left, top), abs=2)
    assert (place["x"] + place["width"], place["y"] + place["height"]) == pytest.approx(
        (width, height), abs=2
    )
    for element in ("html", "#panel", "#panel-page"):
        assert page.locator(element).evaluate("element => element.scrollWidth <= element.clientWidth")
    page.get_by_label("Close the source").click()
    expect(page.locator("#panel")).to_be_hidden()
