"""The engines beside a whole service follow the record: through a kill, when older files of theirs are put in
place, and when files vanish. A person is erased and exported whatever an engine does."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from anyio import run

from app.retrieval.retrievers.points import Where
from app.retrieval.retrievers.qdrant import QdrantProcess
from tests.fakes.process import Service, family, kill, service, wait_for

SECRET = "I keep the lighthouse key under the third stone."
FERRY = "The ferry to Anholt leaves at seven in the morning."
TEXTS = [f"Ferry number {n} carries apples, pears and plums to the islands." for n in range(60)]
SETTLED_SECONDS = 60.0


def keep_memory(running: Service, user: str, text: str) -> None:
    assert running.client.post("/memories", json={"user_id": user, "text": text}).status_code == 201


def found(running: Service, user: str, text: str) -> bool:
    """True if a question finds anything."""
    answer = running.chat(text, user_id=user, sources=["memories"], session_id=user, history=[])
    return bool(answer["citations"])


def facts(running: Service, engine: str) -> dict[str, Any]:
    """What /readyz tells of an engine."""
    checks = running.client.get("/readyz").json()["checks"]
    return next(dict(check["facts"]) for check in checks if check["name"] == engine)


def settled(running: Service) -> None:
    """Until no engine has anything to take over."""

    def done() -> bool:
        return all({"waiting", "refill"}.isdisjoint(facts(running, name)) for name in ("qdrant", "chroma"))

    wait_for(done, SETTLED_SECONDS)


def refilled(data: Path) -> bool:
    """True if a refill has ended that an older folder was the reason for."""
    return "engine refilled" in log_of(data).rpartition("its files are older than the record")[2]


def held(folder: Path, user: str) -> int:
    """Points of a user's in the engine's folder, while no service runs."""

    async def count() -> int:
        async with QdrantProcess(folder / "qdrant") as edge:
            return await edge.count("memory_raw", Where(has=(("user_id", (user,)),)))

    return run(count)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a stopped service, whose engines have what the record has."""
    data = tmp_path_factory.mktemp("kept") / "data"
    with service(data) as running:
        keep_memory(running, "ada", SECRET)
        body = [{"user_id": "bob", "text": text} for text in TEXTS]
        assert running.client.post("/memories", json=body).status_code == 201
        running.client.post("/corpus/tides", json={"texts": ["Spring tides follow the new moon."]})
        wait_for(lambda: list((data / "qdrant").glob("tides-*")))
        settled(running)
    return data


@pytest.fixture
def data(kept: Path, tmp_path: Path) -> Path:
    subprocess.run(["/bin/cp", "-a", kept, tmp_path / "data"], check=True)  # with their owners
    return tmp_path / "data"


def test_what_was_acknowledged_before_a_kill_reaches_the_engine(data: Path) -> None:
    """Killed at once, before the outbox was drained: found by the next start, and soon by the engine."""
    with service(data) as first:
        for n in range(5):
            keep_memory(first, "eve", f"{SECRET} {n}")
        kill(family(first.process.pid))
        first.process.wait()
    with service(data, EXACT_MAX_MB="0") as second:
        settled(second)
        assert found(second, "eve", SECRET)
    assert held(data, "eve") == 5


RABBITS = "I keep two rabbits in Odense. They are called Juno and Bramble."
ASKED = "What are the rabbits of Odense called?"


def keep(house: Service, user: str, text: str, **fields: Any) -> dict[str, Any]:
    response = house.client.post("/memories", json={"user_id": user, "text": text} | fields)
    assert response.status_code in {200, 201}, response.text
    return dict(response.json())


def texts(house: Service, user: str) -> list[str]:
    """All that is kept of a user, oldest first."""
    items = house.client.get("/memories", params={"user_id": user, "limit": 200}).json()["items"]
    return [item["text"] for item in reversed(items)]


