"""`ibid index conversations` and `ibid index dreams` through a running service."""

import io
import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import httpx
import pytest

from app.cli import index as module
from app.cli.index import (
    LONGEST_LINE,
    InputLine,
    Rows,
    json_lines,
    line_count,
    posted,
)
from app.cli.terminal import Unreadable
from app.db.folder import read_lock
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
    monkeypatch.setattr(module, "ROWS", 3)
    calls = 0

    async def cut(*asked: object) -> Rows:
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


def test_a_line_without_an_end_is_not_read_whole(tmp_path: Path) -> None:
    """The next one is the next, wherever reading stops."""
    (tmp_path / "f").write_bytes(b'{"a": "' + b"x" * (3 * LONGEST_LINE) + b'"}\n{"b": 2}\n')

    long, short = read(tmp_path / "f")

    assert (long.number, long.row, long.size) == (1, None, LONGEST_LINE + 1)
    assert (short.number, short.row) == (2, {"b": 2})


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """As what it is."""
    with pytest.raises(Unreadable, match="cannot be read"):
        read(tmp_path)


async def test_rows_wait_for_a_busy_service() -> None:
    """Only a question has a deadline."""
    answers = [httpx.Response(503, json={"title": "Busy", "status": 503})]
    answers.append(httpx.Response(201, json={"items": [{"outcome": "created"}]}))
    transport = httpx.MockTransport(lambda _: answers.pop(0))
    async with httpx.AsyncClient(transport=transport, base_url="http://ibid") as client:
        batch = await posted(client, "/projects/p/conversations", [InputLine(1, {"title": "a"}, 9)])

    assert (batch.outcomes, list(batch.refused)) == (Counter(created=1), [])


def test_a_command_must_be_named(ibid: Ibid) -> None:
    """Exit 2; nothing is opened for it."""
    assert ibid("index").code == 2
    assert not ibid.data.exists()
