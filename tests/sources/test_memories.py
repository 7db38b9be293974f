"""Memories as a source: the laws of `ports.Source`, whose they are, neighbours, cards, faults, erasure."""

import asyncio
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.clients.edge import Edge, open_edge
from app.clients.points import Ask, Point, Where
from app.clients.pool import Pool
from app.clients.threads import Threads
from app.domain.errors import RetrievalError, Unavailable
from app.domain.fusion import fuse
from app.domain.label import is_label
from app.domain.memory import ASSISTANT, DAEMONS, GRAVITY, RAW
from app.domain.passage import Hit, Legs, Query, Scope
from app.domain.relevance import is_match
from app.index.catalogue import Catalogue
from app.sources import memories as module
from app.sources.memories import MemorySource
from tests.fakes.filing import SPACE, bag
from tests.fakes.recollections import ANN, THEN, enter, given, keep, memory, named

BEN = Scope(user_id="ben")
MAY = datetime(2023, 5, 8, 23, 30, tzinfo=UTC)
RIVERS = ["the danube flows to the black sea", "the rhine flows to the north sea", "otters eat fish"]
VERSION = """
    INSERT INTO ibid.memory_user AS known (tenant, user_id, version) VALUES ('default', $1, 1)
    ON CONFLICT (tenant, user_id) DO UPDATE SET version = known.version + 1
"""
ROW = """
    INSERT INTO ibid.memory (id, tenant, user_id, text, kind, origin, place, tokens, space, embedding,
        removed_at)
    VALUES ($1, 'default', 'ann', 'words', 'note', 'api', 1, 1, 'bag@32', '[1]', $2)
"""


async def search(
    source: MemorySource, text: str, scope: Scope = ANN, *, embedded: bool = True, limit: int = 40
) -> Legs:
    """Ask with the words of the text as its vector."""
    reached = await source.reach(scope)
    return await reached.search(Query(text, scope, limit=limit), given(bag(text) if embedded else None))


def texts(legs: Legs) -> set[str]:
    """What was found."""
    return {passage.text for passage in legs.passages.values()}


async def test_a_memory_is_found_by_both_legs_as_soon_as_it_is_written(memories: MemorySource) -> None:
    """Read-your-writes: the very next search finds it, its similarity exact."""
    assert (await search(memories, "danube")).stored == 0
    danube, *_ = await keep(memories, ANN, *RIVERS)
    legs = await search(memories, "danube black sea")
    assert legs.words[0].key == legs.meaning[0].key == danube
    cosine = np.frombuffer(bag(RIVERS[0]), "<f4") @ np.frombuffer(bag("danube black sea"), "<f4")
    assert legs.passages[danube].similarity == pytest.approx(float(cosine), abs=1e-6)
    assert legs.stored == 3


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
    }


async def test_legs_are_best_first_and_no_longer_than_asked(memories: MemorySource) -> None:
    """At most `limit` hits a leg, their scores never rising, and every hit has its passage."""
    await keep(memories, ANN, *(f"sea {'wave ' * n}" for n in range(12)))
    legs = await search(memories, "sea wave", limit=5)
    for leg in (legs.words, legs.meaning):
        assert len(leg) == 5
        assert [hit.score for hit in leg] == sorted((hit.score for hit in leg), reverse=True)
        assert all(hit.key in legs.passages for hit in leg)


@pytest.mark.parametrize("many", [0, 200], ids=["a few memories", "more than a leg looks at"])
async def test_every_passage_carries_its_exact_similarity_and_its_words(
    memories: MemorySource, many: int
) -> None:
    """Whichever leg chose it, the other has scored it: in one round trip."""
    await keep(memories, ANN, *RIVERS, *(f"fish number {n} eats the sea" for n in range(many)))
    legs = await search(memories, "otters by the danube", limit=4)
    asked = np.frombuffer(bag("otters by the danube"), "<f4")
    assert legs.passages
    for key, passage in legs.passages.items():
        cosine = float(np.frombuffer(bag(passage.text), "<f4") @ asked)
        assert passage.similarity == pytest.approx(cosine, abs=1e-6)
        seen = {hit.key for hit in legs.words} | legs.beside.keys()
        assert (key in seen) == bool({"otters", "by", "the", "danube"} & set(passage.text.split()))


