"""Helpers for rows: cursors of lists, text that Postgres can hold, transactions.

A cursor is base64url of microseconds since 1970 and a key that orders equal times (`InvalidField` if it is
malformed). A transaction raises `Unavailable` if Postgres is down or slow and `NoRoom` if its disk is full.
"""

import asyncio
import base64
import binascii
import math
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from app.db.pool import Pool
from app.errors import RemovedMeanwhile, invalid_cursor
from app.types import moment

if TYPE_CHECKING:
    Connection: TypeAlias = PoolConnectionProxy[asyncpg.Record]
else:
    Connection = PoolConnectionProxy  # generic in the stubs alone

Rows: TypeAlias = Iterable[Sequence[object]] | AsyncIterable[Sequence[object]]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DIGITS = 20
"""Longest number that is read as a point's id; 32 digits are a UUID."""
CLOCK = "SELECT clock_timestamp()"
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
USER_STANDS = "SELECT ibid.user_stands($1, $2, coalesce($3, now()))"


async def clock(pool: Pool) -> datetime:
    """Postgres's time: the clocks of replicas differ."""
    with pool.asking():
        now: datetime = await pool.fetchval(CLOCK)
    return now


def is_id(text: str) -> bool:
    return ID.fullmatch(text) is not None


def closed(at: datetime, key: str) -> str:
    text = f"{(at - EPOCH) // MICROSECOND}|{key}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def opened(cursor: str) -> tuple[datetime, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        text = base64.b64decode(padded.encode(), altchars=b"-_", validate=True).decode()
        micros, mark, key = text.partition("|")
        at = EPOCH + int(micros) * MICROSECOND
    except (ValueError, OverflowError, binascii.Error):
        mark = ""
    if not mark or closed(at, key) != cursor or "\0" in key:
        raise invalid_cursor()
    return at, key


def storable(text: str) -> str:
    """`text` with U+FFFD for NUL and lone surrogates; halves of a surrogate pair are joined. Never raises."""
    if text.isascii() and "\0" not in text:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")


def storable_json(value: object, *, nan: float | None = None) -> object:
    """A value that a `jsonb` column accepts: strings made storable, `nan` for NaN and infinities. Takes
    dataclasses too."""
    if is_dataclass(value):
        value = {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(each, nan=nan) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable_json(each, nan=nan) for each in value]
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, datetime):
        return moment(value)
    return nan if isinstance(value, float) and not math.isfinite(value) else value


@asynccontextmanager
async def transaction(pool: Pool) -> AsyncIterator[Connection]:
    """A connection in a transaction: committed at the end, rolled back on any error or cancellation."""
    pool.check_room()
    with pool.asking():
        async with pool.acquire() as connection, connection.transaction():
            yield connection


async def copy_rows(
    connection: Connection, table: str, columns: Sequence[str], rows: Rows, *, seconds: float
) -> None:
    """COPY into a table of Ibid's, within `seconds`. A connection that breaks is a `TimeoutError` at once;
    asyncpg alone would wait on for room in its buffer."""
    async with asyncio.timeout(None) as limit:

        def broken(_: object) -> None:
            with suppress(RuntimeError):  # the COPY has ended meanwhile
                limit.reschedule(asyncio.get_running_loop().time())

        connection.add_termination_listener(broken)
        try:
            await connection.copy_records_to_table(
                table, schema_name="ibid", columns=columns, records=rows, timeout=seconds
            )
        finally:
            connection.remove_termination_listener(broken)


async def take_turns(connection: Connection, *name: str) -> None:
    """Take the advisory lock of this name until the transaction ends. Readers never wait for it."""
    await connection.execute(LOCK, "\x1f".join(name))


async def check_not_erased(
    connection: Connection, tenant: str, user: str, since: datetime | None = None
) -> None:
    """`RemovedMeanwhile` if the user was erased after `since` (default: the transaction's beginning). A later
    erasure waits for the transaction's end."""
    if not await connection.fetchval(USER_STANDS, tenant, user, since):
        raise RemovedMeanwhile("the user's data was erased meanwhile")
