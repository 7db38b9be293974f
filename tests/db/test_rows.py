"""Rows: cursors of lists, text that Postgres can hold, transactions."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.pool import Pool
from app.db.rows import closed, opened, storable, transaction
from app.errors import InvalidField, Missing, NoRoom, Unavailable

times = st.datetimes(datetime(1900, 1, 1), datetime(3000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
keys = st.text("abcXYZ019._:-", max_size=200)


@given(times, keys)
def test_law_what_is_closed_opens(at: datetime, key: str) -> None:
    cursor = closed(at, key)
    assert opened(cursor) == (at, key)
    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize(
    "text", ["x", "%%%", "MTIz", "eHx4", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OXxh", "MXwA", "é"]
)
def test_what_is_not_ours_is_told(text: str) -> None:
    with pytest.raises(InvalidField) as caught:
        opened(text)
    assert caught.value.field == "query.cursor"


@given(st.text(max_size=80))
def test_law_any_text_opens_or_is_told(text: str) -> None:
    with suppress(InvalidField):
        assert closed(*opened(text)) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("naïve 📈", "naïve 📈", id="unicode"),
        pytest.param("a\0b", "a\ufffdb", id="NUL"),
        pytest.param("é\0", "é\ufffd", id="NUL among others"),
        pytest.param("a\ud800b", "a\ufffdb", id="lone surrogate"),
        pytest.param("\ud83d\udcc8", "📈", id="halves of a pair"),
    ],
)
def test_storable(text: str, kept: str) -> None:
    assert storable(text) == kept


@given(st.text(st.characters(codec=None)))
def test_law_utf8_without_nul(text: str) -> None:
    assert b"\0" not in storable(text).encode()


async def test_postgres_takes_it(pool: Pool) -> None:
    text = storable("a\0\ud800\U0010ffff\uffff")
    assert await pool.fetchval("SELECT $1::text", text) == text


ADD = "INSERT INTO ibid.tenant (id) VALUES ('new')"
COUNT = "SELECT count(*) FROM ibid.tenant WHERE id = 'new'"


async def test_commits_at_the_end(pool: Pool) -> None:
    async with transaction(pool) as connection:
        await connection.execute(ADD)
    assert await pool.fetchval(COUNT) == 1


async def test_an_error_of_the_body_rolls_back_and_passes(pool: Pool) -> None:
    async def write() -> None:
        async with transaction(pool) as connection:
            await connection.execute(ADD)
            raise Missing

    with pytest.raises(Missing):
        await write()
    assert await pool.fetchval(COUNT) == 0


async def test_cancellation_rolls_back(pool: Pool) -> None:
    started = asyncio.Event()

    async def write() -> None:
        async with transaction(pool) as connection:
            await connection.execute(ADD)
            started.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(write())
    await started.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert await pool.fetchval(COUNT) == 0


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        pytest.param(asyncpg.DiskFullError("could not extend file"), NoRoom, "no room", id="disk full"),
        pytest.param(asyncpg.AdminShutdownError("ended"), Unavailable, "does not answer", id="shutdown"),
    ],
)
async def test_faults_of_postgres_are_told(
    pool: Pool, fault: Exception, kind: type[Unavailable], said: str
) -> None:
    with pytest.raises(kind, match=said) as told:
        async with transaction(pool):
            raise fault
    assert type(told.value) is kind
