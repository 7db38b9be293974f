"""The conversation: questions, answers, their sources, and what becomes of them when something goes wrong."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.fakes.model import Fault
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service, wait_for
from tests.web.conftest import QUESTION, WAIT_MS, Reader

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
[{name}#1]
<script>window.ran = 1</script> <img src=x onerror="window.ran = 1"> [mill.pdf#1]

<iframe srcdoc="<script>parent.ran = 1</script>"></iframe>

[a](javascript:window.ran=1) [b](data:text/html,<script>1</script>) [c](//evil.example/x)
<javascript:window.ran=1>

![i](https://evil.example/i.png) <svg onload="window.ran = 1"></svg> &lt;b&gt;

[mill.pdf#1]: javascript:window.ran=1
"""
LONG = "\n\n".join(f"Paragraph {n} is about the mill [mill.pdf#1]. {'More words. ' * 30}" for n in range(12))
RIVER = text_pdf(["The river Saale drives the mill. Its weir is 2 m high."])
CUT = """
    const real = window.fetch;
    window.fetch = async (...asked) => {
        const response = await real(...asked);
        if (!response.headers.get("content-type")?.includes("event-stream")) return response;
        const { readable, writable } = new TransformStream();
        const line = new AbortController();
        window.cut = () => line.abort(new TypeError("network error"));
        response.body.pipeTo(writable, { signal: line.signal }).catch(() => {});
        return new Response(readable, response);
    };
"""
"""Streams that can be cut, as a network does."""
SLOW = Fault(only="chat", pace=0.01)


def to_go(page: Page) -> float:
    """Pixels from what is seen to the end of the conversation."""
    gone = "(place) => place.scrollHeight - place.clientHeight - place.scrollTop"
    return float(page.locator(".talk").evaluate(gone))


def up(page: Page) -> None:
    """To the beginning of the conversation."""
    page.locator(".talk").evaluate("(place) => place.scrollTo(0, 0)")


def seen(reader: Reader, text: str) -> None:
    """A line of the last answer comes, and is in view, not behind the question's form."""
    line = reader.last.locator("p", has_text=text).last
    expect(line).to_be_visible()
    expect(line).to_be_in_viewport(ratio=1)
    box, form = line.bounding_box(), reader.page.locator("#ask").bounding_box()
    assert box
    assert form
    assert box["y"] + box["height"] <= form["y"]


def clipboard(page: Page) -> str:
    """The text that was copied."""
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_markdown_is_shown_as_it_is_meant(reader: Reader) -> None:
    """Headings, emphasis, lists, tables, quotes, code and links; marks are numbers, but not in code."""
    reader.asked(reply=MARKDOWN)
    answer = reader.last.locator(".answer")

    assert answer.locator("h4").inner_text() == "The mill"
    assert answer.locator("strong").inner_text() == "built in 1843 1"
    assert answer.locator("em").inner_text() == "closed"
    assert answer.locator("td").all_inner_texts() == ["1843", "built 1"]
    assert answer.locator("ol > li > ul > li code").inner_text() == "code [mill.pdf#1]"
    assert "quoted" in answer.locator("blockquote").inner_text()
    assert answer.locator("pre").inner_text().strip() == 'print("[mill.pdf#1]")'
    link = answer.locator("a")
    assert (link.get_attribute("href"), link.get_attribute("rel")) == (
        "https://example.com/mill",
        "noopener noreferrer nofollow",
    )
    assert answer.locator(".mark").count() == 5


def test_a_long_list_or_paragraph_is_drawn_as_at_once(reader: Reader) -> None:
    """Though only its end is drawn with each piece: marks and what follows are the same after a reload."""
    page = reader.page
    items = "".join(
        f"{n}. In {n} the **mill** ground [mill.pdf#1]\n   - rye_{n} and `oats`\n" for n in range(3, 60)
    )
    said = "; ".join(
        f"in {n} the **mill {n}** ground rye_{n} [mill.pdf#1] and `oats {n}`" for n in range(150)
    )
    reader.asked(reply=f"{items}\nIt is known that {said}.\n\n- a\n- b\n")
    answer = reader.last.locator(".answer")
    shown = "(one) => (one.normalize(), one.innerHTML)"
    grown = answer.evaluate(shown)
    page.reload()
    expect(reader.last.locator(".acts")).to_be_visible()
    assert answer.evaluate(shown) == grown
    assert answer.locator("ol > li").count() == 57
    assert answer.locator("p strong").count() == 150
    assert "*" not in answer.inner_text()


