"""The bar of long work."""

import io
import re

import pytest
from rich.console import Console

from app.cli import progress


def test_a_pipe_sees_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither on stdout nor on stderr: logs stay readable."""
    with progress.shown("Reading", 2) as bar:
        bar.add(1, "files, 3 pages")

    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_steps_and_what_is_worked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps done of all, the remark beside them, the file's name as it is (markup and all), cut."""
    screen = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=screen, force_terminal=True, width=120))

    with progress.shown("Opening", 2) as bar:
        bar.now("[red]report.pdf" + 40 * "x")
        bar.add(1, "files, 3 pages")

    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "[red]report.pdf" + 14 * "x" + "… " in shown
    assert "1/2 files, 3 pages" in shown
