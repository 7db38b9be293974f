"""`ibid knowledge` through a running service."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from tests.cli.conftest import Ibid, Running, lines
from tests.fakes.process import Done


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """An overview, rules, two notes, and a file that is no text."""
    for name, text in (
        ("overview.md", "A home network."),
        ("rules.md", "Be brief."),
        ("Hours.txt", "9 to 5."),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "Units.md").write_text("\ufeffMetric.", encoding="utf-8")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / "long.md").write_text("x" * 32_001)
    return tmp_path


def told(held: Ibid, project: str, *words: str | Path) -> Done:
    """What it says of a project."""
    return held("knowledge", "--project", project, *words)


def test_it_is_written_from_files(held: Ibid, service: Running, files: Path) -> None:
    """A note is called as its file; what is not given stays."""
    first = told(held, "Told", "--overview", files / "overview.md", "--notes", files / "Hours.txt")
    told(held, "Told", "--rules", files / "rules.md", "--notes", files / "Units.md")
    shown = told(held, "Told", "--show")

    assert (first.code, first.out) == (0, "Told: overview of 15 characters, no rules, 1 note\n")
    assert shown.out == (
        "# Overview\n\nA home network.\n\n# Rules\n\nBe brief.\n\n# Hours\n\n9 to 5.\n\n# Units\n\nMetric.\n"
    )


def test_it_is_replaced_whole(held: Ibid, service: Running, files: Path) -> None:
    """With --replace; machines get all of it."""
    told(held, "Whole", "--overview", files / "overview.md", "--notes", files / "Hours.txt")
    done = told(held, "Whole", "--rules", files / "rules.md", "--replace", "--json")

    whole = {"project": "Whole", "overview": "", "rules": "Be brief.", "notes": []}
    assert (done.code, lines(done.out)) == (0, [whole])
    assert lines(told(held, "Whole", "--show", "--json").out) == [whole]


def test_a_text_comes_from_stdin(held: Ibid, service: Running) -> None:
    with patch.object(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"Piped."))):
        done = told(held, "Piped", "--overview", "-")

    assert done.out == "Piped: overview of 6 characters, no rules, 0 notes\n"


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        pytest.param(("--show",), "Not found", 1, id="nothing is told"),
        pytest.param(("--rules", "long.md"), "32,000", 2, id="too long"),
        pytest.param(("--rules", "latin.txt"), "not UTF-8: see byte 3", 1, id="no text"),
    ],
)
def test_what_cannot_be_done_is_told(
    held: Ibid, service: Running, files: Path, *, words: tuple[str, ...], said: str, code: int
) -> None:
    """In a sentence; exit 1, or 2 where a field is wrong."""
    done = told(held, "Nowhere", *(files / word if "." in word else word for word in words))

    assert (done.code, done.out) == (code, "")
    assert said in done.err


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--project", "P"),
        ("--project", "P", "--overview", "nowhere.md"),
        ("--project", "P", "--notes", "nowhere.md"),
        ("--project", "P", "--overview", "-", "--rules", "-"),
        ("--show",),
        ("--project", "a\nb", "--show"),
    ],
)
def test_wrong_usage_is_told(ibid: Ibid, words: tuple[str, ...]) -> None:
    """Exit 2; nothing is opened for it."""
    done = ibid("knowledge", *words)

    assert (done.code, done.out) == (2, "")
    assert not ibid.data.exists()