def test_nothing_in_a_text_runs(reader: Reader) -> None:
    """Of a model, a PDF, a file's name or a question: it is shown, and the browser has nothing to refuse."""
    page, name = reader.page, "<img src=x onerror=window.ran=1>.pdf"
    reader.upload(name, text_pdf(["The loam of the mill is brown."]))
    listed = reader.talk.service.client.get("/api/documents", params={"session_id": reader.session}).json()
    label = next(each["label"] for each in listed["items"] if each["filename"] == name)
    reader.asked(
        f"{QUESTION} And its loam? <img src=x onerror=window.ran=1>", HOSTILE.replace("{name}", label)
    )
    reader.last.locator(".mark").last.hover()
    expect(page.locator("#hover")).to_contain_text("mill")
    page.reload()
    expect(reader.last.locator(".source").first).to_be_visible()

    assert '<img src=x onerror="window.ran = 1">' in reader.last.locator(".answer").inner_text()
    assert reader.last.locator(".source", has_text=label).count() == 1
    assert page.locator(".turns :is(script, img, iframe), .answer svg, #hover img").count() == 0
    links = [one.get_attribute("href") for one in page.locator(".answer a").all()]
    assert links == ["https://evil.example/i.png"], "an image is a link that one may follow"
    assert page.evaluate("[window.ran, violations]") == [None, []]


def test_a_reload_shows_what_was_said(reader: Reader) -> None:
    """Questions, answers, marks, sources, ratings and what was removed: the same as before."""
    page = reader.page
    reader.asked(reply=MARKDOWN)
    reader.last.get_by_label("Good answer").click()
    expect(page.locator("#toasts")).to_contain_text("Rated as good.")
    reader.asked(reply="The year is 1843, as [ghost.pdf#7] says.")
    expect(page.locator(".source", has_text="mill.pdf")).to_have_count(2)
    expect(page.locator(".turn").first.locator(".acts")).to_contain_text("passage")
    shown = page.locator(".turn").all_inner_texts()
    page.reload()
    expect(page.locator(".turn .acts")).to_have_count(2)

    assert page.locator(".turn").all_inner_texts() == shown
    pressed = page.locator(".turn .acts [aria-pressed=true]")
    assert pressed.get_attribute("aria-label") == "Good answer"
    assert to_go(page) <= 1


def test_what_the_model_did_not_cite_does_not_look_cited(reader: Reader) -> None:
    """The nearest passages are called so, and a removed citation is mentioned."""
    reader.asked(reply="The year is 1843, as [ghost.pdf#7] says.")

    assert "CLOSEST PASSAGES (THE MODEL CITED NONE)" in reader.last.inner_text()
    assert reader.last.locator(".answer").inner_text() == "The year is 1843, as says."
    assert reader.last.locator(".answer .mark").count() == 0
    assert "1 invented citation was removed." in reader.last.inner_text()


def test_marks_tell_their_source_and_open_it(reader: Reader) -> None:
    """By name, by a card with the sentence, and by the panel at the place among the citations."""
    page = reader.page
    reader.upload("river.pdf", RIVER)
    question = "Which river drives the mill, and when was the mill built?"
    reader.asked(question, "The Saale drives it [river.pdf#1][mill.pdf#1]. Keller built it [mill.pdf#1].")
    marks = reader.last.locator(".mark")
    assert marks.all_inner_texts() == ["1", "2", "2"], "in the order of first citation"
    assert marks.first.get_attribute("aria-label") == "Source 1, river.pdf page 1"
    for mark in marks.all():
        box = mark.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 24

    marks.first.hover()
    card = page.locator("#hover")
    expect(card.locator("mark")).to_contain_text("The river Saale drives the mill.")
    assert "river.pdf" in card.inner_text()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()

    marks.first.click()
    answer = page.url.split("/")[-2]
    citations = reader.talk.service.client.get(f"/answers/{answer}").json()["citations"]
    place = [cite["label"] for cite in citations].index("river.pdf#1") + 1
    expect(page).to_have_url(re.compile(f"/{place}$"))
    expect(page.locator("#panel")).to_be_visible()
    expect(marks.first).to_have_attribute("aria-current", "true")
    page.reload()
    expect(page.locator("#panel")).to_contain_text("river.pdf")
    expect(reader.last.locator(".source").first).to_have_attribute("aria-current", "true")


def test_one_sees_what_is_done_while_one_waits(reader: Reader) -> None:
    """Searching, then reading, with the titles; once whole, the answer is there for a screen reader."""
    page = reader.page
    expect(page.locator("#message")).to_have_attribute("placeholder", "Ask about 1 document")
    reader.talk.model.fault = Fault(only="chat", head_delay=4)
    reader.ask()
    expect(reader.last).to_contain_text("Searching 1 document…")
    expect(reader.last).to_contain_text("Reading 1 passage…")
    assert "mill.pdf" in reader.last.inner_text()
    reader.ended()
    assert "passage…" not in reader.last.inner_text()
    expect(page.locator("#main > .only-heard[aria-live=polite]")).to_have_text("It was built in 1843 1.")


