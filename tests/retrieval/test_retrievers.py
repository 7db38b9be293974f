"""The contract of `Retriever`, held by every engine: points are found, filtered, replaced, counted."""

import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient

from app.clients.chroma import open_chroma
from app.clients.qdrant_process import open_qdrant_process
from app.clients.qdrant_server import QdrantRemote, connected
from app.config import Settings
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding
from app.retrieval.index import Matrix
from app.retrieval.retrievers import DerivedIndex, EnginePoint, Filter, Near
from app.retrieval.retrievers.chroma import ChromaRetriever
from app.retrieval.retrievers.qdrant import OTHERS, QdrantRetriever
from tests.fakes.chromas import chroma_server
from tests.fakes.qdrant import QdrantServer, qdrant_server

pytestmark = [  # of the vendor's own small engine in memory
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]
DIM, ROWS, ASKED = 64, 2_000, 25
EVERY = Filter()


@pytest.fixture(scope="module")
def chroma_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The vendor's own server."""
    with chroma_server(tmp_path_factory.mktemp("server")) as server:
        yield server.url


@pytest.fixture(scope="module")
def chroma_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An embedded Chroma's."""
    return Settings(_env_file=None, ibid={"data_dir": tmp_path_factory.mktemp("embedded")})


@pytest.fixture
async def embedded_chroma(chroma_settings: Settings) -> AsyncIterator[DerivedIndex]:
    async with open_chroma(chroma_settings) as chroma:
        await chroma.ready()
        yield ChromaRetriever(chroma)


@pytest.fixture
async def served_chroma(chroma_url: str) -> AsyncIterator[DerivedIndex]:
    async with open_chroma(Settings(_env_file=None, chroma={"url": chroma_url})) as chroma:
        yield ChromaRetriever(chroma)


@pytest.fixture(scope="module")
def qdrant_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedded engine's."""
    return tmp_path_factory.mktemp("qdrant")


