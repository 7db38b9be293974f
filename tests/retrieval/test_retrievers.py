"""The contract of the engines as retrievers: the nearest are found, filtered, replaced, gone when deleted."""

import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient

from app.db.pool import Pool
from app.db.project_tables import CHUNK, ProjectPart
from app.retrieval.index import Matrix
from app.retrieval.retrievers.chroma import Chroma, open_chroma
from app.retrieval.retrievers.points import Point, Where
from app.retrieval.retrievers.postgres import nearest
from app.retrieval.retrievers.qdrant import MARK, NOT_OURS, Qdrant
from app.retrieval.retrievers.qdrant_server import QdrantRemote, connected
from app.settings import Settings
from app.types import Embedding, Space
from tests.fakes.chromas import chroma_server
from tests.fakes.qdrant import QdrantServer, QdrantThread, qdrant_server
from tests.fakes.records import insert

pytestmark = [  # of the vendor's own small engine in memory
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]
DIM, ROWS, ASKED = 64, 2_000, 25
Equal = Mapping[str, str]
EVERY: Equal = {}


class Engine(Protocol):
    """A retriever, with the writes of its client that the outbox makes."""

    async def put(self, name: str, points: Sequence[Point]) -> None:
        """Write, in a collection that is made where it is missing."""

    async def remove(self, name: str, ids: Sequence[str]) -> None:
        """Delete by id."""

    async def nearest(
        self, name: str, vector: Embedding, where: Equal, limit: int
    ) -> list[tuple[str, float]]:
        """Ids and cosines."""


@dataclass
class ChromaEngine:
    client: Chroma

    async def put(self, name: str, points: Sequence[Point]) -> None:
        matrix = np.frombuffer(b"".join(each.dense or b"" for each in points), dtype="<f4")
        payloads = [each.payload for each in points]
        await self.client.upsert(
            name, [each.id for each in points], matrix.reshape(len(points), -1), payloads
        )

    async def remove(self, name: str, ids: Sequence[str]) -> None:
        await self.client.drop(name, ids)

    async def nearest(
        self, name: str, vector: Embedding, where: Equal, limit: int
    ) -> list[tuple[str, float]]:
        return await self.client.nearest(name, vector, where, limit)