def test_the_view_follows_the_answer(reader: Reader) -> None:
    """While its reader is at the end; who has gone up stays there, and is shown that there is more."""
    page = reader.page
    reader.asked(reply=LONG)
    assert to_go(page) <= 1

    reader.talk.model.fault = SLOW
    reader.ask(reply=LONG)
    expect(reader.last.locator(".answer")).to_contain_text("Paragraph 3")
    up(page)
    expect(page.get_by_text("New text below")).to_be_visible()
    assert page.locator(".talk").evaluate("(place) => place.scrollTop") == 0
    page.get_by_text("New text below").click()
    reader.ended()
    expect(page.get_by_text("New text below")).to_be_hidden()
    assert to_go(page) <= 1


@pytest.mark.parametrize("way", ["button", "key"])
def test_stop_ends_the_model_too_and_keeps_what_came(reader: Reader, way: str) -> None:
    """Its connection closes; the text stays, with its sources, also after a reload."""
    page, model = reader.page, reader.talk.model
    model.fault = Fault(only="chat", stall_after=300)
    reader.ask(reply=LONG)
    expect(reader.last.locator(".answer")).to_contain_text("Paragraph 3")
    up(page)
    page.click("#stop") if way == "button" else page.keyboard.press("Escape")
    reader.ended()
    seen(reader, "Stopped.")
    assert "Paragraph 3" in reader.last.inner_text()
    while not model.requests[-1].closed.is_set():
        page.wait_for_timeout(20)
    page.reload()
    seen(reader, "Stopped.")
    assert reader.last.locator(".source").count() > 0


def test_what_is_stopped_before_it_began_ends_in_the_service(reader: Reader) -> None:
    """Though its id is not known yet; and the next question can be asked at once."""
    page, model = reader.page, reader.talk.model
    model.fault = Fault(only="chat", head_delay=60)
    reader.ask()
    expect(page.locator("#stop")).to_be_visible()
    while not model.requests or QUESTION not in str(model.requests[-1].body):
        page.wait_for_timeout(20)
    asked = model.requests[-1]
    page.keyboard.press("Escape")
    seen(reader, "Stopped.")
    expect(page.locator(f"#rail .chats a[href='{reader.chat[1:]}']")).to_have_count(0)
    while not asked.closed.is_set():
        page.wait_for_timeout(20)
    model.fault = Fault()
    reader.asked("And who built the mill?", "Anna Keller [mill.pdf#1].")
    assert "Anna Keller" in reader.last.inner_text()


def test_an_error_is_beside_the_answer_and_can_be_retried(reader: Reader) -> None:
    """In view, wherever one reads; a retry takes the place of what failed before its first word."""
    page = reader.page
    reader.talk.model.fault = Fault(only="chat", close_after=400, pace=0.005)
    reader.ask(reply=LONG)
    expect(reader.last.locator(".answer")).to_contain_text("Paragraph")
    up(page)
    reader.ended()
    seen(reader, "The chat model failed")
    expect(reader.last.locator(".source", has_text="mill.pdf")).to_be_visible()

    reader.talk.model.fault = Fault(only="chat", status=500)
    reader.asked()
    seen(reader, "The chat model failed")
    reader.talk.model.fault = Fault()
    reader.last.get_by_text("Retry").click()
    expect(reader.last.locator(".source").first).to_be_visible()
    assert page.locator(".turn").count() == 2


def test_a_retry_is_asked_as_the_first_time(reader: Reader) -> None:
    """Below, with the turns that came before the question and not those after."""
    reader.asked(reply="The first answer [mill.pdf#1].")
    reader.asked("And who built the mill?", "The second answer [mill.pdf#1].")
    reader.page.locator(".turn").first.get_by_text("Retry").click()
    expect(reader.page.locator(".turn")).to_have_count(3)
    reader.ended()

    said = str(reader.talk.model.requests[-1].body)
    assert QUESTION in said
    assert "answer [" not in said


