"""The corpus as a source: the laws of `ports.Source`, tenants, several collections, faults."""

import json
from dataclasses import replace

from app.db.corpus import BUMP
from app.db.pool import Pool
from app.retrieval.corpus import CorpusSource
from app.retrieval.index_cache import IndexCache
from app.retrieval.retrievers.qdrant import CollectionCache, QdrantProcess
from app.text.labels import is_label
from app.types import Legs, Query, Scope
from tests.fakes.filing import SPACE, bag
from tests.fakes.recollections import THEN, given, named, reference, shelve
from tests.retrieval.conftest import exact_alone

HERE = Scope()
OTHER = Scope(tenant="other")
RIVERS = ["the danube flows to the black sea", "the rhine flows to the north sea"]
BEASTS = ["otters eat fish", "fish eat flies", "the danube salmon eats fish"]
NAMED = named("x")


async def search(
    source: CorpusSource, text: str, scope: Scope = HERE, *, embedded: bool = True, limit: int = 40
) -> Legs:
    """Ask with the words of the text as its vector."""
    reached = await source.reach(scope)
    return await reached.search(Query(text, scope, limit=limit), given(bag(text) if embedded else None))


def texts(legs: Legs) -> set[str]:
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


@exact_alone
async def test_a_row_that_is_anothers_by_now_is_not_shown(pool: Pool, corpus: CorpusSource) -> None:
    """However late the index: tenant and collection are asked again where it is read."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    reached = await corpus.reach(HERE)
    await search(corpus, "danube")
    await pool.execute("UPDATE ibid.corpus_text SET tenant = 'other' WHERE text = $1", RIVERS[0])
    legs = await reached.search(Query("danube", HERE), given(bag("danube")))
    assert texts(legs) == {RIVERS[1]}


@exact_alone
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


@exact_alone
async def test_a_tenant_sees_its_own(corpus: CorpusSource) -> None:
    """Of a collection that two write to each finds its part, and of another's not even the name."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    await shelve(corpus, OTHER, "rivers", ["the danube of others"])
    await shelve(corpus, OTHER, "secret", ["the danube in secret"])
    assert texts(await search(corpus, "danube")) == {*RIVERS}
    legs = await search(corpus, "danube", OTHER)
    assert texts(legs) == {"the danube of others", "the danube in secret"}
    assert legs.stored == 2


@exact_alone
async def test_the_setting_narrows_the_list(
    pool: Pool, edge: QdrantProcess, corpus: CorpusSource, indexes: IndexCache
) -> None:
    """CORPUS_COLLECTIONS: the others are not looked at."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    await shelve(corpus, HERE, "beasts", BEASTS)
    narrow = CorpusSource(pool, edge, CollectionCache(edge), indexes, SPACE, only=["beasts"])
    assert texts(await search(narrow, "danube")) == {*BEASTS}


@exact_alone
async def test_all_collections_share_their_statistics(corpus: CorpusSource) -> None:
    """A word is as rare as it is in all that the question reaches, whichever collection holds it."""
    await shelve(corpus, HERE, "one", ["a fish", *(f"a wave {n}" for n in range(60))])
    await shelve(corpus, HERE, "two", ["a fish"])
    await shelve(corpus, OTHER, "two", ["fish"] * 9)
    legs = await search(corpus, "fish")
    assert len({round(hit.score, 9) for hit in legs.words}) == 1
    assert len({hit.coverage for hit in legs.words}) == 1


async def test_a_removed_text_is_gone_though_its_point_is_not(pool: Pool, corpus: CorpusSource) -> None:
    """The record says so before the engine follows."""
    point, _ = await shelve(corpus, HERE, "rivers", RIVERS)
    await pool.execute("DELETE FROM ibid.corpus_text WHERE point = $1", point)
    await pool.execute(BUMP, HERE.tenant, "rivers")
    assert texts(await search(corpus, "danube")) == {RIVERS[1]}


async def test_a_text_that_is_written_again_is_searched_as_it_is_now(corpus: CorpusSource) -> None:
    """The same id: the words of before are forgotten."""
    await shelve(corpus, HERE, "rivers", [replace(reference("otters"), id="x", point=NAMED)])
    await search(corpus, "otters")
    await shelve(corpus, HERE, "rivers", [replace(reference("danube"), id="x", point=NAMED)])
    assert [hit.key for hit in (await search(corpus, "danube")).words] == [f"rivers/{NAMED}"]
    assert (await search(corpus, "otters")).words == ()


async def test_the_engine_alone_finds_the_same(
    pool: Pool, edge: QdrantProcess, catalogue: CollectionCache, corpus: CorpusSource
) -> None:
    """EXACT_MAX_MB=0: its candidates, with exact similarities and the same words."""
    await shelve(corpus, HERE, "rivers", RIVERS)
    await shelve(corpus, HERE, "beasts", [*BEASTS, *(f"fish number {n}" for n in range(20))])
    await shelve(corpus, OTHER, "rivers", ["the danube of others"])
    engine = CorpusSource(pool, edge, catalogue, IndexCache(SPACE.dim, exact_bytes=0), SPACE)
    for question in ("danube black sea", "fish number 7"):
        exact, near = await search(corpus, question, limit=6), await search(engine, question, limit=6)
        assert near.words == exact.words
        assert [hit.key for hit in near.meaning] == [hit.key for hit in exact.meaning]
        assert near.passages.keys() == exact.passages.keys()
