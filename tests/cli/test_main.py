"""The program as a whole: its commands, what they import, and its ends."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import main as program
from app.cli.client import Answered
from app.cli.main import COMMANDS, loaded, main
from app.errors import BadInput, IbidError, StartError
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
    command = loaded(name)
    assert command.name == name
    whole, said = " ".join((command.help or "").split()), COMMANDS[name].help
    assert said.endswith(".")
    assert whole.startswith((said, f"{said[:-1]}:", f"{said[:-1]},", f"{said[:-1]};"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StartError("the moon is full"), 1),
        (Answered({"title": "the moon is full", "status": 503}), 1),
        (Answered({"title": "the moon is full", "status": 422}), 2),
        (BadInput("the moon is full"), 2),
    ],
)
def test_an_expected_failure_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: IbidError, code: int
) -> None:
    """On stderr, no traceback. What was typed wrong is wrong usage, wherever that is found out."""

    def fails() -> None:
        raise error

    monkeypatch.setattr(program, "app", fails)

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == code
    assert capsys.readouterr() == ("", "ibid: the moon is full\n")


@pytest.mark.parametrize(
    "typed",
    [
        ["ask", "Why?", "--session", "two words"],
        ["ingest", str(Path(__file__)), "--session", ""],
        ["erase", ""],
        ["eval", str(Path(__file__).parent)],
    ],
    ids=lambda typed: typed[0],
)
def test_what_is_typed_wrong_is_wrong_usage(monkeypatch: pytest.MonkeyPatch, typed: list[str]) -> None:
    """Exit code 2, before anything is opened."""
    monkeypatch.setattr(sys, "argv", ["ibid", *typed])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2


SERVICE = ("app.main", "app.wiring", "app.vantage", "fastapi", "numpy", "asyncpg", "uvicorn", "tiktoken")
"""What a service is made of, and a second of a processor."""


def imported(code: str) -> list[str]:
    """Which of SERVICE a process has after this code."""
    ending = f"; print(*sorted(set({SERVICE!r}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}{ending}"], check=True, capture_output=True, text=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import app.cli.main", id="help and version"),
        pytest.param("from app.cli import ask, ingest, users, knowledge, index", id="over HTTP"),
    ],
)
def test_what_only_asks_a_service_is_none(code: str) -> None:
    """Its modules wait until a command finds that nobody holds the folder."""
    assert imported(code) == []


LATE = (
    *("aiohttp", "alembic", "chromadb", "chromadb_rust_bindings", "httpx", "httpx2", "onnxruntime", "openai"),
    *("pypdfium2", "qdrant_client", "redis", "sqlalchemy", "tokenizers"),
)
"""Half a second of a processor and more each, with what they bring; opened when they are used."""

EVERY = "from app.cli.main import COMMANDS, loaded; [loaded(name) for name in COMMANDS]"
"""All commands, and with them a whole service."""


def test_heavy_vendors_wait_until_they_are_used() -> None:
    """Whatever a command imports, it does not pay for what its settings do not ask for."""
    code = f"import sys; {EVERY}; print(sorted(set({LATE!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
