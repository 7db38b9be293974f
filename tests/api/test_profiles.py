"""/profiles as a client sees it."""

import httpx
import pytest

from app.api.profiles import DONE, ProfilesReply
from app.db.keys import Caller
from app.errors import Unavailable
from app.types import Scope
from tests.fakes.services import Fakes

PATH = "/profiles"


async def test_one_user_s_cards(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Computed, and told."""
    response = await client.post(PATH, json={"user_id": "ada"})
    assert response.status_code == 200
    assert response.json() == {
        "items": [{"user_id": "ada", "messages": 2, "kinds": ["style"]}],
        "next": None,
        "users": 1,
    }
    ProfilesReply.model_validate(response.json())
    assert fakes.profiles.scopes == [Scope(user_id="ada")]


async def test_all_users_page_by_page(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """`next` is the cursor of the following page; the last has none."""
    first = (await client.post(PATH, json={})).json()
    second = (await client.post(PATH, json={"cursor": first["next"]})).json()
    assert [page["items"][0]["user_id"] for page in (first, second)] == ["ada", "bob"]
    assert [page["next"] for page in (first, second)] == ["ada", None]
    assert {page["users"] for page in (first, second)} == {2}
    assert fakes.profiles.pages == ["", "ada"]


async def test_a_user_key_may_not(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Not even for its own user."""
    fakes.keys.known = {"k": Caller("acme", "ada")}
    response = await client.post(PATH, json={"user_id": "ada"}, headers={"Authorization": "Bearer k"})
    assert response.status_code == 403
    assert response.json()["type"] == "urn:ibid:problem:forbidden"
    assert fakes.profiles.scopes == []


async def test_a_tenant_key_is_its_own_tenant_s(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Another's is refused, its own may be named."""
    fakes.keys.known = {"k": Caller("acme", None)}
    key = {"Authorization": "Bearer k"}
    body = {"user_id": "ada"}
    assert (await client.post(PATH, json=body | {"tenant": "other"}, headers=key)).status_code == 403
    assert (await client.post(PATH, json=body | {"tenant": "acme"}, headers=key)).status_code == 200
    assert fakes.profiles.scopes == [Scope("acme", user_id="ada")]


async def test_commands_of_this_machine_name_any_tenant(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """With the data folder's token; a caller without a key may not."""
    body = {"user_id": "ada", "tenant": "acme"}
    local = {"Authorization": f"Bearer {fakes.token}"}
    assert (await client.post(PATH, json=body)).status_code == 403
    assert (await client.post(PATH, json=body, headers=local)).status_code == 200
    assert fakes.profiles.scopes == [Scope("acme", user_id="ada")]


@pytest.mark.parametrize(
    ("body", "field"),
    [({"user_id": ""}, "body.user_id"), ({"user": "ada"}, "body.user"), ({"cursor": "\n"}, "body.cursor")],
    ids=["blank", "unknown", "two lines"],
)
async def test_bodies_are_held_to_their_form(
    client: httpx.AsyncClient, body: dict[str, str], field: str
) -> None:
    """The field is named."""
    response = await client.post(PATH, json=body)
    assert response.status_code == 422
    assert field in response.text


async def test_a_store_that_is_away(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """503, as a problem."""
    fakes.profiles.error = Unavailable()
    response = await client.post(PATH, json={"user_id": "ada"})
    assert response.status_code == 503
    assert response.headers["content-type"] == "application/problem+json"


def test_the_example_is_a_reply() -> None:
    """What OpenAPI shows is what is sent."""
    ProfilesReply.model_validate(DONE)
