"""/projects/{project}/context as a client sees it."""

from typing import Any

import httpx
import pytest

from app.api.context import ASKED, CONTEXT, ContextBody, ContextReply
from app.db.keys import Caller
from app.types import Scope
from tests.fakes.checks import told
from tests.fakes.services import Fakes


async def test_the_context_comes_alone(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Text and notes, as the service gives them, for the project of the path."""
    response = await client.post("/projects/THN/context", json={"message": "How is it built?"})

    assert response.status_code == 200
    assert response.json() == {"context": "### Heading\n\nentry", "notes": ["Retrieved 1 things"]}
    ContextReply.model_validate(response.json(), strict=True)
    assert fakes.projects.asked == [("THN", "How is it built?", Scope(project="THN"), None)]


@pytest.mark.parametrize(
    "body",
    [{"message": ""}, {"message": "   \n"}, {"message": None}, {}],
    ids=["empty", "blank", "null", "none"],
)
async def test_a_blank_message_is_taken(
    client: httpx.AsyncClient, fakes: Fakes, body: dict[str, str | None]
) -> None:
    """What becomes of it is the service's to tell, with a 200."""
    response = await client.post("/projects/DAAS/context", json=body)

    assert response.status_code == 200
    assert fakes.projects.asked[0][1] == body.get("message")


@pytest.mark.parametrize("top_k", [-(10**30), -1, 0, 6, 10**30, None])
async def test_no_count_is_refused(client: httpx.AsyncClient, fakes: Fakes, top_k: int | None) -> None:
    """The profile knows what to make of it."""
    response = await client.post("/projects/DAAS/context", json={"message": "water", "top_k": top_k})

    assert response.status_code == 200
    assert fakes.projects.asked[0][3] == top_k


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"message": "x" * 32_001}, "body.message"),
        ({"message": "a\0b"}, "body.message"),
        ({"message": "water", "top_k": "3"}, "body.top_k"),
        ({"message": "water", "limit": 3}, "body.limit"),
    ],
    ids=["huge", "nul", "text", "unknown"],
)
async def test_what_is_no_request_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    """422 with the field."""
    problem = told(await client.post("/projects/DAAS/context", json=body), 422, "validation")

    assert problem["errors"][0]["field"] == field


async def test_a_project_s_name_stands_on_one_line(client: httpx.AsyncClient) -> None:
    """As everywhere."""
    problem = told(await client.post("/projects/a%0Ab/context", json={"message": "x"}), 422, "validation")

    assert problem["errors"][0]["field"] == "path.project"


async def test_the_key_says_whose_rows(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A user key's own and the tenant's shared ones; the tenant's project of that name."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    headers = {"Authorization": "Bearer ada-key"}

    response = await client.post("/projects/THN/context", json={"message": "x"}, headers=headers)

    assert response.status_code == 200
    assert fakes.projects.asked[0][2] == Scope("acme", "ada", user_id="ada", project="THN")


async def test_without_a_key_a_closed_service_says_nothing(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """401."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}

    told(await client.post("/projects/THN/context", json={"message": "x"}), 401, "unauthorized")


def test_the_examples_are_of_the_schemas() -> None:
    """What /docs shows can be sent, and is what comes."""
    ContextReply.model_validate(CONTEXT, strict=True)
    for example in ASKED.values():
        ContextBody.model_validate(example["value"])
