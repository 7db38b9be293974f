"""Memories in the record: ids, rows, writers that race, what was just heard. Reference texts; Vantage cards
and facts."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.answer import Role, Turn
from app.db import corpus as module
from app.db.answers import AnswerStore
from app.db.cards import Card, CardDraft, CardShape, CardStore
from app.db.corpus import CorpusStore, Reference, ReferenceDraft, placed
from app.db.memories import (
    COLUMNS,
    DAEMONS,
    GRAVITY,
    SAYINGS,
    WRITE,
    Draft,
    Memory,
    MemoryOutcome,
    MemoryStore,
    RecentTextStore,
    Written,
    analysed,
    memory,
    new_memory,
    written_row,
)
from app.db.pool import Pool
from app.db.votes import VoteStore
from app.errors import InvalidField, RemovedMeanwhile
from app.types import Entry, Reason, Scope, Trace, Verdict
from tests.db.test_answers import ANSWER
from tests.fakes.services import ADA, NOON, FakeCards, kept
from tests.fakes.uploads import SPACE, vector

LATER = datetime(2999, 1, 1, tzinfo=UTC)
"""After every erasure."""
BOB = replace(ADA, user_id="bob")
OTHERS = [
    pytest.param(BOB, id="another user"),
    pytest.param(replace(ADA, tenant="other"), id="another tenant"),
]
CARD = Draft("likes rest", kind=GRAVITY, origin=DAEMONS[0], fields={"weights": {"rest": 0.5}})
VERSION = "SELECT version FROM ibid.memory_user WHERE tenant = 'acme' AND user_id = 'ada'"


async def admitted(pool: Pool, *drafts: Draft, scope: Scope = ADA, since: datetime = LATER) -> list[Written]:
    vectors, counts = [vector(draft.text) for draft in drafts], [len(draft.text) for draft in drafts]
    return await MemoryStore(pool).admit(scope, drafts, vectors, counts, SPACE.name, since=since)


async def written(pool: Pool, *drafts: Draft, scope: Scope = ADA) -> list[Memory]:
    outcomes = await admitted(pool, *drafts, scope=scope)
    return [each.memory for each in outcomes if each.memory and each.outcome is MemoryOutcome.CREATED]


async def listed(pool: Pool, scope: Scope = ADA) -> list[str]:
    return [memory.text for memory in (await MemoryStore(pool).list(scope, cursor=None, limit=99))[0]]


async def test_a_memory_is_kept_with_all_it_came_with(pool: Pool) -> None:
    draft = Draft("I moved.", "diary", ("home",), "journal", "work", "t1", NOON, {"mood": ["good", 1]})

    (memory,) = await written(pool, draft)

    assert memory == Memory(
        memory.id, "ada", "I moved.", 8, NOON, "diary", ("home",), "journal", "work", "t1", 1, draft.fields
    )
    assert await MemoryStore(pool).get(ADA, memory.id) == memory


@pytest.mark.parametrize("other", OTHERS)
async def test_another_s_words_are_another_s_memory(pool: Pool, other: Scope) -> None:
    (memory,) = await written(pool, Draft("I moved."))
    store = MemoryStore(pool)

    assert (await admitted(pool, Draft("I moved."), scope=other))[0].outcome is MemoryOutcome.CREATED
    assert await store.get(other, memory.id) is None
    assert not await store.remove(other, memory.id)
    assert await listed(pool) == ["I moved."]


async def test_a_namespace_has_memories_of_its_own(pool: Pool) -> None:
    await written(pool, Draft("I moved."))

    (there,) = await admitted(pool, Draft("I moved.", vantage_id="work"))

    assert there.outcome is MemoryOutcome.CREATED
    assert list(await MemoryStore(pool).known(ADA, [Draft("I moved.", vantage_id="home")])) == []


async def test_writers_who_race_get_places_of_their_own(pool: Pool) -> None:
    drafts = [Draft(f"note {n % 15}", thread_id="t1") for n in range(20)]

    outcomes = await asyncio.gather(*(written(pool, draft) for draft in drafts))

    places = [memory.place for found in outcomes for memory in found]
    rows = await pool.fetch("SELECT place FROM ibid.memory ORDER BY place")
    assert len(rows) == 15
    assert len({row["place"] for row in rows}) == 15
    assert len(places) >= 15


async def test_a_card_of_a_daemon_replaces_itself(pool: Pool) -> None:
    (first,) = await written(pool, CARD)

    (second,) = await written(pool, replace(CARD, text="likes play", fields={"weights": {}}))

    assert (second.id, second.text, second.fields) == (first.id, "likes play", {"weights": {}})
    assert await listed(pool) == ["likes play"]


async def test_every_change_that_a_search_sees_grows_the_version(pool: Pool) -> None:
    seen = []
    (memory,) = await written(pool, Draft("I moved."))
    seen.append(await pool.fetchval(VERSION))
    await MemoryStore(pool).remove(ADA, memory.id)
    seen.append(await pool.fetchval(VERSION))
    await written(pool, Draft("I moved."), Draft("i moved."))
    seen.append(await pool.fetchval(VERSION))
    await written(pool, Draft("I moved."))

    assert [*seen, await pool.fetchval(VERSION)] == [1, 2, 3, 3]


async def test_a_removed_memory_is_gone_with_its_votes(pool: Pool) -> None:
    (memory,) = await written(pool, Draft("I moved."))
    await VoteStore(pool).cast(ADA, memory.id, 1, answer_id="a")
    store = MemoryStore(pool)

    assert await store.remove(ADA, memory.id)

    assert not await store.remove(ADA, memory.id)
    assert await store.get(ADA, memory.id) is None
    assert await listed(pool) == []
    for table in ("memory", "memory_vote"):
        assert await pool.fetchval(f"SELECT count(*) FROM ibid.{table}") == 0  # noqa: S608 - the two above


async def test_pages_hold_each_once_newest_first(pool: Pool) -> None:
    drafts = [Draft(f"n{n}", created_at=NOON + timedelta(hours=n // 3)) for n in range(10)]
    await written(pool, *drafts)
    store, cursor, pages = MemoryStore(pool), None, []
    while True:
        page, cursor = await store.list(ADA, cursor=cursor, limit=3)
        pages.append(page)
        if cursor is None:
            break

    times = [memory.created_at for page in pages for memory in page]
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert times == sorted(times, reverse=True)
    assert len({memory.id for page in pages for memory in page}) == 10


async def test_nothing_asked_for_before_an_erasure_is_kept(pool: Pool) -> None:
    await pool.execute(
        "INSERT INTO ibid.memory_user (tenant, user_id, erased_at) VALUES ('acme', 'ada', $1)", NOON
    )

    with pytest.raises(RemovedMeanwhile):
        await admitted(pool, Draft("before"), since=NOON - timedelta(seconds=1))

    assert (await admitted(pool, Draft("since"), since=NOON + timedelta(seconds=1)))[0].memory
    assert (await admitted(pool, Draft("an import", created_at=NOON - timedelta(days=9))))[0].memory


async def test_memories_are_a_user_s(pool: Pool) -> None:
    with pytest.raises(ValueError, match="user"):
        await MemoryStore(pool).list(Scope("acme"), cursor=None, limit=1)
    assert not await MemoryStore(pool).remove(ADA, "\0")
    assert await MemoryStore(pool).get(ADA, "\0") is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(kept(), id="plain"),
        pytest.param(
            kept(tags=("a", "b"), vantage_id="w", thread_id="t", place=7, kind="k"), id="all fields"
        ),
        pytest.param(kept(fields={"weights": {"sleep": 0.25}, "why": None}), id="a card"),
        pytest.param(kept("Ærø 兔 🐇"), id="any script"),
    ],
)
async def test_a_row_reads_back_as_the_memory(pool: Pool, given: Memory) -> None:
    [found] = analysed([given.text])
    await pool.execute(WRITE, *written_row("acme", SPACE.name, given, vector("x"), found))

    row = await pool.fetchrow(f"SELECT {COLUMNS} FROM ibid.memory")  # noqa: S608 - a constant of ours

    assert row is not None
    assert memory(row) == given


def test_what_postgres_cannot_hold_is_mended() -> None:
    draft = Draft("a\0b\ud800")

    made_of = new_memory(draft, "id", "ada", tokens=1, at=NOON, place=1)

    assert made_of == replace(kept("a\ufffdb\ufffd"), id="id", tokens=1)


serial = iter(range(1_000))


async def answered(
    pool: Pool, text: str, *, scope: Scope = ADA, at: datetime = NOON, recalled: Sequence[str] = ()
) -> None:
    """A question and its answer, with what the answer recalled."""
    entries = tuple(
        Entry("memories", name, f"memory#{n}", 0.5, 0.5, Verdict.PACKED) for n, name in enumerate(recalled)
    )
    answer = replace(
        ANSWER,
        id=f"01998f3a-9d21-7e40-a4b3-{next(serial):012d}",
        created_at=at,
        trace=Trace(Reason.OK, entries=entries),
    )
    turns = [Turn(Role.USER, "why?", at), Turn(Role.ASSISTANT, text, at + timedelta(seconds=1))]
    await AnswerStore(pool).keep(scope, answer, turns)


@pytest.mark.parametrize(
    ("scope", "thread"),
    [
        pytest.param(ADA, "t2", id="another thread"),
        pytest.param(ADA, None, id="the default thread"),
        pytest.param(replace(ADA, tenant="other"), "t1", id="another tenant"),
        pytest.param(replace(ADA, owner="ada"), "t1", id="another key"),
        pytest.param(replace(ADA, user_id="bob"), "t1", id="another user in the same thread"),
    ],
)
async def test_elsewhere_nothing_was_heard(pool: Pool, scope: Scope, thread: str | None) -> None:
    (memory,) = await written(pool, Draft("Juno is a rabbit."))
    await answered(pool, "so", recalled=[memory.id])

    assert await RecentTextStore(pool).recent(scope, thread, None) == []


async def test_a_session_is_a_thread_too(pool: Pool) -> None:
    """As chat names it; what was said there to nobody in particular was heard by who was there."""
    await answered(pool, "hello", scope=Scope("acme", session_id="s1", thread_id="s1"))

    assert await RecentTextStore(pool).recent(ADA, "s1", None) == ["hello"]


async def test_long_ago_is_forgotten(pool: Pool) -> None:
    await pool.execute(
        "INSERT INTO public.chat_log (tenant, owner, thread_id, user_id, role, content, created_at)"
        " SELECT 'acme', '', 't1', 'ada', 'assistant', n::text, $1::timestamptz + n * interval '1 minute'"
        " FROM generate_series(1, 130) AS n",
        NOON,
    )

    said = await RecentTextStore(pool).recent(ADA, "t1", None)

    assert said == [str(n) for n in range(130, 130 - SAYINGS, -1)]


ACME, OTHER = Scope("acme"), Scope("other")
CORPUS_VERSION = "SELECT version FROM ibid.collection_version WHERE tenant = 'acme'"


async def texts_admitted(
    pool: Pool, *texts: ReferenceDraft, scope: Scope = ACME, collection: str = "sleep"
) -> list[tuple[Reference, bool]]:
    vectors, counts = [vector(text.text) for text in texts], [len(text.text) for text in texts]
    return await CorpusStore(pool).admit(scope, collection, texts, vectors, counts, space=SPACE.name)


async def text_written(
    pool: Pool, *texts: ReferenceDraft, scope: Scope = ACME, collection: str = "sleep"
) -> Sequence[Reference]:
    return [text for text, _ in await texts_admitted(pool, *texts, scope=scope, collection=collection)]


async def test_a_text_is_kept_with_all_it_came_with(pool: Pool) -> None:
    given = ReferenceDraft("Keep the hours.", "a1", "Hygiene", {"kind": "guide", "n": 2, "tags": ["x"]})

    ((kept, fresh),) = await texts_admitted(pool, given)

    assert fresh
    assert (kept.id, kept.text, kept.title, kept.metadata, kept.tokens) == (
        "a1",
        given.text,
        given.title,
        given.metadata,
        15,
    )
    assert kept.point == placed("acme", "sleep", given)[1]


@pytest.mark.parametrize(
    ("scope", "collection"),
    [pytest.param(OTHER, "sleep", id="tenant"), pytest.param(ACME, "work", id="collection")],
)
async def test_a_text_belongs_to_tenant_and_collection(pool: Pool, scope: Scope, collection: str) -> None:
    (mine,) = await text_written(pool, ReferenceDraft("a", "a1"))
    (theirs,) = await text_written(pool, ReferenceDraft("a", "a1"), scope=scope, collection=collection)

    assert theirs.point != mine.point
    assert await CorpusStore(pool).remove(scope, collection, "a1")
    assert await CorpusStore(pool).remove(ACME, "sleep", "a1")
    assert not await CorpusStore(pool).remove(ACME, "sleep", "a1")


async def test_collections_are_told_in_figures(pool: Pool) -> None:
    await text_written(pool, ReferenceDraft("abc"), ReferenceDraft("de"))
    await text_written(pool, ReferenceDraft("x"), collection="Art")
    await text_written(pool, ReferenceDraft("x"), scope=OTHER, collection="theirs")

    told = await CorpusStore(pool).collections(ACME)

    assert [(shelf.collection, shelf.texts, shelf.tokens) for shelf in told] == [
        ("Art", 1, 1),
        ("sleep", 2, 5),
    ]


async def test_a_tenant_has_as_many_collections_as_it_may(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more is refused, also to writers at the same time; those it has take texts; another tenant has its
    own; one that is removed makes room."""
    monkeypatch.setattr(module, "MAX_COLLECTIONS", 2)
    await text_written(pool, ReferenceDraft("a"), collection="one")

    outcomes = await asyncio.gather(
        *(texts_admitted(pool, ReferenceDraft("a"), collection=name) for name in ("two", "three", "four")),
        return_exceptions=True,
    )

    assert sorted(type(each).__name__ for each in outcomes) == ["TooMany", "TooMany", "list"]
    await texts_admitted(pool, ReferenceDraft("b"), collection="one")
    await texts_admitted(pool, ReferenceDraft("a"), scope=OTHER, collection="five")
    assert await CorpusStore(pool).clear(ACME, "one") == 2
    await texts_admitted(pool, ReferenceDraft("a"), collection="six")


