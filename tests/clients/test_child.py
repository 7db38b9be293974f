"""The child's side of a call: what it is asked, done to a real Chroma in this process."""

import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from app.clients import child as room
from app.clients.child import Reply, answer, opened, rows, work
from app.clients.collection import Client, Lost
from app.clients.embedded import open_folder
from app.clients.frame import BROKEN, INTERNAL, REFUSED, Message, receive

ROWS = np.eye(3, dtype=np.float32)
WRITE: Message = {"ids": ["d:1", "d:2", "d:3"], "metadatas": [{"document": "d"}] * 3}


class Ended(BaseException):
    """Where the process would have ended."""


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
    assert ask(made, "upsert", WRITE, ROWS)[0] == {"id": 7}
    yield made
    made.close()


def ask(client: Client, do: str, arguments: Message | None = None, matrix: Any = None) -> Reply:
    """One call on `ibid-a`."""
    return answer(client, {"id": 7, "do": do, "of": "ibid-a", "with": arguments or {}}, matrix)


def test_get_gives_ids_and_a_matrix(client: Client) -> None:
    """In step with each other."""
    told, matrix = ask(client, "get", {"ids": ["d:2", "d:9"], "include": ["embeddings"]})
    assert told == {"id": 7, "ids": ["d:2"]}
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
    other: Message = {"id": 8, "of": "ibid-b", "with": {}}
    assert answer(client, other | {"do": "count"}, None) == ({"id": 8, "count": 0}, None)
    assert set(answer(client, other | {"do": "names"}, None)[0]["names"]) == {"ibid-a", "ibid-b"}
    assert answer(client, other | {"do": "forget"}, None) == ({"id": 8}, None)
    assert answer(client, other | {"do": "beat"}, None) == ({"id": 8}, None)
    assert ask(client, "delete", {"ids": ["d:9"]})[0] == {"id": 7}


def test_a_refusal_is_told_and_no_reason_to_end(client: Client) -> None:
    """A matrix of another size, an argument that the vendor does not take."""
    told, _ = ask(client, "upsert", {"ids": ["x"]}, np.ones((1, 5), np.float32))
    assert (told["down"], told["internal"]) == (False, False)
    assert "dimension" in told["error"]
    assert ask(client, "get", {"where": {"$no": 1}})[0]["internal"] is False


class Failing:
    """A client whose calls fail."""

    def __init__(self, said: str) -> None:
        self.said = said

    def beat(self) -> None:
        """Fails."""
        raise Lost(self.said)


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
    line: room.Line = queue.SimpleQueue()
    line.put(({"id": 1, "do": "beat"}, None))
    line.put(None)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with suppress(Ended):
            work(theirs, threading.Lock(), cast(Client, Failing(said)), line)
        assert receive(ours)[0]["error"] == said
    assert ends == ([(INTERNAL, said)] if internal else [])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(OSError(28, "No space left on device"), REFUSED, id="no room"),
        pytest.param(Lost("InternalError: attempt to write a readonly database"), REFUSED, id="rights"),
        pytest.param(Lost("InternalError: file is not a database"), BROKEN, id="content"),
    ],
)
def test_how_it_ends_tells_whose_fault_it_is(
    ends: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, code: int
) -> None:
    """Only a folder whose content is at fault may be moved aside; else the reason goes to the parent."""

    def fail(folder: Path, *, look: bool) -> None:
        raise error

    monkeypatch.setattr(room, "open_folder", fail)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(Ended):
        opened(theirs, tmp_path)
    assert [told for told, _ in ends] == [code]


def test_asked_to_it_moves_the_folder_first(tmp_path: Path) -> None:
    """Then it begins an empty one, and says so."""
    place = tmp_path / "chroma"
    place.mkdir()
    (place / "chroma.sqlite3").write_text("noise")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        opened(theirs, place, ["aside"]).close()
        assert receive(ours)[0] == {"id": 0, "anew": True}
    assert len(list(tmp_path.glob("chroma.broken-*/chroma.sqlite3"))) == 1


def test_rows_of_nothing() -> None:
    """None where none were asked for; no rows where none were found."""
    assert rows(None) is None
    empty = rows([])
    assert empty is not None
    assert empty.shape == (0, 0)


def test_it_imports_little() -> None:
    """Until it opens the folder neither the vendor nor anything of the service's is there."""
    heavy = "{'chromadb', 'structlog', 'httpx', 'pydantic', 'asyncpg', 'fastapi', 'app.config'}"
    code = f"import sys, app.clients.child; print(sorted({heavy} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "[]"
