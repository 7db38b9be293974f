"""/projects: context, knowledge, code, conversations and dreams."""

from typing import Any

import httpx
import pytest

from app import errors
from app.api.schemas.projects import (
    KNOWLEDGE,
    CodeChunk,
    CodeFilePage,
    CodeFilesWritten,
    CodeWritten,
    ConversationOut,
    ConversationPage,
    ConversationWritten,
    KnowledgeOut,
)
from app.db.code import CodeFile, CodeRow
from app.db.keys import Caller
from app.db.projects import MOST_NOTES
from app.types import Scope
from tests.fakes.server import told
from tests.fakes.services import CODE_ID, Fakes


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


async def test_a_project_s_name_stands_on_one_line(client: httpx.AsyncClient) -> None:
    problem = told(await client.post("/projects/a%0Ab/context", json={"message": "x"}), 422, "validation")

    assert problem["errors"][0]["field"] == "path.project"


async def test_the_key_says_whose_rows(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A user key's own and the tenant's shared ones; the tenant's project of that name."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    headers = {"Authorization": "Bearer ada-key"}

    response = await client.post("/projects/THN/context", json={"message": "x"}, headers=headers)

    assert response.status_code == 200
    assert fakes.projects.asked[0][2] == Scope("acme", "ada", user_id="ada", project="THN")


THN_KNOWLEDGE = "/projects/THN/knowledge"
NOTE = {"title": "Addresses", "text": "10.0.10.0/24"}


async def test_it_is_put_whole(client: httpx.AsyncClient) -> None:
    """What is left out is empty."""
    await client.put(THN_KNOWLEDGE, json=dict(KNOWLEDGE))
    response = await client.put(THN_KNOWLEDGE, json={"rules": "None."})

    KnowledgeOut.model_validate(response.json())
    assert response.status_code == 200
    assert response.json() == {"overview": "", "rules": "None.", "notes": []}
    assert (await client.get(THN_KNOWLEDGE)).json() == response.json()


async def test_parts_are_added(client: httpx.AsyncClient) -> None:
    """A note takes the place of the one of its title; what is left out stays; null is left out."""
    await client.put(THN_KNOWLEDGE, json=dict(KNOWLEDGE))
    more = {"title": "mDNS", "text": "Reflected."}

    response = await client.post(THN_KNOWLEDGE, json={"overview": None, "rules": "", "notes": [NOTE, more]})

    assert response.json() == {"overview": KNOWLEDGE["overview"], "rules": "", "notes": [NOTE, more]}


async def test_it_is_removed(client: httpx.AsyncClient) -> None:
    """204, and then there is none: 404."""
    told(await client.get(THN_KNOWLEDGE), 404, "not-found")
    await client.put(THN_KNOWLEDGE, json={})

    assert (await client.delete(THN_KNOWLEDGE)).status_code == 204
    told(await client.delete(THN_KNOWLEDGE), 404, "not-found")


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({"overview": "x" * 32_001}, "body.overview", id="a long overview"),
        pytest.param({"notes": ["text"]}, "body.notes.0", id="a note without a title"),
        pytest.param({"notes": [NOTE, NOTE]}, "body.notes", id="a title twice"),
        pytest.param({"notes": [NOTE | {"title": "a\nb"}]}, "body.notes.0.title", id="two lines"),
        pytest.param({"notes": [NOTE | {"text": " "}]}, "body.notes.0.text", id="a blank note"),
    ],
)
async def test_what_is_no_knowledge_is_refused(
    client: httpx.AsyncClient, fakes: Fakes, method: str, body: object, field: str
) -> None:
    """With its field; nothing is written."""
    problem = told(await client.request(method, THN_KNOWLEDGE, json=body), 422, "validation")

    assert problem["errors"][0]["field"] == field
    assert fakes.knowledge.rows == {}


async def test_there_are_so_many_notes(client: httpx.AsyncClient) -> None:
    """In one request, and in all."""
    notes = [{"title": str(n), "text": "x"} for n in range(MOST_NOTES + 1)]

    told(await client.put(THN_KNOWLEDGE, json={"notes": notes}), 422, "validation")
    assert (await client.put(THN_KNOWLEDGE, json={"notes": notes[1:]})).status_code == 200
    told(await client.post(THN_KNOWLEDGE, json={"notes": notes[:1]}), 409, "too-many")


