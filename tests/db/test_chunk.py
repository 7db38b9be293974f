"""Statements on chunks: what is dropped takes with it what was made of it."""

import pytest

from app.db.code import TABLE, CodeEntry, CodeRow, arrays, drop, free, place, places, prepared, write
from app.db.pool import Pool
from app.db.projects import links, shape
from app.db.rows import transaction
from app.errors import InvalidField
from app.retrieval.project_tables import Analysed
from app.types import Scope

HERE = Scope("acme", project="hello")
IDS = [f"0c9d1a52-3e5f-4d0f-9a53-5d0e8a432c0{at}" for at in range(3)]
NEXT = "INSERT INTO ibid.text_next (space, kind, id, embedding) VALUES ('new@1', 'code', $1, '[1]')"


def entry(at: int, *, given: str | None = None) -> CodeEntry:
    """A chunk of file `at`."""
    return CodeEntry(IDS[at], CodeRow(f"{at}.py", None, f"text {at}", {"a": "\0"}, given), b"\0\0\x80?")


async def written(pool: Pool, *entries: CodeEntry, sha256: str | None = None) -> None:
    """In the table."""
    rows = {each.id: (each, words) for each, words in await prepared(entries)}
    async with transaction(pool) as connection:
        columns = await shape(connection, TABLE)
        await write(connection, columns, HERE, rows, "s@1", sha256=sha256)


async def test_what_is_dropped_leaves_nothing_behind(pool: Pool) -> None:
    """Neither its words nor its vector of a space in the making; what stays keeps its own."""
    await written(pool, entry(0), entry(1))
    for name in IDS[:2]:
        await pool.execute(NEXT, name)

    async with transaction(pool) as connection:
        count, paths = await drop(connection, "file_path = $1", "0.py")

    assert (count, paths) == (1, {"0.py"})
    assert await pool.fetchval("SELECT array_agg(id) FROM ibid.project_words") == [IDS[1]]
    assert await pool.fetchval("SELECT array_agg(id) FROM ibid.text_next") == [IDS[1]]


async def test_a_row_has_the_id_it_was_given_if_it_is_its_writer_s(pool: Pool) -> None:
    """Else the one that is made; whether it is there is told."""
    await written(pool, entry(0))
    asked = [entry(0), entry(1, given=IDS[2]), entry(1, given=IDS[0])]
    async with transaction(pool) as connection:
        columns = await shape(connection, TABLE)
        own = await places(connection, columns, HERE, asked)
        other = await places(connection, columns, Scope("other"), asked[2:])

        plain = await places(connection, columns, Scope(project="hello"), asked[1:])

    assert own == [(IDS[0], True), (IDS[1], False), (IDS[0], True)]
    assert other == [(IDS[1], False)]
    assert plain == [(IDS[2], False), (IDS[1], False)]


async def test_what_is_another_s_is_in_nobody_s_way(pool: Pool) -> None:
    """A row of another tenant, of another tool, one by itself where a file's chunk would be: the next id."""
    await written(pool, entry(0))
    await pool.execute(
        "INSERT INTO public.code_index (id, tenant, project) VALUES ($1, 'acme', 'hello')", IDS[1]
    )
    async with transaction(pool) as connection:
        columns = await shape(connection, TABLE)
        other = await places(connection, columns, Scope("other"), [entry(0)])
        tool = await places(connection, columns, HERE, [entry(1), entry(2, given=IDS[1])])
        file = await free(connection, columns, [entry(0), entry(2)])

    assert other == [(links("uuid", IDS[0])[1], False)]
    assert tool == [(links("uuid", IDS[1])[1], False), (IDS[2], False)]
    assert file == [links("uuid", IDS[0])[1], IDS[2]]


async def test_a_chunk_of_a_file_is_not_replaced_by_its_id(pool: Pool) -> None:
    """It would leave its file; another owner is told nothing of it."""
    await written(pool, entry(0), sha256="0" * 64)
    async with transaction(pool) as connection:
        columns = await shape(connection, TABLE)
        with pytest.raises(InvalidField, match="whole file"):
            await places(connection, columns, HERE, [entry(1, given=IDS[0])])
        assert await places(connection, columns, Scope("other"), [entry(1, given=IDS[0])]) == [
            (IDS[1], False)
        ]


async def test_a_row_that_has_gone_meanwhile_is_written_again(pool: Pool) -> None:
    """Another tool deleted one after it was found; what was inserted is told."""
    await written(pool, entry(0))
    rows = {each.id: (each, words) for each, words in await prepared([entry(0), entry(1)])}
    async with transaction(pool) as connection:
        columns = await shape(connection, TABLE)
        fresh = await write(connection, columns, HERE, rows, "s@1", there=set(rows))

    assert set(fresh) == {IDS[1]}
    assert await pool.fetchval("SELECT array_agg(id::text ORDER BY id) FROM public.code_index") == IDS[:2]


async def test_nothing_to_write_is_no_statement(pool: Pool) -> None:
    """A file may have no chunk."""
    await written(pool)

    assert await pool.fetchval("SELECT count(*) FROM public.code_index") == 0


def test_what_postgres_cannot_hold_is_written_over() -> None:
    """In texts, and in JSON."""
    entry = CodeEntry("a", CodeRow(None, None, "x\0", {"k": "\0"}), b"")
    values = arrays({"a": (entry, Analysed(b"", 0))}, "s")

    assert values == (["a"], [None], [None], ["x\ufffd"], ['{"k": "\\ufffd"}'], ["s"], [b""])
    assert place(HERE) == ("acme", "", "hello")
