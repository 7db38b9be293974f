"""The library: documents, memories, reference texts and projects, found, added, corrected and deleted."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, Route, ViewportSize, expect

from tests.fakes.pdfs import text_pdf
from tests.fakes.process import wait_for
from tests.integration.conftest import Talk

HOSTILE = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
USER = "reader"
PHONE: ViewportSize = {"width": 380, "height": 760}


@pytest.fixture
def page(tab: Page, talk: Talk) -> Iterator[Page]:
    """A reader with memories of their own; nothing that all share stays."""
    tab.goto("/healthz")
    tab.set_viewport_size({"width": 1200, "height": 700})
    tab.evaluate(f"localStorage.clear(); sessionStorage.clear(); localStorage['ibid.user'] = '\"{USER}\"'")
    clean(talk)
    yield tab
    tab.goto("/healthz")
    clean(talk)


def clean(talk: Talk) -> None:
    """Nothing in everybody's reach, and no memories of the reader."""
    client = talk.service.client
    client.delete(f"/users/{USER}")
    for item in client.get("/api/documents?limit=200").json()["items"]:
        if not item["session_id"]:
            client.delete(f"/api/documents/{item['id']}")
    for item in client.get("/corpus").json()["items"]:
        client.delete(f"/corpus/{item['collection']}")
    for item in client.get("/projects").json()["items"]:
        for part in ("knowledge", "code"):
            client.delete(f"/projects/{item['project']}/{part}")


def row(page: Page, text: str) -> Locator:
    """Of a table: the list of documents has those of other tests' sessions too."""
    return page.locator("tbody tr", has_text=text)


def remember(talk: Talk, *texts: str) -> None:
    """Memories of the reader."""
    bodies = [{"user_id": USER, "text": text, "tags": ["told"]} for text in texts]
    assert talk.service.client.post("/memories", json=bodies).status_code == 201


def kept(talk: Talk) -> list[str]:
    """The reader's memories, newest first."""
    return [
        item["text"]
        for item in talk.service.client.get(f"/memories?user_id={USER}&limit=200").json()["items"]
    ]


def test_a_document_is_found_by_its_words_opened_at_its_page_and_removed(page: Page, talk: Talk) -> None:
    mill = text_pdf(["The mill grinds rye.", "The weir was rebuilt in 1931 by Anna Keller."])
    for name, content, where in (
        ("weir.pdf", mill, "global"),
        ("barn.pdf", text_pdf("The barn is red."), "global"),
    ):
        assert talk.service.upload(name, content, scope=where).status_code == 201
    page.goto("/#/documents")
    expect(row(page, "weir.pdf")).to_be_visible()
    page.fill(".search", "barn")
    expect(row(page, "barn.pdf")).to_be_visible()
    expect(row(page, "weir.pdf")).to_have_count(0)
    page.fill(".search", "who rebuilt the weir")
    expect(page.locator(".found mark").first).to_have_text("weir")
    page.locator(".found a", has_text="weir.pdf").click()
    passage = page.locator("dialog")
    expect(passage.locator("h2")).to_have_text("weir.pdf · page 1–2")
    expect(passage.locator(".spot").first).to_be_attached()
    passage.get_by_role("button", name="Text").click()
    expect(passage).to_contain_text("The weir was rebuilt in 1931")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    assert page.url.endswith("/#/documents")

    page.fill(".search", "")
    page.get_by_role("button", name="Remove weir.pdf").click()
    expect(row(page, "weir.pdf")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "weir.pdf")).to_be_visible()
    page.get_by_role("button", name="Remove weir.pdf").click()
    expect(row(page, "weir.pdf")).to_have_count(0)
    page.goto("/healthz")
    wait_for(lambda: "weir.pdf" not in talk.service.client.get("/api/documents").text)
    page.goto("/#/documents")
    page.get_by_role("button", name="Ask about barn.pdf").click()
    expect(page.locator("#message")).to_be_focused()
    page.fill("#message", "What stands behind the barn, and when was the weir built?")
    with page.expect_request("**/api/chat") as sent:
        page.press("#message", "Enter")
    documents = talk.service.client.get("/api/documents").json()["items"]
    barn = next(each["id"] for each in documents if each["filename"] == "barn.pdf")
    assert (sent.value.post_data_json or {})["filter"] == {"document_ids": [barn]}
    page.get_by_role("button", name="Only barn.pdf is asked. Ask everything again").click()
    expect(page.locator(".switches")).to_contain_text("Documents")


