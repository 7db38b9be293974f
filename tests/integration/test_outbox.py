"""The engines beside a whole service follow the record: through a kill, when older files of theirs are put in
place, and when files vanish or are damaged. A person is erased and exported whatever an engine does."""

import os
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import Any

from anyio import run

from app.db.outbox import DAMAGED
from app.retrieval.retrievers.points import Point, Where
from app.retrieval.retrievers.qdrant import QdrantProcess
from tests.fakes.process import Service, ibid, service
from tests.fakes.processes import family, kill, wait_for

SECRET = "I keep the lighthouse key under the third stone."
FERRY = "The ferry to Anholt leaves at seven in the morning."
SETTLED_SECONDS = 60.0


def keep(running: Service, user: str, text: str) -> None:
    """A memory."""
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


def test_what_was_acknowledged_before_a_kill_reaches_the_engine(tmp_path: Path) -> None:
    """Killed at once, before the outbox was drained: found by the next start, and soon by the engine."""
    data = tmp_path / "data"
    with service(data) as first:
        keep(first, "bob", FERRY)
        settled(first)
        for n in range(5):
            keep(first, "ada", f"{SECRET} {n}")
        kill(family(first.process.pid))
        first.process.wait()
    with service(data, EXACT_MAX_MB="0") as second:
        settled(second)
        assert found(second, "ada", SECRET)
    assert held(data, "ada") == 5


def test_an_older_engine_folder_under_a_newer_record_is_noticed(tmp_path: Path) -> None:
    """Put back from a copy: the doctor tells, an erased person is not answered again, what was written since
    is found, and the folder is soon as the record is."""
    data, older = tmp_path / "data", tmp_path / "older"
    with service(data) as running:
        keep(running, "ada", SECRET)
        settled(running)
    shutil.copytree(data / "qdrant", older)
    with service(data) as running:
        assert running.client.delete("/users/ada").status_code == 200
        keep(running, "bob", FERRY)
        settled(running)
    shutil.rmtree(data / "qdrant")
    older.rename(data / "qdrant")
    assert (held(data, "ada"), held(data, "bob")) == (1, 0)

    told = ibid(data, "doctor").out
    with service(data, EXACT_MAX_MB="0") as running:
        assert not found(running, "ada", SECRET)
        wait_for(partial(refilled, data), SETTLED_SECONDS)  # `settled` may come before the first comparison
        assert not found(running, "ada", SECRET)
        assert found(running, "bob", FERRY)

    assert "its files are older than the record" in told
    assert (held(data, "ada"), held(data, "bob")) == (0, 1)


TEXTS = [f"Ferry number {n} carries apples, pears and plums to the islands." for n in range(60)]


def keep_all(running: Service) -> None:
    body = [{"user_id": "bob", "text": text} for text in TEXTS]
    assert running.client.post("/memories", json=body).status_code == 201


def test_files_put_in_place_at_run_time_are_noticed(tmp_path: Path) -> None:
    """Older files, with as many rows as the newer ones had: what was written since is found, and what was
    deleted is gone. No write is needed for that."""
    data, older = tmp_path / "data", tmp_path / "older"
    with service(data, EXACT_MAX_MB="0") as running:
        keep(running, "ada", SECRET)
        settled(running)
        shutil.copytree(data / "qdrant", older)
        assert running.client.delete("/users/ada").status_code == 200
        keep(running, "bob", FERRY)
        settled(running)
        (data / "qdrant").rename(tmp_path / "newer")
        older.rename(data / "qdrant")
        os.kill(running.child("qdrant_engine"), signal.SIGKILL)
        assert found(running, "bob", FERRY)  # it asks the engine, in a process that now has the older files
        wait_for(partial(refilled, data), SETTLED_SECONDS)
        assert not found(running, "ada", SECRET)
    assert (held(data, "ada"), held(data, "bob")) == (0, 1)


def test_a_collection_that_vanishes_is_whole_again_after_the_next_write(tmp_path: Path) -> None:
    """It is not begun with that write alone."""
    data = tmp_path / "data"
    with service(data) as running:
        keep_all(running)
        settled(running)
        for folder in (data / "qdrant").glob("memory_raw-*"):
            shutil.rmtree(folder)
        keep(running, "bob", FERRY)
        wait_for(lambda: "engine refilled" in log_of(data), SETTLED_SECONDS)
        settled(running)
    assert held(data, "bob") == len(TEXTS) + 1


def test_damaged_vectors_are_noticed_at_the_start(tmp_path: Path) -> None:
    """Files of the same size with other numbers: the doctor names them, and they are written again."""
    data = tmp_path / "data"
    with service(data) as running:
        keep_all(running)
        settled(running)
    before = stored(data)
    for file in (data / "qdrant").rglob("vector*/**/chunk_*.mmap"):
        file.write_bytes(os.urandom(file.stat().st_size))
    assert stored(data) != before

    told = ibid(data, "doctor").out
    with service(data) as running:
        wait_for(lambda: "engine refilled" in log_of(data).rpartition(DAMAGED)[2], SETTLED_SECONDS)

    assert DAMAGED in told
    assert stored(data) == before


def test_a_person_is_exported_and_erased_while_qdrant_hangs(tmp_path: Path) -> None:
    """Nobody else writes to the embedded engine: the outbox has it follow."""
    data = tmp_path / "data"
    with service(data) as running:
        keep(running, "ada", SECRET)
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
    assert held(data, "ada") == 0


def log_of(data: Path) -> str:
    return data.with_name(f"{data.name}.log").read_text()


def stored(folder: Path) -> list[Point]:
    """Points of bob's in the engine's folder, while no service runs."""

    async def read() -> list[Point]:
        async with QdrantProcess(folder / "qdrant", read_only=True) as edge:
            where = Where(has=(("user_id", ("bob",)),))
            return await edge.scroll("memory_raw", where, limit=100, vectors=True)

    return run(read)
