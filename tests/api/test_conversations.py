"""/projects/{project}/conversations and /dreams as a client sees them."""

from typing import Any

import httpx
import pytest

from app import errors
from app.api.talks import KeptReply, RowList, RowReply, SeveralReply
from app.db.keys import Caller
from app.types import Scope
from tests.fakes.checks import told
from tests.fakes.services import Fakes

THN, DAAS = "/projects/THN/conversations", "/projects/DAAS/dreams"
ROW = {"session_id": "chat-1", "title": "Network", "tags": ["vlan"], "summary_short": "Short."}
TURNS = [{"role": "user", "content": "Which VLAN?"}, {"role": "tool", "content": "…"}]


async def test_a_row_is_kept(client: httpx.AsyncClient) -> None:
    """201; the same again 200; another text under its id 200, too."""
    first = await client.post(THN, json=ROW)
    again = await client.post(THN, json=ROW)
    other = await client.post(THN, json=ROW | {"title": "Other"})

    assert [reply.status_code for reply in (first, again, other)] == [201, 200, 200]
    KeptReply.model_validate(first.json())
    told = [reply.json()["outcome"] for reply in (first, again, other)]
    assert told == ["created", "unchanged", "replaced"]
    row = first.json()["row"]
    assert (row["title"], row["tags"], row["key_entities"]) == ("Network", ["vlan"], [])
    assert (row["project"], row["memory_snippet"]) == ("THN", None)
    assert row["indexed_at"] == "2026-11-21T12:00:00Z"


async def test_several_rows_are_kept(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """In their order, as a list; what is missing is made of what was said."""
    response = await client.post(DAAS, json=[{"text": "I flew."}, {"title": "Own", "turns": TURNS}])

    SeveralReply.model_validate(response.json())
    rows = [item["row"] for item in response.json()["items"]]
    assert (response.status_code, [row["title"] for row in rows]) == (201, ["plain title", "Own"])
    assert {row["summary_short"] for row in rows} == {"plain short"}
    assert fakes.talks.scopes[0] == Scope(project="DAAS")
    assert [turn.role for turn in fakes.talks.written[0][1].draft.said] == ["user", "tool"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({}, "body", id="nothing"),
        pytest.param([], "body", id="no rows"),
        pytest.param({"title": " ", "summary_short": ""}, "body", id="blanks"),
        pytest.param({"tags": ["only"]}, "body", id="tags alone"),
        pytest.param({"turns": [{"role": "system", "content": "x"}]}, "body", id="the system alone"),
        pytest.param({"title": 7}, "body.title", id="a number"),
        pytest.param({"title": "a\0"}, "body.title", id="NUL"),
        pytest.param({"title": "x" * 501}, "body.title", id="a long title"),
        pytest.param({"summary_detailed": "x" * 100_001}, "body.summary_detailed", id="a long summary"),
        pytest.param({"text": "x" * 1_000_001}, "body.text", id="a long text"),
        pytest.param({"title": "a", "tags": "a, b"}, "body.tags", id="tags as text"),
        pytest.param({"title": "a", "tags": ["a\nb"]}, "body.tags.0", id="a tag of two lines"),
        pytest.param({"title": "a", "tags": ["x"] * 101}, "body.tags", id="too many tags"),
        pytest.param({"title": "a", "key_entities": [None]}, "body.key_entities.0", id="no entity"),
        pytest.param({"title": "a", "indexed_at": "yesterday"}, "body.indexed_at", id="no time"),
        pytest.param({"title": "a", "indexed_at": "2026-11-21T12:00:00"}, "body.indexed_at", id="no zone"),
        pytest.param({"title": "a", "session_id": "a/b"}, "body.session_id", id="an id that is a path"),
        pytest.param({"title": "a", "turns": [{"role": "user"}]}, "body.turns.0.content", id="half a turn"),
        pytest.param({"title": "a", "vector": [0.1]}, "body.vector", id="an unknown field"),
        pytest.param({"title": "a", "project": "Lab"}, "body.project", id="another project"),
        pytest.param([ROW, ROW | {"tenant": "acme"}], "body.1.tenant", id="another tenant"),
        pytest.param({"title": "a", "owner": "ada"}, "body.owner", id="another owner"),
        pytest.param([ROW, {"title": 7}], "body.1.title", id="the second"),
        pytest.param([ROW] * 1_001, "body", id="too many"),
        pytest.param("text", "body", id="a text"),
    ],
)
async def test_what_is_no_row_is_refused(
    client: httpx.AsyncClient, fakes: Fakes, body: object, field: str
) -> None:
    """With its field; nothing of the request is kept."""
    problem = told(await client.post(THN, json=body), 422, "validation")

    assert problem["errors"][0]["field"] == field
    assert fakes.talks.rows == {}


