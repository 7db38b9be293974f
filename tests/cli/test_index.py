"""`ibid index`: one group, whatever a project is filled with."""

from app.cli.index import index
from tests.cli.conftest import Ibid


def test_the_group_names_its_commands() -> None:
    """Each with what it does."""
    told = {
        command.callback.__name__: command.callback.__doc__
        for command in index.registered_commands
        if command.callback
    }

    assert sorted(told) == ["code", "conversations", "dreams"]
    assert all(told.values())


def test_a_command_must_be_named(ibid: Ibid) -> None:
    """Exit 2; nothing is opened for it."""
    assert ibid("index").code == 2
    assert not ibid.data.exists()
