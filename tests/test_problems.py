"""The tree of errors and its problem documents: what a caller is told, and what never leaves."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI, Query
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from app import errors, problems
from app.api.middleware import Requests
from app.db.documents import DocumentFault
from app.errors import (
    InvalidField,
    ModelBusy,
)
from app.logging import RequestLog
from app.problems import of_fault, printable
from tests.fakes.logged import Lines, captured
from tests.fakes.server import browsing, told

SECRET = "row (key)=(Ada)"


class Body(BaseModel):
    n: int


@pytest.fixture
def lines() -> Iterator[Lines]:
    with captured() as found:
        yield found


FAULTS = {
    "busy": ModelBusy("wait", retry_after=7),
    "bug": RuntimeError(SECRET),
    "field": InvalidField("too many", field="body.top_k"),
    "gone": ClientDisconnect(),
    "teapot": HTTPException(418, "short and stout"),
}


def small() -> FastAPI:
    """An app whose routes fail in every way there is."""
    app = FastAPI()
    problems.install(app)
    app.add_middleware(Requests)
    app.add_middleware(RequestLog)

    @app.get("/ours/{slug}")
    async def ours(slug: str) -> None:
        raise errors.problem(slug, "because")

    @app.get("/faults/{name}")
    async def fails(name: str) -> None:
        raise FAULTS[name]

    @app.get("/late")
    async def late() -> StreamingResponse:
        return StreamingResponse(broken())

    @app.post("/body")
    async def body(body: Body) -> None: ...

    @app.delete("/body")
    async def delete() -> None: ...

    @app.get("/query")
    async def query(n: Annotated[int, Query(ge=1)]) -> None: ...

    return app


async def broken() -> AsyncIterator[bytes]:
    """A body that breaks in the middle."""
    yield b"half"
    raise RuntimeError(SECRET)


@pytest.fixture
async def client(lines: Lines) -> AsyncIterator[httpx.AsyncClient]:
    async with browsing(small()) as opened:
        yield opened


EVERY = sorted({kind.slug for kind in errors.kinds()})


@pytest.mark.parametrize("slug", EVERY)
async def test_every_error_of_the_tree_is_told_as_its_problem(client: httpx.AsyncClient, slug: str) -> None:
    """Its own status, type and title; the detail it was raised with."""
    kind = type(errors.problem(slug, ""))

    problem = told(await client.get(f"/ours/{slug}"), kind.status, slug)

    assert (problem["title"], problem["detail"]) == (kind.title, "because")


def test_no_two_errors_share_a_slug() -> None:
    """A type names one problem. `ModelError` and its like have their own."""
    slugs = [kind.slug for kind in errors.kinds() if "slug" in vars(kind)]

    assert len(slugs) == len(set(slugs))


async def test_a_wait_that_is_known_is_told_in_its_header(client: httpx.AsyncClient) -> None:
    """Seconds, as Retry-After has them."""
    response = await client.get("/faults/busy")

    told(response, 503, "model-busy")
    assert response.headers["retry-after"] == "7"


async def test_a_401_says_how_to_authenticate(client: httpx.AsyncClient) -> None:
    """RFC 9110 §11.6.1 demands the header."""
    response = await client.get("/ours/unauthorized")

    assert response.headers["www-authenticate"] == 'Bearer realm="ibid"'


async def test_a_bug_is_a_500_that_tells_nothing_of_itself(client: httpx.AsyncClient, lines: Lines) -> None:
    """Neither the reply nor the log holds the exception's text; the log has its class and place."""
    response = await client.get("/faults/bug")

    told(response, 500, "internal")
    assert SECRET not in response.text
    (line,) = lines.of("request failed")
    assert line["error"] == "RuntimeError"
    assert line["request_id"] == response.headers["x-request-id"]
    assert SECRET not in lines.getvalue()


