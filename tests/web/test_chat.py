"""The conversation: questions, answers, their sources."""

import re

from playwright.sync_api import expect

from tests.fakes.pdfs import text_pdf
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
<script>window.ran = 1</script> <img src=x onerror="window.ran = 1"> [mill.pdf#1]

<iframe srcdoc="<script>parent.ran = 1</script>"></iframe>

[a](javascript:window.ran=1) [b](data:text/html,<script>1</script>) [c](//evil.example/x)
<javascript:window.ran=1>

![i](https://evil.example/i.png) <svg onload="window.ran = 1"></svg> &lt;b&gt;

[mill.pdf#1]: javascript:window.ran=1
"""
LONG = "\n\n".join(f"Paragraph {n} is about the mill [mill.pdf#1]. {'More words. ' * 30}" for n in range(12))


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
    """Questions, answers, their sources and what was said of them: the same as before."""
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
    """The nearest passages are called so, and a removed citation is mentioned."""
    reader.asked(reply="The year is 1843, as [ghost.pdf#7] says.")
    item = reader.page.locator("#turns li").first

    assert item.locator("summary").inner_text() == "Closest passages (the model cited none)"
    assert item.locator(".answer").inner_text() == "The year is 1843, as says."
    assert item.locator(".answer .chip").count() == 0
    assert "1 invented citation was removed." in item.inner_text()


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
