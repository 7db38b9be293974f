"""Projects: knowledge, other tools' columns and ids, events, the text of rows."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import asyncpg
import pytest

from app.db import projects, users
from app.db.embedded import Cluster
from app.db.pool import Pool
from app.db.project_tables import CHUNK, Analysed, keep
from app.db.project_text import EmbeddedRow
from app.db.projects import (
    MOST_NOTES,
    Called,
    EventStore,
    Knowledge,
    KnowledgeChange,
    KnowledgeNote,
    KnowledgeStore,
    chosen,
    links,
    literal,
    merged,
    taking,
)
from app.db.rows import Connection, transaction
from app.errors import IbidError, InvalidField, Rejected, TooMany
from app.types import Scope
from tests.fakes.records import chunked

THN = Scope("acme", project="THN")
STYLE = KnowledgeNote("Style", "Be brief.")
ALL = Knowledge("A home network.", "Name devices in full.", (STYLE, KnowledgeNote("Hours", "9 to 5.")))


@pytest.fixture
def store(pool: Pool) -> KnowledgeStore:
    return KnowledgeStore(pool)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(THN, tenant="other"), id="another tenant"),
        pytest.param(replace(THN, project="DAAS"), id="another project"),
        pytest.param(replace(THN, project="thn"), id="a name in other letters"),
        pytest.param(replace(THN, project=None), id="no project"),
    ],
)
async def test_a_project_s_knowledge_is_its_own(store: KnowledgeStore, other: Scope) -> None:
    await store.put(THN, ALL)

    assert await store.get(other) is None
    assert not await store.remove(other)
    await store.put(other, Knowledge("Another."))
    assert await store.get(THN) == ALL


async def test_a_part_is_written_beside_the_others(store: KnowledgeStore) -> None:
    """A note takes the place of the one of its title; what is not named stays; "" empties."""
    await store.put(THN, ALL)
    more = (KnowledgeNote("Hours", "10 to 6."), KnowledgeNote("Units", "Metric."))

    merged = await store.merge(THN, KnowledgeChange(overview="", notes=more))

    assert merged == Knowledge("", ALL.rules, (STYLE, *more))
    assert await store.get(THN) == merged


async def test_parts_that_race_are_all_kept(store: KnowledgeStore) -> None:
    """Each writer sees what the one before has written, also where there was no row yet."""
    notes = [KnowledgeNote(f"Note {n}", "Text.") for n in range(8)]

    await asyncio.gather(*(store.merge(THN, KnowledgeChange(notes=(note,))) for note in notes))

    kept = await store.get(THN)
    assert kept is not None
    assert {note.title for note in kept.notes} == {note.title for note in notes}


async def test_a_project_has_so_many_notes(store: KnowledgeStore) -> None:
    full = Knowledge(notes=tuple(KnowledgeNote(str(n), "Text.") for n in range(MOST_NOTES)))
    await store.put(THN, full)

    with pytest.raises(TooMany, match="50 notes"):
        await store.merge(THN, KnowledgeChange(overview="New.", notes=(STYLE,)))
    assert await store.get(THN) == full


TABLE = """
    CREATE TABLE public.theirs (
        "Odd ""name" varchar(7) NOT NULL, embedding vector(1536), n serial NOT NULL, gone text,
        at timestamp(3) with time zone NOT NULL, made bigint GENERATED ALWAYS AS IDENTITY)