def test_a_memory_is_found_by_the_very_next_question(house: Service) -> None:
    """By chat and by rag; a removed one is not, though the answer was cached."""
    memory = keep(house, "next", RABBITS)["memory"]
    ask = {"user_id": "next", "sources": ["memories"], "session_id": "next"}

    found = [citation["id"] for citation in house.chat(ASKED, **ask)["citations"]]
    rag = house.client.post("/rag/query", json={"user_id": "next", "message": ASKED}).json()
    assert found == [memory["id"]]
    assert [used["id"] for used in rag["memory_used"]] == [memory["id"]]
    assert house.client.delete(f"/memories/{memory['id']}").status_code == 204
    assert house.chat(ASKED, **ask)["rag"]["reason"] == "empty"


def test_a_reference_text_is_found_by_the_very_next_question(house: Service) -> None:
    """By all users of the tenant; a removed one is not."""
    texts_of = {"texts": [{"id": "t1", "title": "Tides", "text": "Spring tides follow the new moon."}]}
    assert house.client.post("/corpus/tides", json=texts_of).status_code == 201
    ask = {"sources": ["corpus"], "session_id": "tides"}

    (citation,) = house.chat("When do spring tides follow?", **ask)["citations"]
    assert (citation["source"], citation["title"]) == ("corpus", "Tides")
    assert house.client.delete("/corpus/tides/t1").status_code == 204
    assert house.chat("When do spring tides follow?", **ask)["citations"] == []


def test_a_collection_goes_with_its_texts_and_comes_again(house: Service) -> None:
    """Its files too; the next question is answered without a word of it."""
    texts_of = {"texts": ["Neap tides follow the half moon.", "The printer needs a new drum."]}
    shelves = house.folder / "qdrant"
    ask = {"sources": ["corpus"], "session_id": "currents"}
    for _ in range(2):
        assert house.client.post("/corpus/currents", json=texts_of).status_code == 201
        assert len(house.chat("What do neap tides follow?", **ask)["citations"]) == 1
        wait_for(lambda: list(shelves.glob("currents-*")))

        assert house.client.delete("/corpus/currents").status_code == 204
        assert house.client.delete("/corpus/currents").status_code == 404
        reply = house.chat("What do neap tides follow?", **ask)
        assert (reply["citations"], reply["degraded"]) == ([], [])
        wait_for(lambda: not list(shelves.glob("currents-*")))


def test_answers_fed_back_leave_no_recall_loop(house: Service) -> None:
    """Turn for turn the service's own answer comes back as a message to remember: memories grow by the
    person's new words alone."""
    keep(house, "loop", RABBITS)
    ask = {"user_id": "loop", "sources": ["memories"], "session_id": "loop", "remember": True}
    said = house.chat(ASKED, **ask)
    assert said["remembered"] == "created"
    for turn in range(12):
        new = f" On day {turn} Juno escaped through gate number {turn}." if turn % 4 == 3 else ""
        said = house.chat(said["answer"] + new, **ask)
        assert said["remembered"] == ("created" if new else "echo")

    kept = texts(house, "loop")
    assert len(kept) == 2 + 3
    assert not any("[memory#" in text for text in kept)
    body = {"user_id": "loop", "message": "hey again!", "remember": True}
    assert house.client.post("/rag/query", json=body).json()["remembered"] == "skipped"


def test_an_engine_that_hangs_or_loses_a_collection_follows_again(data: Path) -> None:
    """A person is exported and erased meanwhile; a collection that has vanished is whole again after the next
    write, not begun with that write alone."""
    with service(data) as running:
        settled(running)
        child = running.child("qdrant_engine")
        os.kill(child, signal.SIGSTOP)
        try:
            exported = running.client.get("/users/ada/export").json()
            erased = running.client.delete("/users/ada")
        finally:
            os.kill(child, signal.SIGCONT)
        assert (exported["complete"], SECRET in str(exported)) == (True, True)
        assert (erased.status_code, erased.json()["engines"]) == (200, ["qdrant"])
        settled(running)
        for folder in (data / "qdrant").glob("memory_raw-*"):
            shutil.rmtree(folder)
        keep_memory(running, "bob", FERRY)
        wait_for(lambda: "engine refilled" in log_of(data), SETTLED_SECONDS)
        settled(running)
    assert (held(data, "ada"), held(data, "bob")) == (0, len(TEXTS) + 1)


def log_of(data: Path) -> str:
    return data.with_name(f"{data.name}.log").read_text()