def test_a_long_list_of_documents_is_whole_and_asked_for_once(page: Page) -> None:
    """The search of names knows all of them; many changes at once do not fetch the list as many times."""
    asked: list[str] = []
    document: dict[str, object] = {
        "state": "ready",
        "session_id": None,
        "pages": 1,
        "size": 1,
        "title": None,
        "warnings": [],
        "created_at": "2026-01-01T00:00:00Z",
    }

    def listed(route: Route) -> None:
        asked.append(route.request.url)
        n = 200 if "cursor" in route.request.url else 0
        items = [document | {"id": f"d{each}", "filename": f"leaf{each}.pdf"} for each in range(n, n + 200)]
        route.fulfill(json={"items": items, "next": None if n else "more", "total": 400})

    page.route("**/api/documents?*", listed)
    try:
        page.goto("/#/documents")
        expect(row(page, "leaf0.pdf")).to_be_visible()
        asked.clear()
        page.evaluate("""import("/web/state.js").then(({tell}) => {
            for (let n = 0; n < 20; n += 1) tell("documents");
        })""")
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Search").fill("leaf399")
        expect(page.get_by_role("group", name="Documents").get_by_role("option")).to_have_text("leaf399.pdf")
        assert len([url for url in asked if "cursor" in url]) <= 3
    finally:
        page.unroute_all()


def test_a_browser_that_opens_no_tab_is_said_to(page: Page, talk: Talk) -> None:
    assert talk.service.upload("gate.pdf", text_pdf("The gate is shut."), scope="global").status_code == 201
    page.goto("/#/documents")
    page.evaluate("window.open = () => null")
    page.get_by_role("button", name="Open gate.pdf").click()
    expect(page.locator(".toast")).to_contain_text("did not open a new tab")


