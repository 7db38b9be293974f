"""The child's side of a call: what it is asked, done to a real Chroma in this process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from app.child import INTERNAL, REFUSED, Call, Parent
from app.clients import chroma_child as room
from app.clients.chroma_child import answer, open_folder, opened
from app.clients.chroma_client import BROKEN, Answer, ChromaFault, Client, packed, perform, rows, unpacked

ROWS = np.eye(3, dtype=np.float32)
WRITE = {"ids": ["d:1", "d:2", "d:3"], "metadatas": [{"document": "d"}] * 3}


class Ended(BaseException):
    """Where the process would have ended."""


class Told:
    """A parent, or a call, that remembers what it is told."""

    def __init__(self) -> None:
        self.said: list[object] = []
        self.name, self.data = "beat", b""
        self.payload: dict[str, Any] = {"of": "", "with": {}}

    def ready(self, payload: object) -> None:
        """It has begun."""
        self.said.append(payload)

    def refuse(self, reason: str) -> None:
        """It cannot begin."""
        self.said.append(reason)
        raise Ended

    def fail(self, payload: object) -> None:
        """A call's end."""
        self.said.append(payload)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """How it would have ended."""
    told: list[tuple[int, str]] = []

    def end(code: int, said: str) -> None:
        told.append((code, said))
        raise Ended

    monkeypatch.setattr(room, "end", end)
    return told


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The folder's client, three vectors in `ibid-a`."""
    made, _ = open_folder(tmp_path_factory.mktemp("child"))
    assert ask(made, "upsert", WRITE, ROWS) == ({}, None)
    yield made
    made.close()


def ask(client: Client, do: str, arguments: dict[str, Any] | None = None, matrix: Any = None) -> Answer:
    """One call on `ibid-a`."""
    return perform(client, do, "ibid-a", arguments, matrix)


def test_get_gives_ids_and_a_matrix(client: Client) -> None:
    """In step with each other."""
    told, matrix = ask(client, "get", {"ids": ["d:2", "d:9"], "include": ["embeddings"]})
    assert told == {"ids": ["d:2"], "metadatas": None}
    assert matrix is not None
    assert (matrix.dtype.name, matrix.tolist()) == ("float32", [[0, 1, 0]])


def test_get_without_vectors_gives_none(client: Client) -> None:
    """Only what was asked for travels."""
    told, matrix = ask(client, "get", {"where": {"document": "d"}, "include": []})
    assert (sorted(told["ids"]), matrix) == (WRITE["ids"], None)


def test_query_takes_its_vector_as_the_matrix(client: Client) -> None:
    """And gives the nearest first."""
    near = np.array([[0, 0.1, 0.9]], np.float32)
    told, matrix = ask(client, "query", {"n_results": 2, "include": ["embeddings"]}, near)
    assert told["ids"] == ["d:3", "d:2"]
    assert matrix is not None
    assert matrix.tolist() == [[0, 0, 1], [0, 1, 0]]


def test_nothing_found_is_a_matrix_without_rows(client: Client) -> None:
    """Of a query under a filter that nothing passes, and of a get."""
    none = {"where": {"document": "e"}, "include": ["embeddings"]}
    for do, arguments in (("get", none), ("query", none | {"n_results": 1})):
        told, matrix = ask(client, do, arguments, ROWS[:1])
        assert told["ids"] == []
        assert matrix is not None
        assert len(matrix) == 0


def test_the_rest_is_done_too(client: Client) -> None:
    """Count, delete, beat, names, forget."""
    assert perform(client, "count", "ibid-b", None, None) == ({"count": 0}, None)
    assert set(ask(client, "names")[0]["names"]) == {"ibid-a", "ibid-b"}
    assert perform(client, "forget", "ibid-b", None, None) == ({}, None)
    assert ask(client, "beat") == ({}, None)
    assert ask(client, "delete", {"ids": ["d:9"]}) == ({}, None)