def test_a_reload_goes_on_with_the_answer(reader: Reader) -> None:
    """In the middle of it, and before its first word."""
    page = reader.page
    reader.talk.model.fault = SLOW
    reader.ask(reply=LONG)
    expect(reader.last.locator(".answer")).to_contain_text("Paragraph 2")
    page.reload()
    expect(reader.last.locator(".answer")).to_contain_text("Paragraph 2")
    expect(reader.last).to_have_attribute("aria-busy", "true")
    reader.ended()
    assert "Paragraph 11" in reader.last.inner_text()
    assert page.locator(".turn").count() == 1

    reader.talk.model.fault = Fault(only="chat", head_delay=4)
    reader.ask("And who built the mill?", "Anna Keller [mill.pdf#1].")
    expect(page.locator("#stop")).to_be_visible()
    page.wait_for_timeout(300)
    page.reload()
    expect(reader.last.locator(".question")).to_have_text("And who built the mill?")
    expect(reader.last.locator(".answer")).to_have_text("Anna Keller 1.")
    assert page.locator(".turn").count() == 2


def test_a_lost_connection_is_taken_up_again(reader: Reader) -> None:
    """A quiet line says so, then the rest comes; nothing comes twice."""
    page = reader.page
    page.evaluate(CUT)
    reader.talk.model.fault = SLOW
    reader.ask(reply=LONG)
    expect(reader.last.locator(".answer")).to_contain_text("Paragraph 1")
    page.evaluate("cut()")
    expect(reader.last).to_contain_text("The connection was lost.")
    expect(reader.last.locator(".answer")).to_contain_text("Paragraph 5")
    page.evaluate("cut()")
    reader.ended()

    text = reader.last.locator(".answer").inner_text()
    assert re.findall(r"Paragraph (\d+)", text) == [str(n) for n in range(12)]
    assert reader.last.locator(".error").count() == 0


def test_an_answer_that_the_service_lost_stays_to_be_asked_again(reader: Reader) -> None:
    """As after a crash: what had come is there after a reload, said to be interrupted, with its sources; the
    rail says so too, until it is asked again or removed."""
    page, service = reader.page, reader.talk.service.lock.url
    gone = {"type": "urn:ibid:problem:not-found", "title": "Not found", "status": 404}
    nothing: dict[str, object] = {"items": [], "next": None}
    page.evaluate(CUT)
    reader.talk.model.fault = SLOW
    reader.ask(reply=LONG)
    expect(reader.last.locator(".answer")).to_contain_text("Paragraph 1")
    page.route(f"{service}/answers/**", lambda route: route.fulfill(status=404, json=gone))
    page.route("**/api/sessions?*", lambda route: route.fulfill(json=nothing))
    page.route("**/turns?*", lambda route: route.fulfill(json=nothing))
    try:
        page.evaluate("cut()")
        for _ in range(2):
            expect(reader.last).to_contain_text("interrupted here and has not kept this answer")
            assert "Paragraph 1" in reader.last.inner_text()
            expect(reader.last.locator(".source")).to_contain_text("mill.pdf")
            expect(page.locator("#rail .chats li")).to_contain_text(
                [re.compile(f"{re.escape(QUESTION)}.*interrupted")]
            )
            page.reload()
        reader.talk.model.fault, reader.talk.model.reply = Fault(), "In 1843 [mill.pdf#1]."
        reader.last.get_by_text("Ask again").click()
        expect(reader.last.locator(".answer")).to_have_text("In 1843 1.")
        expect(page.locator("#rail .chats")).not_to_contain_text("interrupted")
        page.evaluate(CUT)
        reader.talk.model.fault = SLOW
        reader.ask(reply=LONG)
        expect(reader.last.locator(".answer")).to_contain_text("Paragraph 1")
        page.evaluate("cut()")
        expect(page.locator("#rail .chats")).to_contain_text("interrupted")
        page.get_by_role("button", name=f"More for {QUESTION}").click()
        page.get_by_role("menuitem", name="Remove").click()
        expect(page.locator("#rail .chats li")).to_have_count(0)
        page.goto(reader.chat)
        expect(page.locator(".turn")).to_have_count(0)
    finally:
        page.unroute_all()
        reader.talk.service.client.delete(f"/api/sessions/{reader.session}")


def test_an_answer_goes_on_while_one_is_elsewhere(reader: Reader) -> None:
    """In the library or another chat; the rail has its chat from the beginning."""
    page = reader.page
    reader.talk.model.fault = SLOW
    reader.ask(reply=LONG)
    expect(page.locator("#rail .chats", has_text=QUESTION)).to_be_visible()
    expect(reader.last.locator(".answer")).to_contain_text("Paragraph 1")
    page.click("#rail a[href='#/documents']")
    expect(page.locator("#message")).to_have_count(0)
    page.click("#rail .chats a >> nth=0")
    expect(reader.last.locator(".answer")).to_contain_text("Paragraph 2")
    expect(reader.last).to_have_attribute("aria-busy", "true")
    page.goto(f"{reader.chat}-other")
    expect(page.locator(".turn")).to_have_count(0)
    assert page.locator("#stop").is_hidden()
    reader.ask("And who built the mill?", LONG)
    expect(page.locator("#rail .chats", has_text="And who built the mill?")).to_be_visible()
    expect(page.locator("#rail .chats", has_text=QUESTION)).to_be_visible()
    page.goto(reader.chat)
    reader.ended()
    assert "Paragraph 11" in reader.last.inner_text()