async def test_one_round_trip(memories: MemorySource, edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search asks the engine once, however many legs it has."""
    await keep(memories, ANN, *(f"fish number {n}" for n in range(150)))
    reached, calls, real = await memories.reach(ANN), list[int](), edge.search

    async def counted(name: str, asks: list[Ask]) -> list[list[Point]]:
        calls.append(len(asks))
        return await real(name, asks)

    monkeypatch.setattr(edge, "search", counted)
    await reached.search(Query("fish 7", ANN), given(bag("fish 7")))
    assert calls == [4]


async def test_without_a_vector_words_alone_search(memories: MemorySource) -> None:
    """The embedding failed: similarity is unknown, the word leg stands."""
    danube, *_ = await keep(memories, ANN, *RIVERS)
    legs = await search(memories, "danube", embedded=False)
    assert [hit.key for hit in legs.words] == [danube]
    assert (legs.meaning, legs.passages[danube].similarity) == ((), None)


async def test_a_vector_of_another_space_is_none(memories: MemorySource) -> None:
    """It is the embedding's fault, and said so."""
    await keep(memories, ANN, *RIVERS)
    reached = await memories.reach(ANN)
    with pytest.raises(RetrievalError) as raised:
        await reached.search(Query("danube", ANN), given(bag("danube", 16)))
    assert raised.value.reason == "embedding"


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param(BEN, id="another user"),
        pytest.param(Scope(tenant="other", user_id="ann"), id="another tenant"),
        pytest.param(Scope(), id="nobody"),
    ],
)
async def test_nothing_is_found_outside_the_scope(memories: MemorySource, scope: Scope) -> None:
    """Another's memories are not there at all."""
    await keep(memories, ANN, *RIVERS)
    legs = await search(memories, "danube", scope)
    assert (legs.passages, legs.words, legs.meaning, legs.stored) == ({}, (), (), 0)


async def test_others_move_nothing(memories: MemorySource) -> None:
    """Fifty of another user's and another tenant's points leave every id, score and order byte-equal."""
    await keep(memories, ANN, *RIVERS, thread_id="t")
    before = await search(memories, "the danube and the otters")
    for other in (BEN, Scope(tenant="other", user_id="ann")):
        await keep(memories, other, *(f"the danube and the sea {n}" for n in range(50)), thread_id="t")
    after = await search(memories, "the danube and the otters")
    assert repr(after) == repr(before)
    assert (await memories.reach(ANN)).standing == (await memories.reach(ANN)).standing


@pytest.mark.parametrize("words", [100, 400])
async def test_who_wrote_first_moves_no_score_of_a_long_question(pool: Pool, drive: Path, words: int) -> None:
    """A hundred words and more asked of two hundred memories, to the last bit: an engine adds a point's words
    in the order in which it met them first, in anybody's text."""
    spoken, chance = [f"w{n}" for n in range(words)], random.Random(7)  # noqa: S311 - the same on every run
    mine = [" ".join(chance.sample(spoken, 25)) for _ in range(200)]
    others = [" ".join(chance.sample(spoken, 25)) for _ in range(60)]
    found = []
    for name, before in (("alone", []), ("second", others)):
        async with open_edge(drive / name) as edge:
            source = MemorySource(pool, edge, Catalogue(edge), SPACE)
            await keep(source, BEN, *before)
            await keep(source, ANN, *mine)
            found.append(repr(await search(source, " ".join(spoken))))
    assert found[0] == found[1]