def test_a_memory_is_corrected_in_three_clicks(page: Page, talk: Talk) -> None:
    remember(talk, "I have a cat.", "I am allergic to walnuts.")
    page.goto("/#/settings")
    page.get_by_role("link", name="Memories").click()
    page.get_by_role("button", name="Correct “I am allergic to walnuts.”").click()
    page.keyboard.press("End")
    page.keyboard.type(" Not to hazelnuts.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator("tbody tr").first).to_contain_text("Not to hazelnuts.")
    assert kept(talk)[0] == "I am allergic to walnuts. Not to hazelnuts."

    page.get_by_role("button", name="Correct “I have a cat.”").click()
    page.fill("dialog textarea", "I am allergic to walnuts. Not to hazelnuts.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("You have another memory with these words already.")


def test_memories_are_added_searched_and_deleted(page: Page, talk: Talk) -> None:
    page.goto("/#/memories")
    expect(page.locator(".nothing")).to_contain_text("what Ibid should know about you")
    page.locator(".nothing button").click()
    page.fill("dialog textarea", "My bicycle is stored at the lighthouse.")
    page.mouse.click(5, 5)
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_contain_text("Discard what you typed?")
    page.get_by_role("button", name="Keep writing").click()
    page.get_by_label("Tags").fill("bicycle, places")
    page.locator("dialog").get_by_role("button", name="Add").click()
    expect(page.locator("tbody tr")).to_contain_text(
        ["My bicycle is stored at the lighthouse.notebicycle, places"]
    )
    remember(talk, *(f"On day {n} the baker sold {n} loaves." for n in range(120)))
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(100)
    page.get_by_role("button", name="Load older memories").click()
    expect(page.locator("tbody tr")).to_have_count(121)

    page.fill(".search", "where is my bicycle")
    found = page.locator("tbody tr:visible")
    expect(found.first).to_contain_text("bicycle, places")
    page.get_by_role("button", name="Delete “My bicycle").first.click()
    expect(page.locator("tbody tr:visible", has_text="lighthouse")).to_have_count(0)
    assert len(kept(talk)) == 121, "it can still be undone"
    page.goto("/healthz")
    wait_for(lambda: "My bicycle is stored at the lighthouse." not in kept(talk))


def test_reference_texts_are_pasted_read_from_files_and_corrected(page: Page, talk: Talk) -> None:
    page.goto("/#/texts")
    page.locator(".nothing button").click()
    page.get_by_label("Collection").fill("house rules")
    page.get_by_label("Title", exact=True).fill("Quiet hours")
    page.get_by_role("textbox", name="Text", exact=True).fill("Quiet hours begin at ten in the evening.")
    lines = "\n".join(
        json.dumps({"title": f"Rule {n}", "text": f"Rule {n} is about the cellar."}) for n in (1, 2)
    )
    long = "\n\n".join(f"Paragraph {n} of the chronicle of the village." for n in range(1500))
    files: list[FilePayload] = [
        {"name": "rules.jsonl", "mimeType": "application/jsonl", "buffer": lines.encode()},
        {"name": "chronicle.txt", "mimeType": "text/plain", "buffer": long.encode()},
    ]
    page.get_by_label("Or files").set_input_files(files)
    page.locator("dialog").get_by_role("button", name="Add").click()
    expect(page.locator("h1")).to_have_text("house-rules")
    expect(page.locator("#rail a[href='#/texts'] .number")).to_have_text("1")
    titles = {
        "Quiet hours",
        "Rule 1",
        "Rule 2",
        "chronicle (1 of 3)",
        "chronicle (2 of 3)",
        "chronicle (3 of 3)",
    }
    expect(page.locator("tbody tr")).to_have_count(len(titles))
    assert set(page.locator("tbody td:first-child").all_inner_texts()) == titles

    page.fill(".search", "when do quiet hours begin")
    page.locator("tbody tr:visible", has_text="Quiet hours").get_by_role("button", name="Correct").click()
    page.get_by_role("textbox", name="Text", exact=True).fill("Quiet hours begin at eleven in the evening.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("tbody tr:visible", has_text="at eleven")).to_have_count(1)
    page.get_by_role("link", name="‹ Reference texts").click()
    page.get_by_role("button", name="Delete house-rules").click()
    page.locator("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".nothing")).to_contain_text("Paste a text")
    assert talk.service.client.get("/corpus").json()["items"] == []


def test_a_project_is_told_about_and_its_code_added(page: Page, talk: Talk, tmp_path: Path) -> None:
    root = tmp_path / "loom"
    for name, content in {
        "weave.py": b"def weave(threads):\n    return sorted(threads)\n",
        "docs/guide.md": b"# Guide\n\nThreads are sorted before they are woven.\n",
        ".git/config": b"[core]\n",
        ".env": b"PASSWORD=secret\n",
        "tls/key.pem": b"-----BEGIN PRIVATE KEY-----\n",
        "logo.png": b"\x89PNG\0\0",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    page.goto("/#/projects")
    page.get_by_role("button", name="New project").first.click()
    page.get_by_label("Name").fill("loom")
    page.get_by_label("What it is about").fill("A program that weaves.")
    page.locator("dialog").get_by_role("button", name="Add").click()
    expect(page.locator("h1")).to_have_text("loom")
    page.get_by_role("button", name="Add a note").click()
    page.get_by_label("Title of the note").fill("Threads")
    page.get_by_label("Text of the note").fill("There are never more than 12.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved")).to_be_visible()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add a folder").click()
    chooser.value.set_files(root)
    expect(page.get_by_text("2 files added")).to_be_visible()
    page.get_by_text("4 files left out").click()
    expect(page.locator("details")).to_contain_text("logo.png: not a text")
    assert page.locator("tbody td:first-child").all_inner_texts() == ["docs/guide.md", "weave.py"]

    page.reload()
    expect(page.get_by_label("Text of the note")).to_have_value("There are never more than 12.")
    page.get_by_role("button", name="Use in chat").click()
    assert page.evaluate("localStorage['ibid.project']") == '"loom"'
    page.goto("/#/projects/loom")
    page.get_by_role("button", name="Delete this project").click()
    page.locator("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".nothing")).to_be_visible()
    assert talk.service.client.get("/projects").json()["items"] == []
    assert page.evaluate("localStorage['ibid.project']") == '""'


def test_nothing_in_a_text_runs_and_nothing_is_wider_than_a_phone(page: Page, talk: Talk) -> None:
    client, name = talk.service.client, "<img src=x onerror='window.ran = 1'>.pdf"
    long = "x" * 180
    assert talk.service.upload(name, text_pdf(f"The loam. {HOSTILE}"), scope="global").status_code == 201
    assert talk.service.upload(f"{long}.pdf", text_pdf("Sand."), scope="global").status_code == 201
    remember(talk, HOSTILE, long)
    body = {"texts": [{"title": HOSTILE, "text": f"The loam. {HOSTILE}"}, {"title": long, "text": long}]}
    assert client.post("/corpus/hostile", json=body).status_code == 201
    note = {"title": HOSTILE, "text": HOSTILE}
    for project in ("<img src=x onerror=window.ran=1>", "loam"):
        knowledge = {"overview": HOSTILE, "notes": [note]}
        assert client.put(f"/projects/{project}/knowledge", json=knowledge).status_code == 200
    page.set_viewport_size(PHONE)
    views = {
        "documents": "loam",
        "memories": "script",
        "texts": "",
        "texts/hostile": "loam",
        "projects": "",
        "projects/loam": "",
    }
    for view, query in views.items():
        page.goto(f"/#/{view}")
        expect(page.locator("#main")).to_contain_text("loam" if view == "projects" else "")
        expect(page.locator(":is(tbody tr, form.card)").first).to_be_visible()
        if query:
            page.fill(".search", query)
            expect(page.locator("[aria-busy=true]")).to_have_count(0)
        assert page.locator("#main :is(script, img, iframe)").count() == 0
        assert page.evaluate("[window.ran, violations]") == [None, []]
        assert page.evaluate("document.querySelector('.page').scrollWidth <= innerWidth"), view
    page.goto("/#/documents")
    page.get_by_role("button", name=f"Remove {name}").click()
    expect(page.locator(".toast")).to_contain_text(name)
    assert page.evaluate("window.ran") is None