def test_a_refusal_is_told_and_no_reason_to_end(client: Client, ends: list[tuple[int, str]]) -> None:
    """A matrix of another size, an argument that the vendor does not take."""
    with pytest.raises(ChromaFault, match="dimension"):
        ask(client, "upsert", {"ids": ["x"]}, np.ones((1, 5), np.float32))
    call = Told()
    call.name, call.payload = "get", {"of": "ibid-a", "with": {"where": {"$no": 1}}}
    answer(client, cast(Call, call))
    [said] = call.said
    assert isinstance(said, dict)
    assert (said["down"], ends) == (False, [])


class Failing:
    """A client whose calls fail."""

    def __init__(self, said: str) -> None:
        self.said = said

    def beat(self) -> None:
        """Fails."""
        raise ChromaFault(self.said)


@pytest.mark.parametrize(
    ("said", "internal"),
    [
        pytest.param("InternalError: Error finding id", True, id="its own"),
        pytest.param("InternalError: database or disk is full", False, id="the machine's"),
    ],
)
def test_a_failure_of_its_own_ends_it_after_its_answer(
    ends: list[tuple[int, str]], said: str, *, internal: bool
) -> None:
    """The next one looks at the folder; a full disk is no reason to."""
    call = Told()
    try:
        answer(cast(Client, Failing(said)), cast(Call, call))
    except Ended:
        assert internal
    assert call.said == [{"error": said, "down": True}]
    assert ends == ([(INTERNAL, said)] if internal else [])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(OSError(28, "No space left on device"), REFUSED, id="no room"),
        pytest.param(
            ChromaFault("InternalError: attempt to write a readonly database"), REFUSED, id="rights"
        ),
        pytest.param(ChromaFault("InternalError: file is not a database"), BROKEN, id="content"),
    ],
)
def test_how_it_ends_tells_whose_fault_it_is(
    ends: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, code: int
) -> None:
    """Only a folder whose content is at fault may be moved aside; else the reason goes to the parent."""

    def fail(folder: Path, *, read_only: bool) -> None:
        raise error

    monkeypatch.setattr(room, "open_folder", fail)
    parent = Told()
    with pytest.raises(Ended):
        opened(cast(Parent, parent), tmp_path)
    assert ([told for told, _ in ends], len(parent.said)) == (([BROKEN], 0) if code == BROKEN else ([], 1))


def test_asked_to_it_moves_the_folder_first(tmp_path: Path) -> None:
    """Then it begins an empty one, and says so."""
    place = tmp_path / "chroma"
    place.mkdir()
    (place / "chroma.sqlite3").write_text("noise")
    parent = Told()
    opened(cast(Parent, parent), place, ["aside"]).close()
    assert parent.said == [{"anew": True}]
    assert len(list(tmp_path.glob("chroma.broken-*/chroma.sqlite3"))) == 1


def test_rows_of_nothing() -> None:
    """None where none were asked for; no rows where none were found."""
    assert rows(None) is None
    empty = rows([])
    assert empty is not None
    assert empty.shape == (0, 0)


@pytest.mark.parametrize("matrix", [None, ROWS, ROWS[:0], np.arange(12.0).reshape(3, 4)[:, ::2]])
def test_a_matrix_travels_as_float32(matrix: Any) -> None:
    """Also columns of a larger one, which lie apart in memory."""
    shape, data = packed(matrix)
    payload, found = unpacked({"a": 1, **shape}, data)
    assert payload == {"a": 1}
    if matrix is None:
        assert found is None
    else:
        assert found is not None
        assert (found.dtype.name, found.tolist()) == ("float32", matrix.tolist())


def test_it_imports_little() -> None:
    """Until it opens the folder neither the vendor nor anything of the service's is there."""
    heavy = "{'chromadb', 'structlog', 'asyncio', 'httpx', 'pydantic', 'asyncpg', 'fastapi', 'app.settings'}"
    code = f"import sys, app.clients.chroma_child; print(sorted({heavy} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "[]"