@pytest.mark.parametrize("origin", [ASSISTANT, *DAEMONS])
async def test_what_the_service_said_or_reckoned_is_no_memory(memories: MemorySource, origin: str) -> None:
    """Origins that are not the person's own are left out in the engine."""
    await keep(memories, ANN, "the danube is grey", origin=origin)
    await keep(memories, ANN, "the danube is blue")
    legs = await search(memories, "danube")
    assert (texts(legs), legs.stored) == ({"the danube is blue"}, 1)


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


async def test_a_neighbour_vouches_for_nobody(memories: MemorySource) -> None:
    """It moves the order; whether a memory matches at all is for its own words and similarity to say."""
    await keep(memories, ANN, "where does the danube flow to", "mmh", thread_id="t")
    matches = [item for item in fuse([await search(memories, "danube")]) if is_match(item, 0.3)]
    assert [item.passage.text for item in matches] == ["where does the danube flow to"]


async def test_rare_words_vouch_where_meaning_cannot_tell(memories: MemorySource) -> None:
    """A name that stands in one of two hundred memories is a match; a word that stands in all is none."""
    await keep(memories, ANN, *(f"the sea {n} is wide" for n in range(200)), "xyzzy was here")
    query, unrelated = Query("the xyzzy", ANN), bag("zz")
    legs = await (await memories.reach(ANN)).search(query, given(unrelated))
    matches = [item.passage.text for item in fuse([legs]) if is_match(item, 2.0)]
    assert matches == ["xyzzy was here"]


@pytest.mark.parametrize("key", ["text", "content", "chunk"])
async def test_what_older_tools_wrote_is_searched(memories: MemorySource, edge: Edge, key: str) -> None:
    """Text under any of three names; no tenant is the tenant `default`; times in seconds."""
    await keep(memories, ANN, "otters")
    payload = {key: "the danube", "user_id": "ann", "created_at": 86_400.0, "tags": "a, b", "source": "web"}
    await edge.put(RAW, [Point("7", payload, bag("the danube"))])
    passage = (await search(memories, "danube")).passages["7"]
    assert (passage.text, passage.fields["origin"], passage.fields["tags"]) == ("the danube", "web", "a,b")
    assert passage.created_at is not None
    assert passage.created_at.isoformat() == "1970-01-02T00:00:00+00:00"
    assert passage.said_on == passage.created_at.date()
    assert "7" not in (await search(memories, "danube", Scope(tenant="other", user_id="ann"))).passages


async def test_a_change_moves_what_is_recent_not_the_day(memories: MemorySource, edge: Edge) -> None:
    """Recency looks at `updated_at`; what "yesterday" was depends on when it was said."""
    await keep(memories, ANN, "otters")
    payload = {"text": "the danube", "user_id": "ann", "created_at": "2023-05-08", "updated_at": "2026-11-02"}
    await edge.put(RAW, [Point("7", payload, bag("the danube"))])
    passage = (await search(memories, "danube")).passages["7"]
    assert passage.created_at is not None
    assert (passage.created_at.year, str(passage.said_on)) == (2026, "2023-05-08")


async def test_a_point_without_text_is_passed_over(memories: MemorySource, edge: Edge) -> None:
    """With a note; the others count."""
    await keep(memories, ANN, *RIVERS)
    mute = {"tenant": "default", "user_id": "ann", "text": "  "}
    await edge.put(RAW, [Point("8", mute, bag("danube"))])
    legs = await search(memories, "danube")
    assert len(legs.passages) == 3
    assert legs.notes == ("points of memory_raw without text were passed over: 1",)


async def test_vectors_of_another_size_are_passed_over(
    pool: Pool, edge: Edge, memories: MemorySource
) -> None:
    """An older tool's `memory_raw` is told of, searched by nobody and written by nobody."""
    await edge.create(RAW, 16)
    await edge.put(RAW, [Point("9", {"user_id": "ann", "text": "the danube"}, bag("the danube", 16))])
    legs = await search(memories, "danube")
    assert (legs.passages, legs.stored) == ({}, 0)
    assert legs.notes == ("memory_raw was passed over: its vectors are of another space",)
    with pytest.raises(Unavailable, match="another space"):
        await keep(memories, ANN, "danube")