async def test_a_collection_is_cleared_for_its_tenant(pool: Pool) -> None:
    await text_written(pool, ReferenceDraft("a"), ReferenceDraft("b"))
    await text_written(pool, ReferenceDraft("a"), scope=OTHER)
    before = await pool.fetchval(CORPUS_VERSION)

    assert await CorpusStore(pool).clear(ACME, "sleep") == 2
    assert await CorpusStore(pool).clear(ACME, "sleep") == 0
    assert await pool.fetchval(CORPUS_VERSION) == before + 1
    assert len(await CorpusStore(pool).collections(OTHER)) == 1


TENANT = Scope("acme", vantage_id="clinic")
ADAS = replace(TENANT, user_id="ada")
BOBS = replace(TENANT, user_id="bob")
SHARED = CardDraft(CardShape.CARD, "clinic", "Be brief.")
OWN = CardDraft(CardShape.CARD, "clinic", "Prefers mornings.", user_id="ada")
MARK = """
    INSERT INTO ibid.memory_user (tenant, user_id, version, erased_at) VALUES ($1, $2, 1, now() + '1 second')
"""
FACT = CardDraft(CardShape.FACT, "clinic", "Closed on Wednesdays.", key="opening hours")
LOUD = "Opening  HOURS"
"""The same key."""


