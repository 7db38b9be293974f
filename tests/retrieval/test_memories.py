"""Memories: the source, its cards, and the state of a user's memories."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.db.memories import ASSISTANT, DAEMONS, GRAVITY, RAW
from app.db.pool import Pool
from app.errors import RetrievalError
from app.retrieval.fusion import fuse
from app.retrieval.index_cache import IndexCache
from app.retrieval.memories import MemorySource, MemoryStanding, newest_cards, standing_of
from app.retrieval.relevance import is_match
from app.retrieval.retrievers.points import Point
from app.retrieval.retrievers.qdrant import CollectionCache, QdrantProcess
from app.text.dates import days
from app.text.labels import is_label
from app.text.terms import encode_terms
from app.types import Legs, Query, Scope
from tests.fakes.filing import SPACE, bag
from tests.fakes.recollections import ANN, THEN, enter, given, keep, memory, named, withdraw
from tests.retrieval.conftest import exact_alone

BEN = Scope(user_id="ben")
MAY = datetime(2023, 5, 8, 23, 30, tzinfo=UTC)
RIVERS = ["the danube flows to the black sea", "the rhine flows to the north sea", "otters eat fish"]
VERSION = """
    INSERT INTO ibid.memory_user AS known (tenant, user_id, version) VALUES ('default', $1, 1)
    ON CONFLICT (tenant, user_id) DO UPDATE SET version = known.version + 1
"""


async def search(
    source: MemorySource, text: str, scope: Scope = ANN, *, embedded: bool = True, limit: int = 40
) -> Legs:
    """Ask with the words of the text as its vector."""
    reached = await source.reach(scope)
    return await reached.search(Query(text, scope, limit=limit), given(bag(text) if embedded else None))


def texts(legs: Legs) -> set[str]:
    return {passage.text for passage in legs.passages.values()}


@exact_alone
async def test_the_days_a_memory_speaks_of_are_kept_with_it(memories: MemorySource, pool: Pool) -> None:
    """Those that its text says, seen from the day it was said; another version's row has none."""
    said = "I swam yesterday, and in the summer of 2021"
    [key] = await keep(memories, ANN, said)
    kept = (await search(memories, "swam")).passages[key]
    assert kept.days is not None
    assert len(kept.days) == 4
    await pool.execute("UPDATE ibid.memory SET days = NULL")
    bare = (await search(memories, "swam")).passages[key]
    assert bare.days is None
    assert [*days(bare)] == [*days(kept)]


@exact_alone
async def test_a_passage_says_whose_words_it_is(memories: MemorySource) -> None:
    """Label, text, tokens, time and fields are those of the memory."""
    facts = {"kind": "preference", "tags": ("tone:meta", "vb:rest"), "origin": "chat", "vantage_id": "v"}
    [key] = await keep(memories, ANN, RIVERS[1], thread_id="t", **facts)
    passage = (await search(memories, "rhine")).passages[key]
    assert (passage.source, passage.id, passage.text, passage.tokens) == ("memories", key, RIVERS[1], 7)
    assert (passage.label[:7], len(passage.label), is_label(passage.label)) == ("memory#", 15, True)
    assert passage.created_at == THEN
    assert passage.fields == {
        "collection": "memory_raw",
        "kind": "preference",
        "origin": "chat",
        "tags": "tone:meta,vb:rest",
        "vantage_id": "v",
        "thread_id": "t",
        "place": 1,
        "said_on": THEN.date().isoformat(),
        "url": f"/memories/{key}",
    }


@exact_alone
async def test_a_vector_of_another_space_is_none(memories: MemorySource) -> None:
    """It is the embedding's fault, and said so."""
    await keep(memories, ANN, *RIVERS)
    reached = await memories.reach(ANN)
    with pytest.raises(RetrievalError) as raised:
        await reached.search(Query("danube", ANN), given(bag("danube", 16)))
    assert raised.value.reason == "embedding"


