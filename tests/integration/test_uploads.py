"""What can be uploaded, what is refused and why, and that nothing of a refused file stays."""

import time
from collections.abc import Iterator

import pytest

from tests.fakes.pdfs import (
    annotated_pdf,
    bomb_pdf,
    damaged_pdf,
    encrypted_pdf,
    form_pdf,
    glyph_pdf,
    image_pdf,
    text_pdf,
)
from tests.fakes.process import Service
from tests.integration.conftest import Host

PAGE = text_pdf("The lighthouse keeper counts nine ships.")


@pytest.mark.parametrize(
    ("content", "status", "slug"),
    [
        pytest.param(b"just text", 415, "not-a-pdf", id="not a pdf"),
        pytest.param(b"", 415, "empty-file", id="empty"),
        pytest.param(encrypted_pdf(), 422, "pdf-encrypted", id="encrypted"),
        pytest.param(image_pdf(), 422, "pdf-without-text", id="scanned"),
        pytest.param(
            glyph_pdf(["Ships call at the harbour twice a week"]), 422, "pdf-unreadable", id="unreadable"
        ),
        pytest.param(damaged_pdf(), 422, "pdf-damaged", id="garbage"),
        pytest.param(damaged_pdf("truncated"), 422, "pdf-damaged", id="truncated"),
    ],
)
def test_each_refusal_is_its_own_problem(house: Service, content: bytes, status: int, slug: str) -> None:
    """A bad file gets its problem document, and no trace of it is listed."""
    response = house.upload("bad.pdf", content, session_id="bad")
    assert (response.status_code, response.json()["type"]) == (status, f"urn:ibid:problem:{slug}")
    assert response.headers["content-type"] == "application/problem+json"
    listed = house.client.get("/api/documents", params={"session_id": "bad"}).json()["items"]
    assert [item for item in listed if item["scope"] == "session"] == []


@pytest.fixture(scope="module")
def strict(host: Host) -> Iterator[Service]:
    """A service that gives a PDF little time and memory, and takes no large one."""
    limits = {"DOCUMENT_TIMEOUT_SECONDS": "3", "DOCUMENT_MEMORY_MB": "512", "DOCUMENT_MAX_MB": "1"}
    with host(**limits) as running:
        yield running


def test_a_page_bomb_is_told_and_harms_nobody(strict: Service) -> None:
    """A bomb ends within the worker's limits; the service answers meanwhile and afterwards."""
    response = strict.upload("bomb.pdf", bomb_pdf())
    assert (response.status_code, response.json()["type"]) == (422, "urn:ibid:problem:pdf-too-complex")
    assert strict.client.get("/healthz").status_code == 200
    assert strict.upload("fine.pdf", PAGE).status_code == 201


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/a[1]#2].pdf",
        "C:\\temp\\naïve 🦉 \u202efdp.exe.pdf",
        "x" * 500 + ".pdf",
    ],
    ids=["path and brackets", "windows path, emoji, bidi", "500 characters"],
)
def test_hostile_names_become_sane_labels(house: Service, name: str) -> None:
    """The label has no path, brackets, `#` or line break, and `[label#n]` is at most 160 characters."""
    session = f"names-{len(name)}-{sum(map(ord, name)) % 997}"
    document = house.upload(name, PAGE, session_id=session).json()
    label = document["label"]
    assert not set(label) & set("[]#/\\\n\r\u202e")
    assert len(f"[{label}#9999]") <= 160
    said = house.chat("how many ships does the keeper count?", session_id=session)
    assert said["cited"] == [f"{label}#1"]


def test_the_same_name_with_other_bytes_needs_replace(house: Service) -> None:
    """409 without `replace`; with it the new text answers at once, under the same label."""
    house.upload("plan.pdf", text_pdf("The meeting room is called Juniper."), session_id="plan")
    other = text_pdf("The meeting room is called Sequoia.")
    refused = house.upload("plan.pdf", other, session_id="plan")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:ibid:problem:name-taken")
    assert house.upload("plan.pdf", other, session_id="plan", replace="true").status_code == 201
    said = house.chat("What is the meeting room called?", session_id="plan")
    assert "Sequoia" in said["answer"]
    assert "Juniper" not in said["answer"]
    assert said["cited"] == ["plan.pdf#1"]


def test_a_deleted_document_is_gone_from_the_next_answer(house: Service) -> None:
    """DELETE, then nothing of it is found by question, id, chunk or file."""
    document = house.upload("gone.pdf", PAGE, session_id="gone").json()
    path = f"/api/documents/{document['id']}"
    assert house.client.get(f"{path}/file").content == PAGE
    assert house.client.delete(path).status_code == 204
    assert house.chat("how many ships does the keeper count?", session_id="gone")["rag"]["reason"] == "empty"
    for gone in (path, f"{path}/chunks/1", f"{path}/file"):
        assert house.client.get(gone).status_code == 404
    assert house.client.delete(path).status_code == 404


def test_a_session_and_a_global_document_of_one_name_have_two_labels(house: Service) -> None:
    """The session's keeps its name; the global one shows as name-2.pdf, and both can be cited."""
    house.upload("menu.pdf", text_pdf("Today the canteen serves lentil soup."), session_id="lunch")
    everybodys = house.upload(
        "menu.pdf", text_pdf("In general the canteen serves potato soup."), scope="global"
    ).json()
    try:
        said = house.chat("Which soup does the canteen serve?", session_id="lunch")
        labels = {citation["label"] for citation in said["citations"]}
        assert {"menu.pdf#1", "menu-2.pdf#1"} <= labels
        for citation in said["citations"]:
            assert house.client.get(citation["url"]).json()["label"] == citation["label"]
    finally:
        house.client.delete(f"/api/documents/{everybodys['id']}").raise_for_status()


def test_a_document_that_is_being_read_is_not_absent(house: Service) -> None:
    """Asked meanwhile, the service names it; asked afterwards, it answers from it."""
    long = text_pdf([f"Page {n}: the keeper counts {n} ships and {n + 1} gulls." for n in range(300)])
    response = house.upload("ships.pdf", long, session_id="reading", wait="0")
    rag = house.chat("What does the keeper count?", session_id="reading")["rag"]

    assert response.status_code == 202
    assert (rag["used"], rag["reason"]) == (False, "processing")
    assert rag["pending"] == [{"id": response.json()["id"], "filename": "ships.pdf"}]
    while house.client.get(f"/api/documents/{response.json()['id']}").json()["state"] == "processing":
        time.sleep(0.2)
    assert house.chat("What does the keeper count?", session_id="reading")["rag"]["reason"] == "ok"


def test_what_is_filled_in_and_typed_onto_a_page_is_read(house: Service) -> None:
    """Values of a form, and a text that is an annotation: answers quote them."""
    paid = b"<< /Type /Annot /Subtype /FreeText /Rect [72 600 300 640] /Contents (Paid by the sexton) >>"
    said = ""
    for name, content in (("form.pdf", form_pdf()), ("note.pdf", annotated_pdf([paid]))):
        kept = house.upload(name, content, session_id="filled").json()
        said += house.client.get(f"/api/documents/{kept['id']}/chunks/1?session_id=filled").json()["text"]

    assert "Aurora Borealis" in said
    assert "Paid by the sexton" in said