@pytest.fixture
def stores(pool: Pool) -> list[CardStore]:
    """The real one, and the one that tests of services and routes stand on."""
    return [CardStore(pool), FakeCards()]


async def keep(store: CardStore, *drafts: CardDraft, tenant: str = "acme") -> list[Card]:
    return [(await store.put(Scope(tenant), draft))[0] for draft in drafts]


def texts(cards: list[Card]) -> list[str]:
    return [card.text for card in cards]


async def test_a_card_is_kept_as_it_is(stores: list[CardStore]) -> None:
    for store in stores:
        draft = CardDraft(
            CardShape.FACT, "clinic", "Closed.", user_id="ada", key="opening hours", weight=0.25
        )
        kept, fresh = await store.put(ADAS, draft)
        assert fresh
        told = (kept.shape, kept.vantage_id, kept.text, kept.user_id, kept.key, kept.weight)
        assert told == ("fact", "clinic", "Closed.", "ada", "opening hours", 0.25)
        assert kept.created_at == kept.updated_at
        assert await store.by_id(ADAS, [kept.id]) == {kept.id: kept}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(SHARED, replace(SHARED, text="be  BRIEF.", weight=0.5), id="the same words"),
        pytest.param(FACT, replace(FACT, text="Closed on Fridays.", weight=0.5), id="the same key"),
        pytest.param(FACT, replace(FACT, text="F.", weight=0.5, key=LOUD), id="in other letters"),
    ],
)
async def test_the_same_again_replaces(stores: list[CardStore], first: CardDraft, second: CardDraft) -> None:
    for store in stores:
        (before,) = await keep(store, first)
        after, fresh = await store.put(TENANT, second)
        assert (fresh, after.id, after.text, after.weight) == (False, before.id, second.text, 0.5)
        assert after.key == second.key
        assert after.created_at == before.created_at
        assert await store.shown(TENANT, 9) == [after]


