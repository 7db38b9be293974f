"""POST /api/chat as a client sees it: bodies, statuses, both forms of the answer, and leaving early."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.answer import Role, Turn
from app.db.keys import Caller
from app.types import Scope
from tests.api.test_asking import asked, until
from tests.fakes.server import connected, told
from tests.fakes.services import FakeReply, Fakes

PATH = "/api/chat"
ASK: dict[str, Any] = {"message": "What was revenue in 2023?", "session_id": "thesis"}
"""Seconds within which a model's stream must be closed."""


async def test_a_body_reaches_the_service_as_it_was_meant(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Every field, in the service's words."""
    body = ASK | {
        "user_id": "ada",
        "thread_id": "t-1",
        "project": "THN",
        "sources": ["documents", "code", "documents"],
        "history": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        "notes": ["n"],
        "top_k": 40,
        "model": "other",
        "remember": True,
        "on_disconnect": "continue",
    }

    await client.post("/api/chat", json=body)

    (ask,) = fakes.chat.asks
    assert ask.scope == Scope("default", "", "ada", "thesis", "t-1", "THN")
    assert ask.sources == ("documents", "code")
    assert ask.history == (Turn(Role.USER, "hi"), Turn(Role.ASSISTANT, "hello"))
    assert (ask.notes, ask.top_k, ask.model) == (("n",), 40, "other")
    assert (ask.remember, ask.debug) == (True, True)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "top-k-41": ({"top_k": 41}, "body.top_k"),
    "session-spaces": ({"session_id": "my session"}, "body.session_id"),
    "session-long": ({"session_id": "s" * 201}, "body.session_id"),
    "session-path": ({"session_id": "a/b"}, "body.session_id"),
    "sources-none": ({"sources": []}, "body.sources"),
    "source-unknown": ({"sources": ["web"]}, "body.sources.0"),
    "history-role": ({"history": [{"role": "system", "content": "x"}]}, "body.history.0.role"),
    "history-extra": ({"history": [{"role": "user", "content": "x", "id": 1}]}, "body.history.0.id"),
    "notes-text": ({"notes": "one"}, "body.notes"),
    "disconnect": ({"on_disconnect": "explode"}, "body.on_disconnect"),
    "remember-number": ({"remember": 1}, "body.remember"),
}


