"""/api/sessions, and answers with their traces and replays."""

from dataclasses import asdict

import httpx
import pytest
from fastapi import FastAPI

from app import errors
from app.answering.replay import Change, Replayed
from app.api.schemas.answers import AnswerOut, ReplayReport
from app.api.schemas.documents import SessionPage, TurnPage
from app.db.keys import Caller
from app.errors import Missing, Unavailable
from app.types import Scope
from tests.db.test_answers import ANSWER, RULED, RULING
from tests.fakes.server import told
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
                "title": None,
                "renamed": False,
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


async def test_the_trace_is_shown_whole(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Every candidate with its figures and its verdict, and how the answer ended."""
    fakes.answers.answer = ANSWER
    response = await client.get(f"/answers/{ANSWER.id}")
    shown = response.json()
    assert response.status_code == 200
    AnswerOut.model_validate(shown)
    entries = [asdict(entry) for entry in ANSWER.trace.entries]
    times = ["2026-11-01T09:30:00.000125Z", None]
    assert shown["candidates"] == [
        entry | {"created_at": at} for entry, at in zip(entries, times, strict=True)
    ]
    assert ANSWER.recipe
    assert not any(block.text in str(shown["recipe"]) for block in ANSWER.recipe.blocks if block.text)
    assert shown["ruling"] is None
    assert (shown["answer"], shown["finish_reason"]) == (ANSWER.text, "stop")
    assert shown["created_at"] == "2026-11-21T12:00:00Z"
    assert shown["rag"] == {
        "used": True,
        "reason": "ok",
        "cached": True,
        "passages": 1,
        "tokens": 42,
        "budget": 50_000,
        "took_ms": 12,
    }
    assert shown["degraded"] == [{"source": "memories", "reason": "timeout"}]
    assert set(shown) == set(AnswerOut.model_fields)


async def test_a_ruling_is_shown_with_its_answer(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """What was decided, by which policy, under which mix, and whether it held; the descriptors are debug."""
    fakes.answers.answer = RULED
    shown = (await client.get(f"/answers/{RULED.id}")).json()
    AnswerOut.model_validate(shown)
    assert shown["ruling"] == {key: RULING[key] for key in RULING if key not in ("sd", "thread")}
    told_of = {"response_class", "policy_version", "policy_sha256", "params", "mix", "class_check"}
    assert told_of | {"inspect_only", "rules"} <= set(shown["ruling"])
    assert "sd" not in shown["ruling"]


async def test_a_replay_is_told(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """For who asks: whether it is the same, what is not, and both hashes."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    fakes.replays.found = Replayed("ab", "cd", (Change("source a.pdf#1", "ab", None),))
    headers = {"Authorization": "Bearer ada-key"}
    response = await client.post(f"/answers/{ANSWER.id}/replay", headers=headers)
    assert response.status_code == 200
    ReplayReport.model_validate(response.json())
    assert response.json() == {
        "answer_id": ANSWER.id,
        "identical": False,
        "changes": [{"what": "source a.pdf#1", "before": "ab", "after": None}],
        "prompt_sha256": {"before": "ab", "after": "cd"},
    }
    assert fakes.replays.asked == [(Scope("acme", "ada", "ada"), ANSWER.id)]


async def test_a_replay_that_cannot_be_made_is_a_problem(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Another's answer is not there; a store that is away says nothing of any source."""
    for error, status, slug in ((Missing(), 404, "not-found"), (Unavailable(), 503, "unavailable")):
        fakes.replays.error = error
        told(await client.post(f"/answers/{ANSWER.id}/replay"), status, slug)
