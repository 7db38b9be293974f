"""A disk without room, Ibid's or Postgres's: told as such, nothing kept by halves, what an answer can do
without costs no answer (docs/failures.md), and no need to start anew."""

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.disk import free
from tests.fakes.ledger import fat, pdf, word
from tests.fakes.pdfs import text_pdf
from tests.fakes.postgres import postgres_server
from tests.fakes.process import Service, furnish, ibid, service, wait_for
from tests.fakes.server import told

MIB = 1 << 20


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a disk; each part is tested in tests/api and tests/db")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S607 - wherever it lies


@contextmanager
def filled(disk: Path, left: int) -> Iterator[None]:
    """Within the block `left` bytes are free."""
    fill = disk / "fill"
    with fill.open("wb") as file:
        while (more := free(disk) - left) > 0:
            with suppress(OSError):  # the service writes meanwhile
                os.posix_fallocate(file.fileno(), fill.stat().st_size, more)
    try:
        yield
    finally:
        fill.unlink()


def test_a_full_disk_is_told_and_keeps_nothing(disk: Path) -> None:
    """Whether the file itself finds no room or Postgres does: 507, nothing is kept, questions are answered,
    and once there is room the same upload is taken."""
    with service(disk / "data") as running:
        assert running.upload("first.pdf", pdf(word(1))).status_code == 201
        for left in (MIB, 7 * MIB, 66 * MIB):
            with filled(disk, left):
                refused = running.upload("fat.pdf", fat("fat", 4 * MIB))
                assert (refused.status_code, refused.json()["type"]) == (507, "urn:ibid:problem:no-room")
                said = running.chat("What does the ferry carry?")
                assert (said["rag"]["reason"], said["degraded"]) == ("ok", [])
                assert list((running.folder / "tmp").iterdir()) == []
        assert [item["filename"] for item in running.client.get("/api/documents").json()["items"]] == [
            "first.pdf"
        ]
        assert running.upload("fat.pdf", fat("fat", 4 * MIB)).status_code == 201


def kept(running: Service, text: str) -> None:
    """A memory that is acknowledged."""
    assert running.client.post("/memories", json={"user_id": "u", "text": text}).status_code == 201


def recalled(running: Service, message: str) -> list[str]:
    """The texts that an answer about memories and corpus was given, and no source was lacking."""
    said = running.client.post("/rag/query", json={"user_id": "u", "message": message}).json()
    assert said["degraded"] == []
    return sorted(each["text"] for each in said["memory_used"])


NEARLY_FULL = (0, 16 << 10, MIB, 20 * MIB, 63 * MIB)
"""Bytes that are left: too few for each of the writers in turn."""


def test_a_write_to_memory_on_a_nearly_full_disk_is_refused_and_ends_nothing(disk: Path) -> None:
    """Qdrant's engine writes through mapped files, and would end the process. Reads go on, nothing that was
    refused is there, answers given meanwhile are in the record once there is room, as is what was kept."""
    with service(disk / "data") as running:
        kept(running, "The ferry carries apples.")
        assert running.client.post("/corpus/notes", json={"texts": ["Pears ripen in autumn."]}).is_success
        for left in NEARLY_FULL:
            with filled(disk, left):
                for turn in range(2):
                    memory = {"user_id": "u", "text": f"Plums of {left} and {turn}."}
                    told(running.client.post("/memories", json=memory), 507, "no-room")
                text = {"texts": [f"Quinces of {left}."]}
                told(running.client.post("/corpus/notes", json=text), 507, "no-room")
                told(running.client.post("/corpus/other", json=text), 507, "no-room")
                told(running.upload("fat.pdf", fat("fat", 2 * MIB)), 507, "no-room")
                said = running.chat(f"Hello, this is turn {left}.", session_id="turns")
                assert said["answer_id"]
                assert running.chat("What is there?", user_id="u", remember=True)["remembered"] == "failed"
                assert recalled(running, "What does the ferry carry?") == ["The ferry carries apples."]
                assert recalled(running, "When do pears ripen?") == ["Pears ripen in autumn."]
        kept(running, "The train carries cherries.")
        kept(running, "The tram carries sloes.")
        *_, last = running.client.get("/memories", params={"user_id": "u"}).json()["items"][::-1]
        with filled(disk, 60 * MIB):  # the reserve; Postgres may yet take 16 for the next segment of its log
            told(running.client.post("/memories", json={"user_id": "u", "text": "More."}), 507, "no-room")
            assert running.client.delete(f"/memories/{last['id']}").status_code == 204
        listed = running.client.get("/memories", params={"user_id": "u"}).json()["items"]
    with service(disk / "data") as again:
        assert sorted(each["text"] for each in listed) == [
            "The ferry carries apples.",
            "The train carries cherries.",
        ]
        assert "The train carries cherries." in recalled(again, "What does the train carry?")
        turns = again.client.get("/api/sessions/turns/turns").json()["items"]
        assert [each["content"] for each in turns if each["role"] == "user"] == [
            f"Hello, this is turn {left}." for left in NEARLY_FULL
        ]
        assert again.client.delete(f"/memories/{listed[0]['id']}").status_code == 204