async def test_a_row_that_is_anothers_by_now_is_not_shown(pool: Pool, memories: MemorySource) -> None:
    """However late the index: whose it is, is asked again where it is read."""
    keys = await keep(memories, ANN, *RIVERS)
    reached = await memories.reach(ANN)
    await search(memories, "danube")
    await pool.execute("UPDATE ibid.memory SET tenant = 'other' WHERE id = $1", keys[0])
    legs = await reached.search(Query("danube", ANN), given(bag("danube")))
    assert keys[0] not in legs.passages
    assert legs.passages


@exact_alone
@pytest.mark.parametrize("origin", [ASSISTANT, *DAEMONS])
async def test_what_the_service_said_or_reckoned_is_no_memory(memories: MemorySource, origin: str) -> None:
    """Origins that are not the person's own are left out in the engine."""
    await keep(memories, ANN, "the danube is grey", origin=origin)
    await keep(memories, ANN, "the danube is blue")
    legs = await search(memories, "danube")
    assert (texts(legs), legs.stored) == ({"the danube is blue"}, 1)


@exact_alone
async def test_a_namespace_sees_itself_and_what_has_none(memories: MemorySource) -> None:
    """A scope without a namespace sees all of the user's."""
    for name in ("work", "home", None):
        await keep(memories, ANN, f"sea of {name}", vantage_id=name)
    assert texts(await search(memories, "sea", replace(ANN, vantage_id="work"))) == {
        "sea of work",
        "sea of None",
    }
    assert len(texts(await search(memories, "sea"))) == 3


async def test_a_neighbour_speaks_for_a_memory(memories: MemorySource) -> None:
    """The answer in a thread is found by the words of the question before it; in no thread it is not."""
    turns = ["where does the danube flow to", "to the east I think", "and what eats fish"]
    asked, answered, _ = await keep(memories, ANN, *turns, thread_id="t")
    [alone] = await keep(memories, ANN, "to the west I think")
    legs = await search(memories, "danube")
    scores = {hit.key: hit.score for hit in legs.words}
    assert scores[answered] == pytest.approx(scores[asked] / 2)
    assert alone not in scores
    order = [item.passage.id for item in fuse([legs])]
    assert order.index(answered) < order.index(alone)


@exact_alone
@pytest.mark.parametrize("legible", [True, False], ids=["not embedded", "not legible"])
async def test_words_alone_decide_where_meaning_cannot_tell(memories: MemorySource, *, legible: bool) -> None:
    """A name in one of two hundred memories is a match; a word of all is none, nor is similarity."""
    await keep(memories, ANN, *(f"the sea {n} is wide" for n in range(200)), "xyzzy was here")
    query = Query("the xyzzy", ANN, legible=legible)
    vector = None if legible else bag("the sea is wide")
    legs = await (await memories.reach(ANN)).search(query, given(vector))
    matches = [item.passage.text for item in fuse([legs], 1.0 if legible else 0.1) if is_match(item, 1.0)]
    assert matches == ["xyzzy was here"]


async def test_a_write_makes_another_standing(pool: Pool, memories: MemorySource) -> None:
    """Ours by the user's version, another tool's by the count; another user's by nothing."""
    await keep(memories, ANN, "danube")
    standings = [(await memories.reach(ANN)).standing]
    await keep(memories, ANN, "rhine")
    standings.append((await memories.reach(ANN)).standing)
    await pool.execute(VERSION, "ann")
    standings.append((await memories.reach(ANN)).standing)
    standings += [(await memories.reach(scope)).standing for scope in (BEN, replace(ANN, vantage_id="v"))]
    assert len(set(standings)) == len(standings)
    await keep(memories, BEN, "elbe")
    await pool.execute(VERSION, "ben")
    assert (await memories.reach(ANN)).standing == standings[2]


