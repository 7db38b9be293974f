"""`ibid migrate`: nothing to do is no error."""

from tests.cli.conftest import Ibid, Running, lines


def test_migrate_finds_nothing_to_do(held: Ibid, service: Running) -> None:
    """The service migrated at its start."""
    assert held("migrate").out == "The database is up to date.\n"


def test_machines_read_that_it_is_done(held: Ibid, service: Running) -> None:
    """With --json stdout holds JSON alone."""
    assert lines(held("migrate", "--json").out) == [{"migrated": True}]
