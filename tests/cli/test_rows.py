"""Lines out of files, and batches of them."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import typer

from app.cli import rows
from app.cli.rows import BYTES, LONGEST, ROWS, Batch, Line, Refused, Sum, batches, lines, posted, size, there


async def read(file: Path) -> list[Line]:
    """All of a file."""
    return [line async for line in lines(file)]


async def of(found: list[Line]) -> AsyncIterator[Line]:
    """One by one."""
    for line in found:
        yield line


async def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    """Blank ones count; the last needs no end; what is no object is told apart."""
    (tmp_path / "f").write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n  \n[1]\n\xff\n{"b": 2}')

    found = await read(tmp_path / "f")

    assert [(line.number, line.row) for line in found] == [(1, {"a": 1}), (4, None), (5, None), (6, {"b": 2})]
    assert size(tmp_path / "f") == 5


async def test_a_line_without_an_end_is_not_read_whole(tmp_path: Path) -> None:
    """The next one is the next, wherever reading stops."""
    (tmp_path / "f").write_bytes(b'{"a": "' + b"x" * (3 * LONGEST) + b'"}\n{"b": 2}\n')

    long, short = await read(tmp_path / "f")

    assert (long.number, long.row, long.size) == (1, None, LONGEST + 1)
    assert (short.number, short.row) == (2, {"b": 2})


async def test_a_large_file_is_read_as_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some lines at a time, none lost between."""
    monkeypatch.setattr(rows, "AT_ONCE", 7)
    (tmp_path / "f").write_bytes(b"".join(b'{"n": %d}\n' % n for n in range(100)))

    assert [line.row for line in await read(tmp_path / "f")] == [{"n": n} for n in range(100)]


async def test_batches_are_bounded() -> None:
    """In rows, and in bytes; a row that is larger goes alone."""
    small = [Line(n, {}, 10) for n in range(2 * ROWS + 1)]
    large = [Line(1, {}, BYTES // 2), Line(2, {}, BYTES // 2), Line(3, {}, 1), Line(4, {}, 2 * BYTES)]

    assert [len(batch) async for batch in batches(of(small))] == [ROWS, ROWS, 1]
    assert [[line.number for line in batch] async for batch in batches(of(large))] == [[1, 2], [3], [4]]
    assert [batch async for batch in batches(of([]))] == []


def test_sums_are_of_all_batches() -> None:
    """Each outcome is named, also where there is none."""
    total = Sum()
    for batch in (Batch(Counter(created=2)), Batch(Counter(created=1, unchanged=4), [Refused(9, {})])):
        total.add(batch)

    assert total.counts == {"created": 3, "replaced": 0, "unchanged": 4, "refused": 1}


def test_a_refusal_is_told_in_a_sentence() -> None:
    """The detail, without the place in a request that nobody wrote; else the title."""
    assert Refused(1, {"title": "T", "detail": "body.0.title: too long"}).why == "title: too long"
    assert Refused(1, {"title": "T"}).why == "T"


def test_a_file_must_be_there(tmp_path: Path) -> None:
    """Or be stdin, whose size nobody knows."""
    assert there(None) is None
    assert there(rows.STDIN) == rows.STDIN
    assert size(rows.STDIN) is None
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(typer.BadParameter, match="is no file"):
            there(place)


async def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """As what it is."""
    with pytest.raises(rows.Unreadable, match="cannot be read"):
        await read(tmp_path)


async def test_rows_wait_for_a_busy_service() -> None:
    """Only a question has a deadline."""
    answers = [httpx.Response(503, json={"title": "Busy", "status": 503})]
    answers.append(httpx.Response(201, json={"items": [{"outcome": "created"}]}))
    transport = httpx.MockTransport(lambda _: answers.pop(0))
    async with httpx.AsyncClient(transport=transport, base_url="http://ibid") as client:
        batch = await posted(client, "/projects/p/conversations", [Line(1, {"title": "a"}, 9)])

    assert (batch.outcomes, list(batch.refused)) == (Counter(created=1), [])