@exact_alone
async def test_cards_are_the_users_newest_first(memories: MemorySource, pool: Pool) -> None:
    """Of the kinds asked for, a daemon's too, with what they hold beside their text."""
    for n, kind in enumerate(("persona", "style", "note", "persona")):
        card = memory(ANN, f"{kind} {n}", kind=kind, created_at=THEN + timedelta(days=n))
        await enter(pool, ANN, card)
    held = {"origin": DAEMONS[0], "fields": {"weights": {"fm": 0.5}}}
    await enter(pool, ANN, memory(ANN, "weights", kind=GRAVITY, **held))
    await enter(pool, BEN, memory(BEN, "persona of ben", kind="persona"))
    cards = await memories.cards(ANN, ["persona", "style"])
    assert [card.text for card in cards] == ["persona 3", "style 1", "persona 0"]
    [gravity] = await memories.cards(ANN, [GRAVITY])
    assert (gravity.fields, gravity.origin) == ({"weights": {"fm": 0.5}}, DAEMONS[0])
    assert await memories.cards(Scope(), ["persona"]) == []


@exact_alone
async def test_erasing_takes_everything_and_counts_it(memories: MemorySource, edge: QdrantProcess) -> None:
    """Cards and older tools' points too, and nobody else's; again there is nothing."""
    await keep(memories, ANN, *RIVERS)
    await keep(memories, ANN, "said", origin=ASSISTANT, vantage_id="v")
    await keep(memories, BEN, "elbe")
    await edge.put(RAW, [Point("7", {"content": "older", "user_id": "ann"}, bag("older"))])
    assert [await memories.erase(ANN), await memories.erase(ANN)] == [5, 0]
    assert (await search(memories, "elbe", BEN)).stored == 1


@exact_alone
async def test_an_export_has_every_point(memories: MemorySource) -> None:
    keys = await keep(memories, ANN, *RIVERS)
    await keep(memories, BEN, "elbe")
    found = [item async for item in memories.export(ANN)]
    assert sorted(str(item["id"]) for item in found) == sorted(keys)
    assert {item["text"] for item in found} == {*RIVERS}


async def test_what_was_said_on_the_days_asked_about_is_found_for_its_day(memories: MemorySource) -> None:
    """Where neither words nor meaning lead to it, among many; not another's, and none without a day."""
    turns = [f"what did I do number {n}" for n in range(300)]
    await keep(memories, ANN, *turns, thread_id="t")
    [mine] = await keep(memories, ANN, "what otters eat", created_at=MAY, thread_id="t")
    await keep(memories, BEN, "otters eat fish", created_at=MAY)
    question = Query("what did I do", ANN, limit=10)
    reached = await memories.reach(ANN)
    plain = await reached.search(question, given(bag(question.text)))
    assert mine not in plain.passages
    dated = await reached.search(
        replace(question, days=((MAY.date(), MAY.date() + timedelta(days=1)),)), given(bag(question.text))
    )
    assert dated.passages.keys() - plain.passages.keys() == {mine}
    assert (dated.words, dated.meaning, dated.beside) == (plain.words, plain.meaning, plain.beside)
    assert dated.dated[mine].score > 0
    before = {item.passage.id: item.passage.score for item in fuse([plain])}
    after = {item.passage.id: item.passage.score for item in fuse([dated])}
    assert before == {key: after[key] for key in before}
    assert dated.passages[mine].similarity is not None


async def test_of_few_memories_too_the_days_asked_about_are_found(memories: MemorySource) -> None:
    """Fewer than a leg looks at, more than it may tell."""
    await keep(memories, ANN, *(f"what did I do number {n}" for n in range(30)))
    [mine] = await keep(memories, ANN, "otters eat fish", created_at=MAY)
    question = Query("what did I do", ANN, limit=5, days=((MAY.date(), MAY.date() + timedelta(days=1)),))
    reached = await memories.reach(ANN)
    assert mine in (await reached.search(question, given(bag(question.text)))).passages


async def test_a_removed_memory_is_gone_though_its_point_is_not(pool: Pool, memories: MemorySource) -> None:
    """The record says so before the engine follows; the rest of a ranking is as long as ever."""
    keys = await keep(memories, ANN, *(f"danube {n}" for n in range(6)))
    await withdraw(pool, ANN, *keys[:2])
    legs = await search(memories, "danube", limit=4)
    assert len(legs.words) == len(legs.meaning) == 4
    assert not {*keys[:2]} & legs.passages.keys()


