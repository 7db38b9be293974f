"""The pool: deadlines, the breaker, errors, vectors on the wire."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import numpy as np
import pytest

from app.breaker import Breaker
from app.db import pool as pool_
from app.db.answers import AnswerStore
from app.db.cards import CardDraft, CardShape, CardStore
from app.db.code import CodeStore
from app.db.conversations import ConversationStore
from app.db.documents import DocumentStore
from app.db.pool import Pool, open_pool, postgres_faults, record_faults, retrieval_faults
from app.db.projects import Knowledge, KnowledgeStore
from app.db.sessions import ChatLogStore, SessionStore
from app.db.votes import TemporalStore, UtteranceStore, VoteStore
from app.errors import Damaged, IbidError, Missing, NoRoom, Rejected, RetrievalError, Unavailable
from app.retrieval.memories import standing_of
from app.types import Embedding, Scope
from tests.fakes.logged import captured
from tests.fakes.postgres import postgres_server


async def test_waiting_for_a_free_connection_ends(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_, "ACQUIRE_SECONDS", 0.1)
    async with open_pool(dsn, max_size=1) as pool, pool.acquire():
        with pytest.raises(TimeoutError):
            await pool.fetchval("SELECT 1")


async def test_statements_have_a_deadline(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_, "COMMAND_SECONDS", 0.1)
    async with open_pool(dsn, max_size=1) as pool:
        with pytest.raises(TimeoutError):
            await pool.execute("SELECT pg_sleep(30)")
        assert (
            await pool.fetchval("SELECT count(*) FROM pg_stat_activity WHERE query ~ '^SELECT pg_sleep'") == 0
        )


async def test_closing_ends_in_time(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_, "CLOSE_SECONDS", 0.2)
    async with open_pool(dsn) as pool:
        kept = await pool.acquire()
    with pytest.raises(asyncpg.InterfaceError):
        await kept.fetchval("SELECT 1")


async def test_a_hung_server_does_not_hold_up_who_gave_up(settled: Path) -> None:
    """A deadline in the middle of a statement is over when it is over: calling the statement off is not
    waited for, nor told instead of it; once the server is back the pool works as before."""
    with postgres_server(settled) as server:
        async with open_pool(server.dsn, max_size=2) as pool:
            await pool.fetchval("SELECT 1")
            server.stop_answering()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await pool.fetchval("SELECT 2")
            asking = asyncio.create_task(pool.fetchval("SELECT 3"))
            await asyncio.sleep(0.1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            server.resume()
            assert await pool.fetchval("SELECT 4") == 4


async def test_closed_connections_are_replaced(pool: Pool, dsn: str) -> None:
    async with pool.acquire(), pool.acquire():
        pass
    admin = await asyncpg.connect(dsn)
    ended = await admin.fetch(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await admin.close()
    assert len(ended) == 2
    await asyncio.sleep(0.05)
    assert await asyncio.gather(*(pool.fetchval("SELECT 1") for _ in range(5))) == [1] * 5


async def test_a_transaction_left_open_is_rolled_back(dsn: str) -> None:
    """Whoever gets the connection next begins anew, although no statement undoes what the last one set."""
    async with open_pool(dsn, max_size=1) as pool:
        async with pool.acquire() as connection:
            await connection.transaction().start()
            await connection.execute("CREATE TABLE public.half (n int)")
        assert await pool.fetchval("SELECT to_regclass('public.half')") is None
        assert await pool.fetchval("SELECT pg_current_xact_id_if_assigned()") is None


@dataclass
class Hands:
    """A clock that tests turn, and a pool whose breaker goes by it."""

    pool: Pool
    now: float = 0.0

    def __post_init__(self) -> None:
        self.pool.breaker = Breaker(lambda: self.now)

    def fails(self, error: Exception, around: Callable[[], AbstractContextManager[None]]) -> None:
        with suppress(IbidError), around():
            raise error

    def down(self) -> None:
        for _ in range(3):
            self.fails(OSError(), self.pool.reading)

    async def given_up(self, seconds: float) -> None:
        """A read that its caller ends after so long."""

        async def read() -> None:
            with self.pool.reading():
                await asyncio.sleep(30)

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        self.now += seconds
        reading.cancel()
        await asyncio.wait({reading})


@pytest.fixture
async def hands(pool: Pool) -> Hands:
    return Hands(pool)


SCOPE = Scope("acme", "ada", "ada", "s", "t", project="THN", vantage_id="clinic")
ID = "01a20ea2-fca0-75b7-ba64-5a04895389b7"
READS: Mapping[str, Callable[[Pool], Awaitable[object]]] = {
    "history": lambda pool: ChatLogStore(pool).turns(SCOPE, 1),
    "cards shown": lambda pool: CardStore(pool).shown(SCOPE, 1),
    "knowledge": lambda pool: KnowledgeStore(pool).get(SCOPE),
    "votes counted": lambda pool: VoteStore(pool).tallies(SCOPE, ["m"]),
    "activity": lambda pool: TemporalStore(pool).last(SCOPE),
    "standing": lambda pool: standing_of(pool, "acme", "ada"),
}
"""What an answer can do without."""
OTHERS: Mapping[str, Callable[[Pool], Awaitable[object]]] = {
    "answer": lambda pool: AnswerStore(pool).get(SCOPE, ID),
    "last answer": lambda pool: AnswerStore(pool).last(SCOPE),
    "documents": lambda pool: DocumentStore(pool).list(SCOPE, cursor=None, limit=1),
    "document": lambda pool: DocumentStore(pool).get(SCOPE, ID),
    "chunk": lambda pool: DocumentStore(pool).chunk(SCOPE, ID, 1),
    "document removed": lambda pool: DocumentStore(pool).remove(SCOPE, ID),
    "sessions": lambda pool: SessionStore(pool).recent(SCOPE, cursor=None, limit=1),
    "turns": lambda pool: SessionStore(pool).turns(SCOPE, cursor=None, limit=1),
    "session removed": lambda pool: SessionStore(pool).remove(SCOPE),
    "card": lambda pool: CardStore(pool).put(SCOPE, CardDraft(CardShape.CARD, "clinic", "text")),
    "cards": lambda pool: CardStore(pool).list(SCOPE, CardShape.CARD, cursor=None, limit=1),
    "vote": lambda pool: VoteStore(pool).cast(SCOPE, "m", 1, answer_id=None),
    "votes": lambda pool: VoteStore(pool).judge(SCOPE, ["m"], 1, answer_id="a"),
    "knowledge put": lambda pool: KnowledgeStore(pool).put(SCOPE, Knowledge()),
    "knowledge removed": lambda pool: KnowledgeStore(pool).remove(SCOPE),
    "projects": lambda pool: KnowledgeStore(pool).projects(SCOPE),
    "code": lambda pool: CodeStore(pool).get(SCOPE, ID),
    "files": lambda pool: CodeStore(pool).files(SCOPE, "s", after="", limit=1),
    "conversations": lambda pool: ConversationStore(pool).list(SCOPE, cursor=None, limit=1),
    "conversation": lambda pool: ConversationStore(pool).get(SCOPE, "a"),
    "utterances": lambda pool: UtteranceStore(pool).own(SCOPE, 1),
    "users who said something": lambda pool: UtteranceStore(pool).speakers(SCOPE, "", 1),
}


@pytest.mark.parametrize("name", [*READS, *OTHERS])
async def test_nobody_waits_for_a_postgres_that_is_down(hands: Hands, name: str) -> None:
    """Once reads have failed three times, everything is refused at once, with the time to ask again; after
    that time it is asked."""
    hands.down()
    hands.now += 1.0
    ask = {**READS, **OTHERS}[name]
    with pytest.raises(RetrievalError if name in READS else Unavailable) as told:
        await ask(hands.pool)
    assert told.value.retry_after == (None if name in READS else 4)
    hands.now += 4.0
    with suppress(Missing):
        await ask(hands.pool)
    assert hands.pool.breaker.closed


@pytest.mark.parametrize("around", ["reading", "recording"])
async def test_what_answers_need_counts(hands: Hands, around: str) -> None:
    for _ in range(3):
        hands.fails(OSError(), getattr(hands.pool, around))
    assert hands.pool.breaker.refuses


async def test_other_work_does_not_count(hands: Hands) -> None:
    """It may be slow on a server that is well. While the breaker is open its failure keeps it open."""
    for _ in range(5):
        hands.fails(TimeoutError(), hands.pool.asking)
    assert hands.pool.breaker.closed
    hands.down()
    hands.now += 5.0
    hands.fails(TimeoutError(), hands.pool.asking)
    assert hands.pool.breaker.refuses


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.DiskFullError(),
        asyncpg.DataCorruptedError("a page"),
        asyncpg.InsufficientPrivilegeError(),
        RetrievalError("overloaded"),
        RetrievalError("embedding"),
        RetrievalError("unavailable", rejected=True),
    ],
    ids=["a full disk", "a page", "a missing right", "our own pool", "not the store's", "a refused read"],
)
async def test_what_does_not_mean_down(hands: Hands, error: Exception) -> None:
    for around in (hands.pool.reading, hands.pool.recording):
        for _ in range(5):
            hands.fails(error, around)
    assert hands.pool.breaker.closed


async def test_a_deadline_counts_and_a_departure_does_not(hands: Hands) -> None:
    """A read that was given up after seconds, three times: down. After a moment: somebody left."""
    for _ in range(5):
        await hands.given_up(0.3)
    assert hands.pool.breaker.closed
    for _ in range(3):
        await hands.given_up(2.0)
    assert hands.pool.breaker.refuses


SERVER = [
    ConnectionRefusedError(),
    FileNotFoundError("no socket"),
    TimeoutError(),
    asyncpg.InterfaceError("pool is closing"),
    asyncpg.ConnectionDoesNotExistError(),
    asyncpg.CannotConnectNowError(),
    asyncpg.AdminShutdownError(),
    asyncpg.QueryCanceledError(),
    asyncpg.TooManyConnectionsError(),
    asyncpg.DeadlockDetectedError(),
    asyncpg.InvalidPasswordError(),
    asyncpg.ReadOnlySQLTransactionError(),
    asyncpg.InternalClientError(),
]
CALLER = [
    asyncpg.UniqueViolationError(),
    asyncpg.UndefinedTableError(),
    asyncpg.CharacterNotInRepertoireError(),
    asyncpg.DataError("invalid input for query argument"),
]


def named(error: Exception) -> str:
    return type(error).__name__


@pytest.mark.parametrize("error", SERVER, ids=named)
def test_a_server_that_does_not_answer_is_unavailable(error: Exception) -> None:
    """What the server could not do becomes a 503 that says when to ask again, its cause kept."""
    with pytest.raises(Unavailable) as caught, postgres_faults():
        raise error
    assert caught.value.__cause__ is error
    assert caught.value.retry_after == 2


@pytest.mark.parametrize("guard", [postgres_faults, record_faults])
def test_a_full_disk_is_no_outage(guard: Callable[[], AbstractContextManager[None]]) -> None:
    """It still reads; and what only reads goes on without, which says nothing of the server."""
    with pytest.raises(NoRoom) as caught, guard():
        raise asyncpg.DiskFullError
    assert isinstance(caught.value.__cause__, asyncpg.DiskFullError)
    with pytest.raises(RetrievalError) as lost, retrieval_faults():
        raise asyncpg.DiskFullError
    assert (lost.value.reason, lost.value.rejected) == ("unavailable", True)


DAMAGED = [
    asyncpg.DataCorruptedError('invalid page in block 5 of relation "base/5/16635"'),
    asyncpg.IndexCorruptedError('index "memory_pkey" is corrupt'),
    asyncpg.UndefinedFileError('could not open file "base/5/16635": No such file or directory'),
    asyncpg.PostgresIOError("could not read blocks"),
]


@pytest.mark.parametrize("error", DAMAGED, ids=named)
def test_a_damaged_file_is_told_apart_and_logged(error: asyncpg.PostgresError) -> None:
    """No outage that passes and no fault of the caller's: its file is named, an answer goes on without."""
    for guard in (postgres_faults, record_faults):
        with captured() as lines, pytest.raises(Damaged) as caught, guard():
            raise error
        assert (caught.value.status, caught.value.retry_after) == (500, None)
        (line,) = lines.of("Postgres is damaged")
        assert (line["level"], line["detail"]) == ("error", str(error))
    with captured() as lines, pytest.raises(RetrievalError) as lost, retrieval_faults():
        raise error
    assert (lost.value.reason, lost.value.rejected) == ("unavailable", True)
    assert lines.of("Postgres is damaged")


