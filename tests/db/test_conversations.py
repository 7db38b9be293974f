"""Conversations and dreams in the record: in our table, and in those that other tools made."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from app.db.conversations import (
    BRIEF,
    ROWS,
    Conversation,
    ConversationDraft,
    ConversationOutcome,
    ConversationStore,
    Written,
    derived,
    entry,
    shortened,
)
from app.db.pool import Pool
from app.db.projects import TableColumn
from app.db.users import ErasureStore
from app.errors import InvalidField, KeptElsewhere, RemovedMeanwhile
from app.types import Embedding, Scope

SPACE = "fake@8"
THN = Scope("acme", project="THN")
ADA = replace(THN, owner="ada", user_id="ada")
PLAIN = Scope(project="THN")
UUID = "0c9d1a52-3e5f-4d0f-9a53-5d0e8a432c0f"
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DRAFT = ConversationDraft(
    id="chat-1",
    title="Network setup",
    tags=("vlan", 'a "quoted" tag\\'),
    key_entities=(),
    summary_short="Short.",
    summary_detailed="Detailed.",
    indexed_at=NOON,
)
ENDLESS = """
    INSERT INTO public.conversation_index (tenant, project, indexed_at, title)
    VALUES ('acme', 'THN', 'infinity', 'end'), ('acme', 'THN', '-infinity', 'start')
