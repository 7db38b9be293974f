"""/projects/{project}/code as a client sees it."""

from typing import Any

import httpx
import pytest

from app import errors
from app.api.coded import CodeFileList, CodeFilesReply, CodeReply, CodeRowsReply, CodeWrittenReply
from app.db.code import CodeFile, CodeRow
from app.db.keys import Caller
from app.types import Scope
from tests.fakes.checks import told
from tests.fakes.coding import CODE_ID
from tests.fakes.services import Fakes

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
    CodeWrittenReply.model_validate(response.json())
    assert again.json() == {"outcome": "replaced", "id": CODE_ID}
    assert fakes.code.asked[0] == (Scope(), "hello", [CodeRow("a.py", "python", "pass", {"start_line": 1})])


async def test_a_list_is_answered_by_a_list(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """In order; ids, paths and languages may be missing."""
    response = await client.post("/projects/hello/code", json=[{"chunk_text": "a"}, ROW | {"id": "b"}])

    assert response.status_code == 201
    assert len(CodeRowsReply.model_validate(response.json()).items) == 2
    _, _, rows = fakes.code.asked[0]
    assert isinstance(rows, list)
    assert [row.id for row in rows] == [None, "b"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (ROW | {"chunk_text": " "}, "body.chunk_text"),
        (ROW | {"file_path": "/etc/passwd"}, "body.file_path"),
        (ROW | {"file_path": "a\nb"}, "body.file_path"),
        (ROW | {"file_path": "../../etc/passwd"}, "body.file_path"),
        (ROW | {"file_path": "./a"}, "body.file_path"),
        (ROW | {"file_path": "a//b"}, "body.file_path"),
        (ROW | {"file_path": "a\\..\\b"}, "body.file_path"),
        (ROW | {"file_path": "a/"}, "body.file_path"),
        (ROW | {"file_path": "a\u2028b"}, "body.file_path"),
        (ROW | {"file_path": "a\u202egpj.exe"}, "body.file_path"),
        (ROW | {"file_path": "a\x85b"}, "body.file_path"),
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
    assert [item.outcome for item in CodeFilesReply.model_validate(response.json()).items] == [
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


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/projects/hello/code", {"path": "a.py"}),
        ("/projects/hello/code", {"user_id": "eve"}),
        (f"/projects/hello/code/{CODE_ID}", {"x": ""}),
        (FILES, {"path": "a.py", "user_id": "eve"}),
    ],
)
async def test_a_parameter_that_narrows_nothing_is_refused(
    client: httpx.AsyncClient, fakes: Fakes, path: str, params: dict[str, str]
) -> None:
    """Before anything is removed."""
    problem = told(await client.delete(path, params=params), 422, "validation")

    assert problem["errors"][0]["field"].startswith("query.")
    assert fakes.code.asked == []


async def test_files_are_listed(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """With their hashes; `next` is the cursor of the page that follows."""
    response = await client.get(FILES)
    await client.get(FILES, params={"cursor": response.json()["next"], "limit": 7})

    page = CodeFileList.model_validate(response.json())
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

    CodeReply.model_validate(response.json())
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
