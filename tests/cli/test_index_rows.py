"""`ibid index conversations`, `ibid index dreams` and `ibid knowledge` through a running service."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import httpx
import pytest

from app.cli import index as module
from app.cli.index import (
    InputLine,
    RowCounts,
    json_lines,
    line_count,
    posted,
)
from app.db.folder import read_lock
from tests.cli.conftest import Ibid, Running, lines
from tests.fakes.process import Done

GOOD = {"session_id": "a", "title": "Ferries", "summary_short": "They need a deeper harbour."}
SAID = {
    "session_id": "b",
    "turns": [
        {"role": "user", "content": "Which VLAN is the printer on?"},
        {"role": "assistant", "content": "The printer is on VLAN 30."},
    ],
}


def written(place: Path, *rows: object, name: str = "rows.jsonl") -> Path:
    """A file of lines; what is no text is JSON."""
    told = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (place / name).write_text("\n".join(told))
    return place / name


def listed(held: Ibid, project: str, kind: str = "conversations") -> list[str]:
    """Titles of what is there, asked with the folder's token: other tests make keys."""
    lock = read_lock(held.data)
    assert lock
    head = {"Authorization": f"Bearer {lock.token}"}
    url = f"{lock.url}/projects/{project}/{kind}"
    reply = httpx.get(url, params={"limit": 200}, headers=head, trust_env=False)
    return sorted(row["title"] for row in reply.json()["items"])


def test_a_file_is_kept(held: Ibid, service: Running, tmp_path: Path) -> None:
    """Blank lines and a byte order mark are nothing; run again nothing doubles."""
    file = written(tmp_path, "\ufeff" + json.dumps(GOOD), "", "  ", SAID)

    first = held("index", "conversations", file, "--project", "Lines")
    again = held("index", "conversations", file, "--project", "Lines", "--json")

    assert (first.code, first.out) == (0, "2 rows: 2 created\n")
    told = {"project": "Lines", "kind": "conversations", "replaced": 0, "refused": 0}
    assert (again.code, lines(again.out)) == (0, [told | {"created": 0, "unchanged": 2}])
    assert listed(held, "Lines") == ["Ferries", "Which VLAN is the printer on?"]


def test_bad_lines_are_told_with_their_number(held: Ibid, service: Running, tmp_path: Path) -> None:
    """The others are kept; exit 1. Machines get a line each, and the sum."""
    bad: tuple[object, ...] = (
        "not JSON",
        [1],
        {"title": 7},
        GOOD | {"more": 1},
        {"tags": []},
        '"\\ud800"',
        '{"a":' * 9_000,
    )
    file = written(tmp_path, GOOD, *bad, SAID)

    people = held("index", "conversations", file, "--project", "Bad")
    machine = held("index", "conversations", file, "--project", "Bad", "--json")

    assert (people.code, people.out) == (1, "9 rows: 2 created, 7 refused\n")
    told = people.err.splitlines()
    assert [line.partition(":")[0] for line in told] == [f"line {n}" for n in range(2, 9)]
    assert told[0] == "line 2: not a JSON object"
    assert told[2].startswith("line 4: title must be ")
    *refused, total = lines(machine.out)
    assert machine.code == 1
    assert [each["line"] for each in refused] == list(range(2, 9))
    assert refused[2]["problem"]["type"] == "urn:ibid:problem:validation"
    assert (total["unchanged"], total["refused"]) == (2, 7)


def test_dreams_go_where_dreams_are_kept(held: Ibid, service: Running, tmp_path: Path) -> None:
    """DAAS unless told otherwise; a project that keeps something else is refused as a whole."""
    file = written(tmp_path, {"title": "Flying", "text": "I was flying."})

    kept = held("index", "dreams", file)
    wrong = held("index", "dreams", file, "--project", "THN")

    assert (kept.code, kept.out) == (0, "1 row: 1 created\n")
    assert listed(held, "DAAS", "dreams") == ["Flying"]
    assert (wrong.code, wrong.out) == (1, "")
    assert "use its path /conversations" in wrong.err


def test_stdin_is_a_file(held: Ibid, service: Running) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(json.dumps(GOOD).encode()))
    with patch.object(sys, "stdin", stdin):
        done = held("index", "conversations", "-", "--project", "Piped")

    assert (done.code, done.out) == (0, "1 row: 1 created\n")


@pytest.mark.parametrize(
    "words",
    [
        ("conversations", "nowhere.jsonl", "--project", "P"),
        ("conversations", ".", "--project", "P"),
        ("conversations", "-"),
        ("conversations", "-", "--project", ""),
        ("dreams",),
        ("nightmares", "-"),
    ],
)
def test_wrong_usage_is_told(ibid: Ibid, words: tuple[str, ...]) -> None:
    """Exit 2; nothing is opened for it."""
    done = ibid("index", *words)

    assert (done.code, done.out) == (2, "")
    assert not ibid.data.exists()


def test_an_interrupted_run_goes_on(
    held: Ibid, service: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was acknowledged is there; run again, each line is there once."""
    file = written(tmp_path, *({"title": f"Row {n:03}"} for n in range(9)))
    monkeypatch.setattr(module, "ROWS", 3)
    calls = 0

    async def cut(*asked: object) -> RowCounts:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return await posted(*asked)  # type: ignore[arg-type] # as it was asked

    with monkeypatch.context() as patched:
        patched.setattr(module, "posted", cut)
        stopped = held("index", "conversations", file, "--project", "Cut")
    assert (stopped.code, len(listed(held, "Cut"))) == (130, 6)
    done = held("index", "conversations", file, "--project", "Cut")

    assert done.out == "9 rows: 3 created, 6 unchanged\n"
    assert listed(held, "Cut") == [f"Row {n:03}" for n in range(9)]


def read(file: Path) -> list[InputLine]:
    return list(json_lines(file))


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    """Blank ones count; the last needs no end; what is no object is told apart."""
    (tmp_path / "f").write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n  \n[1]\n\xff\n{"b": 2}')

    found = read(tmp_path / "f")

    assert [(line.number, line.row) for line in found] == [(1, {"a": 1}), (4, None), (5, None), (6, {"b": 2})]
    assert line_count(tmp_path / "f") == 5


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
def test_wrong_usage_of_knowledge_is_told(ibid: Ibid, words: tuple[str, ...]) -> None:
    """Exit 2; nothing is opened for it."""
    done = ibid("knowledge", *words)

    assert (done.code, done.out) == (2, "")
    assert not ibid.data.exists()