"""
COUNT = "SELECT count(*) FROM public.conversation_index"


def vector(seed: int, dim: int = 8) -> Embedding:
    values = np.random.default_rng(seed).normal(size=dim)
    return (values / np.linalg.norm(values)).astype("<f4").tobytes()


async def keep(
    store: ConversationStore, *drafts: ConversationDraft, scope: Scope = THN, space: str = SPACE, dim: int = 8
) -> list[Written]:
    known = await store.known(scope, [entry(draft) for draft in drafts], space)
    vectors = [vector(at, dim) for at in range(len(drafts))]
    return await store.write(scope, [entry(draft) for draft in drafts], vectors, space, known.began)


def outcomes(written: Sequence[Written]) -> list[str]:
    return [str(outcome) for _, outcome in written]


@pytest.fixture
def store(pool: Pool) -> ConversationStore:
    return ConversationStore(pool, {"DAAS"})


async def test_a_row_is_kept_as_it_is(store: ConversationStore, pool: Pool) -> None:
    """All of it; what was not given is null; its words are there for the next search."""
    [(kept, outcome)] = await keep(store, DRAFT)

    tags = ("vlan", 'a "quoted" tag\\')
    assert outcome is ConversationOutcome.CREATED
    assert kept == Conversation(
        derived(THN, "chat-1"), "THN", "Network setup", tags, (), "Short.", "Detailed.", None, NOON
    )
    assert await store.get(THN, kept.session_id) == (kept, True)
    assert await store.get(THN, "chat-1") == (kept, True)
    row = await pool.fetchrow("SELECT * FROM public.conversation_index")
    assert row is not None
    assert (row["space"], row["embedding"], row["embedding_ibid"]) == (SPACE, vector(0), None)
    assert (
        await pool.fetchval("SELECT id FROM ibid.project_words WHERE kind = 'conversations'")
        == kept.session_id
    )


async def test_the_same_again_is_nothing(store: ConversationStore, pool: Pool) -> None:
    """The row is not touched, whether or not its id was given; its vector is of another space: it is."""
    bare = replace(DRAFT, id=None)
    await keep(store, DRAFT, bare)
    before = await pool.fetch("SELECT xmin::text FROM public.conversation_index ORDER BY session_id")

    assert outcomes(await keep(store, DRAFT, bare)) == ["unchanged", "unchanged"]
    assert await pool.fetch("SELECT xmin::text FROM public.conversation_index ORDER BY session_id") == before
    assert outcomes(await keep(store, DRAFT, space="other@8")) == ["replaced"]
    assert await pool.fetchval(COUNT) == 2


@pytest.mark.parametrize(
    "change", ["summary_detailed = 'sourdough'", "tags = '[]'", f"embedding = '{[9] * 8}'"]
)
async def test_what_another_tool_has_written_over_is_written_again(
    store: ConversationStore, pool: Pool, change: str
) -> None:
    """It says something else by now, or its vector does: the same is not the same any more."""
    await keep(store, DRAFT)
    await pool.execute(f"UPDATE conversation_index SET {change}")  # noqa: S608 - the test's own
    row = await pool.fetchrow("SELECT sha256, space FROM conversation_index")
    assert row is not None
    assert tuple(row) == (None, None)

    [(kept, outcome)] = await keep(store, DRAFT)

    assert (outcome, kept.summary_detailed, kept.tags[:1]) == (
        ConversationOutcome.REPLACED,
        "Detailed.",
        ("vlan",),
    )
    assert outcomes(await keep(store, DRAFT)) == ["unchanged"]


async def test_an_id_again_replaces(store: ConversationStore, pool: Pool) -> None:
    """What is not given any more is gone, the time is now, and vectors in the making are out of date."""
    [(first, _)] = await keep(store, DRAFT)
    await pool.execute(
        "INSERT INTO ibid.text_next VALUES ('next@8', 'conversation', $1, $2)", first.session_id, vector(9)
    )

    [(kept, outcome)] = await keep(store, ConversationDraft(id="chat-1", title="Another"))

    assert outcome is ConversationOutcome.REPLACED
    assert (kept.session_id, kept.title, kept.tags, kept.summary_short) == (
        first.session_id,
        "Another",
        (),
        None,
    )
    assert kept.indexed_at is not None
    assert kept.indexed_at > NOON
    assert await pool.fetchval("SELECT count(*) FROM ibid.text_next") == 0
    assert await pool.fetchval(COUNT) == 1


@pytest.mark.parametrize("draft", [DRAFT, replace(DRAFT, id=None)], ids=["named", "unnamed"])
async def test_writers_that_race_make_one_row(
    store: ConversationStore, pool: Pool, draft: ConversationDraft
) -> None:
    written = await asyncio.gather(*(keep(store, draft) for _ in range(5)))

    assert sorted(outcomes([each for [each] in written])) == ["created", *["unchanged"] * 4]
    assert await pool.fetchval(COUNT) == 1


async def test_all_of_a_request_or_none(store: ConversationStore, pool: Pool) -> None:
    await pool.execute(
        "ALTER TABLE public.conversation_index ADD CONSTRAINT short CHECK (length(title) < 20)"
    )

    with pytest.raises(InvalidField, match="short"):
        await keep(store, DRAFT, ConversationDraft(title="a title that is too long for them"))
    assert await pool.fetchval(COUNT) == 0


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(THN, tenant="other"), id="another tenant"),
        pytest.param(replace(THN, project="Lab"), id="another project"),
        pytest.param(replace(THN, project="thn"), id="a name in other letters"),
    ],
)
async def test_a_row_is_where_it_was_written(store: ConversationStore, other: Scope) -> None:
    [(kept, _)] = await keep(store, DRAFT)

    assert await store.get(other, kept.session_id) is None
    assert await store.get(other, "chat-1") is None
    assert (await store.list(other, cursor=None, limit=9))[0] == []
    assert await store.remove(other, kept.session_id) == 0
    assert await store.remove(other, None) == 0
    assert outcomes(await keep(store, DRAFT, scope=other)) == ["created"]
    assert await store.get(THN, kept.session_id) == (kept, True)


async def test_a_user_sees_his_own_and_what_is_shared(store: ConversationStore) -> None:
    """A name means his own first; another user's is not there, for the tenant key either."""
    [(shared, _)] = await keep(store, DRAFT)
    [(own, _)] = await keep(store, DRAFT, scope=ADA)
    bob = replace(THN, owner="bob", user_id="bob")

    assert await store.get(ADA, "chat-1") == (own, True)
    assert await store.get(ADA, shared.session_id) == (shared, False)
    assert await store.get(bob, "chat-1") == (shared, False)
    assert await store.get(bob, own.session_id) is None
    assert await store.get(THN, own.session_id) is None
    assert {row.session_id for row in (await store.list(ADA, cursor=None, limit=9))[0]} == {
        shared.session_id,
        own.session_id,
    }
    assert [row.session_id for row in (await store.list(THN, cursor=None, limit=9))[0]] == [shared.session_id]


