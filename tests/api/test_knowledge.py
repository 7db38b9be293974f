"""/projects/{project}/knowledge as a client sees it."""

import httpx
import pytest

from app.api.knowledge import KNOWN, KnowledgeReply
from app.db.keys import Caller
from app.db.projects import MOST_NOTES
from tests.fakes.checks import told
from tests.fakes.services import Fakes

THN = "/projects/THN/knowledge"
NOTE = {"title": "Addresses", "text": "10.0.10.0/24"}


async def test_it_is_put_whole(client: httpx.AsyncClient) -> None:
    """What is left out is empty."""
    await client.put(THN, json=dict(KNOWN))
    response = await client.put(THN, json={"rules": "None."})

    KnowledgeReply.model_validate(response.json())
    assert response.status_code == 200
    assert response.json() == {"overview": "", "rules": "None.", "notes": []}
    assert (await client.get(THN)).json() == response.json()


async def test_parts_are_added(client: httpx.AsyncClient) -> None:
    """A note takes the place of the one of its title; what is left out stays; null is left out."""
    await client.put(THN, json=dict(KNOWN))
    more = {"title": "mDNS", "text": "Reflected."}

    response = await client.post(THN, json={"overview": None, "rules": "", "notes": [NOTE, more]})

    assert response.json() == {"overview": KNOWN["overview"], "rules": "", "notes": [NOTE, more]}


async def test_it_is_removed(client: httpx.AsyncClient) -> None:
    """204, and then there is none: 404."""
    told(await client.get(THN), 404, "not-found")
    await client.put(THN, json={})

    assert (await client.delete(THN)).status_code == 204
    told(await client.delete(THN), 404, "not-found")


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({"overview": 7}, "body.overview", id="a number"),
        pytest.param({"overview": "x" * 32_001}, "body.overview", id="a long overview"),
        pytest.param({"rules": "a\0"}, "body.rules", id="NUL"),
        pytest.param({"notes": ["text"]}, "body.notes.0", id="a note without a title"),
        pytest.param({"notes": [NOTE, NOTE]}, "body.notes", id="a title twice"),
        pytest.param({"notes": [NOTE | {"title": "a\nb"}]}, "body.notes.0.title", id="two lines"),
        pytest.param({"notes": [NOTE | {"text": " "}]}, "body.notes.0.text", id="a blank note"),
        pytest.param({"notes": [NOTE | {"text": "x" * 8_001}]}, "body.notes.0.text", id="a long note"),
        pytest.param({"more": ""}, "body.more", id="an unknown field"),
        pytest.param([], "body", id="a list"),
    ],
)
async def test_what_is_no_knowledge_is_refused(
    client: httpx.AsyncClient, fakes: Fakes, method: str, body: object, field: str
) -> None:
    """With its field; nothing is written."""
    problem = told(await client.request(method, THN, json=body), 422, "validation")

    assert problem["errors"][0]["field"] == field
    assert fakes.knowledge.rows == {}


async def test_there_are_so_many_notes(client: httpx.AsyncClient) -> None:
    """In one request, and in all."""
    notes = [{"title": str(n), "text": "x"} for n in range(MOST_NOTES + 1)]

    told(await client.put(THN, json={"notes": notes}), 422, "validation")
    assert (await client.put(THN, json={"notes": notes[1:]})).status_code == 200
    told(await client.post(THN, json={"notes": notes[:1]}), 409, "too-many")


async def test_it_is_the_tenant_s_to_write(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A user key reads it; another tenant has its own."""
    fakes.keys.known = {
        "tenant": Caller("acme", None),
        "ada": Caller("acme", "ada"),
        "other": Caller("other", None),
    }
    by = {key: {"Authorization": f"Bearer {key}"} for key in fakes.keys.known}
    await client.put(THN, json=dict(KNOWN), headers=by["tenant"])

    assert (await client.get(THN, headers=by["ada"])).json() == KNOWN
    for method in ("PUT", "POST", "DELETE"):
        told(await client.request(method, THN, json={}, headers=by["ada"]), 403, "forbidden")
    told(await client.get(THN, headers=by["other"]), 404, "not-found")
