"""The test house itself: fresh databases, and no way out."""

import gc
import os
import socket
from pathlib import Path

import pytest

from app.clients.pool import Pool
from app.config import names
from tests.fakes import process


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "api.example.com"])
def test_outside_addresses_are_refused(host: str) -> None:
    """No test can reach another machine, by address or by name."""
    with pytest.raises(RuntimeError, match="only loopback"):
        socket.create_connection((host, 443), timeout=1)


def test_loopback_is_open() -> None:
    """A server of the test's own can be reached."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=1).close()


def test_settings_of_the_machine_are_out_of_sight() -> None:
    """No key in a developer's environment reaches the tests."""
    assert not set(names()) & set(os.environ)


def test_garbage_of_tests_is_looked_for() -> None:
    """The collector rests while tests are collected, and no longer: a leak must warn."""
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        ("/var/pytest-of-me/pytest-7/popen-gw1/test_a0/data", "/var/pytest-of-me/pytest-7/popen-gw1"),
        ("/var/pytest-of-me/pytest-7/test_a0/data", "/var/pytest-of-me/pytest-7"),
        ("/mine/test_a0/data", "/mine/test_a0"),
    ],
    ids=["a worker", "no worker", "--basetemp"],
)
def test_a_new_folder_has_its_pattern_wherever_tests_write(
    monkeypatch: pytest.MonkeyPatch, folder: str, place: str
) -> None:
    """In the place of all that this worker leaves behind, else beside it."""
    monkeypatch.setattr(process, "made", lambda found: found)
    assert process.pattern(Path(folder)) == Path(place)


@pytest.mark.parametrize("turn", [1, 2])
async def test_every_test_has_its_own_database(pool: Pool, turn: int) -> None:
    """What one test writes, the next does not see."""
    await pool.execute("INSERT INTO ibid.tenant (id) VALUES ('mine')")
    assert await pool.fetchval("SELECT count(*) FROM ibid.tenant") == 2