async def test_what_is_too_much_is_refused(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A summary of 10 MB before it is read; half a character with its field."""
    large = await client.post(THN, json={"summary_short": "x" * 10_000_000})
    half = b'{"title": "\\ud800"}'
    broken = await client.post(THN, content=half, headers={"Content-Type": "application/json"})

    told(large, 413, "too-large")
    told(broken, 422, "validation")
    assert fakes.talks.rows == {}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/projects/DAAS/conversations"),
        ("POST", "/projects/THN/dreams"),
        ("GET", "/projects/THN/dreams"),
        ("GET", "/projects/dreams/dreams/x"),
        ("DELETE", "/projects/THN/dreams/x"),
        ("DELETE", "/projects/DAAS/conversations"),
    ],
)
async def test_a_project_keeps_one_of_both(client: httpx.AsyncClient, method: str, path: str) -> None:
    """The other path says which."""
    problem = told(await client.request(method, path, json=ROW), 409, "kept-elsewhere")

    assert ("dreams" if "DAAS" in path else "conversations") in problem["detail"]


async def test_a_row_of_the_table_is_taken(client: httpx.AsyncClient) -> None:
    """As it is read here, and as a dump has it: what is made here is made anew."""
    row = (await client.post(THN, json=ROW)).json()["row"]
    made = {"embedding": [0.1], "embedding_ibid": None, "space": "theirs@3", "sha256": "0" * 64}

    response = await client.post(THN, json=[row, row | {"tenant": "default", "owner": ""} | made])

    assert response.status_code in {200, 201}
    assert [item["row"]["title"] for item in response.json()["items"]] == [row["title"]] * 2


@pytest.mark.parametrize("path", [THN, f"{THN}/chat-1", DAAS])
async def test_a_parameter_that_narrows_nothing_is_refused(
    client: httpx.AsyncClient, fakes: Fakes, path: str
) -> None:
    """Before anything is removed."""
    await client.post(path.removesuffix("/chat-1"), json=ROW)

    problem = told(await client.delete(path, params={"user_id": "eve"}), 422, "validation")
    assert problem["errors"][0]["field"] == "query.user_id"
    assert len(fakes.talks.rows) == 1


async def test_rows_are_listed(client: httpx.AsyncClient) -> None:
    """Newest first, in pages."""
    await client.post(DAAS, json=[{"title": str(n), "session_id": str(n)} for n in range(3)])
    first = (await client.get(DAAS, params={"limit": 2})).json()
    second = (await client.get(DAAS, params={"limit": 2, "cursor": first["next"]})).json()

    RowList.model_validate(first)
    assert [row["title"] for row in (*first["items"], *second["items"])] == ["2", "1", "0"]
    assert second["next"] is None
    told(await client.get(DAAS, params={"limit": 201}), 422, "validation")


async def test_a_row_is_read_and_removed(client: httpx.AsyncClient) -> None:
    """By its id, or what its writer called it; one that is not there 404."""
    row = (await client.post(THN, json=ROW)).json()["row"]
    found = await client.get(f"{THN}/chat-1")

    RowReply.model_validate(found.json())
    assert found.json() == row == (await client.get(f"{THN}/{row['session_id']}")).json()
    assert (await client.delete(f"{THN}/chat-1")).status_code == 204
    told(await client.delete(f"{THN}/chat-1"), 404, "not-found")
    told(await client.get(f"{THN}/chat-1"), 404, "not-found")


async def test_a_project_is_emptied(client: httpx.AsyncClient) -> None:
    """204, and then there is nothing: 404. Another project's rows stay."""
    for path in (THN, "/projects/Lab/conversations"):
        await client.post(path, json=ROW)

    assert (await client.delete(THN)).status_code == 204
    told(await client.delete(THN), 404, "not-found")
    assert len((await client.get("/projects/Lab/conversations")).json()["items"]) == 1


async def test_whose_rows_they_are_is_the_key_s(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A user key writes and removes its own, and reads what is shared; another tenant sees none."""
    known = {"tenant": Caller("acme", None), "ada": Caller("acme", "ada"), "bob": Caller("acme", "bob")}
    fakes.keys.known = known | {"other": Caller("other", None)}

    async def ask(key: str, method: str, path: str, body: Any = None) -> httpx.Response:
        return await client.request(method, path, json=body, headers={"Authorization": f"Bearer {key}"})

    await ask("tenant", "POST", THN, {"session_id": "shared", "title": "Shared"})
    await ask("ada", "POST", THN, {"session_id": "own", "title": "Own"})

    seen = {key: (await ask(key, "GET", THN)).json()["items"] for key in fakes.keys.known}
    assert {key: sorted(row["title"] for row in rows) for key, rows in seen.items()} == {
        "tenant": ["Shared"],
        "ada": ["Own", "Shared"],
        "bob": ["Shared"],
        "other": [],
    }
    told(await ask("ada", "DELETE", f"{THN}/shared"), 403, "forbidden")
    for key in ("tenant", "bob", "other"):
        told(await ask(key, "GET", f"{THN}/own"), 404, "not-found")
        told(await ask(key, "DELETE", f"{THN}/own"), 404, "not-found")
    assert (await ask("ada", "DELETE", THN)).status_code == 204


@pytest.mark.parametrize(
    ("error", "status", "slug"),
    [
        (errors.RemovedMeanwhile("gone"), 409, "removed-meanwhile"),
        (errors.Rejected("a column"), 500, "rejected"),
        (errors.Unavailable("down"), 503, "unavailable"),
        (errors.NoRoom("full"), 507, "no-room"),
    ],
)
async def test_a_store_s_fault_is_told(
    client: httpx.AsyncClient, fakes: Fakes, error: errors.IbidError, status: int, slug: str
) -> None:
    """As what it is."""
    fakes.talks.error = error

    told(await client.post(THN, json=ROW), status, slug)