@pytest.mark.parametrize(("change", "field"), BAD.values(), ids=BAD.keys())
async def test_a_field_that_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, change: dict[str, Any], field: str
) -> None:
    """422, before anything is searched."""
    response = await client.post("/api/chat", json=ASK | change)

    problem = told(response, 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == [field]
    assert len(response.content) < 1_000
    assert fakes.chat.asks == []


async def test_what_must_be_there_is_asked_for(client: httpx.AsyncClient) -> None:
    told(await client.post("/api/chat", json={"session_id": "thesis"}), 422, "validation")


GOOD: dict[str, dict[str, Any]] = {
    "message-one": {"message": "x"},
    "message-longest": {"message": "😀" * 32_000},
    "message-lines": {"message": "a\r\n\tb\u2028c"},
    "session-signs": {"session_id": "A.b_c:d-9"},
    "session-longest": {"session_id": "s" * 200},
    "top-k-1": {"top_k": 1},
    "nulls": dict.fromkeys(["user_id", "thread_id", "project", "sources", "history", "top_k", "model"]),
    "name": {"user_id": "Zoë O'Brien <z@example.org>"},
}


@pytest.mark.parametrize("change", GOOD.values(), ids=GOOD.keys())
async def test_the_edge_of_what_fits_is_taken(client: httpx.AsyncClient, change: dict[str, Any]) -> None:
    """Limits are inclusive; null is the same as left out."""
    assert (await client.post("/api/chat", json=ASK | change)).status_code == 200


RAW = {
    "not-json": (b"hello", "application/json", 400, "bad-request"),
    "open": (b'{"message": "', "application/json", 400, "bad-request"),
    "not-utf8": (b'{"message": "caf\xe9", "session_id": "s"}', "application/json", 400, "bad-request"),
    "utf-16": (json.dumps(ASK).encode("utf-16"), "application/json", 400, "bad-request"),
    "bom": (b"\xef\xbb\xbf" + json.dumps(ASK).encode(), "application/json", 400, "bad-request"),
    "deep": (b"[" * 15_000, "application/json", 400, "bad-request"),
    "digits": (b'{"top_k": ' + b"9" * 5_000 + b"}", "application/json", 400, "bad-request"),
    "surrogate": (b'{"message": "\\ud800", "session_id": "s"}', "application/json", 422, "validation"),
    "surrogate-name": (b'{"\\ud800": 1}', "application/json", 422, "validation"),
    "list": (b"[]", "application/json", 422, "validation"),
    "text": (b'"hi"', "application/json", 422, "validation"),
    "empty": (b"", "application/json", 422, "validation"),
    "form": (b"message=hi&session_id=s", "application/x-www-form-urlencoded", 415, "wrong-content-type"),
    "plain": (json.dumps(ASK).encode(), "text/plain", 415, "wrong-content-type"),
    "untyped": (json.dumps(ASK).encode(), "", 415, "wrong-content-type"),
    "10-mb": (b'{"message": "' + b"x" * 10_000_000 + b'"}', "application/json", 413, "too-large"),
    "values": (b'{"notes": [' + b"[]," * 20_000 + b"[]]}", "application/json", 413, "too-large"),
    "long-name": (b'{"' + b"n" * 1_000_000 + b'": 1}', "application/json", 422, "validation"),
}


@pytest.mark.parametrize(("body", "content_type", "status", "slug"), RAW.values(), ids=RAW.keys())
async def test_a_body_that_cannot_be_read_is_refused(
    client: httpx.AsyncClient, body: bytes, content_type: str, status: int, slug: str
) -> None:
    """Each fault its own problem; nothing of the body comes back."""
    headers = {"content-type": content_type} if content_type else {}

    response = await client.post("/api/chat", content=body, headers=headers)

    told(response, status, slug)
    assert len(response.content) < 2_000


async def test_top_k_follows_its_setting(client: httpx.AsyncClient, app: FastAPI) -> None:
    """RAG_TOP_K_MAX is the bound, not a number here."""
    rag = app.state.settings.rag.model_copy(update={"top_k_max": 5})
    app.state.settings = app.state.settings.model_copy(update={"rag": rag})

    problem = told(await client.post("/api/chat", json=ASK | {"top_k": 6}), 422, "validation")

    assert problem["errors"][0]["message"] == "top_k must be at most 5"


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_that_should_continue_is_finished_without_its_client(
    address: str, fakes: Fakes, stream: bool
) -> None:
    fakes.chat.reply = FakeReply(tokens=["word "] * 10, pause=0.02)

    async with connected(address) as wire:
        await wire.send(asked(PATH, stream=stream, on_disconnect="continue"))
        await until(lambda: fakes.chat.reply.said >= 2)
        await wire.leave()

        async with asyncio.timeout(5):
            await fakes.chat.reply.closed.wait()

    assert fakes.chat.reply.finished


async def test_tokens_leave_one_by_one_as_they_come(address: str, fakes: Fakes) -> None:
    """The first is at the client before the second is made."""
    fakes.chat.reply = FakeReply(tokens=["first", "second"], pause=0.2)

    async with connected(address) as wire:
        await wire.send(asked(PATH))
        await wire.reader.readuntil(b"first")

        assert fakes.chat.reply.said == 1


async def test_to_remember_needs_somebody(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A tenant key says whose memory it is to be; a user key has."""
    body = {"message": "I moved to Lyon.", "session_id": "s", "remember": True, "stream": False}
    problem = told(await client.post("/api/chat", json=body), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == ["body.user_id"]
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    headers = {"Authorization": "Bearer ada-key"}
    assert (await client.post("/api/chat", json=body, headers=headers)).status_code == 200
    assert fakes.chat.asks[0].remember


async def test_faults_without_number_are_counted_and_not_listed(client: httpx.AsyncClient) -> None:
    """Each would take its time to describe; nobody reads thousands."""
    body = {"message": "hi", "session_id": "s"} | {f"field{n}": 1 for n in range(5_000)}

    problem = told(await client.post("/api/chat", json=body), 422, "validation")

    assert problem["errors"] == [{"field": "body", "message": "The body has 5,000 errors."}]
