"""/corpus as a client sees it."""

import httpx
import pytest

from app import errors
from app.api.schemas.corpus import CollectionPage, TextPage, TextsWritten
from app.db.corpus import ReferenceDraft
from app.db.keys import Caller
from app.types import Scope
from tests.fakes.checks import told
from tests.fakes.services import Fakes

TEXTS = {"texts": ["Light delays sleep.", {"id": "a1", "text": "Keep the hours."}]}


async def test_texts_are_kept(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """201 with what became of each; 200 where all of them replaced others."""
    response = await client.post("/corpus/sleep", json=TEXTS)
    fakes.corpus.fresh = False
    again = await client.post("/corpus/sleep", json=TEXTS)

    assert (response.status_code, again.status_code) == (201, 200)
    TextsWritten.model_validate(response.json())
    assert [item["id"] for item in response.json()["items"]] == ["made", "a1"]
    assert [item["outcome"] for item in again.json()["items"]] == ["replaced", "replaced"]
    scope, collection, texts = fakes.corpus.asks[0]
    assert (scope, collection) == (Scope(), "sleep")
    assert texts == [ReferenceDraft("Light delays sleep."), ReferenceDraft("Keep the hours.", "a1")]


@pytest.mark.parametrize("name", ["ab", "memory_raw", "Memory_Raw", "a%20b", "-abc", "x" * 101])
async def test_not_every_name_is_a_collection_s(client: httpx.AsyncClient, name: str) -> None:
    """Safe on any disk, and not the memories'."""
    problem = told(await client.post(f"/corpus/{name}", json=TEXTS), 422, "validation")

    assert problem["errors"][0]["field"] == "path.collection"


async def test_collections_are_listed(client: httpx.AsyncClient) -> None:
    response = await client.get("/corpus")

    CollectionPage.model_validate(response.json())
    assert response.json()["items"] == [
        {"collection": "sleep", "texts": 2, "tokens": 18, "updated_at": "2026-11-21T12:00:00Z"}
    ]


async def test_a_text_is_removed(client: httpx.AsyncClient) -> None:
    """204; one that is not there 404."""
    assert (await client.delete("/corpus/sleep/a1")).status_code == 204
    told(await client.delete("/corpus/sleep/b1"), 404, "not-found")


async def test_whose_key_it_is_is_the_service_s_to_judge(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """It is told who asks; its refusal is a 403."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    fakes.corpus.error = errors.Forbidden("the corpus needs a tenant key")
    headers = {"Authorization": "Bearer ada-key"}

    told(await client.post("/corpus/sleep", json=TEXTS, headers=headers), 403, "forbidden")
    told(await client.delete("/corpus/sleep/a1", headers=headers), 403, "forbidden")
    assert {scope for scope, *_ in fakes.corpus.asks} == {Scope("acme", "ada", "ada")}


async def test_a_collection_is_removed(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """204; one that is not there 404, one more than there may be 409."""
    assert (await client.delete("/corpus/sleep")).status_code == 204
    told(await client.delete("/corpus/waking"), 404, "not-found")
    fakes.corpus.error = errors.TooMany("there are 100 collections")
    told(await client.post("/corpus/waking", json=TEXTS), 409, "too-many")


async def test_texts_are_listed(client: httpx.AsyncClient) -> None:
    """Whole; of a collection that is not there 404."""
    response = await client.get("/corpus/sleep")

    TextPage.model_validate(response.json())
    assert [item["id"] for item in response.json()["items"]] == ["a1"]
    told(await client.get("/corpus/nothing"), 404, "not-found")