@pytest.fixture(scope="module")
def qdrant_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantServer]:
    """A server of the vendor's REST calls."""
    with qdrant_server(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
async def embedded_qdrant(qdrant_folder: Path) -> AsyncIterator[DerivedIndex]:
    async with open_qdrant_process(qdrant_folder) as engine:
        yield QdrantRetriever(engine)


@pytest.fixture
async def served_qdrant(qdrant_at: QdrantServer) -> AsyncIterator[DerivedIndex]:
    engine = connected(qdrant_at.url, None)
    yield QdrantRetriever(engine)
    await engine.aclose()


@pytest.fixture
async def qdrant_in_memory() -> AsyncIterator[DerivedIndex]:
    engine = QdrantRemote(AsyncQdrantClient(":memory:"))
    yield QdrantRetriever(engine)
    await engine.aclose()


CHROMAS = ["embedded_chroma", "served_chroma"]
QDRANTS = ["embedded_qdrant", "served_qdrant", "qdrant_in_memory"]


@pytest.fixture(params=[*CHROMAS, *QDRANTS])
def retriever(request: pytest.FixtureRequest) -> DerivedIndex:
    """Each engine, opened by the fixture of its name."""
    found: DerivedIndex = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def name() -> str:
    """A collection that is not there yet."""
    return f"ibid-test-{uuid.uuid4()}"


def id_of(label: str) -> str:
    """The label as an id: Qdrant takes UUIDs, in the labels' order here."""
    return str(uuid.UUID(bytes=label.encode().ljust(16, b"\0")))


def label(id_: str) -> str:
    """And back."""
    return uuid.UUID(id_).bytes.rstrip(b"\0").decode()


def labels(found: Sequence[Near]) -> list[str]:
    return [label(near.id) for near in found]


def at(degrees: float) -> Embedding:
    """A unit vector in a plane."""
    angle = np.deg2rad(degrees)
    return np.array([np.cos(angle), np.sin(angle), 0, 0], dtype="<f4").tobytes()


def point(name: str, degrees: float, **payload: str) -> EnginePoint:
    return EnginePoint(id_of(name), at(degrees), payload or {"ibid": "1"})


def random(rows: int, seed: int) -> Matrix:
    """Unit vectors."""
    made = np.random.default_rng(seed).normal(size=(rows, DIM)).astype("<f4")
    unit: Matrix = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


async def test_the_nearest_come_in_order_with_their_cosines(retriever: DerivedIndex, name: str) -> None:
    """Best first, whatever the order of writing."""
    await retriever.upsert(name, [point(str(n), n) for n in (40, 5, 80, 20, 60)])
    found = await retriever.nearest(name, at(0), EVERY, 3)
    assert labels(found) == ["5", "20", "40"]
    cosines = [float(np.cos(np.deg2rad(n))) for n in (5, 20, 40)]
    assert [near.score for near in found] == pytest.approx(cosines, abs=1e-5)


async def test_equal_ones_come_by_id(retriever: DerivedIndex, name: str) -> None:
    """So that two engines answer alike."""
    await retriever.upsert(name, [point(each, 10) for each in "cab"])
    assert labels(await retriever.nearest(name, at(0), EVERY, 5)) == ["a", "b", "c"]


async def test_opposite_vectors_have_negative_cosines(retriever: DerivedIndex, name: str) -> None:
    """Scores are raw cosines, not distances."""
    await retriever.upsert(name, [point("x", 180)])
    [near] = await retriever.nearest(name, at(0), EVERY, 1)
    assert near.score == pytest.approx(-1, abs=1e-5)


async def test_writing_again_replaces(retriever: DerivedIndex, name: str) -> None:
    """Vector and fields; there is one point still. Chroma keeps fields that the new payload lacks."""
    await retriever.upsert(name, [point("a", 10, kind="old", extra="x"), point("b", 30, kind="old")])
    await retriever.upsert(name, [point("a", 80, kind="new")])
    found = await retriever.nearest(name, at(0), EVERY, 9, payload=True)
    assert labels(found) == ["b", "a"]
    assert found[1].payload["kind"] == "new"
    assert await retriever.count(name, EVERY) == 2
    assert await retriever.count(name, Filter({"kind": "old"})) == 1


async def test_payloads_come_back_when_asked_for(retriever: DerivedIndex, name: str) -> None:
    """As they were written; the mark of ours may be added."""
    payload = {"tenant": "t", "session": "s é"}
    await retriever.upsert(name, [point("a", 10, **payload)])
    [with_it] = await retriever.nearest(name, at(0), EVERY, 1, payload=True)
    assert payload.items() <= with_it.payload.items()


FILTERS = [
    pytest.param(Filter({"tenant": "t"}), ["t-s", "t-none", "t-z"], id="equal"),
    pytest.param(Filter({"tenant": "t", "session": "s"}), ["t-s"], id="two fields"),
    pytest.param(Filter(equal_or_missing={"session": "s"}), ["t-s", "t-none", "u-s"], id="or missing"),
    pytest.param(Filter(not_equal={"session": ["s", "x"]}), ["t-none", "t-z"], id="not equal"),
    pytest.param(Filter({"tenant": "t"}, {"session": "z"}), ["t-none", "t-z"], id="both kinds"),
    pytest.param(
        Filter({"tenant": "t"}, not_equal={"session": ["z"]}), ["t-s", "t-none"], id="equal and not equal"
    ),
    pytest.param(Filter({"tenant": "nobody"}), [], id="nobody's"),
    pytest.param(Filter({"tenant": "T"}), [], id="another case"),
    pytest.param(Filter({"tenant": ""}), [], id="empty"),
    pytest.param(
        Filter(not_equal={"other": ["x"]}), ["t-s", "t-none", "t-z", "u-s"], id="a field that few have"
    ),
]


@pytest.mark.parametrize(("where", "expected"), FILTERS)
async def test_filters_never_leak(
    retriever: DerivedIndex, name: str, where: Filter, expected: list[str]
) -> None:
    """All conditions hold of all that is found and counted, however near the others are."""
    await retriever.upsert(
        name,
        [
            *(point(f"x-{n}", n / 100, tenant="x", session="x", other="x") for n in range(100)),
            point("t-s", 10, tenant="t", session="s"),
            point("t-none", 20, tenant="t"),
            point("t-z", 30, tenant="t", session="z"),
            point("u-s", 40, tenant="u", session="s"),
        ],
    )
    for limit in (1, 10):
        assert labels(await retriever.nearest(name, at(0), where, limit)) == expected[:limit]
    assert await retriever.count(name, where) == len(expected)


async def test_what_is_deleted_is_gone(retriever: DerivedIndex, name: str) -> None:
    """At once; nothing there is no error."""
    await retriever.upsert(name, [point("a", 10), point("b", 20)])
    for _ in range(2):
        await retriever.delete(name, [id_of("a"), id_of("never there")])
    await retriever.delete(name, [])
    assert labels(await retriever.nearest(name, at(0), EVERY, 5)) == ["b"]
    assert await retriever.count(name, EVERY) == 1


async def test_a_collection_that_is_not_there_is_empty(retriever: DerivedIndex, name: str) -> None:
    """Neither reads nor deletes fail."""
    assert await retriever.nearest(name, at(0), Filter({"tenant": "t"}), 5) == []
    assert await retriever.count(name, EVERY) == 0
    await retriever.delete(name, [id_of("a")])
    await retriever.upsert(name, [])


async def test_more_can_be_asked_for_than_there_is(retriever: DerivedIndex, name: str) -> None:
    """Then all come."""
    await retriever.upsert(name, [point(str(n), n, kind="k") for n in range(3)])
    assert len(await retriever.nearest(name, at(0), EVERY, 1_000)) == 3
    assert len(await retriever.nearest(name, at(0), Filter({"kind": "k"}), 1_000)) == 3


async def test_recall_of_random_vectors(retriever: DerivedIndex, name: str) -> None:
    """At least .95 of the 40 nearest of 2,000 random vectors, the hardest there are, also under a filter; and
    a filter leaves none of the others in."""
    matrix = random(ROWS, 1)
    points = [EnginePoint(id_of(str(n)), row.tobytes(), {"half": str(n % 2)}) for n, row in enumerate(matrix)]
    for first in range(0, ROWS, 500):
        await retriever.upsert(name, points[first : first + 500])
    assert await retriever.count(name, EVERY) == ROWS
    for where, rows in ((EVERY, np.arange(ROWS)), (Filter({"half": "1"}), np.arange(1, ROWS, 2))):
        hits = 0
        for query in random(ASKED, 2):
            truth = rows[np.argsort(-(matrix[rows] @ query))[:40]]
            found = {int(each) for each in labels(await retriever.nearest(name, query.tobytes(), where, 40))}
            assert len(found) == 40
            assert found <= {*rows.tolist()}
            hits += len(found & {*truth.tolist()})
        assert hits / (40 * ASKED) >= 0.95


@pytest.mark.parametrize("retriever", QDRANTS, indirect=True)
async def test_points_are_marked_as_ours(retriever: DerivedIndex, name: str) -> None:
    """So that a search for what other tools wrote in the same collection leaves them out."""
    await retriever.upsert(name, [point("a", 10)])
    assert await retriever.count(name, Filter(not_equal=OTHERS)) == 0
    assert await retriever.nearest(name, at(0), Filter(not_equal=OTHERS), 5) == []


@pytest.mark.parametrize("retriever", QDRANTS, indirect=True)
async def test_a_vector_of_another_size_is_refused(retriever: DerivedIndex, name: str) -> None:
    """The collection stays as it was."""
    await retriever.upsert(name, [point("a", 10)])
    with pytest.raises(RetrievalError) as caught:
        await retriever.upsert(name, [EnginePoint(id_of("b"), random(1, 1)[0].tobytes())])
    assert caught.value.rejected
    assert await retriever.count(name, EVERY) == 1