def test_a_start_on_a_full_disk_says_so(disk: Path) -> None:
    """In one line, and nothing is lost."""
    furnish(disk / "data")
    with filled(disk, 0):
        done = ibid(disk / "data", "serve", "--port=0")
    assert done.code == 1
    said = done.err.splitlines()[-1]
    assert said.startswith("ibid: The disk of the data folder has 0 MiB free")
    assert str(disk / "data") in said
    assert "Traceback" not in done.err
    with service(disk / "data") as running:
        kept(running, "The ferry carries apples.")


FERRY = text_pdf("The ferry carries barrels of herring to the island, in every season but winter.")
RAISE = """
    CREATE OR REPLACE FUNCTION public.refused() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '{sqlstate}'; END $$;
    CREATE TRIGGER refused BEFORE INSERT ON {table} FOR EACH ROW {when} EXECUTE FUNCTION public.refused()
"""


@dataclass
class World:
    """A service and its Postgres."""

    service: Service
    dsn: str

    def execute(self, sql: str) -> None:

        async def run() -> None:
            connection = await asyncpg.connect(self.dsn)
            try:
                await connection.execute(sql)
            finally:
                await connection.close()

        asyncio.run(run())

    @contextmanager
    def refusing(self, table: str, sqlstate: str, when: str = "") -> Iterator[None]:
        """Rows of a table are refused meanwhile."""
        self.execute(RAISE.format(table=table, sqlstate=sqlstate, when=when))
        try:
            yield
        finally:
            self.execute(f"DROP TRIGGER refused ON {table}")

    def ask(self, n: int, **fields: Any) -> dict[str, Any]:
        """The reply to a question that nobody has asked before."""
        return self.service.chat(f"The ferry carries barrels of herring: {n}?", **fields)

    def left(self, n: int, session: str) -> None:
        """A question whose asker left during the answer: its record goes through the backlog."""
        body = {"message": f"The ferry carries barrels of herring: {n}?", "session_id": session}
        with self.service.client.stream("POST", "/api/chat", json=body) as reply:
            next(reply.iter_raw())

    def asked(self, session: str) -> int:
        """How many questions are in the log of a session."""
        found = self.service.client.get(f"/api/sessions/{session}/turns?limit=200").json()["items"]
        return sum(turn["role"] == "user" for turn in found)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("refused")
    with (
        postgres_server(folder / "pg") as postgres,
        service(folder / "data", POSTGRES_DSN=postgres.dsn) as running,
    ):
        assert running.upload("ferry.pdf", FERRY, scope="global").status_code == 201
        yield World(running, postgres.dsn)


def whole(reply: dict[str, Any]) -> bool:
    return (reply["rag"]["reason"], reply["degraded"]) == ("ok", [])


def test_an_answer_log_without_room_takes_nothing_away(world: World) -> None:
    """Documents and history are there for as long as it lasts, past what would open a breaker; then the
    answers are written."""
    with world.refusing("ibid.answer", "53100"):
        replies = [world.ask(n) for n in range(3)]
        time.sleep(4)
        replies += [world.ask(n) for n in range(3, 5)]
    assert all(map(whole, replies))
    wait_for(lambda: world.asked("s") == len(replies))


def test_a_refused_record_costs_no_answer_and_no_other_record(world: World) -> None:
    """Streamed and whole answers end as ever; what stays refused is given up, what is behind it is kept."""
    with world.refusing("ibid.answer", "23502", "WHEN (new.question LIKE '%13?')"):
        assert whole(world.ask(13, session_id="behind"))
        body = {"message": "The ferry carries barrels of herring: 113?", "session_id": "s"}
        streamed = world.service.client.post("/api/chat", json=body)
        assert (streamed.status_code, streamed.text.count("event: done")) == (200, 1)
        assert "event: error" not in streamed.text
        world.left(114, "behind")
        wait_for(lambda: world.asked("behind") == 1, 15)


def test_what_cannot_be_read_is_degraded(world: World) -> None:
    """A table that is not as it should be is no status: the answer goes on without."""
    world.execute("ALTER TABLE ibid.part RENAME TO elsewhere")
    try:
        lacking = world.ask(20)
    finally:
        world.execute("ALTER TABLE ibid.elsewhere RENAME TO part")
    assert lacking["rag"]["reason"] == "unavailable"
    assert {"source": "documents", "reason": "unavailable"} in lacking["degraded"]
    world.execute("ALTER TABLE public.chat_log RENAME COLUMN content TO said")
    try:
        forgetful = world.ask(21)
    finally:
        world.execute("ALTER TABLE public.chat_log RENAME COLUMN said TO content")
    assert forgetful["degraded"] == [{"source": "postgres", "reason": "unavailable"}]
    assert forgetful["rag"]["reason"] == "ok"
