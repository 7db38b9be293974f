"""/users: export and erasure."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence

import httpx
import pytest
from fastapi import FastAPI

from app.api import users
from app.api.schemas.users import ErasureReceipt, UserExport
from app.db.keys import Caller
from app.errors import Unavailable
from app.types import Scope
from tests.fakes.server import told
from tests.fakes.services import Fakes

HERS = {"Authorization": "Bearer hers"}


@pytest.fixture
def keyed(fakes: Fakes) -> Fakes:
    """The service with a key of Ada's."""
    fakes.keys.known = {"hers": Caller("acme", "ada")}
    return fakes


async def test_an_export_is_a_file_of_its_own(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """One JSON document, kept by no cache on the way, closed when it is out."""
    response = await client.get("/users/ada/export")

    body = response.json()
    UserExport.model_validate(body)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.headers["content-disposition"] == 'attachment; filename="ibid-export.json"'
    assert response.headers["cache-control"] == "no-store"
    assert body["holdings"] == {
        "memories": [{"id": "m1"}],
        "votes": [],
        "answers": [{"id": "a1"}],
        "activity": [],
    }
    assert (body["user_id"], body["complete"], fakes.users.closed) == ("ada", True, 1)


async def test_an_erasure_is_answered_with_a_receipt(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Counts by holding, how the files stand, and whose are not ours."""
    response = await client.delete("/users/ada")

    ErasureReceipt.model_validate(response.json())
    assert response.status_code == 200
    assert response.json() == {
        "user_id": "ada",
        "erased_at": "2026-11-21T09:30:00Z",
        "counts": {"memories": 0, "votes": 0, "answers": 0, "activity": 0},
        "files": {
            "compacted": True,
            "at": "2026-11-21T09:30:00Z",
            "by": None,
            "pending": [],
            "external": ["postgres"],
        },
        "engines": [],
        "cached_until": None,
        "notes": [],
    }
    assert fakes.users.scopes == [Scope(user_id="ada")]


@pytest.mark.parametrize("name", ["ada%20of%20London", "team%2Fada", "%C3%A5da", "a/export"])
async def test_any_name_that_a_request_may_use_is_a_users(
    client: httpx.AsyncClient, fakes: Fakes, name: str
) -> None:
    responses = [await client.get(f"/users/{name}/export"), await client.delete(f"/users/{name}")]

    assert [response.status_code for response in responses] == [200, 200]
    assert len({scope.user_id for scope in fakes.users.scopes}) == 1
    assert responses[1].json()["user_id"] == httpx.URL(f"http://h/{name}").path[1:]


async def test_a_user_key_asks_for_its_own_user(
    app: FastAPI, client: httpx.AsyncClient, keyed: Fakes
) -> None:
    """Another is refused, and nothing of it touched."""
    own = await client.delete("/users/ada", headers=HERS)
    others = [
        await client.delete("/users/bob", headers=HERS),
        await client.get("/users/bob/export", headers=HERS),
    ]

    assert own.status_code == 200
    for response in others:
        told(response, 403, "forbidden")
    assert keyed.users.scopes == [Scope(tenant="acme", owner="ada", user_id="ada")]


async def test_a_store_that_is_down_is_told(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Before the export begins, and for an erasure that is not whole."""
    fakes.users.error = Unavailable("down", retry_after=5)

    responses = [await client.get("/users/ada/export"), await client.delete("/users/ada")]

    assert [response.status_code for response in responses] == [503, 503]
    assert [response.headers["retry-after"] for response in responses] == ["5", "5"]


async def test_a_store_that_fails_in_the_middle_cuts_the_export(address: str, fakes: Fakes) -> None:
    """Half of it must not look whole."""
    fakes.users.rows = [("memories", {"text": "x" * 70_000})]
    fakes.users.broken = Unavailable("down")

    async with httpx.AsyncClient(base_url=address, trust_env=False) as other:
        with pytest.raises(httpx.RemoteProtocolError):
            await other.get("/users/ada/export")


async def test_commands_of_this_machine_erase_in_any_tenant(client: httpx.AsyncClient, keyed: Fakes) -> None:
    """With the data folder's own token; a key is for its own tenant, and a user's for no other user."""
    keyed.keys.known = {**keyed.keys.known, "acme's": Caller("acme", None)}
    for key, tenant, status in (
        (keyed.token, "acme", 200),
        ("acme's", "acme", 200),
        ("acme's", "other", 403),
        ("hers", "other", 403),
    ):
        head = {"Authorization": f"Bearer {key}"}
        response = await client.delete("/users/ada", params={"tenant": tenant}, headers=head)
        assert response.status_code == status
    assert [scope.tenant for scope in keyed.users.scopes] == ["acme", "acme"]


HEAD = {"user_id": "ada", "exported_at": "2026-11-21T09:30:00Z"}
NAMES = ("memories", "votes", "answers", "activity")


async def rows(
    given: Sequence[tuple[str, Mapping[str, object]]],
) -> AsyncIterator[tuple[str, Mapping[str, object]]]:
    for row in given:
        yield row


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"memories": [1]}, id="the first"),
        pytest.param({"activity": [1]}, id="the last"),
        pytest.param({"votes": [1, 2], "answers": [3]}, id="two in the middle"),
        pytest.param({name: [1, 2, 3] for name in NAMES}, id="all"),
    ],
)
@pytest.mark.parametrize("size", [pytest.param(1, id="small pieces"), pytest.param(1 << 16, id="one piece")])
async def test_it_is_one_json_document(
    given: Mapping[str, Sequence[int]], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every holding, also an empty one, and `complete` at its end; however it is cut into pieces."""
    monkeypatch.setattr(users, "PIECE_BYTES", size)
    flat = [(name, {"id": item}) for name, items in given.items() for item in items]

    document = b"".join([piece async for piece in users.exported(HEAD, NAMES, rows(flat))])

    expected = {name: [{"id": item} for item in given.get(name, [])] for name in NAMES}
    assert json.loads(document) == {**HEAD, "holdings": expected, "complete": True}
    assert document.endswith(b'"complete":true}')
