"""/temporal/{user_id} as a client sees it."""

import httpx
import pytest

from app import errors
from app.api.temporal import MOMENT, MomentReply
from app.db.keys import Caller
from app.db.memories import Moment
from app.types import Scope
from tests.fakes.checks import told
from tests.fakes.services import Fakes


async def test_when_somebody_was_last_here(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A time as RFC 3339, seconds to the millisecond."""
    response = await client.get("/temporal/ada")
    assert response.status_code == 200
    assert response.json() == {
        "bucket": "days",
        "last_message_at": "2026-11-19T09:30:40.500000Z",
        "seconds_since": 172_800.0,
    }
    MomentReply.model_validate(response.json())
    assert fakes.signals.scopes == [Scope(user_id="ada")]


async def test_somebody_who_never_was(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Is new, not missing."""
    fakes.signals.moment = Moment("new")
    response = await client.get("/temporal/nobody")
    assert response.json() == {"bucket": "new", "last_message_at": None, "seconds_since": None}
    MomentReply.model_validate(response.json())


@pytest.mark.parametrize(
    ("path", "user"),
    [("ada%40example.org", "ada@example.org"), ("team%2Fada", "team/ada"), ("%E6%97%A5%20x", "日 x")],
)
async def test_any_user_can_be_named(client: httpx.AsyncClient, fakes: Fakes, path: str, user: str) -> None:
    """As the other endpoints take them: with slashes and blanks too."""
    assert (await client.get(f"/temporal/{path}")).status_code == 200
    assert fakes.signals.scopes == [Scope(user_id=user)]


@pytest.mark.parametrize("path", ["%00", "a%1Fb", "u" * 201], ids=["NUL", "control", "long"])
async def test_a_user_that_cannot_be_is_named(client: httpx.AsyncClient, path: str) -> None:
    """Before anything is read."""
    problem = told(await client.get(f"/temporal/{path}"), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == ["path.user_id"]


async def test_a_path_of_two_lines_is_not_found(client: httpx.AsyncClient) -> None:
    """As the document says."""
    told(await client.get("/temporal/a%0Ab"), 404, "not-found")


async def test_a_user_key_asks_for_its_user_alone(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """403 for another's."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    client.headers["Authorization"] = "Bearer ada-key"
    told(await client.get("/temporal/bob"), 403, "forbidden")
    assert (await client.get("/temporal/ada")).status_code == 200
    assert fakes.signals.scopes == [Scope("acme", "ada", "ada")]


async def test_a_store_that_is_away_is_told(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """And does not make everybody new."""
    fakes.signals.error = errors.Unavailable()
    told(await client.get("/temporal/ada"), 503, "unavailable")


def test_the_example_is_of_its_schema() -> None:
    """All fields of it."""
    MomentReply.model_validate(MOMENT)
    assert set(MomentReply.model_fields) == set(MOMENT)