"""
REFUSING = (
    """ALTER TABLE public.theirs ADD CONSTRAINT no_secret CHECK ("Odd ""name" <> 'secret')""",
    """CREATE FUNCTION public.refused() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'raised: %', NEW."Odd ""name"; END $$""",
    """CREATE TRIGGER refusing BEFORE INSERT ON public.theirs FOR EACH ROW
        WHEN (NEW."Odd ""name" = 'raised') EXECUTE FUNCTION public.refused()""",
)


@pytest.mark.parametrize(
    ("values", "kind", "name"),
    [
        pytest.param("NULL, now()", InvalidField, 'Odd "name', id="nothing"),
        pytest.param("'too much for it', now()", InvalidField, "too long .* varying", id="a long text"),
        pytest.param("'secret', now()", InvalidField, "no_secret", id="a constraint"),
        pytest.param("'raised', now()", InvalidField, "RaiseError", id="a trigger"),
        pytest.param("'a', 'secret'::text::timestamptz", Rejected, "InvalidDatetime", id="our own mistake"),
    ],
)
async def test_what_a_table_refuses_is_named(
    pool: Pool, values: str, kind: type[IbidError], name: str
) -> None:
    for statement in (TABLE, *REFUSING):
        await pool.execute(statement)

    with pytest.raises(kind, match=name) as caught, taking("public.theirs"):
        await pool.execute(f'INSERT INTO public.theirs ("Odd ""name", at) VALUES ({values})')  # noqa: S608
    for told in ("too much", "secret'", "raised"):
        assert told not in caught.value.detail


GIVEN = "0c9d1a52-3e5f-4d0f-9a53-5d0e8a432c0f"
OURS = str(uuid.uuid5(uuid.NAMESPACE_DNS, "x"))
NUMBER = str(uuid.UUID(OURS).int >> 65)
NEXT = str(uuid.uuid5(uuid.UUID(OURS), "next"))


@pytest.mark.parametrize(
    ("kind", "name", "found"),
    [
        ("uuid", GIVEN.upper(), GIVEN),
        ("uuid", f"{{{GIVEN}}}", GIVEN),
        ("uuid", "chat-1", None),
        ("text", "chat-1", "chat-1"),
        ("character varying(40)", GIVEN.upper(), GIVEN.upper()),
        ("bigint", "007", "7"),
        ("bigint", "-7", None),
        ("bigint", "٣", None),
        ("numeric(20,0)", "9" * 400, None),
        ("bigint", str((1 << 63) - 1), str((1 << 63) - 1)),
        ("bigint", str(1 << 63), None),
        ("bigint", GIVEN, None),
    ],
)
def test_a_name_is_an_id_or_none(kind: str, name: str, found: str | None) -> None:
    assert literal(kind, name) == found


@pytest.mark.parametrize(
    ("kind", "given", "own", "taken", "key"),
    [
        pytest.param("uuid", None, (), (), OURS, id="unnamed"),
        pytest.param("uuid", GIVEN, (), (), GIVEN, id="a free UUID stands"),
        pytest.param("uuid", GIVEN, (GIVEN,), (GIVEN,), GIVEN, id="his own is replaced"),
        pytest.param("uuid", GIVEN, (), (GIVEN,), OURS, id="another's is not"),
        pytest.param("uuid", GIVEN, (), (GIVEN, OURS), NEXT, id="nor is ours, where another has it"),
        pytest.param("uuid", None, (NEXT,), (OURS, NEXT), NEXT, id="which is found again"),
        pytest.param("uuid", None, (NEXT,), (NEXT,), NEXT, id="also when the other is gone"),
        pytest.param("uuid", GIVEN, (OURS,), (OURS,), OURS, id="what is there wins over what is free"),
        pytest.param("uuid", "chat-1", (), (), OURS, id="a name"),
        pytest.param("text", "chat-1", (), (), OURS, id="a name in a table of texts"),
        pytest.param("text", "chat-1", ("chat-1",), ("chat-1",), "chat-1", id="their own name"),
        pytest.param("bigint", "7", (), (), NUMBER, id="a number"),
        pytest.param("bigint", "7", ("7",), ("7",), "7", id="their own number"),
    ],
)
def test_the_row_that_is_there_decides(
    kind: str, given: str | None, own: tuple[str, ...], taken: tuple[str, ...], key: str
) -> None:
    assert chosen(kind, Called(given, OURS), links(kind, OURS), (own, taken)) == key


def test_who_may_not_keep_an_id_replaces_by_it_alone() -> None:
    """His own row has it; a free one he does not take, where others may need it."""
    called = Called(GIVEN, OURS, keeps=False)

    assert chosen("uuid", called, [OURS], ((), ())) == OURS
    assert chosen("uuid", called, [OURS], ((GIVEN,), (GIVEN,))) == GIVEN


ROW = "INSERT INTO public.conversation_index (tenant, owner, project, title) VALUES ($1, $2, $3, 'Ferry')"
TALK, DAAS, ADAS = ("default", "", "THN"), ("default", "", "DAAS"), ("default", "ada", "THN")
VERSION = "SELECT version FROM ibid.project_part WHERE (tenant, owner, project) = ($1, $2, $3)"
COUNT = "SELECT count(*) FROM ibid.project_event"


@asynccontextmanager
async def tools(pool: Pool, count: int) -> AsyncIterator[list[Connection]]:
    """Others that write, each in a transaction that is open until the end."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(transaction(pool)) for _ in range(count)]