async def test_the_same_at_once_is_one_row(pool: Pool) -> None:
    """From as many replicas as like: one of them wrote it first, and whichever was last stands whole."""
    store = CardStore(pool)
    drafts = [replace(FACT, text=f"Open at {n}.", weight=n / 10) for n in range(8)]
    outcomes = await asyncio.gather(*(store.put(TENANT, draft) for draft in drafts))
    (left,) = await store.shown(TENANT, 99)
    assert sorted(fresh for _, fresh in outcomes) == [False] * 7 + [True]
    assert (left.text, left.weight) in [(draft.text, draft.weight) for draft in drafts]


async def test_the_heaviest_are_shown_first(pool: Pool) -> None:
    """Cards and facts together; of one weight the one written last; no more than are wanted."""
    store = CardStore(pool)
    drafts = [
        CardDraft(shape, "clinic", f"{shape} {weight}", weight=weight)
        for weight in (0.5, 0.0, 1.0)
        for shape in CardShape
    ]
    await keep(store, *drafts)
    await store.put(TENANT, drafts[0])
    found = texts(await store.shown(TENANT, 5))
    assert found == ["fact 1.0", "card 1.0", "card 0.5", "fact 0.5", "fact 0.0"]
    assert await store.shown(TENANT, 0) == []


@pytest.mark.parametrize(
    ("scope", "seen"),
    [
        pytest.param(ADAS, {SHARED.text, OWN.text}, id="the user"),
        pytest.param(BOBS, {SHARED.text}, id="another user"),
        pytest.param(replace(ADAS, vantage_id="shop"), set(), id="another namespace"),
        pytest.param(replace(ADAS, vantage_id=None), set(), id="no namespace"),
        pytest.param(replace(ADAS, tenant="other"), set(), id="another tenant"),
    ],
)
async def test_an_answer_is_told_what_is_for_its_user(
    stores: list[CardStore], scope: Scope, seen: set[str]
) -> None:
    for store in stores:
        await keep(store, SHARED, OWN)
        assert set(texts(await store.shown(scope, 9))) == seen


