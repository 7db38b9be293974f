"""The corpus as a source: the laws of `ports.Source`, tenants, several collections, faults."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

import pytest

from app.clients.edge import Edge
from app.clients.points import Ask, Collection, Point
from app.clients.pool import Pool
from app.domain.errors import RetrievalError, Unavailable
from app.domain.fusion import fuse
from app.domain.label import is_label
from app.domain.passage import Legs, Query, Scope
from app.domain.relevance import is_match
from app.index.catalogue import Catalogue
from app.sources.corpus import TOGETHER, CorpusSource
from app.sources.memories import MemorySource
from tests.fakes.filing import SPACE, bag
from tests.fakes.recollections import ANN, THEN, given, keep, reference, shelve

HERE = Scope()
OTHER = Scope(tenant="other")
RIVERS = ["the danube flows to the black sea", "the rhine flows to the north sea"]
BEASTS = ["otters eat fish", "fish eat flies", "the danube salmon eats fish"]
VERSION = """
    INSERT INTO ibid.corpus_version AS known (tenant, version) VALUES ('default', 1)
    ON CONFLICT (tenant) DO UPDATE SET version = known.version + 1
"""
ROW = """
    INSERT INTO ibid.corpus_text (tenant, collection, id, point, text, tokens, space, embedding, removed_at)
    VALUES ('default', 'rivers', $1, $1, 'words', 1, 'bag@32', '[1]', now())
"""


async def search(
    source: CorpusSource, text: str, scope: Scope = HERE, *, embedded: bool = True, limit: int = 40
) -> Legs:
    """Ask with the words of the text as its vector."""
    reached = await source.reach(scope)
    return await reached.search(Query(text, scope, limit=limit), given(bag(text) if embedded else None))


def texts(legs: Legs) -> set[str]:
    """What was found."""
    return {passage.text for passage in legs.passages.values()}


async def test_all_collections_are_searched_as_soon_as_they_are_written(corpus: CorpusSource) -> None:
    """Read-your-writes over several collections, both legs, each passage with its similarity."""
    assert (await search(corpus, "danube")).stored == 0
    await shelve(corpus, HERE, "rivers", RIVERS)
    await shelve(corpus, HERE, "beasts", BEASTS)
    legs = await search(corpus, "danube")
    found = {legs.passages[hit.key].text for hit in legs.words}
    assert found == {RIVERS[0], BEASTS[2]}
    assert legs.stored == 5
    assert all(passage.similarity is not None for passage in legs.passages.values())
    assert len(legs.meaning) == 5


async def test_a_passage_says_where_it_stands(corpus: CorpusSource) -> None:
    """Label, title, address, tags and origin are those it was written with."""
    metadata = {"kind": "page", "source": "atlas", "tags": ["a", "b"], "url": "https://a.example/1", "x": 1}
    text = reference(RIVERS[0], title="Danube", metadata=metadata)
    [point] = await shelve(corpus, HERE, "rivers", [text])
    [passage] = (await search(corpus, "danube")).passages.values()
    assert (passage.source, passage.id) == ("corpus", f"rivers/{point}")
    assert (passage.text, passage.title, passage.tokens) == (RIVERS[0], "Danube", 7)
    assert (passage.label[:7], len(passage.label), is_label(passage.label)) == ("rivers#", 15, True)
    assert passage.created_at == THEN
    assert json.loads(str(passage.fields["metadata"])) == metadata
    assert {name: value for name, value in passage.fields.items() if name != "metadata"} == {
        "id": text.id,
        "collection": "rivers",
        "kind": "page",
        "origin": "atlas",
        "tags": "a,b",
        "url": "https://a.example/1",
    }


async def test_a_text_is_found_by_its_title(corpus: CorpusSource) -> None:
    """The words of a heading are words of what stands under it."""
    await shelve(corpus, HERE, "rivers", [reference("it flows east", title="Danube"), "otters"])
    legs = await search(corpus, "danube", embedded=False)
    assert texts(legs) == {"it flows east"}


async def test_legs_are_no_longer_than_asked(corpus: CorpusSource) -> None:
    """At most `limit` over all collections, best first."""
    for name in "abc":
        await shelve(corpus, HERE, f"sea-{name}", [f"sea {name} {'wave ' * n}" for n in range(6)])
    legs = await search(corpus, "sea wave", limit=4)
    for leg in (legs.words, legs.meaning):
        assert len(leg) == 4
        assert [hit.score for hit in leg] == sorted((hit.score for hit in leg), reverse=True)
        assert all(hit.key in legs.passages for hit in leg)


async def test_the_size_of_a_collection_gives_its_words_no_weight(corpus: CorpusSource) -> None:
    """A rare word weighs more in a large collection; scores are shares of the best, so neither drowns."""
    await shelve(corpus, HERE, "small", ["the danube", "the rhine"])
    await shelve(corpus, HERE, "large", ["a danube salmon", *(f"a fish {n}" for n in range(60))])
    legs = await search(corpus, "danube")
    scores = {legs.passages[hit.key].text: hit.score for hit in legs.words}
    assert scores == pytest.approx({"the danube": 1.0, "a danube salmon": 1.0})


async def test_words_vouch_by_the_statistics_of_their_collection(corpus: CorpusSource) -> None:
    """A word rare in one collection vouches there, though it stands everywhere in another."""
    await shelve(corpus, HERE, "beasts", [*(f"fish {n}" for n in range(200)), "an otter"])
    await shelve(corpus, HERE, "otters", [f"otter {n} is here" for n in range(200)])
    reached = await corpus.reach(HERE)
    legs = await reached.search(Query("an otter", HERE), given(bag("zz")))
    matches = {item.passage.text for item in fuse([legs]) if is_match(item, 2.0)}
    assert matches == {"an otter"}


async def test_memories_are_no_corpus(corpus: CorpusSource, memories: MemorySource) -> None:
    """`memory_raw` is a person's."""
    await keep(memories, ANN, "the danube is mine")
    await shelve(corpus, HERE, "rivers", RIVERS)
    assert texts(await search(corpus, "danube", ANN)) == {*RIVERS}


