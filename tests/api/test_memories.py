"""/memories as a client sees it."""

import httpx
import pytest

from app import errors
from app.api.kept import MemoryList, SeveralReply, WrittenReply
from app.db.keys import Caller
from app.db.memories import Outcome
from app.types import Scope
from tests.fakes.checks import told
from tests.fakes.keeping import kept
from tests.fakes.services import Fakes

MEMORY = {"user_id": "ada", "text": "I moved."}
ID = kept().id


async def test_a_memory_is_kept(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """201 with it, in the name of its user."""
    response = await client.post("/memories", json=MEMORY)

    assert response.status_code == 201
    WrittenReply.model_validate(response.json())
    assert response.json()["memory"]["text"] == "I moved."
    ((scope, (draft,)),) = fakes.memories.asks
    assert (scope, draft.text) == (Scope(user_id="ada"), "I moved.")


@pytest.mark.parametrize("outcome", [Outcome.REPEATED, Outcome.ECHO])
async def test_nothing_new_is_no_creation(client: httpx.AsyncClient, fakes: Fakes, outcome: Outcome) -> None:
    """200, and what became of it."""
    fakes.memories.outcomes = [outcome]

    response = await client.post("/memories", json=MEMORY)

    assert (response.status_code, response.json()["outcome"]) == (200, outcome.value)
    assert (response.json()["memory"] is None) == (outcome is Outcome.ECHO)


async def test_several_come_back_as_several(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """In order; one of them new makes it a 201."""
    fakes.memories.outcomes = [Outcome.ECHO, Outcome.CREATED]

    response = await client.post("/memories", json=[MEMORY, MEMORY | {"text": "I slept."}])

    assert response.status_code == 201
    SeveralReply.model_validate(response.json())
    assert [item["outcome"] for item in response.json()["items"]] == ["echo", "created"]


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"text": "a"}, "body.user_id"),
        ([{"text": "a"}], "body.0.user_id"),
        ([MEMORY, MEMORY | {"user_id": "bob"}], "body.1.user_id"),
        (MEMORY | {"origin": "gravity_daemon"}, "body.origin"),
        ([MEMORY, MEMORY | {"created_at": "yesterday"}], "body.1.created_at"),
        ([], "body"),
        ("I moved.", "body"),
    ],
)
async def test_what_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, sent: object, field: str
) -> None:
    """Before anything is written."""
    problem = told(await client.post("/memories", json=sent), 422, "validation")

    assert [fault["field"] for fault in problem["errors"]] == [field]
    assert fakes.memories.asks == []


async def test_a_user_key_is_that_user(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Named or not; nobody else."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    headers = {"Authorization": "Bearer ada-key"}
    await client.post("/memories", json={"text": "I moved."}, headers=headers)
    await client.get("/memories", headers=headers)
    await client.delete(f"/memories/{ID}", headers=headers)

    ada = Scope("acme", "ada", "ada")
    assert [scope for scope, _ in fakes.memories.asks] == [ada]
    assert [scope for scope, *_ in fakes.memories.pages] == [ada, ada]
    stranger = MEMORY | {"user_id": "bob"}
    told(await client.post("/memories", json=stranger, headers=headers), 403, "forbidden")
    told(await client.get("/memories?user_id=bob", headers=headers), 403, "forbidden")


async def test_memories_come_in_pages(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Of a user; a tenant key says of whom."""
    response = await client.get("/memories", params={"user_id": "ada", "cursor": "c", "limit": 3})

    MemoryList.model_validate(response.json())
    assert response.json()["next"] == "cursor-2"
    assert fakes.memories.pages == [(Scope(user_id="ada"), "c", 3)]
    problem = told(await client.get("/memories"), 422, "validation")
    assert problem["errors"][0]["field"] == "query.user_id"


async def test_a_memory_is_removed(client: httpx.AsyncClient) -> None:
    """204; another's, or none, 404."""
    assert (await client.delete(f"/memories/{ID}")).status_code == 204
    told(await client.delete("/memories/other"), 404, "not-found")


async def test_a_store_that_is_away_is_told(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """503, and when to ask again: what is not kept is not acknowledged."""
    fakes.memories.error = errors.Unavailable("down", retry_after=2)

    for response in (await client.post("/memories", json=MEMORY), await client.delete(f"/memories/{ID}")):
        told(response, 503, "unavailable")
        assert response.headers["retry-after"] == "2"