async def test_a_user_s_own_fact_stands_before_everybody_s(pool: Pool) -> None:
    store = CardStore(pool)
    own = replace(FACT, user_id="ada", text="Open for Ada.", weight=0.1)
    await keep(store, FACT, own, replace(FACT, shape=CardShape.CARD, text="A card of that key."))
    assert texts(await store.shown(ADAS, 9)) == ["A card of that key.", "Open for Ada."]
    assert set(texts(await store.shown(BOBS, 9))) == {"A card of that key.", FACT.text}


@pytest.mark.parametrize(
    ("scope", "count"),
    [
        pytest.param(Scope("acme"), 3, id="the tenant: everybody's"),
        pytest.param(Scope("acme", user_id="ada"), 2, id="a user: his and everybody's"),
        pytest.param(Scope("acme", user_id="eve"), 1, id="somebody else"),
        pytest.param(Scope("acme", vantage_id="shop"), 0, id="another namespace"),
        pytest.param(Scope("other"), 0, id="another tenant"),
    ],
)
async def test_lists_hold_what_one_may_see(stores: list[CardStore], scope: Scope, count: int) -> None:
    for store in stores:
        await keep(store, SHARED, OWN, replace(OWN, user_id="bob"), FACT)
        found, after = await store.list(scope, CardShape.CARD, cursor=None, limit=9)
        assert (len(found), after) == (count, None)


