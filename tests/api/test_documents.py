"""/api/documents as a client sees it."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import errors
from app.api.schemas.documents import ChunkOut, DocumentOut, DocumentPage
from app.db.documents import DocumentFault, State
from app.services.documents import UploadOutcome
from app.types import Scope
from tests.fakes.server import connected, told
from tests.fakes.services import DOCUMENT_ID, PDF, Fakes, stored

IN_SESSION = {"session_id": "thesis"}


def form(name: str = "report.pdf", content: bytes = PDF) -> dict[str, Any]:
    """The file of a form."""
    return {"file": (name, content, "application/pdf")}


@pytest.mark.parametrize(
    ("outcome", "status"),
    [(UploadOutcome.CREATED, 201), (UploadOutcome.ACCEPTED, 202), (UploadOutcome.EXISTING, 200)],
)
async def test_an_upload_is_answered_by_what_became_of_it(
    client: httpx.AsyncClient, fakes: Fakes, outcome: UploadOutcome, status: int
) -> None:
    """With the document, and where it is."""
    fakes.documents.outcome = outcome

    response = await client.post("/api/documents", data=IN_SESSION, files=form())

    assert response.status_code == status
    assert response.headers["location"] == f"/api/documents/{DOCUMENT_ID}"
    assert response.json()["id"] == DOCUMENT_ID


async def test_the_file_reaches_the_service_whole_and_hashed(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Size and SHA-256 are those of the bytes on disk; nothing stays there afterwards."""
    await client.post("/api/documents", data=IN_SESSION, files=form())

    ((scope, upload, wait),) = fakes.documents.uploads
    assert (upload.filename, upload.size) == ("report.pdf", len(PDF))
    assert upload.sha256 == hashlib.sha256(PDF).hexdigest() == fakes.documents.hashes[0]
    assert (scope, upload.session_id, upload.replace, wait) == (
        Scope("default", session_id="thesis"),
        "thesis",
        False,
        30,
    )
    assert not upload.path.exists()


BAD_FIELDS: dict[str, tuple[dict[str, str], str]] = {
    "no-place": ({}, "body"),
    "two-places": ({"session_id": "s", "scope": "global"}, "body"),
    "session-spaces": ({"session_id": "my session"}, "body.session_id"),
    "session-empty": ({"session_id": ""}, "body.session_id"),
    "scope-other": ({"scope": "session"}, "body.scope"),
    "replace-yes": (IN_SESSION | {"replace": "yes"}, "body.replace"),
    "wait-long": (IN_SESSION | {"wait": "301"}, "body.wait"),
    "wait-negative": (IN_SESSION | {"wait": "-1"}, "body.wait"),
    "wait-nan": (IN_SESSION | {"wait": "nan"}, "body.wait"),
    "wait-word": (IN_SESSION | {"wait": "soon"}, "body.wait"),
    "unknown": (IN_SESSION | {"label": "x"}, "body.label"),
    "long": (IN_SESSION | {"note": "x" * 1_001}, "body.note"),
}


@pytest.mark.parametrize(("fields", "at"), BAD_FIELDS.values(), ids=BAD_FIELDS.keys())
async def test_a_field_that_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, fields: dict[str, str], at: str
) -> None:
    """As for JSON bodies; nothing is stored."""
    problem = told(await client.post("/api/documents", data=fields, files=form()), 422, "validation")

    assert [fault["field"] for fault in problem["errors"]] == [at]
    assert fakes.documents.uploads == []


@pytest.mark.parametrize("size", [(1 << 20) + 1, 5 << 20], ids=["a-byte", "much"])
async def test_a_file_over_the_limit_is_refused(client: httpx.AsyncClient, fakes: Fakes, size: int) -> None:
    """DOCUMENT_MAX_MB is 1 here; by its declared length or on the way in."""
    response = await client.post("/api/documents", data=IN_SESSION, files=form(content=b"x" * size))

    told(response, 413, "too-large")
    assert fakes.documents.uploads == []