@pytest.mark.parametrize("late", [False, True], ids=["before the search", "in the middle"])
async def test_a_collection_that_is_deleted_is_empty(memories: MemorySource, edge: Edge, late: bool) -> None:
    """Nothing is left to find, and nothing is down; the next write makes it anew."""
    await keep(memories, ANN, *RIVERS)
    reached = await memories.reach(ANN)
    await edge.drop(RAW)
    reached = reached if late else await memories.reach(ANN)
    legs = await reached.search(Query("danube", ANN), given(bag("danube")))
    assert legs.passages == {}
    await keep(memories, ANN, "the danube again")
    assert texts(await search(memories, "danube")) == {"the danube again"}


async def test_a_removed_memory_is_gone_though_its_point_is_not(pool: Pool, memories: MemorySource) -> None:
    """The record says so before the index follows; the rest of a leg is as long as ever."""
    keys = await keep(memories, ANN, *(f"danube {n}" for n in range(6)))
    for key in keys[:2]:
        await pool.execute(ROW, key, THEN)
    legs = await search(memories, "danube", limit=4)
    assert len(legs.words) == len(legs.meaning) == 4
    assert not {*keys[:2]} & legs.passages.keys()


async def test_of_an_erased_user_only_what_came_since_is_told(pool: Pool, memories: MemorySource) -> None:
    """Points that outlived the erasure, older tools' too, are found by nobody."""
    old, new = await keep(memories, ANN, "the danube before", "the danube since")
    await pool.execute(VERSION, "ann")
    await pool.execute("UPDATE ibid.memory_user SET erased_at = now()")
    assert texts(await search(memories, "danube")) == set()
    await pool.execute(ROW, new, None)
    assert texts(await search(memories, "danube")) == {"the danube since"}
    assert [card.id for card in await memories.cards(ANN, ["note"])] == [new]
    assert old != new


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


async def test_another_replica_sees_a_new_collection_at_once(
    pool: Pool, edge: Edge, memories: MemorySource
) -> None:
    """The first memory of all was written elsewhere: the user's version says that there must be one."""
    other = MemorySource(pool, edge, Catalogue(edge), SPACE)
    assert (await search(other, "danube")).stored == 0
    await keep(memories, ANN, "danube")
    await pool.execute(VERSION, "ann")
    assert texts(await search(other, "danube")) == {"danube"}


async def test_cards_are_the_users_newest_first(memories: MemorySource, pool: Pool) -> None:
    """Of the kinds asked for, a daemon's too, with what they hold beside their text."""
    for n, kind in enumerate(("persona", "style", "note", "persona")):
        card = memory(ANN, f"{kind} {n}", kind=kind, created_at=THEN + timedelta(days=n))
        await enter(pool, ANN, card)
        await memories.put(ANN, [card], [bag(card.text)])
    held = {"origin": DAEMONS[0], "fields": {"weights": {"fm": 0.5}}}
    await enter(pool, ANN, memory(ANN, "weights", kind=GRAVITY, **held))
    await enter(pool, BEN, memory(BEN, "persona of ben", kind="persona"))
    cards = await memories.cards(ANN, ["persona", "style"])
    assert [card.text for card in cards] == ["persona 3", "style 1", "persona 0"]
    [gravity] = await memories.cards(ANN, [GRAVITY])
    assert (gravity.fields, gravity.origin) == ({"weights": {"fm": 0.5}}, DAEMONS[0])
    assert await memories.cards(Scope(), ["persona"]) == []


async def test_without_a_collection_there_are_no_cards(memories: MemorySource) -> None:
    """Nobody has written anything yet."""
    assert await memories.cards(ANN, ["persona"]) == []