def test_answers_are_copied_and_shared(reader: Reader) -> None:
    """As text, as Markdown with its sources as footnotes, and as an address."""
    page = reader.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    reader.upload("river.pdf", RIVER)
    reader.asked(f"{QUESTION} Which river?", "**Built** in 1843 [mill.pdf#1], by the Saale [river.pdf#1].")
    base = reader.talk.service.lock.url
    answer = reader.last.locator(".source").first.get_attribute("href")
    assert answer
    answer = answer.rpartition("/")[0]

    reader.last.get_by_text("Copy", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Answer copied.")
    assert clipboard(page) == "**Built** in 1843, by the Saale."
    reader.last.get_by_text("Copy with sources").click()
    expect(page.locator("#toasts")).to_contain_text("Answer and sources copied.")
    text = clipboard(page)
    assert text.startswith("**Built** in 1843[^1], by the Saale[^2].\n\n[^1]: mill.pdf")
    assert re.search(rf"\[\^2\]: river.pdf.*, page 1, {re.escape(base)}/{re.escape(answer)}/\d\n", text)
    reader.last.get_by_text("Share link").click()
    expect(page.locator("#toasts")).to_contain_text("Link copied.")
    assert unquote(clipboard(page)) == f"{base}/{unquote(answer)}"


def test_a_chat_is_deleted_though_the_page_is_left(reader: Reader) -> None:
    """Within the time in which it could be undone."""
    page = reader.page
    reader.asked()
    page.get_by_role("button", name=f"More for {QUESTION}").first.click()
    page.get_by_role("menuitem", name="Delete").click()
    page.locator(".toast", has_text="Deleted").get_by_text("Undo").click()
    expect(reader.last.locator(".question")).to_have_text(QUESTION)
    page.get_by_role("button", name=f"More for {QUESTION}").first.click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.locator(".toast")).to_contain_text("Deleted")
    assert reader.session in sessions(reader)
    page.goto("/healthz")
    wait_for(lambda: reader.session not in sessions(reader))


def sessions(reader: Reader) -> list[str]:
    """Of everybody, the newest."""
    items = reader.talk.service.client.get("/api/sessions?limit=200").json()["items"]
    return [item["session_id"] for item in items]


def test_older_chats_are_shown_on_request(reader: Reader) -> None:
    """Sessions that have documents alone are no chats and take no chat's place."""
    page = reader.page
    at = "2026-01-01T00:00:00Z"
    listed = [{"session_id": f"d{n}", "turns": 0} for n in range(100)]
    listed += [{"session_id": f"c{n}", "turns": 2, "title": f"Chat {n}"} for n in range(150)]

    def answer(route: Route) -> None:
        start = int(dict(parse_qsl(urlsplit(route.request.url).query)).get("cursor", 0))
        items = [each | {"last_active_at": at} for each in listed[start : start + 100]]
        route.fulfill(json={"items": items, "next": str(start + 100) if start + 100 < len(listed) else None})

    page.route("**/api/sessions?*", answer)
    try:
        page.reload()
        expect(page.locator("#rail .chats a")).to_have_count(100)
        page.locator("#rail .chats").get_by_text("Show more").click()
        expect(page.locator("#rail .chats a")).to_have_count(150)
        expect(page.locator("#rail .chats a", has_text="Chat 100")).to_be_focused()
        expect(page.locator("#rail .chats").get_by_text("Show more")).to_have_count(0)
    finally:
        page.unroute_all()


def test_questions_of_other_programs_are_in_their_chat(reader: Reader) -> None:
    """With their answers; a quiet line says that they are conversations of their own."""
    for n in (1, 2):
        reader.talk.model.reply = f"The answer to question {n}."
        asked = {"model": "ibid", "input": f"What does program {n} ask?"}
        assert reader.talk.service.client.post("/v1/responses", json=asked).status_code == 200
    page = reader.page
    page.goto("/#/c/default")
    for n in (1, 2):
        turn = page.locator(".turn", has_text=f"What does program {n} ask?")
        expect(turn).to_contain_text(f"The answer to question {n}.")
    expect(page.locator(".turns")).to_contain_text("came from other programs")
    reader.asked("And what do I ask?", "Something else.")
    assert "program 1" not in str(reader.talk.model.requests[-1].body)


