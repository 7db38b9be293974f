"""/vantage/cards and /vantage/facts as a client sees them."""

from typing import Any

import httpx
import pytest

from app import errors
from app.api.cards import CARD, CARDS, EXAMPLES, CardBody, CardList, CardReply
from app.db.keys import Caller
from app.settings import Enable, Settings
from app.types import Scope
from tests.fakes.checks import told
from tests.fakes.services import DOCUMENT_ID, Fakes

PATHS = ("/vantage/cards", "/vantage/facts")
GIVEN = {"vantage_id": "clinic", "text": "Closed on Wednesdays.", "key": "opening hours"}
BY_ADA = {"Authorization": "Bearer ada-key"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """With the routes of /vantage."""
    return settings.model_copy(update={"enable": Enable(vantage_endpoints=True)})


@pytest.fixture
def keyed(fakes: Fakes) -> Fakes:
    """With a key of Ada's and one of her tenant."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada"), "acme-key": Caller("acme", None)}
    return fakes


@pytest.mark.parametrize("path", PATHS)
async def test_a_row_is_kept_and_replaced(client: httpx.AsyncClient, fakes: Fakes, path: str) -> None:
    """201 and then 200, under one id; `shape` says which of both it is."""
    first = await client.post(path, json=GIVEN | {"weight": 0})
    second = await client.post(path, json=GIVEN | {"text": "Closed.", "weight": 1})
    assert [first.status_code, second.status_code] == [201, 200]
    assert [reply.json()["text"] for reply in (first, second)] == ["Closed on Wednesdays.", "Closed."]
    assert first.json()["id"] == second.json()["id"]
    kept = CardReply.model_validate(second.json())
    assert (kept.weight, kept.user_id, f"/vantage/{kept.shape}s") == (1.0, None, path)
    assert len(fakes.cards.rows) == 1


@pytest.mark.parametrize("path", PATHS)
async def test_rows_are_listed(client: httpx.AsyncClient, fakes: Fakes, path: str) -> None:
    """Of a namespace, of a user; those of the other kind are not among them."""
    for each in PATHS:
        await client.post(each, json=GIVEN)
    response = await client.get(path, params={"vantage_id": "clinic", "user_id": "ada", "limit": 7})
    assert response.status_code == 200
    found = CardList.model_validate(response.json())
    assert [f"/vantage/{each.shape}s" for each in found.items] == [path]
    assert fakes.cards.scopes[-1] == Scope(user_id="ada", vantage_id="clinic")
    assert fakes.cards.pages == [(None, 7)]


@pytest.mark.parametrize(("path", "other"), [PATHS, PATHS[::-1]], ids=["cards", "facts"])
async def test_a_row_is_removed(client: httpx.AsyncClient, path: str, other: str) -> None:
    """By its own path alone, and once."""
    name = (await client.post(path, json=GIVEN)).json()["id"]
    told(await client.delete(f"{other}/{name}"), 404, "not-found")
    assert (await client.delete(f"{path}/{name}")).status_code == 204
    told(await client.delete(f"{path}/{name}"), 404, "not-found")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"vantage_id": None}, "body.vantage_id", id="no namespace"),
        pytest.param({"vantage_id": ""}, "body.vantage_id", id="an empty one"),
        pytest.param({"vantage_id": "a\nb"}, "body.vantage_id", id="one of two lines"),
        pytest.param({"text": ""}, "body.text", id="no text"),
        pytest.param({"text": " \n\t"}, "body.text", id="blanks alone"),
        pytest.param({"text": "a\x00b"}, "body.text", id="NUL"),
        pytest.param({"text": "x" * 4_001}, "body.text", id="a text too long"),
        pytest.param({"text": 7}, "body.text", id="a number for a text"),
        pytest.param({"key": ""}, "body.key", id="an empty key"),
        pytest.param({"key": "k" * 201}, "body.key", id="a key too long"),
        pytest.param({"key": "  "}, "body.key", id="a blank key"),
        pytest.param({"key": "a\u2028b"}, "body.key", id="a key of two lines"),
        pytest.param({"key": "a\u0085b"}, "body.key", id="a key with a control character"),
        pytest.param({"key": "a\u202eb"}, "body.key", id="a key that turns around"),
        pytest.param({"key": "a\u200bb"}, "body.key", id="a key with what nobody sees"),
        pytest.param({"weight": 1.01}, "body.weight", id="too heavy"),
        pytest.param({"weight": -0.01}, "body.weight", id="lighter than nothing"),
        pytest.param({"weight": "1"}, "body.weight", id="a weight in words"),
        pytest.param({"weight": True}, "body.weight", id="no number"),
        pytest.param({"user_id": ""}, "body.user_id", id="an empty user"),
        pytest.param({"tenant": "other"}, "body.tenant", id="a field that is none"),
        pytest.param({"id": DOCUMENT_ID}, "body.id", id="an id of their own"),
    ],
)
async def test_what_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, change: dict[str, Any], field: str
) -> None:
    """And nothing is kept."""
    for path in PATHS:
        problem = told(await client.post(path, json=GIVEN | change), 422, "validation")
        assert [fault["field"] for fault in problem["errors"]] == [field]
    assert fakes.cards.rows == {}


async def test_a_key_may_be_spelt_as_its_language_is(client: httpx.AsyncClient) -> None:
    """Joiners are part of Persian words; blanks around are none of the key."""
    kept = await client.post(PATHS[1], json=GIVEN | {"key": " می\u200cخواهم "})
    assert (kept.status_code, kept.json()["key"]) == (201, "می\u200cخواهم")


@pytest.mark.parametrize("weight", ["NaN", "Infinity", "-Infinity", "1e400"])
async def test_no_weight_is_beyond_numbers(client: httpx.AsyncClient, fakes: Fakes, weight: str) -> None:
    """Python's JSON would take them."""
    body = f'{{"vantage_id": "v", "text": "t", "weight": {weight}}}'
    sent = {"content": body, "headers": {"content-type": "application/json"}}
    told(await client.post(PATHS[0], **sent), 422, "validation")  # type: ignore[arg-type] # content and headers
    assert fakes.cards.rows == {}


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "cursor=%00", "vantage_id=", "user_id=%0A"])
async def test_a_list_s_bounds_are_told(client: httpx.AsyncClient, query: str) -> None:
    """One request, one page."""
    told(await client.get(f"{PATHS[0]}?{query}"), 422, "validation")


