"""Vantage cards and facts in the record."""

import asyncio
from dataclasses import replace

import pytest

from app.db.cards import Card, CardDraft, CardShape, CardStore
from app.db.pool import Pool
from app.db.users import ErasureStore
from app.errors import InvalidField, RemovedMeanwhile, RetrievalError, Unavailable
from app.types import Scope
from tests.fakes.services import FakeCards

TENANT = Scope("acme", vantage_id="clinic")
ADA = replace(TENANT, user_id="ada")
BOB = replace(TENANT, user_id="bob")
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
        kept, fresh = await store.put(ADA, draft)
        assert fresh
        told = (kept.shape, kept.vantage_id, kept.text, kept.user_id, kept.key, kept.weight)
        assert told == ("fact", "clinic", "Closed.", "ada", "opening hours", 0.25)
        assert kept.created_at == kept.updated_at
        assert await store.by_id(ADA, [kept.id]) == {kept.id: kept}


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
        pytest.param(ADA, {SHARED.text, OWN.text}, id="the user"),
        pytest.param(BOB, {SHARED.text}, id="another user"),
        pytest.param(replace(ADA, vantage_id="shop"), set(), id="another namespace"),
        pytest.param(replace(ADA, vantage_id=None), set(), id="no namespace"),
        pytest.param(replace(ADA, tenant="other"), set(), id="another tenant"),
    ],
)
async def test_an_answer_is_told_what_is_for_its_user(
    stores: list[CardStore], scope: Scope, seen: set[str]
) -> None:
    for store in stores:
        await keep(store, SHARED, OWN)
        assert set(texts(await store.shown(scope, 9))) == seen


async def test_nobody_s_answer_is_told_everybody_s_alone(pool: Pool) -> None:
    store = CardStore(pool)
    await keep(store, SHARED, OWN)
    assert texts(await store.shown(TENANT, 9)) == [SHARED.text]


async def test_a_user_s_own_fact_stands_before_everybody_s(pool: Pool) -> None:
    store = CardStore(pool)
    own = replace(FACT, user_id="ada", text="Open for Ada.", weight=0.1)
    await keep(store, FACT, own, replace(FACT, shape=CardShape.CARD, text="A card of that key."))
    assert texts(await store.shown(ADA, 9)) == ["A card of that key.", "Open for Ada."]
    assert set(texts(await store.shown(BOB, 9))) == {"A card of that key.", FACT.text}


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
    [replace(BOB, owner="bob"), replace(TENANT, tenant="other"), replace(ADA, tenant="other")],
    ids=["another user", "another tenant", "of the same name"],
)
async def test_another_s_is_not_there(pool: Pool, stranger: Scope) -> None:
    store = CardStore(pool)
    (kept,) = await keep(store, OWN)
    assert await store.by_id(stranger, [kept.id]) == {}
    assert not await store.remove(stranger, kept.id)
    assert await store.by_id(ADA, [kept.id]) == {kept.id: kept}


@pytest.mark.parametrize("draft", [OWN, FACT], ids=["a card", "a fact"])
async def test_what_is_removed_is_gone(stores: list[CardStore], draft: CardDraft) -> None:
    for store in stores:
        (kept,) = await keep(store, draft)
        assert [await store.remove(ADA, kept.id), await store.remove(ADA, kept.id)] == [True, False]
        assert await store.shown(ADA, 9) == []
        assert (await store.put(ADA, draft))[1]


@pytest.mark.parametrize("name", ["", "x", "\x00", "\ud800", "%", "0" * 10_000])
async def test_what_is_no_id_is_not_there(pool: Pool, name: str) -> None:
    store = CardStore(pool)
    assert not await store.remove(ADA, name)
    assert await store.by_id(ADA, [name]) == {}


async def test_text_that_postgres_cannot_hold_is_mended(pool: Pool) -> None:
    store = CardStore(pool)
    outcomes = [await store.put(TENANT, replace(SHARED, text="a\x00b\ud800")) for _ in range(2)]
    assert [(card.text, fresh) for card, fresh in outcomes] == [
        ("a\ufffdb\ufffd", True),
        ("a\ufffdb\ufffd", False),
    ]


async def test_an_erasure_under_way_keeps_nothing_of_its_user(pool: Pool) -> None:
    """Who began before it writes nothing after it; everybody's rows and others' do not wait."""
    store = CardStore(pool)
    async with pool.acquire() as connection, connection.transaction():
        lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
        await connection.execute(lock, "\x1f".join(("ibid.user", "acme", "ada")))
        writing = asyncio.create_task(store.put(ADA, OWN))
        await asyncio.wait({writing}, timeout=0.2)
        assert not writing.done()
        await asyncio.wait_for(keep(store, SHARED, replace(OWN, user_id="bob")), 5)
        await connection.execute(MARK, "acme", "ada")
    with pytest.raises(RemovedMeanwhile):
        await writing
    assert texts(await store.shown(ADA, 9)) == [SHARED.text]


async def test_an_erased_user_begins_anew(pool: Pool) -> None:
    store = CardStore(pool)
    await ErasureStore(pool).begin(Scope("acme", user_id="ada"), ["vantage_cards"])
    assert (await store.put(ADA, OWN))[1]


async def test_postgres_away_is_told(pool: Pool) -> None:
    """To an answer as what it can do without, to all else as what cannot be."""
    store = CardStore(pool)
    await pool.close()
    with pytest.raises(RetrievalError):
        await store.shown(ADA, 9)
    for work in (
        store.put(ADA, OWN),
        store.list(ADA, CardShape.CARD, cursor=None, limit=1),
        store.by_id(ADA, []),
        store.remove(ADA, "4d0c6a2e-77c1-5b0a-8f3e-0d9a7f1b2c3d"),
    ):
        with pytest.raises(Unavailable):
            await work