@dataclass
class QdrantEngine:
    client: Qdrant

    async def put(self, name: str, points: Sequence[Point]) -> None:
        await self.client.create(name, len(points[0].dense or b"") // 4)
        await self.client.put(name, points)

    async def remove(self, name: str, ids: Sequence[str]) -> None:
        await self.client.remove(name, Where(ids=tuple(ids)))

    async def nearest(
        self, name: str, vector: Embedding, where: Equal, limit: int
    ) -> list[tuple[str, float]]:
        asked = Where(has=tuple((field, (value,)) for field, value in where.items()))
        found = await self.client.search(name, asked, vector, limit, payload=False)
        return [(each.id, each.score) for each in found]


@dataclass
class Pgvector:
    """Rows with the same fields are one part: a collection is a tenant, the fields its owners. Parts are
    asked one by one, as projects are."""

    pool: Pool

    async def put(self, name: str, points: Sequence[Point]) -> None:
        await self.remove(name, [each.id for each in points])
        named = {"tenant": name, "project": "", "chunk_text": "text"}
        rows = [{"owner": fields(each.payload), "id": each.id, "embedding": each.dense} for each in points]
        await insert(self.pool, CHUNK.name, *({**named, **row} for row in rows))

    async def remove(self, name: str, ids: Sequence[str]) -> None:
        deleted = f"DELETE FROM {CHUNK.name} WHERE tenant = $1 AND id = ANY($2::uuid[])"  # noqa: S608 - ours
        await self.pool.execute(deleted, name, ids)

    async def nearest(
        self, name: str, vector: Embedding, where: Equal, limit: int
    ) -> list[tuple[str, float]]:
        rows = await self.pool.fetch(f"SELECT DISTINCT owner FROM {CHUNK.name} WHERE tenant = $1", name)  # noqa: S608 - ours
        space, found = Space("test@1", "test", len(vector) // 4, 0.0), list[tuple[str, float]]()
        for row in rows:
            if where.items() <= json.loads(row["owner"]).items():
                part = ProjectPart(name, row["owner"], "")
                found += await nearest(self.pool, space, CHUNK, part, vector, limit)
        return sorted(found, key=lambda each: (-each[1], each[0]))[:limit]


def fields(payload: Mapping[str, object]) -> str:
    return json.dumps(payload, sort_keys=True)


@pytest.fixture
async def pgvector(pool: Pool) -> Engine:
    return Pgvector(pool)


@pytest.fixture(scope="module")
def chroma_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with chroma_server(tmp_path_factory.mktemp("server")) as server:
        yield server.url


@pytest.fixture(scope="module")
def chroma_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(_env_file=None, ibid={"data_dir": tmp_path_factory.mktemp("embedded")})


@pytest.fixture
async def embedded_chroma(chroma_settings: Settings) -> AsyncIterator[Engine]:
    async with open_chroma(chroma_settings) as client:
        await client.ready()
        yield ChromaEngine(client)


@pytest.fixture
async def served_chroma(chroma_url: str) -> AsyncIterator[Engine]:
    async with open_chroma(Settings(_env_file=None, chroma={"url": chroma_url})) as client:
        yield ChromaEngine(client)


@pytest.fixture(scope="module")
def qdrant_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("qdrant")


@pytest.fixture(scope="module")
def qdrant_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantServer]:
    """A server of the vendor's REST calls."""
    with qdrant_server(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
async def embedded_qdrant(qdrant_folder: Path) -> AsyncIterator[Engine]:
    async with QdrantThread(qdrant_folder) as engine:
        yield QdrantEngine(engine)


@pytest.fixture
async def served_qdrant(qdrant_at: QdrantServer) -> AsyncIterator[Engine]:
    engine = connected(qdrant_at.url, None)
    yield QdrantEngine(engine)
    await engine.close()


@pytest.fixture
async def qdrant_in_memory() -> AsyncIterator[Engine]:
    engine = QdrantRemote(AsyncQdrantClient(":memory:"))
    yield QdrantEngine(engine)
    await engine.close()


CHROMAS = ["embedded_chroma", "served_chroma"]
QDRANTS = ["embedded_qdrant", "served_qdrant", "qdrant_in_memory"]


@pytest.fixture(params=[*CHROMAS, *QDRANTS, "pgvector"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine, opened by the fixture of its name."""
    found: Engine = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def name() -> str:
    """A collection that is not there yet."""
    return f"ibid-test-{uuid.uuid4()}"


def id_of(label: str) -> str:
    """The label as an id: Qdrant takes UUIDs, in the labels' order here."""
    return str(uuid.UUID(bytes=label.encode().ljust(16, b"\0")))


def label(id_: str) -> str:
    return uuid.UUID(id_).bytes.rstrip(b"\0").decode()


def labels(found: Sequence[tuple[str, float]]) -> list[str]:
    return [label(key) for key, _ in found]


def at(degrees: float) -> Embedding:
    angle = np.deg2rad(degrees)
    return np.array([np.cos(angle), np.sin(angle), 0, 0], dtype="<f4").tobytes()


def point(name: str, degrees: float, **payload: str) -> Point:
    return Point(id_of(name), payload or {"ibid": "1"}, at(degrees))


def random(rows: int, seed: int) -> Matrix:
    made = np.random.default_rng(seed).normal(size=(rows, DIM)).astype("<f4")
    unit: Matrix = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


async def test_the_nearest_come_in_order_with_their_cosines(engine: Engine, name: str) -> None:
    """Best first, whatever the order of writing."""
    await engine.put(name, [point(str(n), n) for n in (40, 5, 80, 20, 60)])
    found = await engine.nearest(name, at(0), EVERY, 3)
    assert labels(found) == ["5", "20", "40"]
    cosines = [float(np.cos(np.deg2rad(n))) for n in (5, 20, 40)]
    assert [score for _, score in found] == pytest.approx(cosines, abs=1e-5)


FILTERS = [
    pytest.param({"tenant": "t"}, ["t-s", "t-none", "t-z"], id="one field"),
    pytest.param({"tenant": "t", "session": "s"}, ["t-s"], id="two fields"),
    pytest.param({"tenant": "nobody"}, [], id="nobody's"),
    pytest.param({"tenant": "T"}, [], id="another case"),
    pytest.param({"tenant": ""}, [], id="empty"),
]


@pytest.mark.parametrize(("where", "expected"), FILTERS)
async def test_filters_never_leak(engine: Engine, name: str, where: Equal, expected: list[str]) -> None:
    """All conditions hold of all that is found, however near the others are."""
    await engine.put(
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
        assert labels(await engine.nearest(name, at(0), where, limit)) == expected[:limit]


async def test_what_is_deleted_is_gone(engine: Engine, name: str) -> None:
    """At once; nothing there is no error."""
    await engine.put(name, [point("a", 10), point("b", 20)])
    for _ in range(2):
        await engine.remove(name, [id_of("a"), id_of("never there")])
    await engine.remove(name, [])
    assert labels(await engine.nearest(name, at(0), EVERY, 5)) == ["b"]


async def test_a_collection_that_is_not_there_is_empty(engine: Engine, name: str) -> None:
    assert await engine.nearest(name, at(0), {"tenant": "t"}, 5) == []
    await engine.remove(name, [id_of("a")])


async def test_recall_of_random_vectors(engine: Engine, name: str) -> None:
    """At least .95 of the 40 nearest of 2,000 random vectors, the hardest there are, also under a filter; and
    a filter leaves none of the others in."""
    matrix = random(ROWS, 1)
    points = [Point(id_of(str(n)), {"half": str(n % 2)}, row.tobytes()) for n, row in enumerate(matrix)]
    for first in range(0, ROWS, 500):
        await engine.put(name, points[first : first + 500])
    for where, rows in ((EVERY, np.arange(ROWS)), ({"half": "1"}, np.arange(1, ROWS, 2))):
        hits = 0
        for query in random(ASKED, 2):
            truth = rows[np.argsort(-(matrix[rows] @ query))[:40]]
            found = {int(each) for each in labels(await engine.nearest(name, query.tobytes(), where, 40))}
            assert len(found) == 40
            assert found <= {*rows.tolist()}
            hits += len(found & {*truth.tolist()})
        assert hits / (40 * ASKED) >= 0.95


async def test_what_is_ours_can_be_left_out(qdrant_at: QdrantServer, name: str) -> None:
    """A search for what other tools wrote in the same collection; of one that is gone there is nothing."""
    client = connected(qdrant_at.url, None)
    await QdrantEngine(client).put(name, [point("a", 10, **MARK), point("b", 20, kind="k")])
    others = Where(lacks=NOT_OURS)
    assert [each.id for each in await client.search(name, others, at(0), 5)] == [id_of("b")]
    assert await client.count(name, others) == 1
    await client.drop(name)
    assert (await client.count(name, others), await client.scroll(name, others, limit=5)) == (0, [])
    await client.close()