@pytest.mark.parametrize(
    ("body", "allowed"),
    [
        pytest.param({"user_id": "ada"}, True, id="her own"),
        pytest.param({"user_id": "bob"}, False, id="another's"),
        pytest.param({}, True, id="hers by the key"),
    ],
)
async def test_a_user_key_writes_for_its_user_alone(
    client: httpx.AsyncClient, keyed: Fakes, *, body: dict[str, str], allowed: bool
) -> None:
    """The key says whose it is; what all users are told is the tenant's to say."""
    response = await client.post(PATHS[0], json=GIVEN | body, headers=BY_ADA)
    if allowed:
        assert response.status_code == 201
    else:
        told(response, 403, "forbidden")
    assert bool(keyed.cards.rows) == allowed


async def test_a_user_key_sees_and_removes_its_own(client: httpx.AsyncClient, keyed: Fakes) -> None:
    """Everybody's it sees, and cannot remove; another user's it does not see."""
    tenant = {"Authorization": "Bearer acme-key"}
    ids = [
        (await client.post(PATHS[0], json=GIVEN | more, headers=tenant)).json()["id"]
        for more in ({"user_id": "ada"}, {}, {"user_id": "bob"})
    ]
    seen = (await client.get(PATHS[0], headers=BY_ADA)).json()["items"]
    assert [each["id"] for each in seen] == ids[:2]
    told(await client.get(f"{PATHS[0]}?user_id=bob", headers=BY_ADA), 403, "forbidden")
    assert (await client.delete(f"{PATHS[0]}/{ids[0]}", headers=BY_ADA)).status_code == 204
    told(await client.delete(f"{PATHS[0]}/{ids[1]}", headers=BY_ADA), 403, "forbidden")
    told(await client.delete(f"{PATHS[0]}/{ids[2]}", headers=BY_ADA), 404, "not-found")


@pytest.mark.parametrize("name", ["x", "%00", "%ff", "..%2f", "0" * 5_000])
async def test_what_is_no_id_is_not_there(client: httpx.AsyncClient, name: str) -> None:
    """Whatever stands in the path."""
    assert (await client.delete(f"{PATHS[0]}/{name}")).status_code == 404


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_a_store_that_is_away_is_told(client: httpx.AsyncClient, fakes: Fakes, method: str) -> None:
    """503, and nothing is said to be kept."""
    fakes.cards.error = errors.Unavailable()
    path = f"{PATHS[0]}/{DOCUMENT_ID}" if method == "DELETE" else PATHS[0]
    sent = {"json": GIVEN} if method == "POST" else {}
    told(await client.request(method, path, **sent), 503, "unavailable")  # type: ignore[arg-type] # a body


async def test_an_erasure_under_way_is_told(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """409: ask again."""
    fakes.cards.error = errors.RemovedMeanwhile()
    told(await client.post(PATHS[0], json=GIVEN | {"user_id": "ada"}), 409, "removed-meanwhile")


def test_the_examples_are_of_their_schemas() -> None:
    """All of them."""
    for example in EXAMPLES.values():
        CardBody.model_validate(example["value"])
    CardReply.model_validate(CARD)
    CardList.model_validate(CARDS)
    assert set(CARD) == set(CardReply.model_fields)