async def test_a_tenant_sees_its_own(corpus: CorpusSource) -> None:
    """Of a collection that two write to each finds its part, and of another's not even the name."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    await shelve(corpus, OTHER, "rivers", ["the danube of others"])
    await shelve(corpus, OTHER, "secret", ["the danube in secret"])
    assert texts(await search(corpus, "danube")) == {*RIVERS}
    legs = await search(corpus, "danube", OTHER)
    assert texts(legs) == {"the danube of others", "the danube in secret"}
    assert legs.stored == 2


async def test_another_tenant_moves_nothing(corpus: CorpusSource) -> None:
    """Fifty of its texts leave every id, score and order byte-equal."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    before = await search(corpus, "the danube")
    await shelve(corpus, OTHER, "rivers", [f"the danube and the sea {n}" for n in range(50)])
    assert repr(await search(corpus, "the danube")) == repr(before)


async def test_points_without_a_tenant_are_the_defaults(corpus: CorpusSource, edge: Edge) -> None:
    """As older tools wrote; text under `content` or `chunk`, facts under `metadata`."""
    await edge.create("older", 32)
    metadata = {"kind": "page", "source": "atlas", "title": "Danube", "tags": "a, b", "url": "javascript:x()"}
    await edge.put("older", [Point("7", {"chunk": "the danube", "metadata": metadata}, bag("the danube"))])
    [passage] = (await search(corpus, "danube")).passages.values()
    assert (passage.id, passage.text, passage.title) == ("older/7", "the danube", "Danube")
    assert passage.fields["url"] is None
    assert (passage.fields["kind"], passage.fields["origin"], passage.fields["tags"]) == (
        "page",
        "atlas",
        "a,b",
    )
    assert (await search(corpus, "danube", OTHER)).stored == 0