async def test_a_uuid_of_the_default_tenant_stays(store: ConversationStore) -> None:
    """Others get one of their own, and so does a row whose UUID somebody else has."""
    named = replace(DRAFT, id=UUID.upper())
    [(foreign, _)] = await keep(store, named, scope=THN)
    [(kept, _)] = await keep(store, named, scope=PLAIN)
    lab = replace(PLAIN, project="Lab")
    [(beside, _)] = await keep(store, named, scope=lab)

    assert (kept.session_id, foreign.session_id) == (UUID, derived(THN, UUID.upper()))
    assert beside.session_id == derived(lab, UUID.upper())
    assert outcomes(await keep(store, replace(named, title="New"), scope=lab)) == ["replaced"]
    assert await store.get(lab, UUID.upper()) is not None


async def test_a_list_comes_in_pages(store: ConversationStore, pool: Pool) -> None:
    """Newest first, those without a time last; of equal times each once; long texts cut."""
    drafts = [replace(DRAFT, id=str(n), indexed_at=NOON.replace(hour=n // 2)) for n in range(6)]
    await keep(store, *drafts, ConversationDraft(id="none", title="x" * (BRIEF + 1)))
    await pool.execute("UPDATE public.conversation_index SET indexed_at = NULL WHERE title LIKE 'x%'")
    await pool.execute(ENDLESS)

    seen: list[Conversation] = []
    cursor: str | None = None
    while len(seen) < 20:
        page, cursor = await store.list(THN, cursor=cursor, limit=2)
        seen += page
        if cursor is None:
            break

    hours = [row.indexed_at.hour for row in seen[1:7] if row.indexed_at]
    assert hours == [2, 2, 1, 1, 0, 0]
    assert len({row.session_id for row in seen}) == len(seen) == 9
    assert seen[0].title == "end"
    assert {len(row.title or "") for row in seen[7:]} == {5, BRIEF}
    with pytest.raises(InvalidField):
        await store.list(THN, cursor="nonsense", limit=2)


async def test_a_removed_row_leaves_nothing(store: ConversationStore, pool: Pool) -> None:
    [(kept, _), (other, _)] = await keep(store, DRAFT, replace(DRAFT, id="chat-2"))
    for row in (kept, other):
        await pool.execute(
            "INSERT INTO ibid.text_next VALUES ('n@8', 'conversation', $1, $2)", row.session_id, vector(9)
        )

    assert await store.remove(THN, kept.session_id) == 1
    assert await store.remove(THN, kept.session_id) == 0

    for table in ("project_words", "text_next"):
        assert await pool.fetchval(f"SELECT array_agg(id) FROM ibid.{table}") == [other.session_id]  # noqa: S608


async def test_a_project_is_emptied_by_its_owner(store: ConversationStore) -> None:
    await keep(store, DRAFT, replace(DRAFT, id="chat-2"))
    await keep(store, DRAFT, scope=ADA)

    assert await store.remove(ADA, None) == 1
    assert await store.remove(ADA, None) == 0
    assert len((await store.list(THN, cursor=None, limit=9))[0]) == 2


@pytest.mark.parametrize("adopted", [False, True], ids=["as it was", "adopted"])
async def test_what_another_tool_wrote_is_only_read(
    store: ConversationStore, pool: Pool, *, adopted: bool
) -> None:
    """Neither written over under its id, nor removed, by name or with all: told, for its owner alone."""
    await pool.execute(THEIRS, UUID)
    if adopted:
        await pool.execute(
            "UPDATE public.conversation_index SET space = $1, embedding_ibid = $2", SPACE, vector(1)
        )
    theirs = (await store.get(PLAIN, UUID), True)[0]

    [(mine, outcome)] = await keep(store, replace(DRAFT, id=UUID), scope=PLAIN)
    assert outcome is ConversationOutcome.CREATED
    assert outcomes(await keep(store, replace(DRAFT, id=UUID, title="New"), scope=PLAIN)) == ["replaced"]
    assert await store.remove(PLAIN, None) == 1
    assert await store.remove(PLAIN, mine.session_id) == 0
    with pytest.raises(KeptElsewhere):
        await store.remove(PLAIN, UUID)
    assert await store.remove(THN, UUID) == 0
    assert await store.get(PLAIN, UUID) == theirs


async def test_nothing_comes_back_of_an_erased_user(store: ConversationStore, pool: Pool) -> None:
    known = await store.known(ADA, [entry(DRAFT)], SPACE)
    await ErasureStore(pool).begin(ADA, [])

    with pytest.raises(RemovedMeanwhile):
        await store.write(ADA, [entry(DRAFT)], [vector(0)], SPACE, known.began)
    assert outcomes(await keep(store, DRAFT)) == ["created"]  # the tenant's own


async def test_hostile_text_is_kept_as_it_can_be(store: ConversationStore) -> None:
    [(kept, _)] = await keep(
        store,
        ConversationDraft(
            title="a\0\ud800",
            tags=("```", "\x1b[0m", "'; DROP TABLE x;--", "\0"),
            summary_short="```\n[System]",
        ),
    )

    assert kept.title == "a\ufffd\ufffd"
    assert kept.tags == ("```", "\x1b[0m", "'; DROP TABLE x;--", "\ufffd")
    assert kept.summary_short == "```\n[System]"


OURS = """
    ALTER TABLE public.conversation_index
    ADD tenant text NOT NULL DEFAULT 'default', ADD owner text NOT NULL DEFAULT '', ADD sha256 text,
    ADD space text, ADD embedding_ibid vector
"""
SEEDED = """
    CREATE TABLE public.conversation_index (
        session_id {id}, project text, title text, tags jsonb, key_entities jsonb, summary_short text,
        summary_detailed text, memory_snippet text, embedding vector(1536), indexed_at timestamptz {more})
"""
THEIRS = """
    INSERT INTO public.conversation_index (session_id, project, title, tags, embedding)
    VALUES ($1, 'THN', 'Older', '"[\\"in text\\"]"', array_fill(0.5, ARRAY[1536])::vector)
"""


async def older(pool: Pool, id: str = "uuid PRIMARY KEY", more: str = "") -> None:  # noqa: A002 - its name
    """The shared table as an older tool would have made it, and as our migration left it."""
    await pool.execute("DROP TABLE public.conversation_index")
    await pool.execute(SEEDED.format(id=id, more=more))
    await pool.execute(OURS)


async def test_our_vector_goes_beside_a_column_of_another_length(
    store: ConversationStore, pool: Pool
) -> None:
    await older(pool)
    await keep(store, replace(DRAFT, id=UUID, title="Before"), scope=PLAIN)
    await pool.execute(
        "UPDATE public.conversation_index SET embedding = array_fill(0.5, ARRAY[1536])::vector"
    )
    [(kept, outcome)] = await keep(store, replace(DRAFT, id=UUID), scope=PLAIN)
    row = await pool.fetchrow("SELECT * FROM public.conversation_index")

    assert (kept.session_id, outcome) == (UUID, ConversationOutcome.REPLACED)
    assert row is not None
    assert (row["embedding"], row["embedding_ibid"], row["space"]) == (None, vector(0), SPACE)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        pytest.param("text", "their-7", id="text"),
        pytest.param("character varying(40)", "their-7", id="text of a length"),
        pytest.param("text PRIMARY KEY", UUID, id="text, a UUID"),
        pytest.param("bigint PRIMARY KEY", "7", id="numbers"),
        pytest.param("numeric", "7", id="long numbers"),
    ],
)
async def test_ids_of_other_types_are_found_again(
    store: ConversationStore, pool: Pool, kind: str, given: str
) -> None:
    """Without a unique index, too: what is new gets one that fits, theirs stays as it is."""
    await older(pool, kind)
    insert = THEIRS.replace("$1", f"$1::text::{kind.partition(' PRIMARY')[0]}")
    await pool.execute(insert, given)

    [(beside, first), (new, second)] = await keep(
        store, replace(DRAFT, id=given), replace(DRAFT, id="new"), scope=PLAIN
    )

    assert (first, second) == (ConversationOutcome.CREATED, ConversationOutcome.CREATED)
    assert await store.get(PLAIN, given) == (beside, True)
    assert await store.remove(PLAIN, beside.session_id) == 1
    assert outcomes(await keep(store, replace(DRAFT, id="new"), scope=PLAIN)) == ["unchanged"]
    assert await store.get(PLAIN, "new") == (new, True)
    assert await store.remove(PLAIN, new.session_id) == 1
    assert await pool.fetchval(COUNT) == 1


async def test_columns_of_theirs_are_filled(store: ConversationStore, pool: Pool) -> None:
    more = """, user_id text NOT NULL, turns integer NOT NULL, seen boolean NOT NULL, at timestamptz NOT NULL,
        extra jsonb NOT NULL, kinds text[] NOT NULL, kind text NOT NULL DEFAULT 'chat', free text"""
    await older(pool, more=more)
    for name in ("title", "summary_short", "tags", "embedding"):
        await pool.execute(f"ALTER TABLE public.conversation_index ALTER {name} SET NOT NULL")
    await keep(store, ConversationDraft(memory_snippet="Only this."))
    row = await pool.fetchrow("SELECT * FROM public.conversation_index")

    assert row is not None
    assert (row["user_id"], row["turns"], row["seen"], row["extra"], row["kinds"]) == ("", 0, False, "{}", [])
    assert (row["kind"], row["free"], row["title"], row["tags"]) == ("chat", None, "", "[]")
    assert np.count_nonzero(np.frombuffer(row["embedding"], "<f4")) == 0
    assert row["embedding_ibid"] == vector(0)


async def test_a_column_that_nobody_can_fill_is_named(store: ConversationStore, pool: Pool) -> None:
    await older(pool, more=", place point NOT NULL")

    with pytest.raises(InvalidField, match="place"):
        await keep(store, DRAFT)


async def test_texts_are_cut_to_their_columns(store: ConversationStore, pool: Pool) -> None:
    await older(pool)
    await pool.execute(
        "ALTER TABLE public.conversation_index ALTER title TYPE varchar(7), ALTER key_entities TYPE text,"
        " ALTER indexed_at TYPE timestamp, ALTER tags TYPE text[] USING NULL"
    )
    [(kept, _)] = await keep(store, replace(DRAFT, key_entities=("Mac Mini",)))

    assert (kept.title, kept.tags, kept.key_entities) == ("Network", DRAFT.tags, ("Mac Mini",))
    assert kept.indexed_at == NOON
    assert outcomes(await keep(store, replace(DRAFT, key_entities=("Mac Mini",)))) == ["unchanged"]


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        pytest.param('["a", 1, null]', ("a", "1"), id="a list"),
        pytest.param('"[\\"in text\\"]"', ("in text",), id="a list in a text"),
        pytest.param('"a, b"', (), id="a text"),
        pytest.param('{"a": 1}', (), id="an object"),
        pytest.param("null", (), id="null"),
        pytest.param(json.dumps(["x" * 200_000]), (), id="far too much"),
    ],
)
async def test_what_others_left_in_tags_is_read(
    store: ConversationStore, pool: Pool, stored: str, told: tuple[str, ...]
) -> None:
    await pool.execute(
        "INSERT INTO public.conversation_index (project, tags) VALUES ('THN', $1::text::jsonb)", stored
    )

    [row], _ = await store.list(PLAIN, cursor=None, limit=9)

    assert row.tags == told


