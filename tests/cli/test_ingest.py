"""Which files `ibid ingest` takes, and how it sums up; against the service: test_commands.py."""

from pathlib import Path

import pytest

from app.cli.ingest import found, summary
from app.cli.upload import Outcome, Status


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """PDFs of both cases, one deeper, and other things beside."""
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "folder.pdf").mkdir()
    for name in ("b.pdf", "a.PDF", "notes.txt", "deep/deeper/c.Pdf", "pdf"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def test_a_folder_gives_its_pdfs_of_any_case_and_depth(folder: Path) -> None:
    """Sorted; neither other files nor folders that are called like PDFs."""
    names = [str(path.relative_to(folder)) for path in found([folder])]

    assert names == ["a.PDF", "b.pdf", "deep/deeper/c.Pdf"]


def test_a_named_file_is_taken_whatever_its_name(folder: Path) -> None:
    """The service says what is wrong with it, not the command."""
    assert found([folder / "notes.txt"]) == [folder / "notes.txt"]


def test_a_file_named_twice_is_sent_once(folder: Path) -> None:
    """By its folder and by its name, or by two spellings."""
    assert len(found([folder, folder / "b.pdf", folder / "deep" / ".." / "b.pdf"])) == 3


def test_the_summary_counts_each_end() -> None:
    """Pages are those of the files taken now."""
    outcomes = [
        Outcome(Path("a"), Status.TAKEN, {"pages": 1000}),
        Outcome(Path("b"), Status.TAKEN, {"pages": 500}),
        Outcome(Path("c"), Status.KNOWN, {"pages": 7}),
        Outcome(Path("d"), Status.REFUSED),
    ]

    assert summary(outcomes) == "4 files: 2 taken (1,500 pages), 1 already there, 1 refused"