async def test_the_setting_narrows_the_list(pool: Pool, edge: Edge, corpus: CorpusSource) -> None:
    """CORPUS_COLLECTIONS: the others are not looked at."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    await shelve(corpus, HERE, "beasts", BEASTS)
    narrow = CorpusSource(pool, edge, Catalogue(edge), SPACE, only=["beasts"])
    assert texts(await search(narrow, "danube")) == {*BEASTS}


async def test_two_collections_may_have_a_point_of_one_id(corpus: CorpusSource, edge: Edge) -> None:
    """They are two passages with two labels."""
    for name in ("one", "two"):
        await edge.create(name, 32)
        await edge.put(name, [Point("7", {"text": f"danube {name}"}, bag("danube"))])
    legs = await search(corpus, "danube")
    assert texts(legs) == {"danube one", "danube two"}
    assert len({passage.label for passage in legs.passages.values()}) == 2


async def test_vectors_of_another_size_are_passed_over_with_a_note(corpus: CorpusSource, edge: Edge) -> None:
    """Told to the tenant that has points there, and to no other."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    await shelve(corpus, OTHER, "rivers", RIVERS)
    await edge.create("older", 16)
    await edge.put("older", [Point("1", {"text": "danube"}, bag("danube", 16))])
    legs = await search(corpus, "danube")
    assert (texts(legs), legs.partial) == ({*RIVERS}, "")
    assert legs.notes == ("older was passed over: its vectors are of another space",)
    assert (await search(corpus, "danube", OTHER)).notes == ()
    with pytest.raises(Unavailable, match="another space"):
        await shelve(corpus, HERE, "older", ["danube"])


async def test_a_point_without_text_is_passed_over_with_a_note(corpus: CorpusSource, edge: Edge) -> None:
    """The others count."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    await edge.put("rivers", [Point("3", {"tenant": "default", "body": "danube"}, bag("danube"))])
    legs = await search(corpus, "danube")
    assert texts(legs) == {*RIVERS}
    assert legs.notes == ("points of rivers without text were passed over: 1",)


async def test_a_removed_text_is_gone_though_its_point_is_not(pool: Pool, corpus: CorpusSource) -> None:
    """The record says so before the index follows."""
    point, _ = await shelve(corpus, HERE, "rivers", RIVERS)
    await pool.execute(ROW, point)
    assert texts(await search(corpus, "danube")) == {RIVERS[1]}


async def test_removing_takes_the_tenants_own(corpus: CorpusSource) -> None:
    """Not another's; a collection or point that is not there is no error."""
    point, _ = await shelve(corpus, HERE, "rivers", RIVERS)
    await corpus.remove(OTHER, "rivers", [point])
    await corpus.remove(HERE, "nowhere", [point])
    assert texts(await search(corpus, "danube")) == {*RIVERS}
    await corpus.remove(HERE, "rivers", [point])
    assert texts(await search(corpus, "danube")) == {RIVERS[1]}


async def test_a_collection_deleted_in_the_middle_is_a_note(corpus: CorpusSource, edge: Edge) -> None:
    """The others count, nothing is degraded; the next search has forgotten it, a write makes it anew."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    await shelve(corpus, HERE, "beasts", BEASTS)
    reached = await corpus.reach(HERE)
    await edge.drop("rivers")
    legs = await reached.search(Query("danube", HERE), given(bag("danube")))
    assert (texts(legs), legs.partial) == ({*BEASTS}, "")
    assert legs.notes == ("rivers is not there any more",)
    assert (await search(corpus, "danube")).notes == ()
    await shelve(corpus, HERE, "rivers", RIVERS[:1])
    assert texts(await search(corpus, "danube")) == {*BEASTS, RIVERS[0]}


async def test_another_replicas_collection_is_seen_at_once(
    pool: Pool, edge: Edge, corpus: CorpusSource
) -> None:
    """The list is remembered for half a minute, but not past a write of the tenant's."""
    other = CorpusSource(pool, edge, Catalogue(edge), SPACE)
    assert (await search(other, "danube")).stored == 0
    await shelve(corpus, HERE, "rivers", RIVERS)
    await pool.execute(VERSION)
    assert texts(await search(other, "danube")) == {*RIVERS}


async def test_a_write_makes_another_standing(pool: Pool, corpus: CorpusSource, edge: Edge) -> None:
    """The tenant's version, and what other tools wrote as soon as the list is renewed."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    standings = [(await corpus.reach(HERE)).standing, (await corpus.reach(OTHER)).standing]
    await pool.execute(VERSION)
    standings.append((await corpus.reach(HERE)).standing)
    await edge.put("rivers", [Point("3", {"text": "danube"}, bag("danube"))])
    corpus._catalogue.forget()
    standings.append((await corpus.reach(HERE)).standing)
    assert len(set(standings)) == 4
    assert (await corpus.reach(HERE)).standing == standings[-1]


async def test_another_tenants_writes_leave_the_standing(
    pool: Pool, corpus: CorpusSource, edge: Edge
) -> None:
    """Into the same collection or a new one: whether a result is kept does not tell of them."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    before = (await corpus.reach(HERE)).standing
    await shelve(corpus, OTHER, "rivers", BEASTS)
    await shelve(corpus, OTHER, "beasts", BEASTS)
    corpus._catalogue.forget()
    assert (await corpus.reach(HERE)).standing == before


