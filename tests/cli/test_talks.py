"""`ibid index conversations` and `ibid index dreams` through a running service."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import httpx
import pytest

from app.cli import rows
from app.db.embedded import read_lock
from tests.cli.conftest import Ibid, Running, lines

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
    assert told[2].startswith("line 4: title: ")
    *refused, total = lines(machine.out)
    assert machine.code == 1
    assert [each["line"] for each in refused] == list(range(2, 9))
    assert refused[2]["problem"]["type"] == "urn:ibid:problem:validation"
    assert (total["unchanged"], total["refused"]) == (2, 7)


def test_a_line_that_is_far_too_long_is_told(held: Ibid, service: Running, tmp_path: Path) -> None:
    """Without being read whole; the next line is the next."""
    file = written(tmp_path, {"text": "x" * 5_000_000}, GOOD)

    done = held("index", "conversations", file, "--project", "Long")

    assert (done.code, done.out) == (1, "2 rows: 1 created, 1 refused\n")
    assert done.err.startswith("line 1: a row has 2 MiB at most")


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
    """Named `-`."""
    stdin = SimpleNamespace(buffer=io.BytesIO(json.dumps(GOOD).encode()))
    with patch.object(sys, "stdin", stdin):
        done = held("index", "conversations", "-", "--project", "Piped")

    assert (done.code, done.out) == (0, "1 row: 1 created\n")


def test_nothing_is_no_failure(held: Ibid, service: Running, tmp_path: Path) -> None:
    """An empty file has no rows."""
    done = held("index", "conversations", written(tmp_path), "--project", "Empty")

    assert (done.code, done.out) == (0, "0 rows\n")


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
    monkeypatch.setattr(rows, "ROWS", 3)
    posted, calls = rows.posted, 0

    async def cut(*asked: object) -> rows.Batch:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return await posted(*asked)  # type: ignore[arg-type] # as it was asked

    with monkeypatch.context() as patched:
        patched.setattr(rows, "posted", cut)
        stopped = held("index", "conversations", file, "--project", "Cut")
    assert (stopped.code, len(listed(held, "Cut"))) == (130, 6)
    done = held("index", "conversations", file, "--project", "Cut")

    assert done.out == "9 rows: 3 created, 6 unchanged\n"
    assert listed(held, "Cut") == [f"Row {n:03}" for n in range(9)]
