"""How commands speak, and where their settings come from."""

import json
from pathlib import Path

import pytest

from app.cli import terminal
from app.cli.terminal import as_json, configured, remark, run, tell
from app.domain.errors import StartError


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


def test_an_option_out_of_range_is_told_by_its_setting() -> None:
    """As if it had come from the environment."""
    with pytest.raises(StartError, match="IBID_PORT"):
        configured(port=70_000)


def test_run_gives_what_the_work_returns() -> None:
    """On a loop of its own."""

    async def work() -> str:
        return "done"

    assert run(work()) == "done"