class Failing(Edge):
    """An engine of which some collections do not answer; it counts who searches and lists."""

    sick: Sequence[str] = ()
    deaf = False
    listed = 0
    busy = most = 0

    async def search(self, name: str, asks: Sequence[Ask]) -> list[list[Point]]:
        """Not for the sick ones."""
        if name in self.sick:
            raise RetrievalError("timeout")
        self.busy += 1
        self.most = max(self.most, self.busy)
        found = await super().search(name, asks)
        self.busy -= 1
        return found

    async def collections(self) -> list[Collection]:
        """Unless it hears nothing."""
        if self.deaf:
            raise RetrievalError("unavailable")
        self.listed += 1
        return await super().collections()


@pytest.fixture
async def failing(pool: Pool, edge: Edge) -> AsyncIterator[tuple[CorpusSource, Failing]]:
    """Two collections on such an engine."""
    engine = Failing(edge._root, edge._threads)
    source = CorpusSource(pool, engine, Catalogue(engine), SPACE)
    await shelve(source, HERE, "rivers", RIVERS)
    await shelve(source, HERE, "beasts", BEASTS)
    yield source, engine
    engine.close()


async def test_one_that_does_not_answer_costs_its_own(failing: tuple[CorpusSource, Failing]) -> None:
    """The others are used; it is told of, and counts as degraded, so that nothing of it is cached."""
    source, engine = failing
    engine.sick = ["rivers"]
    legs = await search(source, "danube")
    assert (texts(legs), legs.partial) == ({*BEASTS}, "timeout")
    assert legs.notes == ("rivers did not answer: timeout",)


async def test_a_fault_is_no_reason_to_list_anew(failing: tuple[CorpusSource, Failing]) -> None:
    """An engine that is overloaded is not asked all the more."""
    source, engine = failing
    await search(source, "danube")
    engine.sick, before = ["rivers"], engine.listed
    for _ in range(2):
        await search(source, "danube")
    assert engine.listed == before


async def test_many_at_once_lose_nothing(failing: tuple[CorpusSource, Failing]) -> None:
    """A dozen collections and more askers than the engine has threads: they wait, and leave half of the
    threads to others."""
    source, engine = failing
    for n in range(12):
        await shelve(source, HERE, f"small-{n}", [f"danube {n}"])
    engine.most = 0
    every = await asyncio.gather(*(search(source, "danube") for _ in range(16)))
    assert {(legs.partial, len(legs.words)) for legs in every} == {("", 14)}
    assert engine.most == TOGETHER


async def test_if_none_answers_the_source_failed(failing: tuple[CorpusSource, Failing]) -> None:
    """With the reason of the first."""
    source, engine = failing
    engine.sick = ["rivers", "beasts"]
    with pytest.raises(RetrievalError, match="timeout"):
        await search(source, "danube")


async def test_an_engine_that_is_away_fails_the_search_not_the_reach(
    failing: tuple[CorpusSource, Failing],
) -> None:
    """Whoever guards Postgres must not take one for the other."""
    source, engine = failing
    engine.deaf = True
    source._catalogue.forget()
    reached = await source.reach(HERE)
    with pytest.raises(RetrievalError, match="unavailable"):
        await reached.search(Query("danube", HERE), given(None))


async def test_postgres_away_fails_the_reach(pool: Pool, corpus: CorpusSource) -> None:
    """Nobody can say what was removed."""
    await pool.close()
    with pytest.raises(RetrievalError):
        await corpus.reach(HERE)


async def test_an_empty_collection_of_ours_is_dropped(corpus: CorpusSource, edge: Edge) -> None:
    """With a point in it, whosever, it stays; one that is not there is no error."""
    points = await shelve(corpus, HERE, "rivers", RIVERS)
    await corpus.drop("rivers")
    assert [each.name for each in await edge.collections()] == ["rivers"]
    await corpus.remove(HERE, "rivers", points)

    await corpus.drop("rivers")
    await corpus.drop("nowhere")

    assert await edge.collections() == []
    assert (await search(corpus, "danube")).notes == ()
    await shelve(corpus, HERE, "rivers", RIVERS)
    assert (await search(corpus, "danube")).stored == 2
