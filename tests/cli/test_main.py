"""The program as a whole: its commands, what they import, how they talk, where their settings come from,
and its ends."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from app.cli import main as program
from app.cli import terminal
from app.cli.client import Answered
from app.cli.main import main
from app.cli.terminal import as_json, configured, progress, remark, tell
from app.errors import BadInput, IbidError, StartError


def test_every_command_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As the README lists them."""
    monkeypatch.setattr(sys, "argv", ["ibid", "--help"])

    with pytest.raises(SystemExit):
        main()

    shown = re.findall(r"^. (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert shown == [
        *("ask", "chat", "search", "why", "open"),
        *("ingest", "docs", "sessions", "memories", "index", "knowledge", "profiles", "erase"),
        *("serve", "config", "mcp", "doctor", "migrate", "reembed", "adopt", "eval", "keys"),
    ]


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
        pytest.param(
            "from app.cli import ask, search, mcp, ingest, users, knowledge, index, library, why",
            id="over HTTP",
        ),
    ],
)
def test_what_only_asks_a_service_is_none(code: str) -> None:
    """Its modules wait until a command finds that nobody holds the folder."""
    assert imported(code) == []


LATE = (
    *("aiohttp", "alembic", "chromadb", "chromadb_rust_bindings", "httpx", "httpx2", "onnxruntime", "openai"),
    *("mcp", "pypdfium2", "qdrant_client", "redis", "sqlalchemy", "tokenizers"),
)
"""Half a second of a processor and more each, with what they bring; opened when they are used."""

EVERY = "from app.cli.main import COMMANDS, loaded; [loaded(name) for name in COMMANDS]"
"""All commands, and with them a whole service."""


def test_heavy_vendors_wait_until_they_are_used() -> None:
    """Whatever a command imports, it does not pay for what its settings do not ask for."""
    code = f"import sys; {EVERY}; print(sorted(set({LATE!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture(autouse=True)
def _no_logging(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tests' own logging stays; no `.env` of the checkout is read."""
    monkeypatch.setattr(terminal, "configure", lambda _level: None)
    monkeypatch.chdir(tmp_path)


def test_results_and_remarks_are_kept_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe gets results alone."""
    tell("result")
    remark("remark")

    assert capsys.readouterr() == ("result\n", "remark\n")


def test_json_is_one_line_whatever_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Line breaks are escaped, letters are not."""
    as_json({"text": "Æ\nØ"})

    out = capsys.readouterr().out
    assert out == '{"text": "Æ\\nØ"}\n'
    assert json.loads(out) == {"text": "Æ\nØ"}


HOSTILE = {
    "colour": ("\x1b[31mred\x1b[0m", "red"),
    "title": ("\x1b]0;owned\x07here", "here"),
    "link": ("\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\", "click"),
    "clipboard": ("\x1b]52;c;cm0gLXJmIH4=\x07", ""),
    "one byte": ("\x9b2Jgone\x9d0;owned\x9c", "gone"),
    "cut": ("an end: \x1b[3", "an end: [3"),
    "begun": ("1mhidden", "1mhidden"),
    "overwritten": ("secret\rpublic\x08\x7f\0", "secretpublic"),
    "reordered": ("user\u202egnp.exe\u2066\u200f", "usergnp.exe"),
    "half a pair": ("\ud83d!", "!"),
    "kept": ("a\tb\nÆ שלום 🙂", "a\tb\nÆ שלום 🙂"),
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_terminal_is_not_commanded(text: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By an answer, a document, a name or a problem: all of them are written by others."""
    tell(text)
    remark(text)
    as_json({"text": text})

    out, err = capsys.readouterr()
    told, data = out.rsplit("\n", 2)[:2]
    assert (told, err) == (shown, shown + "\n")
    assert json.loads(data) == {"text": text}
    assert not set(out + err) & {
        chr(sign) for sign in (*range(32), *range(127, 160)) if chr(sign) not in "\n\t"
    }


def test_options_win_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And what is not given stays the environment's."""
    monkeypatch.setenv("IBID_PORT", "1")
    monkeypatch.setenv("IBID_HOST", "127.0.0.2")

    found = configured(tmp_path / "data", port=2, host=None).ibid

    assert (found.port, found.host, found.data_dir) == (2, "127.0.0.2", tmp_path / "data")


def test_a_near_miss_of_another_prefix_is_remarked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be another program's, so the command goes on."""
    monkeypatch.setenv("CHAT_BASEURL", "http://127.0.0.1/v1")

    configured()

    assert "CHAT_BASEURL (did you mean CHAT_BASE_URL?)" in capsys.readouterr().err


def test_a_terminal_sees_steps_and_what_is_worked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps done of all, the remark beside them, the file's name as it is (markup and all), cut."""
    screen = io.StringIO()
    monkeypatch.setattr(terminal, "Console", lambda **_: Console(file=screen, force_terminal=True, width=120))

    with progress("Opening", 2) as bar:
        bar.now("[red]report.pdf" + 40 * "x")
        bar.add(1, "files, 3 pages")

    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "[red]report.pdf" + 14 * "x" + "… " in shown
    assert "1/2 files, 3 pages" in shown