async def test_a_list_is_read_page_by_page(pool: Pool) -> None:
    store = CardStore(pool)
    made = await keep(store, *(replace(SHARED, text=f"card {n}") for n in range(5)))
    seen, cursor = list[str](), None
    while True:
        page, cursor = await store.list(TENANT, CardShape.CARD, cursor=cursor, limit=2)
        seen += [card.id for card in page]
        if cursor is None:
            break
    assert seen == [card.id for card in reversed(made)]
    with pytest.raises(InvalidField):
        await store.list(TENANT, CardShape.CARD, cursor="x", limit=2)


@pytest.mark.parametrize(
    "stranger",
    [replace(BOBS, owner="bob"), replace(TENANT, tenant="other"), replace(ADAS, tenant="other")],
    ids=["another user", "another tenant", "of the same name"],
)
async def test_another_s_is_not_there(pool: Pool, stranger: Scope) -> None:
    store = CardStore(pool)
    (kept,) = await keep(store, OWN)
    assert await store.by_id(stranger, [kept.id]) == {}
    assert not await store.remove(stranger, kept.id)
    assert await store.by_id(ADAS, [kept.id]) == {kept.id: kept}


@pytest.mark.parametrize("draft", [OWN, FACT], ids=["a card", "a fact"])
async def test_what_is_removed_is_gone(stores: list[CardStore], draft: CardDraft) -> None:
    for store in stores:
        (kept,) = await keep(store, draft)
        assert [await store.remove(ADAS, kept.id), await store.remove(ADAS, kept.id)] == [
            True,
            False,
        ]
        assert await store.shown(ADAS, 9) == []
        assert (await store.put(ADAS, draft))[1]


async def test_an_erasure_under_way_keeps_nothing_of_its_user(pool: Pool) -> None:
    """Who began before it writes nothing after it; everybody's rows and others' do not wait."""
    store = CardStore(pool)
    async with pool.acquire() as connection, connection.transaction():
        lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
        await connection.execute(lock, "\x1f".join(("ibid.user", "acme", "ada")))
        writing = asyncio.create_task(store.put(ADAS, OWN))
        await asyncio.wait({writing}, timeout=0.2)
        assert not writing.done()
        await asyncio.wait_for(keep(store, SHARED, replace(OWN, user_id="bob")), 5)
        await connection.execute(MARK, "acme", "ada")
    with pytest.raises(RemovedMeanwhile):
        await writing
    assert texts(await store.shown(ADAS, 9)) == [SHARED.text]