async def test_a_fault_after_the_head_breaks_the_response_off(lines: Lines) -> None:
    """A truncated body must not look whole: the error goes on to the server, which cuts the connection."""
    transport = httpx.ASGITransport(small(), raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        with pytest.raises(RuntimeError):
            await client.get("/late")


async def test_a_field_at_fault_is_named(client: httpx.AsyncClient) -> None:
    """`errors` says which and why."""
    problem = told(await client.get("/faults/field"), 422, "validation")

    assert problem["errors"] == [{"field": "body.top_k", "message": "too many"}]


async def test_a_405_lists_the_methods_of_all_routes_of_the_path(client: httpx.AsyncClient) -> None:
    """Starlette alone would list those of the first."""
    response = await client.put("/body")

    told(response, 405, "method-not-allowed")
    assert response.headers["allow"] == "POST, DELETE"


async def test_what_was_sent_is_not_echoed(client: httpx.AsyncClient) -> None:
    """A reply may be logged or shown elsewhere."""
    response = await client.post("/body", json={"n": SECRET})

    problem = told(response, 422, "validation")
    assert problem["errors"][0]["field"] == "body.n"
    assert SECRET not in response.text


async def test_several_faults_are_counted_in_the_detail(client: httpx.AsyncClient) -> None:
    """The first is told, the rest is in `errors`."""
    app = small()

    class Two(BaseModel):
        a: int
        b: int

    @app.post("/two")
    async def two(body: Two) -> None: ...

    async with browsing(app) as two_client:
        problem = told(await two_client.post("/two", json={}), 422, "validation")

    assert problem["detail"] == "a is required (and 1 more)"
    assert [fault["field"] for fault in problem["errors"]] == ["body.a", "body.b"]


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [("plain", 10, "plain"), ("x" * 11, 10, "x" * 10 + "…"), ("a\ud800b", 10, "a\\ud800b")],
    ids=["short", "long", "surrogate"],
)
def test_names_from_outside_are_cut_and_made_printable(text: str, limit: int, shown: str) -> None:
    """A field's name may be a megabyte, or no text at all."""
    assert printable(text, limit) == shown


def test_why_a_document_failed_is_told_as_its_problem() -> None:
    """Slug and detail were kept; the rest comes from the tree."""
    found = of_fault(DocumentFault("pdf-encrypted", "It opens with a password only."), "id-1")

    assert found.model_dump() == {
        "type": "urn:ibid:problem:pdf-encrypted",
        "title": "The PDF is encrypted",
        "status": 422,
        "detail": "It opens with a password only.",
        "instance": "id-1",
    }


class Cut:
    """An app that says these messages and is then cancelled, and what reached the server of it."""

    def __init__(self, *first: Message) -> None:
        self.first = first
        self.sent: list[Message] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for message in self.first:
            await send(message)
        await asyncio.Event().wait()

    async def run(self) -> None:
        """One request, cancelled once it waits; raises what comes out."""

        async def receive() -> Message:
            return {}

        async def send(message: Message) -> None:
            self.sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "state": {}, "app": FastAPI()}
        task = asyncio.create_task(Requests(self)(scope, receive, send))
        await asyncio.sleep(0)
        task.cancel()
        await task


async def test_a_request_that_is_cut_short_is_told_when_to_come_back() -> None:
    """503 with Retry-After; the cancellation goes on to whoever asked for it."""
    app = Cut()
    with pytest.raises(asyncio.CancelledError):
        await app.run()

    start, body = app.sent
    assert (start["status"], dict(start["headers"])[b"retry-after"]) == (503, b"2")
    assert json.loads(body["body"])["type"] == "urn:ibid:problem:unavailable"


async def test_an_answer_under_way_that_is_cut_short_gets_no_second_head() -> None:
    """Nothing is added to it here."""
    app = Cut({"type": "http.response.start", "status": 200, "headers": []})
    with pytest.raises(asyncio.CancelledError):
        await app.run()

    assert app.sent == [*app.first]