def test_an_answer_without_words_cannot_be_rated(reader: Reader) -> None:
    reader.asked(reply="")
    expect(reader.last).to_contain_text("The model said nothing.")
    expect(reader.last.get_by_text("Retry")).to_be_visible()
    assert reader.last.get_by_label("Good answer").count() == 0


def test_a_rating_can_be_undone(reader: Reader) -> None:
    """By the toast, or by the same thumb once more; the service keeps what is seen."""
    page = reader.page
    reader.asked()
    good, bad = reader.last.get_by_label("Good answer"), reader.last.get_by_label("Bad answer")
    good.click()
    expect(good).to_have_attribute("aria-pressed", "true")
    bad.click()
    expect(bad).to_have_attribute("aria-pressed", "true")
    expect(good).to_have_attribute("aria-pressed", "false")
    page.locator(".toast", has_text="Rated as bad.").get_by_text("Undo").click()
    expect(good).to_have_attribute("aria-pressed", "true")
    good.click()
    expect(page.locator("#toasts")).to_contain_text("Rating taken back.")
    page.reload()
    expect(reader.last.locator(".acts")).to_be_visible()
    assert reader.last.locator(".acts [aria-pressed=true]").count() == 0


COVERED = """(line) => {
    const one = line.getBoundingClientRect();
    const places = [...document.querySelectorAll("#ask, #bar, #panel, .turn:last-child .acts")];
    return places.filter((place) => {
        const { top, bottom, left, right, width } = place.getBoundingClientRect();
        return width && bottom > one.top && top < one.bottom && right > one.left && left < one.right;
    }).map((place) => place.id || place.className);
}"""
EDGE = """() => document.querySelector(".toast").getBoundingClientRect().bottom
    - document.querySelector(".talk").getBoundingClientRect().top"""
"""Pixels of what is scrolled that are below a toast."""


@pytest.mark.parametrize("size", [(1200, 700), (900, 700), (360, 740), (360, 380)])
def test_a_toast_covers_nothing(reader: Reader, size: tuple[int, int]) -> None:
    """Neither the answer just rated nor the composer, also beside the panel and above a phone's keyboard;
    what was pressed stays in view and where it was, and the last deed is undone by a key."""
    page = reader.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    reader.asked(reply=LONG if size[0] != 900 else "It was built in 1843 [mill.pdf#1].")
    if size[0] == 900:
        reader.last.locator(".mark").first.click()
        expect(page.locator("#panel")).to_be_visible()
    pressed = (
        reader.last.get_by_label("Good answer") if size[0] != 900 else reader.last.get_by_text("Copy").first
    )
    before = pressed.bounding_box()
    pressed.click()
    toast = page.locator(".toast")
    expect(toast).to_be_visible()
    assert toast.evaluate(COVERED) == []
    assert page.evaluate(EDGE) <= 16, "its edge, which is empty before it is scrolled"
    expect(pressed).to_be_in_viewport(ratio=1)
    after = pressed.bounding_box()
    assert before
    assert after
    if size[0] != 900:
        assert abs(after["y"] - before["y"]) < 4
        page.keyboard.press("Control+z")
        expect(reader.last.get_by_label("Good answer")).to_have_attribute("aria-pressed", "false")
        expect(toast).to_have_count(0)


def test_a_long_title_can_be_read_whole(reader: Reader) -> None:
    """In the rail where it has the focus, and by a pointer that rests on it; on a phone in the head."""
    page = reader.page
    question = f"{QUESTION} And who were the millers, one after another, from the first to the last of them?"
    reader.asked(question)
    link = page.locator("#rail .chats a[aria-current]")
    expect(link).to_have_attribute("title", question)
    cut = "(one) => one.firstChild.scrollWidth > one.firstChild.clientWidth"
    wait_for(lambda: link.evaluate(cut))
    page.keyboard.press("Tab")
    link.focus()
    assert not link.evaluate(cut)
    page.set_viewport_size({"width": 360, "height": 700})
    head = page.locator("#bar-title button")
    expect(head).to_have_text(question)
    cut = "(one) => one.firstChild.scrollHeight > one.firstChild.clientHeight + 1"
    assert head.evaluate(cut)
    head.click()
    expect(head).to_have_attribute("aria-expanded", "true")
    assert not head.evaluate(cut)
    page.goto("/#/documents")
    expect(page.locator("#bar-title")).to_have_text("ibid.")