@pytest.mark.parametrize("error", CALLER, ids=named)
def test_what_postgres_will_not_take_costs_no_answer(error: Exception) -> None:
    """A search goes on without, the answer log is told apart; neither means that it is down."""
    with pytest.raises(RetrievalError) as lost, retrieval_faults():
        raise error
    assert (lost.value.reason, lost.value.rejected) == ("unavailable", True)
    with pytest.raises(Rejected) as refused, record_faults():
        raise error
    assert refused.value.__cause__ is error


def test_a_refusal_is_logged_without_its_text() -> None:
    with captured() as lines, pytest.raises(Rejected), record_faults():
        raise asyncpg.NotNullViolationError("secret")
    (line,) = lines.of("Postgres refused a statement")
    assert (line["kind"], line["sqlstate"]) == ("NotNullViolationError", "23502")
    assert "secret" not in lines.getvalue()


async def test_real_faults_are_told_apart(pool: Pool) -> None:
    """Against a real server: wrong SQL is ours, a statement that takes too long is the server's."""
    with pytest.raises(asyncpg.UndefinedTableError), postgres_faults():
        await pool.execute("SELECT * FROM nowhere")
    with pytest.raises(asyncpg.DataError), postgres_faults():
        await pool.fetchval("SELECT $1::int", "one")
    with pytest.raises(Unavailable), postgres_faults():
        await pool.execute("SELECT pg_sleep(5)", timeout=0.05)


def embedding(values: list[float]) -> Embedding:
    return np.array(values, "<f4").tobytes()


async def test_extension_in_a_schema_of_its_own(dsn: str) -> None:
    admin = await asyncpg.connect(dsn.replace("ibid@", "postgres@"))
    name = await admin.fetchval("SELECT current_database()")
    await admin.execute("CREATE SCHEMA extensions; GRANT USAGE ON SCHEMA extensions TO ibid")
    await admin.execute("ALTER EXTENSION vector SET SCHEMA extensions")
    await admin.execute(f"ALTER DATABASE {name} SET search_path = public, extensions")
    await admin.close()
    async with open_pool(dsn) as pool:
        assert await pool.fetchval("SELECT $1::vector", embedding([1, 2])) == embedding([1, 2])
