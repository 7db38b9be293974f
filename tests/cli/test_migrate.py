"""`ibid migrate`: nothing to do is no error."""

from tests.cli.conftest import Ibid, Running


def test_migrate_finds_nothing_to_do(held: Ibid, service: Running) -> None:
    """The service migrated at its start."""
    assert held("migrate").out == "The database is up to date.\n"
