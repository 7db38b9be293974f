"""The test house itself: fresh databases, and no way out."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import asyncpg
import pytest
from anyio.from_thread import BlockingPortal

from app.db.folder import Lock, take
from app.settings import names
from tests.fakes import process
from tests.fakes.postgres import Databases

Visited = Callable[..., list[object]]


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "api.example.com"])
def test_outside_addresses_are_refused(host: str) -> None:
    """No test can reach another machine, by address or by name."""
    with pytest.raises(RuntimeError, match="only loopback"):
        socket.create_connection((host, 443), timeout=1)


def test_settings_of_the_machine_are_out_of_sight() -> None:
    """No key in a developer's environment reaches the tests."""
    assert not set(names()) & set(os.environ)


def test_the_word_of_a_killed_service_is_not_taken_for_the_new_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While a child of the dead one still holds the lock, its address stands there, and is waited out."""
    held = take(tmp_path)

    def says(lock: Lock) -> None:
        os.ftruncate(held, os.pwrite(held, json.dumps(asdict(lock)).encode(), 0))

    with subprocess.Popen(["/bin/sleep", "60"]) as started:
        dead, new = (Lock(pid, f"http://127.0.0.1:{pid}", "") for pid in (started.pid + 1, started.pid))
        says(dead)
        monkeypatch.setattr(time, "sleep", lambda _seconds: says(new))
        try:
            assert process.listening(tmp_path, started) == new
        finally:
            started.kill()
            os.close(held)


@pytest.fixture
def visited(databases: Databases, beside: BlockingPortal) -> Visited:
    """What a test that says these gets from a database that it gives back."""

    async def visit(name: str, *statements: str) -> list[object]:
        visitor = await asyncpg.connect(await databases.lend(name))
        said: list[object] = [await visitor.fetchval(statement) for statement in statements]
        await databases.back(name)  # although the visitor is still there
        visitor.terminate()
        return said

    return lambda *words: beside.call(visit, *words)


WRITTEN = "INSERT INTO public.chat_log DEFAULT VALUES"
COUNTED = "SELECT count(*) FROM public.chat_log"
STATEMENTS = "SELECT current_setting('statement_timeout')"
CHECKED = "SELECT count(*) FROM pg_constraint WHERE conname = 'mine'"


@pytest.mark.parametrize(
    ("change", "question", "answer"),
    [
        (WRITTEN, COUNTED, 0),
        (WRITTEN, f"{WRITTEN} RETURNING id", 1),
        ("SELECT nextval('ibid.revision')", "SELECT nextval('ibid.revision')", 1),
        ("INSERT INTO ibid.tenant (id) VALUES ('mine')", "SELECT count(*) FROM ibid.tenant", 1),
        ("DELETE FROM ibid.tenant", "SELECT count(*) FROM ibid.tenant", 1),
        (
            "UPDATE ibid.alembic_version SET version_num = '0'",
            "SELECT version_num = '0' FROM ibid.alembic_version",
            False,
        ),
        ("DROP SCHEMA ibid CASCADE", "SELECT count(*) FROM ibid.tenant", 1),
        ("CREATE TABLE ibid.mine (id int)", "SELECT to_regclass('ibid.mine')", None),
        ("CREATE SEQUENCE ibid.mine", "SELECT to_regclass('ibid.mine')", None),
        ("CREATE INDEX mine ON ibid.job (id)", "SELECT to_regclass('ibid.mine')", None),
        ("ALTER TABLE ibid.job ADD CONSTRAINT mine CHECK (id > 0)", CHECKED, 0),
        ("DROP TABLE ibid.vantage_card", "SELECT count(*) FROM ibid.vantage_card", 0),
        (
            f"WITH _ AS ({WRITTEN} RETURNING 1) SELECT set_config('statement_timeout', '7s', false)",
            STATEMENTS,
            "0",
        ),
    ],
    ids="row id number tenant seed version schema table sequence index check dropped session".split(),  # noqa: SIM905
)
def test_what_a_test_changes_is_as_it_was_for_the_next(
    visited: Visited, change: str, question: str, answer: object
) -> None:
    """Rows, numbers and schema, whether its database is emptied or dropped."""
    visited("earlier", change)
    assert visited("later", question) == [answer]


async def test_nobody_comes_into_a_database_that_was_given_back(
    databases: Databases, visited: Visited
) -> None:
    """A task that an earlier test left running finds no database of the name that it knows."""
    visited("lent")
    assert databases.spare
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(databases.places.dsn("ibid", "lent"))