async def test_nobody_who_writes_waits_for_another(pool: Pool) -> None:
    """Two tools in opposite order, and a third beside them that is in no hurry to end."""
    async with asyncio.timeout(5), tools(pool, 3) as (one, other, slow):
        await slow.execute(ROW, *TALK)
        await one.execute(ROW, *TALK)
        await other.execute(ROW, *DAAS)
        await asyncio.gather(one.execute(ROW, *DAAS), other.execute(ROW, *TALK))
        await pool.execute(ROW, *TALK)
    assert await pool.fetchval("SELECT count(*) FROM conversation_index") == 6


async def test_what_is_committed_late_is_another_version(pool: Pool) -> None:
    seen = []
    async with tools(pool, 1) as (slow,):
        await slow.execute(ROW, *TALK)
        for _ in range(3):
            await pool.execute(ROW, *TALK)
            seen.append(await pool.fetchval(VERSION, *TALK))
    seen.append(await pool.fetchval(VERSION, *TALK))
    assert len(set(seen)) == 4


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE conversation_index SET project = 'DAAS'",
        "DELETE FROM conversation_index",
        "TRUNCATE conversation_index",
    ],
    ids=["moved", "deleted", "emptied"],
)
async def test_every_change_is_noted(pool: Pool, change: str) -> None:
    await pool.execute(ROW, *TALK)
    before = await pool.fetchval(VERSION, *TALK)
    await pool.execute(change)
    assert await pool.fetchval(VERSION, *TALK) not in {before, None}
    assert (await pool.fetchval(VERSION, *DAAS) is not None) is ("DAAS" in change)