REFUSALS = {
    "not-a-pdf": (errors.NotPdf(), 415),
    "empty": (errors.EmptyFile(), 415),
    "encrypted": (errors.PdfEncrypted(), 422),
    "damaged": (errors.PdfDamaged(), 422),
    "scanned": (errors.PdfTextless(), 422),
    "unreadable": (errors.PdfUnreadable(), 422),
    "bomb": (errors.PdfTooComplex(), 422),
    "name-taken": (errors.Conflict(), 409),
    "global": (errors.Forbidden(), 403),
    "down": (errors.Unavailable(), 503),
}


@pytest.mark.parametrize(("error", "status"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_file_that_cannot_be_taken_has_its_problem(
    client: httpx.AsyncClient, fakes: Fakes, error: errors.IbidError, status: int
) -> None:
    """Each its own; the temporary file is gone here too."""
    fakes.documents.error = error

    response = await client.post("/api/documents", data=IN_SESSION, files=form())

    told(response, status, error.slug)
    assert not fakes.documents.uploads[0][1].path.exists()


async def test_a_document_is_shown_in_the_contracts_words(client: httpx.AsyncClient) -> None:
    """All fields; times are UTC."""
    response = await client.get(f"/api/documents/{DOCUMENT_ID}")

    assert response.json() == {
        "id": DOCUMENT_ID,
        "label": "report.pdf",
        "filename": "report.pdf",
        "title": None,
        "scope": "session",
        "session_id": "thesis",
        "user_id": None,
        "state": "ready",
        "pages": 3,
        "chunks": 7,
        "tokens": 900,
        "size": len(PDF),
        "sha256": "0" * 64,
        "created_at": "2026-11-21T09:30:00Z",
        "warnings": [],
    }
    DocumentOut.model_validate(response.json())


async def test_a_failed_document_says_why(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """The problem that a waiting uploader would have got."""
    fault = DocumentFault("pdf-damaged", "The cross-reference table is missing.")
    fakes.documents.document = stored(state=State.FAILED, fault=fault)

    shown = (await client.get(f"/api/documents/{DOCUMENT_ID}")).json()

    assert shown["state"] == "failed"
    assert shown["problem"]["type"] == "urn:ibid:problem:pdf-damaged"
    assert shown["problem"]["detail"] == fault.detail


async def test_a_list_is_a_page_and_a_cursor(client: httpx.AsyncClient, fakes: Fakes) -> None:
    response = await client.get("/api/documents", params=IN_SESSION | {"cursor": "c1", "limit": 10})

    assert response.json()["next"] == "cursor-2"
    assert response.json()["max_size"] == 1 << 20
    DocumentPage.model_validate(response.json())
    assert fakes.documents.scopes == [Scope("default", session_id="thesis")]
    assert fakes.documents.pages == [("c1", 10)]


@pytest.mark.parametrize(
    "query",
    ["session_id=my+session", "session_id=", "limit=0", "limit=201", "limit=x", "cursor=", "cursor=%00"],
)
async def test_a_bad_parameter_is_refused(client: httpx.AsyncClient, query: str) -> None:
    told(await client.get(f"/api/documents?{query}"), 422, "validation")


async def test_a_chunk_is_what_its_label_stands_for(client: httpx.AsyncClient) -> None:
    response = await client.get(f"/api/documents/{DOCUMENT_ID}/chunks/3")

    assert response.json() == {
        "label": "report.pdf#3",
        "text": "Revenue rose.",
        "page": 12,
        "page_end": 13,
        "heading": "Results",
        "tokens": 4,
        "kind": "",
        "page_label": None,
    }
    ChunkOut.model_validate(response.json())


@pytest.mark.parametrize("path", ["", "/chunks/3"])
async def test_what_a_session_cites_is_shown_as_it_sees_it(
    client: httpx.AsyncClient, fakes: Fakes, path: str
) -> None:
    """A global document's label is the session's own when the session is named, else its plain name."""
    await client.get(f"/api/documents/{DOCUMENT_ID}{path}", params=IN_SESSION)
    await client.get(f"/api/documents/{DOCUMENT_ID}{path}")

    assert fakes.documents.scopes == [Scope("default", session_id="thesis"), Scope("default")]


@pytest.mark.parametrize(
    ("n", "status", "slug"),
    [
        ("4", 404, "not-found"),
        ("0", 422, "validation"),
        ("x", 422, "validation"),
        ("9" * 20, 422, "validation"),
    ],
)
async def test_a_chunk_that_is_not_there(client: httpx.AsyncClient, n: str, status: int, slug: str) -> None:
    """A number beyond the last is missing, what is no ordinal is refused."""
    told(await client.get(f"/api/documents/{DOCUMENT_ID}/chunks/{n}"), status, slug)


async def test_the_file_comes_back_as_it_was_sent(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A PDF under its name, shown in place, whose type is not guessed."""
    response = await client.get(f"/api/documents/{DOCUMENT_ID}/file")

    assert response.content == PDF
    assert response.headers["content-type"] == "application/pdf"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-disposition"].startswith('inline; filename="report.pdf"')
    assert fakes.documents.downloads_closed == 1


async def test_a_store_that_is_down_is_a_status_and_not_a_broken_file(
    client: httpx.AsyncClient, fakes: Fakes
) -> None:
    """The first piece is fetched before the head is sent."""
    fakes.documents.pieces, fakes.documents.broken = [], errors.Unavailable()

    told(await client.get(f"/api/documents/{DOCUMENT_ID}/file"), 503, "unavailable")


async def test_a_download_that_breaks_is_not_taken_for_a_whole_one(address: str, fakes: Fakes) -> None:
    """The connection is cut before the last byte."""
    fakes.documents.document = stored(size=len(PDF) + 1)
    fakes.documents.broken = errors.Unavailable()

    async with httpx.AsyncClient(base_url=address) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(f"/api/documents/{DOCUMENT_ID}/file")


async def test_a_reader_that_leaves_lets_the_store_go(address: str, fakes: Fakes) -> None:
    """Its cursor is closed, though the file was not at its end."""
    fakes.documents.pieces = [b"x" * 1_000_000] * 50
    fakes.documents.document = stored(size=50_000_000)

    async with connected(address) as wire:
        await wire.send(f"GET /api/documents/{DOCUMENT_ID}/file HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        await wire.head()

    assert await closed(fakes)


async def closed(fakes: Fakes) -> bool:
    """True if the download's end was seen, within a moment."""
    for _ in range(200):
        if fakes.documents.downloads_closed:
            return True
        await asyncio.sleep(0.01)
    return False


HOSTILE = ['a"b.pdf', "a\\b.pdf", "line\r\nSet-Cookie: x=1.pdf", "é.pdf", "a;filename=b.pdf", "%0d%0a.pdf"]


@pytest.mark.parametrize("name", HOSTILE)
async def test_no_name_breaks_out_of_its_header(client: httpx.AsyncClient, fakes: Fakes, name: str) -> None:
    """However it got into the store."""
    fakes.documents.document = replace(stored(), filename=name)

    response = await client.get(f"/api/documents/{DOCUMENT_ID}/file")

    assert response.status_code == 200
    assert "set-cookie" not in response.headers
    assert len(response.headers.get_list("content-disposition")) == 1


async def test_nothing_is_left_in_the_temporary_folder(
    client: httpx.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data folder's, and the machine's; whatever the form was."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    await client.post("/api/documents", data=IN_SESSION, files=form())
    await client.post("/api/documents", data={}, files=form())
    await client.post("/api/documents", data=IN_SESSION, files=form(content=b"x" * (2 << 20)))
    await client.post(
        "/api/documents", content=b"--b\r\n", headers={"content-type": "multipart/form-data; boundary=b"}
    )

    assert left(tmp_path) == [tmp_path / "tmp"]
    assert left(tmp_path / "tmp") == []


def left(folder: Path) -> list[Path]:
    """What is in a folder."""
    return list(folder.iterdir())
