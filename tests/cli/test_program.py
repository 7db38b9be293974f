"""The program as a whole: its commands and its ends."""

import re
import sys

import pytest

from app.cli import program
from app.cli.program import COMMANDS, main, own
from app.domain.errors import StartError
from tests.cli.conftest import Ibid


def test_the_version_is_told_and_no_folder_is_made(ibid: Ibid) -> None:
    """By the installed program, as the package says it."""
    assert ibid.process("--version").out.startswith("ibid 0.")
    assert not ibid.data.exists()


def test_every_command_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As the README lists them."""
    monkeypatch.setattr(sys, "argv", ["ibid", "--help"])

    with pytest.raises(SystemExit):
        main()

    shown = re.findall(r"^. (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert shown == [
        *("serve", "ingest", "ask", "profiles", "erase"),
        *("doctor", "migrate", "reembed", "adopt", "eval", "knowledge", "index", "keys"),
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_said_of_a_command_is_how_its_own_help_begins(name: str) -> None:
    """The list of commands is written, so that none need be imported for it."""
    command = own(name)
    assert command.name == name
    whole, said = " ".join((command.help or "").split()), COMMANDS[name]
    assert said.endswith(".")
    assert whole.startswith((said, f"{said[:-1]}:", f"{said[:-1]},", f"{said[:-1]};"))


def test_an_expected_failure_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, on stderr, no traceback."""

    def fails() -> None:
        raise StartError("the moon is full")

    monkeypatch.setattr(program, "app", fails)

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 1
    assert capsys.readouterr() == ("", "ibid: the moon is full\n")


def test_a_command_that_is_none_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2."""
    monkeypatch.setattr(sys, "argv", ["ibid", "swerve"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    assert "swerve" in capsys.readouterr().err
