"""The laws of `ports.Source`, one test each, for every source there is."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from app.db.documents import DocumentPart
from app.db.pool import Pool
from app.errors import RetrievalError
from app.retrieval.corpus import CorpusSource
from app.retrieval.documents import DocumentSource
from app.retrieval.fusion import fuse
from app.retrieval.memories import MemorySource
from app.retrieval.relevance import is_match
from app.text.labels import is_label
from app.types import Embedding, Legs, Query, Scope, Source
from app.wiring import ProjectSources
from tests.fakes.filing import bag, file
from tests.fakes.recollections import given, keep, shelve
from tests.fakes.records import chunked, told
from tests.retrieval.conftest import exact_alone

HERE = Scope(tenant="t", user_id="ann", session_id="s1")
STRANGER = Scope(tenant="u", user_id="ben", session_id="s2")
TEXTS = [f"the {river} flows to the {sea} sea" for river in ("danube", "rhine", "elbe") for sea in ("a", "b")]
ASKED = "danube sea"
WRITTEN = [
    "to be, or not to be: that is the question he was asked",
    "that is not the one he was to ask about, or so it is said to be",
    "The Who smashed guitars on that stage",
    "the man who called knew the woman who answered",
    "vitamin C is written on the label with care",
    "all of our own code is written in C++ with great care",
    "the rate that he told us was raised",
    "the rate that most banks of the US pay was raised",
    "it is late, ask the other department for it",
    "ask the IT department for a new laptop",
    "annual report on Form 10-K of 2023-05-07",
    "quarterly report on Form 10-Q of 2023-07-05",
    "we owe $1,234.5 for version v1.2.3",
    "we owe $1,235.4 for version v1.3.2",
    "COVID-19 closed the school for a year",
    "nineteen schools closed for a year, 19 in all",
    "def getUserName(self): return self.user_name",
    "def setUserAge(self, age): self.age = age",
    "人工智能改变医疗",
    "医疗保险改变人生",
    "सरकार ने किताबें खरीदीं",
    "सरकार ने कपड़े खरीदे",
]
SOUGHT = {
    "to be or not to be": 0,
    "The Who stage": 2,
    "c++": 5,
    "US rate": 7,
    "the IT department": 9,
    "10-K": 10,
    "2023-05-07": 10,
    "2023-07-05": 11,
    "$1,234.5": 12,
    "1234.5": 12,
    "v1.2.3": 12,
    "COVID-19": 14,
    "user name": 16,
    "智能": 18,
    "किताब": 20,
}
"""A question, and which text its words should find before all others."""


PLAIN = {
    "How much do we pay the gardener?": "The gardener is paid forty pounds for every visit to the orchard.",
    "What did the architect say of the roof?": "Slates are missing; the architect wants a new roof.",
    "Why was the regatta called off?": "A storm was forecast, so the regatta did not take place this summer.",
    "tell me about the lighthouse": "Built of granite, the lighthouse has been empty for twenty years.",
    "Who is going to tune the organ?": "A workshop from Lübeck comes to tune the organ.",
    "How is the ferry financed?": "Tickets and a grant of the county are what the ferry lives on.",
    "When does the museum close?": "From October on the doors of the museum are shut at four.",
    "Is there anything on badgers?": "Two badgers have moved in under the old bakery.",
}
"""Questions as people ask them, and what answers each: most of their words stand nowhere."""
UNRELATED = [
    "How do I change a bicycle tyre?",
    "What is the boiling point of ethanol?",
    "Give me a recipe for tiramisu",
    "Wie viele Planeten hat das Sonnensystem?",
]


@dataclass(frozen=True)
class Stocked:
    """A source, and how texts of a scope get into it."""

    source: Source
    write: Callable[[Scope, list[str]], Awaitable[object]]


@pytest.fixture
def projects(pool: Pool, rows: ProjectSources) -> dict[str, Stocked]:
    return {
        "conversations": Stocked(rows.conversations, lambda scope, texts: told(pool, scope, "THN", texts)),
        "code": Stocked(rows.code, lambda scope, texts: chunked(pool, scope, "THN", texts)),
        "dreams": Stocked(rows.dreams, lambda scope, texts: told(pool, scope, "DAAS", texts)),
    }


@pytest.fixture(params=["documents", "memories", "corpus", "conversations", "code", "dreams"])
def stocked(
    request: pytest.FixtureRequest,
    source: DocumentSource,
    memories: MemorySource,
    corpus: CorpusSource,
    projects: dict[str, Stocked],
) -> Stocked:

    async def filed(scope: Scope, texts: list[str]) -> None:
        part = DocumentPart(scope.tenant, scope.owner, scope.session_id or "")
        await file(request.getfixturevalue("pool"), part, texts)

    kinds = {
        "documents": Stocked(source, filed),
        "memories": Stocked(memories, lambda scope, texts: keep(memories, scope, *texts)),
        "corpus": Stocked(corpus, lambda scope, texts: shelve(corpus, scope, "seas", texts)),
        **projects,
    }
    return kinds[str(request.param)]


async def search(stocked: Stocked, scope: Scope = HERE, *, limit: int = 40, embedded: bool = True) -> Legs:
    reached = await stocked.source.reach(scope)
    return await reached.search(Query(ASKED, scope, limit=limit), given(bag(ASKED) if embedded else None))


async def test_read_your_writes(stocked: Stocked) -> None:
    """Nothing, then what was written, by another standing."""
    before = await stocked.source.reach(HERE)
    assert (await search(stocked)).stored == 0
    await stocked.write(HERE, TEXTS)
    legs = await search(stocked)
    assert (legs.source, legs.stored) == (stocked.source.name, len(TEXTS))
    assert {passage.text for passage in legs.passages.values()} == {*TEXTS}
    assert (await stocked.source.reach(HERE)).standing != before.standing


async def test_best_first_and_no_more_than_asked(stocked: Stocked) -> None:
    """Each leg; and every hit has its passage, every passage its source, its id and a label of its own."""
    await stocked.write(HERE, TEXTS)
    legs = await search(stocked, limit=3)
    for leg in (legs.words, legs.meaning):
        assert len(leg) == 3
        assert [hit.score for hit in leg] == sorted((hit.score for hit in leg), reverse=True)
    assert {hit.key for hit in (*legs.words, *legs.meaning)} == {*legs.passages}
    labels = [passage.label for passage in legs.passages.values()]
    assert len({*labels}) == len(labels)
    for key, passage in legs.passages.items():
        assert (passage.source, passage.id) == (stocked.source.name, key)
        assert is_label(passage.label)
        assert passage.tokens > 0


async def test_similarities_not_distances(stocked: Stocked) -> None:
    """Exact, of every passage of either leg; the meaning leg's scores are those."""
    await stocked.write(HERE, TEXTS)
    legs, asked = await search(stocked, limit=3), np.frombuffer(bag(ASKED), "<f4")
    for passage in legs.passages.values():
        cosine = float(np.frombuffer(bag(passage.text), "<f4") @ asked)
        assert passage.similarity == pytest.approx(cosine, abs=1e-6)
    assert all(hit.score == legs.passages[hit.key].similarity for hit in legs.meaning)


