"""Questions about PDFs: how the figures of a run are shown."""

import json
from pathlib import Path

from bench.quality import interval, questions, session, told


def test_a_run_tells_how_soon_evidence_is_packed() -> None:
    """Hits, those among the first, and each question's position."""
    found = told([1, None, 7, 40], "global")
    assert (found["questions"], found["hits"]) == (4, 3)
    assert [found[f"hits@{most}"] for most in (5, 10, 20)] == [1, 2, 2]
    assert found["positions"] == [1, None, 7, 40]
    assert found["interval"] == [round(end, 3) for end in interval(3, 4)]


def test_an_interval_holds_its_share() -> None:
    """Wilson's: never beyond 0 and 1, everything where nothing was asked."""
    low, high = interval(29, 35)
    assert 0.6 < low < 29 / 35 < high < 1
    assert interval(0, 0) == (0.0, 1.0)


def test_a_file_has_a_session_of_its_own() -> None:
    """Names that a session may have."""
    assert session("filings/Größe 1.pdf") == "filings-Gr--e-1-pdf"


def test_questions_are_lines(tmp_path: Path) -> None:
    """Blank ones do not count."""
    (tmp_path / "questions.jsonl").write_text(json.dumps({"question": "Why?"}) + "\n\n")
    assert questions(tmp_path) == [{"question": "Why?"}]