async def test_it_is_the_tenant_s_to_write(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A user key reads it; another tenant has its own."""
    fakes.keys.known = {
        "tenant": Caller("acme", None),
        "ada": Caller("acme", "ada"),
        "other": Caller("other", None),
    }
    by = {key: {"Authorization": f"Bearer {key}"} for key in fakes.keys.known}
    await client.put(THN_KNOWLEDGE, json=dict(KNOWLEDGE), headers=by["tenant"])

    assert (await client.get(THN_KNOWLEDGE, headers=by["ada"])).json() == KNOWLEDGE
    for method in ("PUT", "POST", "DELETE"):
        told(await client.request(method, THN_KNOWLEDGE, json={}, headers=by["ada"]), 403, "forbidden")
    told(await client.get(THN_KNOWLEDGE, headers=by["other"]), 404, "not-found")


ROW: dict[str, Any] = {
    "file_path": "a.py",
    "language": "python",
    "chunk_text": "pass",
    "chunk_metadata": {"start_line": 1},
}
FILES = "/projects/hello/code/files"


async def test_a_chunk_is_kept(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """201 with its id; 200 where it replaced another."""
    response = await client.post("/projects/hello/code", json=ROW)
    fakes.code.fresh = False
    again = await client.post("/projects/hello/code", json=ROW)

    assert (response.status_code, again.status_code) == (201, 200)
    CodeWritten.model_validate(response.json())
    assert again.json() == {"outcome": "replaced", "id": CODE_ID}
    assert fakes.code.asked[0] == (Scope(), "hello", [CodeRow("a.py", "python", "pass", {"start_line": 1})])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (ROW | {"chunk_text": " "}, "body.chunk_text"),
        (ROW | {"file_path": "/etc/passwd"}, "body.file_path"),
        (ROW | {"file_path": "../../etc/passwd"}, "body.file_path"),
        (ROW | {"file_path": "a\\..\\b"}, "body.file_path"),
        (ROW | {"file_path": "a\u202egpj.exe"}, "body.file_path"),
        (ROW | {"embedding": [1.0]}, "body.embedding"),
        ([ROW, ROW | {"language": "no such thing"}], "body.1.language"),
        ([], "body"),
    ],
)
async def test_what_is_no_chunk_is_refused(client: httpx.AsyncClient, body: Any, field: str) -> None:
    """With the field that is wrong."""
    problem = told(await client.post("/projects/hello/code", json=body), 422, "validation")

    assert problem["errors"][0]["field"] == field


async def test_files_are_put(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Each with what became of it; a file may be empty, and name its language."""
    body = {"files": [{"path": "a.py", "text": "pass\n"}, {"path": "b", "text": "", "language": "bash"}]}
    response = await client.put(FILES, json=body)

    assert response.status_code == 200
    assert [item.outcome for item in CodeFilesWritten.model_validate(response.json()).items] == [
        "added",
        "added",
    ]
    assert fakes.code.asked[0][2] == [CodeFile("a.py", "pass\n"), CodeFile("b", "", "bash")]


@pytest.mark.parametrize("path", ["..", "a/../b", "a/.", "a\u2066b"])
async def test_a_path_that_leads_elsewhere_is_refused(client: httpx.AsyncClient, path: str) -> None:
    """With its field. What was kept before under such a one is removed all the same."""
    problem = told(await client.put(FILES, json={"files": [{"path": path, "text": "x"}]}), 422, "validation")

    assert problem["errors"][0]["field"] == "body.files.0.path"
    assert (await client.delete(FILES, params={"path": path})).status_code == 200


async def test_a_path_of_any_letters_is_kept(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Dots inside of names, spaces, other scripts, an older tool's backslashes."""
    paths = ["..a/.b", "a b.py", "src\\app\\main.py", "مرحبا.py", "日本/👩‍💻.md", "…"]
    response = await client.put(FILES, json={"files": [{"path": path, "text": "x"} for path in paths]})

    assert response.status_code == 200
    assert [file.path for file in fakes.code.asked[0][2]] == paths  # type: ignore[attr-defined]


async def test_files_are_listed(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """With their hashes; `next` is the cursor of the page that follows."""
    response = await client.get(FILES)
    await client.get(FILES, params={"cursor": response.json()["next"], "limit": 7})

    page = CodeFilePage.model_validate(response.json())
    assert (page.items[0].path, page.items[0].sha256, page.next) == ("app/hello.py", "0" * 64, "app/hello.py")
    assert [what for _, _, what in fakes.code.asked] == [("", 500), ("app/hello.py", 7)]


async def test_files_are_removed(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """By their paths, of which there is one at least."""
    response = await client.delete(FILES, params=[("path", "a.py"), ("path", "b c.py")])

    assert (response.status_code, response.json()) == (200, {"removed": 2})
    assert fakes.code.asked[0][2] == ["a.py", "b c.py"]
    told(await client.delete(FILES), 422, "validation")


async def test_a_chunk_is_read_and_removed(client: httpx.AsyncClient) -> None:
    """404 where there is none."""
    response = await client.get(f"/projects/hello/code/{CODE_ID}")

    CodeChunk.model_validate(response.json())
    assert response.json()["indexed_at"] is None
    assert (await client.delete(f"/projects/hello/code/{CODE_ID}")).status_code == 204
    told(await client.get("/projects/hello/code/other"), 404, "not-found")
    told(await client.delete("/projects/hello/code/other"), 404, "not-found")


async def test_a_project_is_cleared(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """204; nothing there is 404."""
    assert (await client.delete("/projects/hello/code")).status_code == 204
    fakes.code.fresh = False
    told(await client.delete("/projects/hello/code"), 404, "not-found")


async def test_a_user_key_writes_its_own(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """The service is told who asks; what it raises is told."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    headers = {"Authorization": "Bearer ada-key"}
    await client.post("/projects/hello/code", json=ROW, headers=headers)
    fakes.code.error = errors.RemovedMeanwhile("erased")

    assert fakes.code.asked[0][0] == Scope("acme", "ada", "ada")
    told(await client.post("/projects/hello/code", json=ROW, headers=headers), 409, "removed-meanwhile")
    told(await client.post("/projects/hello/code", json=ROW), 401, "unauthorized")


THN, DAAS = "/projects/THN/conversations", "/projects/DAAS/dreams"
ROW_CONVERSATIONS = {"session_id": "chat-1", "title": "Network", "tags": ["vlan"], "summary_short": "Short."}


async def test_a_row_is_kept(client: httpx.AsyncClient) -> None:
    """201; the same again 200; another text under its id 200, too."""
    first = await client.post(THN, json=ROW_CONVERSATIONS)
    again = await client.post(THN, json=ROW_CONVERSATIONS)
    other = await client.post(THN, json=ROW_CONVERSATIONS | {"title": "Other"})

    assert [reply.status_code for reply in (first, again, other)] == [201, 200, 200]
    ConversationWritten.model_validate(first.json())
    told = [reply.json()["outcome"] for reply in (first, again, other)]
    assert told == ["created", "unchanged", "replaced"]
    row = first.json()["row"]
    assert (row["title"], row["tags"], row["key_entities"]) == ("Network", ["vlan"], [])
    assert (row["project"], row["memory_snippet"]) == ("THN", None)
    assert row["indexed_at"] == "2026-11-21T12:00:00Z"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({}, "body", id="nothing"),
        pytest.param([], "body", id="no rows"),
        pytest.param({"tags": ["only"]}, "body", id="tags alone"),
        pytest.param({"turns": [{"role": "system", "content": "x"}]}, "body", id="the system alone"),
        pytest.param({"title": "a", "tags": ["a\nb"]}, "body.tags.0", id="a tag of two lines"),
        pytest.param({"title": "a", "indexed_at": "yesterday"}, "body.indexed_at", id="no time"),
        pytest.param({"title": "a", "session_id": "a/b"}, "body.session_id", id="an id that is a path"),
        pytest.param({"title": "a", "project": "Lab"}, "body.project", id="another project"),
        pytest.param(
            [ROW_CONVERSATIONS, ROW_CONVERSATIONS | {"tenant": "acme"}], "body.1.tenant", id="another tenant"
        ),
        pytest.param({"title": "a", "owner": "ada"}, "body.owner", id="another owner"),
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


async def test_a_row_of_the_table_is_taken(client: httpx.AsyncClient) -> None:
    """As it is read here, and as a dump has it: what is made here is made anew."""
    row = (await client.post(THN, json=ROW_CONVERSATIONS)).json()["row"]
    made = {"embedding": [0.1], "embedding_ibid": None, "space": "theirs@3", "sha256": "0" * 64}

    response = await client.post(THN, json=[row, row | {"tenant": "default", "owner": ""} | made])

    assert response.status_code in {200, 201}
    assert [item["row"]["title"] for item in response.json()["items"]] == [row["title"]] * 2


async def test_rows_are_listed(client: httpx.AsyncClient) -> None:
    await client.post(DAAS, json=[{"title": str(n), "session_id": str(n)} for n in range(3)])
    first = (await client.get(DAAS, params={"limit": 2})).json()
    second = (await client.get(DAAS, params={"limit": 2, "cursor": first["next"]})).json()

    ConversationPage.model_validate(first)
    assert [row["title"] for row in (*first["items"], *second["items"])] == ["2", "1", "0"]
    assert second["next"] is None
    told(await client.get(DAAS, params={"limit": 201}), 422, "validation")


async def test_a_row_is_read_and_removed(client: httpx.AsyncClient) -> None:
    """By its id, or what its writer called it; one that is not there 404."""
    row = (await client.post(THN, json=ROW_CONVERSATIONS)).json()["row"]
    found = await client.get(f"{THN}/chat-1")

    ConversationOut.model_validate(found.json())
    assert found.json() == row == (await client.get(f"{THN}/{row['session_id']}")).json()
    assert (await client.delete(f"{THN}/chat-1")).status_code == 204
    told(await client.delete(f"{THN}/chat-1"), 404, "not-found")
    told(await client.get(f"{THN}/chat-1"), 404, "not-found")


async def test_a_project_is_emptied(client: httpx.AsyncClient) -> None:
    """204, and then there is nothing: 404. Another project's rows stay."""
    for path in (THN, "/projects/Lab/conversations"):
        await client.post(path, json=ROW_CONVERSATIONS)

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
    fakes.talks.error = error

    told(await client.post(THN, json=ROW_CONVERSATIONS), status, slug)