def test_values_are_cast_to_their_columns() -> None:
    """Cut to their length; lists as the column has them; never null where that is not allowed."""
    kinds = {
        "title": TableColumn("title", "character varying(9)", required=True, filled=False),
        "tags": TableColumn("tags", "jsonb", required=True, filled=False),
        "key_entities": TableColumn("key_entities", "text[]", required=False, filled=False),
        "indexed_at": TableColumn("indexed_at", "timestamp without time zone", required=False, filled=True),
        "embedding": TableColumn("embedding", "vector(1536)", required=False, filled=False),
        **{name: TableColumn(name, "text", required=False, filled=False) for name in SUMMARIES},
    }

    told = ROWS.values(kinds, 8)

    assert told["title"] == "coalesce(given.title::character varying(9), '')"
    assert told["tags"] == "coalesce(given.tags, '[]')::jsonb"
    assert "jsonb_array_elements_text(given.key_entities::jsonb)" in told["key_entities"]
    assert told["indexed_at"].endswith("::timestamp without time zone")
    assert (told["summary_short"], told["embedding_ibid"]) == ("given.summary_short::text", "given.vector")


SUMMARIES = ("summary_short", "summary_detailed", "memory_snippet")


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [
        pytest.param("Short.", 6, "Short.", id="it fits"),
        pytest.param("One. Two. Three is long.", 12, "One. Two.", id="whole sentences"),
        pytest.param("A. Then comes a long sentence", 20, "A. Then comes a…", id="one that says too little"),
        pytest.param("Version 3.11 is out now", 14, "Version 3.11…", id="a point inside of a number"),
        pytest.param("x" * 30, 10, "x" * 9 + "…", id="one word"),
        pytest.param("雨が降った。そして止んだ。", 8, "雨が降った。", id="without blanks"),
    ],
)
def test_texts_are_cut_where_something_ends(text: str, most: int, cut: str) -> None:
    assert shortened(text, most) == cut