async def test_folded_events_are_the_same_version(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read anew for it; what is being written meanwhile counts when it is there."""
    monkeypatch.setattr(projects, "MAX_EVENTS", 3)
    for _ in range(4):
        await pool.execute(ROW, *TALK)
    for _ in range(3):
        await pool.execute(ROW, *DAAS)
    versions = "SELECT array_agg(version ORDER BY project) FROM ibid.project_part"
    async with tools(pool, 1) as (slow,):
        await slow.execute(ROW, *TALK)
        before = await pool.fetchval(versions)
        await EventStore(pool).fold()
        assert await pool.fetchval(COUNT) == 1 + 3
        assert await pool.fetchval(versions) == before
    assert await pool.fetchval(versions) != before


async def test_what_was_derived_of_rows_that_went_is_dropped(pool: Pool) -> None:
    """Whoever removed them; nothing where their ids are of another type, for then none is kept."""
    ids = await chunked(pool, Scope(), "THN", ["x", "y"])
    await keep(pool, CHUNK, {key: Analysed(b"", 1) for key in ids})
    await pool.execute("DELETE FROM public.code_index WHERE id = $1::uuid", ids[0])
    await EventStore(pool).tidy()
    assert [row["id"] for row in await pool.fetch("SELECT id FROM ibid.project_words")] == ids[1:]
    await pool.execute("ALTER TABLE public.code_index ALTER COLUMN id TYPE text")
    await EventStore(pool).tidy()


async def test_an_erasure_takes_them_along(pool: Pool) -> None:
    seen = set()
    for _ in range(3):
        await pool.execute(ROW, *ADAS)
        seen.add(await pool.fetchval(VERSION, *ADAS))
    await pool.execute(ROW, *TALK)
    holding = next(each for each in users.record_holdings(pool) if each.name == "conversations")
    assert await holding.erase(Scope(user_id="ada")) == 3
    assert await pool.fetchval(COUNT) == 1
    for _ in range(3):
        await pool.execute(ROW, *ADAS)
        seen.add(await pool.fetchval(VERSION, *ADAS))
    assert len(seen) == 6


async def test_an_erasure_leaves_what_is_committed_after_it(pool: Pool) -> None:
    await pool.execute(ROW, *ADAS)
    holding = next(each for each in users.record_holdings(pool) if each.name == "conversations")
    async with tools(pool, 1) as (slow,):
        await slow.execute(ROW, *ADAS)
        assert await holding.erase(Scope(user_id="ada")) == 1
    assert await pool.fetchval(COUNT) == await pool.fetchval("SELECT count(*) FROM conversation_index") == 1


async def test_an_erasure_takes_what_a_writer_told_meanwhile(pool: Pool) -> None:
    """It waited for the row, and took it: nothing is left to be told of."""
    await pool.execute(ROW, *ADAS)
    holding = next(each for each in users.record_holdings(pool) if each.name == "conversations")
    async with tools(pool, 1) as (slow,):
        await slow.execute("UPDATE conversation_index SET title = 'anew'")
        erasing = asyncio.create_task(holding.erase(Scope(user_id="ada")))
        done, _ = await asyncio.wait({erasing}, timeout=0.3)
        assert not done
    assert await erasing == 1
    assert await pool.fetchval(COUNT) == 0


async def test_nothing_is_folded_while_somebody_is_erased(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is folded then would be new to the erasure, and stay with his name."""
    monkeypatch.setattr(projects, "MAX_EVENTS", 1)
    for _ in range(2):
        await pool.execute(ROW, *ADAS)
    async with transaction(pool) as erasing:
        await projects.unfolded(erasing)
        await EventStore(pool).fold()
        assert await pool.fetchval(COUNT) == 2
    await EventStore(pool).fold()
    assert await pool.fetchval(COUNT) == 1


async def test_a_role_without_rights_on_ours_writes_theirs(dsn: str, pool: Pool, cluster: Cluster) -> None:
    database = dsn.split("?", maxsplit=1)[0].rpartition("/")[2]
    async with AsyncExitStack() as stack:
        admin = await asyncpg.connect(cluster.places.dsn("postgres", database))
        stack.push_async_callback(admin.close)
        await admin.execute(f"CREATE ROLE {database}; GRANT ALL ON conversation_index TO {database}")
        stack.push_async_callback(
            admin.execute, f"RESET ROLE; DROP OWNED BY {database}; DROP ROLE {database}"
        )
        await admin.execute(f"SET ROLE {database}; SET search_path = ''")
        seen = set()
        for change in (
            "INSERT INTO public.conversation_index (project, title) VALUES ('THN', 'Ferry')",
            "UPDATE public.conversation_index SET title = 'Bread'",
            "DELETE FROM public.conversation_index",
            "TRUNCATE public.conversation_index",
        ):
            await admin.execute(change)
            seen.add(await pool.fetchval(VERSION, *TALK))
        assert len(seen - {None}) == 4
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await admin.fetch("SELECT FROM ibid.project_event")


async def read(pool: Pool, kept: EmbeddedRow, facts: dict[str, str]) -> asyncpg.Record:
    """A row of these columns, as those who embed it see it."""
    names, values = ", ".join(facts) or kept.id, [f"${n}" for n in range(1, len(facts) + 1)]
    given = ", ".join(values) or "gen_random_uuid()"
    await pool.execute(f"INSERT INTO {kept.table} ({names}) VALUES ({given})", *facts.values())  # noqa: S608
    row = await pool.fetchrow(f"SELECT {kept.says} AS says, {kept.columns} FROM {kept.table}")  # noqa: S608
    assert row
    return row


def named(given: EmbeddedRow | dict[str, str] | str) -> str:
    return given.kind if isinstance(given, EmbeddedRow) else str(given)


A, B, C = (KnowledgeNote(title, "Text.") for title in "ABC")
BEFORE = Knowledge("Overview.", "Rules.", (A, B))


@pytest.mark.parametrize(
    ("change", "after"),
    [
        pytest.param(KnowledgeChange(), BEFORE, id="nothing"),
        pytest.param(
            KnowledgeChange(overview=""), Knowledge("", "Rules.", (A, B)), id="an empty text empties"
        ),
        pytest.param(KnowledgeChange(rules="New."), Knowledge("Overview.", "New.", (A, B)), id="a text"),
        pytest.param(
            KnowledgeChange(notes=(C,)), Knowledge("Overview.", "Rules.", (A, B, C)), id="a note more"
        ),
        pytest.param(
            KnowledgeChange(notes=(KnowledgeNote("A", "Other."),)),
            Knowledge("Overview.", "Rules.", (KnowledgeNote("A", "Other."), B)),
            id="a note of a title that is there",
        ),
    ],
)
def test_what_is_given_replaces_what_was_there(change: KnowledgeChange, after: Knowledge) -> None:
    assert merged(BEFORE, change) == after
