"""The child's side of a call: what it is asked, done to a real Chroma in this process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from app.child import INTERNAL, REFUSED, Call, Parent
from app.retrieval.retrievers import chroma_child as room
from app.retrieval.retrievers.chroma_child import (
    BROKEN,
    ChromaFault,
    Engine,
    answer,
    open_folder,
    opened,
    perform,
)

ROWS = np.eye(3, dtype=np.float32)
WRITE = {"ids": ["d:1", "d:2", "d:3"], "metadatas": [{"document": "d"}] * 3}


class Ended(BaseException):
    """Where the process would have ended."""


class Told:
    """A parent, or a call, that remembers what it is told."""

    def __init__(self) -> None:
        self.said: list[object] = []
        self.name, self.data = "beat", b""
        self.payload: dict[str, Any] = {}

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
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A folder's engine, three vectors in `ibid-a`."""
    made, _ = open_folder(tmp_path_factory.mktemp("child"))
    assert ask(made, "upsert", ROWS.tobytes(), **WRITE) is None
    yield made
    made.close()


def ask(engine: Engine, do: str, data: bytes = b"", **arguments: Any) -> Any:
    """One call on `ibid-a`."""
    return perform(engine, do, data, {"collection": "ibid-a", **arguments})


def test_query_takes_its_vector_as_data(engine: Engine) -> None:
    """And gives the nearest first."""
    near = np.array([[0, 0.1, 0.9]], np.float32)
    found = ask(engine, "query", near.tobytes(), where=None, limit=2)
    assert found["ids"] == ["d:3", "d:2"]
    assert found["distances"] == pytest.approx([0.006, 0.89], abs=0.001)


def test_nothing_found_is_an_empty_list(engine: Engine) -> None:
    """Of a query under a filter that nothing passes, and of a get."""
    none: dict[str, Any] = {"where": {"document": "e"}}
    assert ask(engine, "get", **none)["ids"] == []
    assert ask(engine, "query", ROWS[:1].tobytes(), limit=1, **none)["ids"] == []


def test_a_refusal_is_told_and_no_reason_to_end(engine: Engine, ends: list[tuple[int, str]]) -> None:
    """A matrix of another size, an argument that the vendor does not take."""
    with pytest.raises(ChromaFault, match="dimension"):
        ask(engine, "upsert", np.ones((1, 5), np.float32).tobytes(), ids=["x"], metadatas=[None])
    call = Told()
    call.name, call.payload = "get", {"collection": "ibid-a", "where": {"$no": 1}}
    answer(engine, cast(Call, call))
    [said] = call.said
    assert isinstance(said, dict)
    assert (said["down"], ends) == (False, [])


class Failing:
    """An engine whose calls fail."""

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
        answer(cast(Engine, Failing(said)), cast(Call, call))
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


def test_it_imports_little() -> None:
    """Until it opens the folder neither the vendor nor anything of the service's is there."""
    heavy = "{'chromadb', 'structlog', 'asyncio', 'httpx', 'pydantic', 'asyncpg', 'fastapi', 'app.settings'}"
    code = f"import sys, app.retrieval.retrievers.chroma_child; print(sorted({heavy} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "[]"