async def test_nothing_outside_the_scope(stocked: Stocked) -> None:
    """Another's are not there, and move nothing of mine: every byte the same."""
    await stocked.write(HERE, TEXTS)
    before = await search(stocked)
    await stocked.write(STRANGER, [f"danube and sea {n}" for n in range(20)])
    after = await search(stocked)
    assert repr(after) == repr(before)
    assert repr(fuse([after])) == repr(fuse([before]))
    assert {passage.text for passage in (await search(stocked, STRANGER)).passages.values()}.isdisjoint(TEXTS)


async def test_equal_reaches_stand_alike_and_no_two_share(stocked: Stocked) -> None:
    """What a cached result is bound to."""
    await stocked.write(HERE, TEXTS)
    mine, again, theirs, tenants = [
        (await stocked.source.reach(scope)).standing
        for scope in (HERE, HERE, STRANGER, replace(HERE, tenant="v"))
    ]
    assert mine == again
    assert len({mine, theirs, tenants}) == 3


@exact_alone
async def test_words_do_without_the_embedding(stocked: Stocked) -> None:
    """Similarity is unknown then, and the word leg as ever."""
    await stocked.write(HERE, TEXTS)
    whole, legs = await search(stocked), await search(stocked, embedded=False)
    assert legs.words == whole.words
    assert legs.meaning == ()
    assert all(passage.similarity is None for passage in legs.passages.values())


@exact_alone
async def test_without_vectors_words_alone_tell_what_matches(stocked: Stocked) -> None:
    """A plain question has its match, one about something else has none."""
    await stocked.write(HERE, [*PLAIN.values(), *TEXTS])
    reached = await stocked.source.reach(HERE)

    async def matches(asked: str) -> list[str]:
        legs = await reached.search(Query(asked, HERE), given(None))
        return [item.passage.text for item in fuse([legs]) if is_match(item, 0.2)]

    found = {asked: await matches(asked) for asked in PLAIN}
    assert {asked: texts[:1] for asked, texts in found.items()} == {a: [text] for a, text in PLAIN.items()}
    assert {asked: await matches(asked) for asked in UNRELATED} == {asked: [] for asked in UNRELATED}


@exact_alone
async def test_words_find_what_is_written_not_what_looks_alike(stocked: Stocked) -> None:
    """Common words, names that look like them, numbers, dates, identifiers, scripts: in every store."""
    await stocked.write(HERE, WRITTEN)
    reached = await stocked.source.reach(HERE)
    for asked, place in SOUGHT.items():
        legs = await reached.search(Query(asked, HERE), given(None))
        assert legs.passages[legs.words[0].key].text == WRITTEN[place], asked


@exact_alone
async def test_cancellation_passes_through(stocked: Stocked) -> None:
    """While the embedding is waited for, too."""
    await stocked.write(HERE, TEXTS)
    never: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
    reached = await stocked.source.reach(HERE)
    asking = asyncio.ensure_future(reached.search(Query(ASKED, HERE), never))
    await asyncio.sleep(0.05)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@exact_alone
async def test_only_retrieval_errors(stocked: Stocked, pool: Pool) -> None:
    await stocked.write(HERE, TEXTS)
    await pool.close()
    with pytest.raises(RetrievalError):
        await search(stocked)