@exact_alone
async def test_whose_a_memory_is(pool: Pool, memories: MemorySource) -> None:
    mine, gone = await keep(memories, ANN, *RIVERS[:2])
    await withdraw(pool, ANN, gone)
    asked = [(ANN, mine), (ANN, gone), (ANN, named("x")), (ANN, "no id"), (BEN, mine), (Scope(), mine)]
    assert [await memories.owns(*each) for each in asked] == [True, *[False] * 5]


@exact_alone
async def test_terms_of_an_older_analysis_are_made_anew_and_kept(pool: Pool, memories: MemorySource) -> None:
    """When they are first needed; the next process finds them."""
    [key] = await keep(memories, ANN, RIVERS[0])
    await pool.execute(
        "UPDATE ibid.memory SET terms = $1", encode_terms("of other words")[:2] + b"\0\0" + b"\0" * 4
    )
    assert [hit.key for hit in (await search(memories, "danube")).words] == [key]
    assert await pool.fetchval("SELECT terms FROM ibid.memory") == encode_terms(RIVERS[0])


async def test_the_engine_alone_finds_the_same(
    pool: Pool, edge: QdrantProcess, catalogue: CollectionCache, memories: MemorySource
) -> None:
    """EXACT_MAX_MB=0: its candidates, with exact similarities and the same words. All are asked for: which of
    many equal ones are beyond the end of an engine's list, its files decide."""
    await keep(memories, ANN, *RIVERS, *(f"fish number {n}" for n in range(25)), thread_id="t")
    await keep(memories, BEN, *RIVERS)
    engine = MemorySource(pool, edge, catalogue, IndexCache(SPACE.dim, exact_bytes=0), SPACE)
    for question in ("danube black sea", "otters", "fish number 7"):
        exact, near = await search(memories, question, limit=8), await search(engine, question, limit=8)
        assert near.words == exact.words
        assert [hit.key for hit in near.meaning] == [hit.key for hit in exact.meaning]
        assert [hit.score for hit in near.meaning] == pytest.approx([hit.score for hit in exact.meaning])
        assert near.passages.keys() == exact.passages.keys()


async def test_what_the_engine_has_yet_to_take_is_found(pool: Pool, memories: MemorySource) -> None:
    """By its meaning, too: rows in the outbox are compared exactly, whether or not vectors are in memory."""
    await keep(memories, ANN, *RIVERS)
    await pool.execute("DELETE FROM ibid.outbox")
    late = memory(ANN, "otters otters otters")
    await enter(pool, ANN, late)
    legs = await search(memories, "otters")
    assert (legs.meaning[0].key, legs.partial) == (late.id, "")