def test_the_composer_has_the_keys_of_a_chat(reader: Reader) -> None:
    """Shift-Enter breaks, Enter sends, but not while an input method composes; ↑ brings the last question."""
    page, field = reader.page, reader.page.locator("#message")
    expect(field).to_have_attribute("placeholder", "Ask about 1 document")
    field.fill("one")
    field.press("Shift+Enter")
    field.type("two")
    composing = (
        "new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true})"
    )
    assert field.evaluate(f"(field) => field.dispatchEvent({composing})"), "the input method has the key"
    assert field.input_value() == "one\ntwo"
    assert page.locator(".turn").count() == 0

    field.fill("A draft")
    page.reload()
    expect(field).to_have_value("A draft")
    reader.asked()
    assert field.input_value() == ""
    field.press("ArrowUp")
    assert field.input_value() == QUESTION

    field.fill("x" * 32_001)
    expect(page.locator("#ask")).to_contain_text("32,001 characters: a question may have 32,000.")
    field.press("Enter")
    expect(page.locator("#send")).to_be_disabled()
    assert page.locator(".turn").count() == 1


def test_the_switches_say_what_is_searched(reader: Reader) -> None:
    """Only sources that have something; what is pressed is what the service is asked for."""
    page, client = reader.page, reader.talk.service.client
    page.evaluate(f"localStorage['ibid.user'] = JSON.stringify('{reader.session}')")
    page.reload()
    documents, memories = page.locator("[data-source=documents]"), page.locator("[data-source=memories]")
    expect(documents).to_have_attribute("aria-pressed", "true")
    assert memories.count() == 0
    told = {"user_id": reader.session, "text": "My grandmother's mill stands by the river Saale."}
    assert client.post("/memories", json=told).status_code == 201
    page.reload()
    expect(memories).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#message")).to_have_attribute("placeholder", "Ask about 1 document and 1 memory")
    documents.click()
    expect(documents).to_have_attribute("aria-pressed", "false")
    reader.asked("By which river stands the mill of my grandmother?", "By the Saale.")

    expect(reader.last).to_contain_text("Memory of")
    expect(reader.last.locator(".source").first).to_contain_text("My grandmother's mill stands")
    assert "mill.pdf" not in reader.last.inner_text()
    reader.asked("How long do leeks boil?", "An hour.")
    expect(reader.last).to_contain_text("Nothing in your memories fits this question")
    reader.last.get_by_text("Search documents too").click()
    expect(documents).to_have_attribute("aria-pressed", "true")
    expect(reader.last).to_contain_text("Nothing in your documents and memories fits this question")
    documents.click()
    memories.click()
    page.wait_for_timeout(100)
    expect(memories).to_have_attribute("aria-pressed", "true")  # one source is always asked


def test_a_service_that_is_back_is_asked_again(reader: Reader) -> None:
    """The page knows again which sources there are, without a reload."""
    page = reader.page
    page.route("**/api/documents?*", lambda route: route.abort())
    page.reload()
    expect(page.locator("#message")).to_have_attribute("placeholder", "Ask a question")
    page.unroute_all()
    expect(page.locator("#message")).to_have_attribute("placeholder", "Ask about 1 document")


def test_a_question_that_did_not_arrive_stays(reader: Reader) -> None:
    """Also while its reader is elsewhere; it can still be asked."""
    page = reader.page
    page.route("**/api/chat", lambda route: route.abort())
    reader.ask()
    expect(reader.last).to_contain_text("cannot be reached")
    page.unroute_all()
    page.click("#rail a[href='#/documents']")
    expect(page.locator("#message")).to_have_count(0)
    page.go_back()
    reader.last.get_by_text("Retry").click()
    expect(reader.last.locator(".source").first).to_be_visible()
    expect(page.locator(".turn")).to_have_count(1)


def test_another_window_shows_what_was_asked_meanwhile(reader: Reader) -> None:
    """Once one comes back to it."""
    page, client = reader.page, reader.talk.service.client
    reader.asked()
    asked = {"message": "And who built the mill?", "session_id": reader.session, "stream": False}
    assert client.post("/api/chat", json=asked).status_code == 200
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.locator(".question")).to_have_text([QUESTION, "And who built the mill?"])


def test_a_project_can_be_asked(reader: Reader) -> None:
    """Of those that there are; then its own sources are searched, until others are pressed."""
    page, client, model = reader.page, reader.talk.service.client, reader.talk.model
    knowledge = {"overview": "Mill is a museum.", "rules": "", "notes": []}
    assert client.put("/projects/Watermill/knowledge", json=knowledge).status_code < 300
    page.reload()
    page.get_by_text("Project: none").click()
    page.get_by_role("menuitem", name="Watermill").click()
    expect(page.get_by_text("Project: Watermill")).to_be_visible()
    expect(page.locator("[data-source=documents]")).to_have_attribute("aria-pressed", "false")
    reader.asked("What is the mill?", "A museum.")
    assert "Mill is a museum." in str(model.requests[-1].body)
    page.locator("[data-source=documents]").click()
    expect(page.locator("[data-source=documents]")).to_have_attribute("aria-pressed", "true")