async def test_the_newest_cards_are_told_however_many_there_are(
    memories: MemorySource, edge: Edge, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another kind's and another tool's crowd none of them out, and of our own no point is read."""
    monkeypatch.setattr(module, "CARDS", 3)
    monkeypatch.setattr(module, "MOST_CARDS", 2)
    monkeypatch.setattr(module, "PAGE", 2)
    ours = [memory(ANN, f"{n}", kind="preference", created_at=THEN + timedelta(n)) for n in range(9)]
    ours.append(memory(ANN, "persona", kind="persona", created_at=THEN))
    await enter(pool, ANN, *ours)
    await memories.put(ANN, ours, [bag(each.text) for each in ours])
    named_at = {"tenant": "default", "user_id": "ann", "kind": "style", "created_at": THEN.isoformat()}
    await edge.put(RAW, [Point("7", named_at | {"text": "older tool's"}, bag("style"))])
    cards = await memories.cards(ANN, ["preference", "persona", "style"])
    assert [card.text for card in cards[:3]] == ["8", "7", "6"]
    assert {card.text for card in cards[3:]} == {"persona", "older tool's"}


async def test_a_card_is_told_once(memories: MemorySource, edge: Edge, pool: Pool) -> None:
    """As the record has it, also while its point is still that of another space."""
    card = memory(ANN, "short sentences", kind="style")
    await enter(pool, ANN, card)
    await memories.put(ANN, [card], [bag(card.text)])
    [point] = await edge.scroll(RAW, Where(), limit=2, vectors=True)
    await edge.put(RAW, [replace(point, payload={**point.payload, "space": "former", "text": "long ones"})])
    assert await memories.cards(ANN, ["style"]) == [card]


async def test_what_comes_back_is_what_was_kept(memories: MemorySource, pool: Pool) -> None:
    """A card is the memory that was written, every field."""
    facts = {
        "kind": "style",
        "tags": ("a",),
        "origin": "api",
        "vantage_id": "v",
        "thread_id": "t",
        "place": 3,
    }
    kept = memory(ANN, "short sentences", fields={"weights": {"a": 1.5}}, **facts)
    await enter(pool, ANN, kept)
    await memories.put(ANN, [kept], [bag(kept.text)])
    assert await memories.cards(ANN, ["style"]) == [kept]


async def test_again_replaces(memories: MemorySource) -> None:
    """The same id is the same memory."""
    await keep(memories, ANN, "danube")
    await keep(memories, ANN, "danube", kind="style")
    legs = await search(memories, "danube")
    assert [passage.fields["kind"] for passage in legs.passages.values()] == ["style"]


async def test_removing_takes_a_users_own(memories: MemorySource) -> None:
    """Not another's, whatever ids are named; nothing there is no error."""
    [mine] = await keep(memories, ANN, "danube")
    await memories.remove(BEN, [mine, named("nobody")])
    assert (await search(memories, "danube")).stored == 1
    await memories.remove(ANN, [mine])
    assert (await search(memories, "danube")).stored == 0


async def test_erasing_takes_everything_and_counts_it(memories: MemorySource, edge: Edge) -> None:
    """Cards and older tools' points too, and nobody else's; again there is nothing."""
    await keep(memories, ANN, *RIVERS)
    await keep(memories, ANN, "said", origin=ASSISTANT, vantage_id="v")
    await keep(memories, BEN, "elbe")
    await edge.put(RAW, [Point("7", {"content": "older", "user_id": "ann"}, bag("older"))])
    assert [await memories.erase(ANN), await memories.erase(ANN)] == [5, 0]
    assert (await search(memories, "elbe", BEN)).stored == 1


async def test_an_export_has_every_point(memories: MemorySource) -> None:
    """As it is kept, JSON-ready."""
    keys = await keep(memories, ANN, *RIVERS)
    await keep(memories, BEN, "elbe")
    found = [item async for item in memories.export(ANN)]
    assert sorted(str(item["id"]) for item in found) == sorted(keys)
    assert {item["text"] for item in found} == {*RIVERS}


class Away(Edge):
    """An engine that is not there, or hangs."""

    hangs = False

    async def _run(self, work: object) -> Any:
        """Nothing."""
        await asyncio.sleep(30 if self.hangs else 0)
        raise RetrievalError("unavailable")


@pytest.fixture
def away(pool: Pool, tmp_path: Path) -> tuple[MemorySource, Away]:
    """Memories on such an engine."""
    engine = Away(tmp_path, Threads("away"))
    return MemorySource(pool, engine, Catalogue(engine), SPACE), engine


async def test_an_engine_that_is_away_fails_the_search_not_the_reach(
    away: tuple[MemorySource, Away],
) -> None:
    """Whoever guards Postgres must not take one for the other; writes are `Unavailable`."""
    reached = await away[0].reach(ANN)
    with pytest.raises(RetrievalError, match="unavailable"):
        await reached.search(Query("danube", ANN), given(None))
    for write in (away[0].erase(ANN), away[0].remove(ANN, ["x"]), away[0].put(ANN, [], [])):
        with pytest.raises(Unavailable):
            await write


async def test_a_hanging_engine_holds_up_the_search_not_the_reach(
    away: tuple[MemorySource, Away], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How things stand is unknown then, and like nothing else that is kept."""
    monkeypatch.setattr(Away, "hangs", True)
    monkeypatch.setattr("app.sources.memories.COUNT_SECONDS", 0.02)
    one, other = await away[0].reach(ANN), await away[0].reach(ANN)
    assert one.standing != other.standing
    monkeypatch.setattr(Away, "hangs", False)
    with pytest.raises(RetrievalError):
        await one.search(Query("danube", ANN), given(None))


async def test_postgres_away_fails_the_reach(pool: Pool, memories: MemorySource) -> None:
    """Nobody can say what was removed."""
    await keep(memories, ANN, *RIVERS)
    await pool.close()
    with pytest.raises(RetrievalError):
        await memories.reach(ANN)


async def test_scores_survive_the_hit(memories: MemorySource) -> None:
    """A hit beside the legs is one of a passage that is there."""
    await keep(memories, ANN, *(f"the sea {n}" for n in range(30)), "otters otters")
    legs = await search(memories, "the otters", limit=3)
    assert all(isinstance(hit, Hit) and key in legs.passages for key, hit in legs.beside.items())


async def test_whose_a_point_is(pool: Pool, memories: MemorySource) -> None:
    """Its user's, also of an older tool's; not what was removed, nor what outlived its user's erasure."""
    assert not await memories.owns(ANN, named("nowhere"))
    one, other = await keep(memories, ANN, *RIVERS[:2])
    assert [await memories.owns(scope, one) for scope in (ANN, BEN, replace(ANN, user_id=None))] == [
        *(True, False, False)
    ]
    assert not await memories.owns(ANN, "no id at all")
    await pool.execute(ROW, one, THEN)
    assert [await memories.owns(ANN, key) for key in (one, other)] == [False, True]
    await pool.execute(
        "INSERT INTO ibid.memory_user (tenant, user_id, erased_at) VALUES ('default', 'ann', now())"
    )
    assert not await memories.owns(ANN, other)


async def test_a_point_is_owned_by_its_user(pool: Pool, memories: MemorySource, edge: Edge) -> None:
    """Older tools' too, while it stands; nobody else's, and none that was removed or never was."""
    mine, gone = await keep(memories, ANN, "danube", "rhine")
    await edge.put(RAW, [Point("7", {"content": "older", "user_id": "ann"}, bag("older"))])
    await pool.execute(ROW, gone, THEN)
    asked = [
        (ANN, mine),
        (ANN, "7"),
        (ANN, gone),
        (ANN, named("x")),
        (ANN, "no id"),
        (BEN, mine),
        (Scope(), mine),
    ]
    assert [await memories.owns(*each) for each in asked] == [True, True, *[False] * 5]


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
