"""Postgres answers and refuses: what an answer can do without costs no answer (docs/failures.md)."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.fakes.pdfs import text_pdf
from tests.fakes.postgres import postgres_server
from tests.fakes.process import Service, service
from tests.fakes.processes import wait_for

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
        """As Ibid's own role."""

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
    """With one document."""
    folder: Path = tmp_path_factory.mktemp("refused")
    with (
        postgres_server(folder / "pg") as postgres,
        service(folder / "data", POSTGRES_DSN=postgres.dsn) as running,
    ):
        assert running.upload("ferry.pdf", FERRY, scope="global").status_code == 201
        yield World(running, postgres.dsn)


def whole(reply: dict[str, Any]) -> bool:
    """True if nothing lacks."""
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