def test_a_pasted_file_is_added(reader: Reader) -> None:
    """Instead of its name."""
    page = reader.page
    page.locator("#message").evaluate("""(field) => {
        const clipboardData = new DataTransfer();
        clipboardData.items.add(new File(["no PDF"], "pasted.pdf"));
        field.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
    }""")
    expect(page.locator("#tray")).to_contain_text("pasted.pdf")


def test_nothing_makes_the_page_wider(reader: Reader) -> None:
    """Long words, wide tables and code scroll in themselves; of a long question the beginning is shown."""
    page = reader.page
    page.set_viewport_size({"width": 360, "height": 700})
    wide = "| " + " | ".join("column" * 4 for _ in range(12)) + " |"
    table = f"{wide}\n{'|--' * 12}|\n{wide}"
    reader.asked(
        f"{'long ' * 400}{'w' * 300}", f"{'w' * 400} [mill.pdf#1]\n\n{table}\n\n```\n{'c' * 400}\n```"
    )

    for place in ("html", ".talk", ".turns"):
        assert page.locator(place).evaluate("(one) => one.scrollWidth <= one.clientWidth"), place
    question = reader.last.locator(".question").bounding_box()
    assert question
    assert question["height"] < 350
    reader.last.get_by_text("Show all").click()
    expect(reader.last.get_by_text("Show less")).to_be_visible()


def test_a_file_that_is_being_read_is_said_to_be(reader: Reader) -> None:
    """By the question's form and below an answer that could not know it; then it can be asked again."""
    page = reader.page
    ships = text_pdf([f"Page {n}: the lighthouse keeper counts {n} ships." for n in range(600)])
    page.set_input_files("#add-files", {"name": "ships.pdf", "mimeType": "application/pdf", "buffer": ships})
    try:
        expect(page.locator("#ask .files")).to_contain_text("Reading ships.pdf…")
        expect(page.locator("#message")).to_have_attribute("placeholder", "Ask about 1 document")
        reader.asked("Which gulls does the lighthouse keeper feed?", "I do not know.")
        expect(reader.last).to_contain_text("ships.pdf was still being read and could not be searched yet.")
        reader.asked("Who rebuilt the mill?", "Anna did. [mill.pdf#1]")
        answered = page.locator(".turn", has_text="Who rebuilt the mill?").first
        expect(answered).to_contain_text("ships.pdf")  # an answer from others says so too
        page.locator(".turn").first.get_by_text("Ask again").click(timeout=3 * WAIT_MS)
        reader.ended()

        expect(page.locator("#ask .files")).to_be_hidden()
        assert "ships.pdf has been read." in page.locator(".turn").first.inner_text()
        assert reader.last.locator(".source").count() > 0
    finally:
        client = reader.talk.service.client
        for item in client.get("/api/documents").json()["items"]:
            if item["filename"] == "ships.pdf":
                client.delete(f"/api/documents/{item['id']}")


@pytest.fixture
def quoting(browser: Browser, house: Service) -> Iterator[Page]:
    """The page of a service without a chat model."""
    context = browser.new_context(base_url=house.lock.url)
    context.set_default_timeout(WAIT_MS)
    yield context.new_page()
    context.close()


def test_small_talk_without_a_model_fits_a_browser(quoting: Page) -> None:
    """No commands of a shell, no addresses of an API: the words are for somebody who reads a page."""
    quoting.goto("/#/c/small-talk")
    for said in ("hi", "thanks", "Where is the nearest lighthouse?"):
        quoting.fill("#message", said)
        quoting.press("#message", "Enter")
        expect(quoting.locator(".turn", has_text=said)).to_have_attribute("aria-busy", "false")
    text = quoting.locator(".turns").inner_text()

    assert "Hello!" in text
    assert not re.search(r"ibid |POST|GET|/api|curl|`", text)


def test_a_quoted_row_of_a_table_has_no_bars(quoting: Page, house: Service) -> None:
    """It is read, not its Markdown; what is copied is what the service said."""
    row = "Sacks of rye that the mill of Skarhus ground | 1843 | 700 | 1844 | 812 |"
    house.upload("rows.pdf", text_pdf([row]), session_id="rows")
    quoting.goto("/#/c/rows")
    quoting.fill("#message", "How many sacks of rye did the mill of Skarhus grind?")
    quoting.press("#message", "Enter")
    turn = quoting.locator(".turn").last
    expect(turn).to_have_attribute("aria-busy", "false")
    for _ in range(2):
        expect(turn.locator(".answer")).to_contain_text("ground · 1843 · 700")
        expect(turn.locator(".answer")).not_to_contain_text("|")
        quoting.reload()
