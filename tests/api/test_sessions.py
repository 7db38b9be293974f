"""/api/sessions as a client sees it."""

import httpx
import pytest
from fastapi import FastAPI

from app import errors
from app.api.schemas.documents import SessionPage, TurnPage
from app.db.keys import Caller
from app.types import Scope
from tests.fakes.checks import told
from tests.fakes.services import DOCUMENT_ID, Fakes


async def test_sessions_come_in_pages(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """As the schema says; cursor and limit as given, or their defaults."""
    response = await client.get("/api/sessions")
    await client.get("/api/sessions", params={"cursor": "cursor-2", "limit": 3})
    assert response.status_code == 200
    assert response.json() == {
        "items": [
            {
                "session_id": "thesis",
                "documents": 1,
                "turns": 2,
                "created_at": "2026-11-21T09:30:00Z",
                "last_active_at": "2026-11-21T09:30:00Z",
            }
        ],
        "next": "cursor-2",
    }
    SessionPage.model_validate(response.json())
    assert fakes.sessions.pages == [(None, 50), ("cursor-2", 3)]


async def test_turns_say_who_when_and_of_which_answer(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Of a session, or of one thread of it."""
    response = await client.get("/api/sessions/thesis/turns", params={"thread_id": "draft"})
    TurnPage.model_validate(response.json())
    assert [turn["role"] for turn in response.json()["items"]] == ["user", "assistant"]
    assert response.json()["items"][1] == {
        "thread_id": "thesis",
        "role": "assistant",
        "content": "Because.",
        "at": "2026-11-21T09:30:00Z",
        "answer_id": DOCUMENT_ID,
    }
    assert fakes.sessions.scopes == [Scope(session_id="thesis", thread_id="draft")]


async def test_a_session_is_removed(client: httpx.AsyncClient, fakes: Fakes) -> None:
    response = await client.delete("/api/sessions/thesis")
    assert (response.status_code, response.content) == (204, b"")
    assert fakes.sessions.scopes == [Scope(session_id="thesis")]


async def test_one_that_is_not_there_is_told(client: httpx.AsyncClient, fakes: Fakes) -> None:
    fakes.sessions.there = False
    told(await client.delete("/api/sessions/thesis"), 404, "not-found")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/sessions?limit=0", "query.limit"),
        ("/api/sessions?limit=201", "query.limit"),
        ("/api/sessions?cursor=%20", "query.cursor"),
        ("/api/sessions/my%20session/turns", "path.session_id"),
        ("/api/sessions/s/turns?thread_id=", "query.thread_id"),
        ("/api/sessions/s/turns?thread_id=%00", "query.thread_id"),
    ],
)
async def test_what_does_not_fit_is_named(client: httpx.AsyncClient, path: str, field: str) -> None:
    problem = told(await client.get(path), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == [field]


async def test_a_user_key_sees_its_own(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """By the scope it is asked with."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    headers = {"Authorization": "Bearer ada-key"}
    await client.get("/api/sessions", headers=headers)
    assert fakes.sessions.scopes == [Scope("acme", "ada", "ada")]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/sessions"),
        ("GET", "/api/sessions/s/turns"),
        ("DELETE", "/api/sessions/s"),
        ("GET", f"/answers/{DOCUMENT_ID}"),
    ],
)
async def test_the_record_is_asked_with_a_key_and_may_be_away(
    app: FastAPI, client: httpx.AsyncClient, fakes: Fakes, method: str, path: str
) -> None:
    """401 without one where one is needed, 503 without Postgres."""
    fakes.sessions.error = fakes.answers.error = errors.Unavailable("down", retry_after=2)
    response = await client.request(method, path)
    assert told(response, 503, "unavailable")["detail"] == "down"
    assert response.headers["retry-after"] == "2"
    fakes.keys.known = {"k": Caller("acme", None)}
    told(await client.request(method, path), 401, "unauthorized")
