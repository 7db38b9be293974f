"""The engines beside a whole service follow the record: through a kill, and when an older folder of theirs is
put under a newer record."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

from anyio import run

from app.retrieval.retrievers.points import Where
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
    log = data.with_name(f"{data.name}.log").read_text()
    return "engine refilled" in log.rpartition("its files are older than the record")[2]


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