async def test_a_slow_engine_costs_no_words(
    pool: Pool, edge: QdrantProcess, catalogue: CollectionCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a part of the deadline; what words find is told in time, with exact similarities."""
    keys = await keep(
        memories := MemorySource(pool, edge, catalogue, IndexCache(SPACE.dim), SPACE), ANN, *RIVERS
    )
    exact = await search(memories, "otters")
    await pool.execute("DELETE FROM ibid.outbox")
    engine = MemorySource(pool, edge, catalogue, IndexCache(SPACE.dim, exact_bytes=0), SPACE, seconds=0.8)

    async def silent(*_: object) -> list[tuple[str, int]]:
        await asyncio.sleep(20)
        return []

    monkeypatch.setattr(engine, "nearest", silent)
    async with asyncio.timeout(5):
        legs = await search(engine, "otters")
    assert (legs.words, legs.partial) == (exact.words, "timeout")
    assert legs.passages[keys[2]].similarity == exact.passages[keys[2]].similarity


async def test_an_engine_that_lacks_a_scope_is_told_of(
    pool: Pool, edge: QdrantProcess, memories: MemorySource
) -> None:
    """While it is being filled, or has lost a collection, what words find is told, and that it is not all."""
    await keep(memories, ANN, *RIVERS)
    engine = MemorySource(pool, edge, CollectionCache(edge), IndexCache(SPACE.dim, exact_bytes=0), SPACE)
    await pool.execute("UPDATE ibid.outbox SET item = '', collection = ''")
    assert (await search(engine, "otters")).partial == "unavailable"
    await pool.execute("DELETE FROM ibid.outbox")
    assert (await search(engine, "otters")).partial == ""
    await edge.drop(RAW)
    legs = await search(engine, "otters")
    assert (bool(legs.words), legs.partial) == (True, "unavailable")


async def test_nothing_is_missing_where_nobody_may_see_a_vector(
    pool: Pool, edge: QdrantProcess, memories: MemorySource
) -> None:
    """An engine that finds nothing has failed only if the record has vectors of what the asker may see."""
    await keep(memories, ANN, *RIVERS, vantage_id="work")
    engine = MemorySource(pool, edge, CollectionCache(edge), IndexCache(SPACE.dim, exact_bytes=0), SPACE)
    await pool.execute("DELETE FROM ibid.outbox")
    await edge.drop(RAW)
    assert (await search(engine, "otters", replace(ANN, vantage_id="home"))).partial == ""
    assert (await search(engine, "otters", replace(ANN, vantage_id="work"))).partial == "unavailable"
    await pool.execute("UPDATE ibid.memory SET space = 'other'")
    assert (await search(engine, "otters", replace(ANN, vantage_id="work"))).partial == ""


OWNER = (ANN.tenant, "ann")


async def test_the_newest_of_each_kind_are_read(pool: Pool) -> None:
    """A kind with many takes no other's place; nor do other users and tenants."""
    days = [(kind, n) for kind in ("style", "note", "persona") for n in range(4)]
    own = [memory(ANN, f"{kind} {n}", kind=kind, created_at=THEN + timedelta(n)) for kind, n in days]
    await enter(pool, ANN, *own)
    for scope in (Scope(user_id="ben"), Scope(tenant="other", user_id="ann")):
        await enter(pool, scope, memory(scope, f"{scope.tenant} style", kind="style"))
    found = await newest_cards(pool, OWNER, ["style", "persona", "style"], 2)
    assert sorted(card.text for card in found) == ["persona 2", "persona 3", "style 2", "style 3"]


async def test_without_postgres_no_cards_are_read(pool: Pool) -> None:
    """The reply tells that the cards are missing."""
    await pool.close()
    with pytest.raises(RetrievalError):
        await newest_cards(pool, OWNER, ["style"], 9)


MEMORY = """
    INSERT INTO ibid.memory (id, tenant, user_id, text, kind, origin, place, tokens, space, embedding)
    VALUES ($1, $2, $3, 'words', 'note', 'api', 1, 1, 's', '[1]')
"""


async def test_a_user_is_known_by_tenant_and_name(pool: Pool) -> None:
    """His version; no other's, and no other tenant's."""
    for tenant, user in (("t", "ann"), ("t", "ben"), ("u", "ann")):
        version = len(tenant + user) + (user == "ben")
        await pool.execute("INSERT INTO ibid.memory_user VALUES ($1, $2, $3)", tenant, user, version)
    assert await standing_of(pool, "t", "ann") == MemoryStanding(4)


async def test_of_an_erased_user_the_record_knows_the_living(pool: Pool) -> None:
    """In their order; none is none, not all. Once every engine has dropped its own, all there is may be."""
    await pool.execute("INSERT INTO ibid.memory_user (tenant, user_id, erased_at) VALUES ('t', 'ann', now())")
    assert (await standing_of(pool, "t", "ann")).since == ()
    for key in ("b", "a"):
        await pool.execute(MEMORY, key, "t", "ann")
    assert await standing_of(pool, "t", "ann") == MemoryStanding(0, ("a", "b"))
    await pool.execute("UPDATE ibid.memory_user SET ended_at = now()")
    assert await standing_of(pool, "t", "ann") == MemoryStanding(0)
