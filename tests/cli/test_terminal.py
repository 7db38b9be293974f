"""How commands talk, and where their settings come from."""

import io
import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from app.cli import terminal
from app.cli.terminal import as_json, configured, progress, remark, safe, tell

BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


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


@given(st.text(st.characters(exclude_categories=())), st.data())
def test_no_control_gets_through_however_a_text_is_cut(text: str, data: st.DataObject) -> None:
    """As an answer comes in pieces."""
    at = data.draw(st.integers(0, len(text)))

    shown = safe(text[:at]) + safe(text[at:])

    assert all(unicodedata.category(sign) not in {"Cc", "Cs"} or sign in "\n\t" for sign in shown)
    assert not any(unicodedata.bidirectional(sign) in BIDI for sign in shown)


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


def test_a_pipe_sees_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither on stdout nor on stderr: logs stay readable."""
    with progress("Reading", 2) as bar:
        bar.add(1, "files, 3 pages")

    assert capsys.readouterr() == ("", "")


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
