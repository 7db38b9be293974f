"""A Qdrant server or cluster (`QDRANT_URL`), through the vendor's client.

Import this late: the vendor takes two seconds and 100 MB. Writes wait until they are searchable, a search is
one round trip. Small collections are searched exactly, large ones by the server's index. Other tools'
collections are searched and written by the name of their own vector, which is read once. Times are seconds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar
from uuid import UUID

import httpx
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from app.errors import RetrievalError
from app.retrieval.retrievers.points import (
    DENSE,
    Collection,
    Point,
    Where,
    by_score,
    floats,
    identities,
    identity,
    packed,
)
from app.retrieval.retrievers.qdrant import READ_SECONDS, WRITE_SECONDS, Qdrant
from app.types import Embedding

CALL_SECONDS = 60
"""The vendor's own deadline, for abandoned calls; callers have shorter ones."""
SEARCH_SECONDS = 4
"""Timeout sent to the server, which may then end the search."""
CONNECTIONS = 32
SHAPES_AT_ONCE = 8
BATCH = 128
"""Points per write."""
EXACT_MOST = 200_000
"""Largest collection that is searched exactly; larger ones use their index."""
BEAM = 256
"""Search width of the index (ef)."""
VACUUM = models.OptimizersConfigDiff(deleted_threshold=0.0001, vacuum_min_vector_number=100)
"""Makes the server rewrite its files as soon as its limits allow."""

Result = TypeVar("Result")


class QdrantRemote(Qdrant):
    embedded = False

    def __init__(self, client: AsyncQdrantClient, dim: int = 0) -> None:
        super().__init__()
        self._client = client
        self._dim = dim
        """Size of our vectors: if another tool's points have several, one of this size is searched."""
        self._known: dict[str, Collection] = {}
        """Shapes by name, dropped when a call shows that one is outdated."""

    async def collections(self) -> list[Collection]:
        async with self.deadline(READ_SECONDS):
            with faults():
                names = [each.name for each in (await self._client.get_collections()).collections]
            few = asyncio.Semaphore(SHAPES_AT_ONCE)

            async def looked(name: str) -> Collection | None:
                async with few:
                    return await self._read_shape(name)

            found = await asyncio.gather(*(looked(name) for name in names))
            self._known = {each.name: each for each in found if each}
            return sorted(self._known.values(), key=lambda each: each.name)

    async def _read_shape(self, name: str) -> Collection | None:
        try:
            with faults():
                info = await self._client.get_collection(name)
        except RetrievalError as error:
            if error.missing:
                return None
            raise
        return shape_of(name, info, self._dim)

    async def create(
        self,
        name: str,
        dim: int,
        *,
        keys: Sequence[str] = (),
        tenants: Sequence[str] = (),
        times: Sequence[str] = (),
    ) -> None:
        wanted = indexes(keys, tenants, times)
        async with self.deadline(WRITE_SECONDS):
            with faults():
                if not await self._client.collection_exists(name):
                    await self._create(name, dim)
                had = (await self._client.get_collection(name)).payload_schema
                for field in [field for field in wanted if field not in had]:
                    await self._client.create_payload_index(name, field, wanted[field], wait=True)

    async def _create(self, name: str, dim: int) -> None:
        """Another replica may have created it first."""
        try:
            await self._client.create_collection(
                name,
                vectors_config={DENSE: models.VectorParams(size=dim, distance=models.Distance.COSINE)},
            )
        except (ApiException, ValueError):
            if not await self._client.collection_exists(name):
                raise

    async def drop(self, name: str) -> None:
        self._known.pop(name, None)
        async with self.deadline(WRITE_SECONDS):
            with faults():
                await self._client.delete_collection(name)

    async def put(self, name: str, points: Sequence[Point]) -> None:
        """Searchable on return; in another tool's collection, under the name of its vector."""

        async def put(shape: Collection) -> None:
            for at in range(0, len(points), BATCH):
                some = [record(point, shape) for point in points[at : at + BATCH]]
                await self._client.upsert(shape.name, some, wait=True)

        async with self.deadline(WRITE_SECONDS):
            await self._with_shape(name, put)

    async def remove(self, name: str, where: Where) -> None:
        async with self.deadline(WRITE_SECONDS):
            selected = models.FilterSelector(filter=condition(where))
            with faults(missing_ok=True):
                await self._client.delete(name, selected, wait=True)

    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        async def search(shape: Collection) -> list[Point]:
            exact = shape.points <= EXACT_MOST
            answer = await self._client.query_points(
                shape.name,
                floats(dense),
                using=shape.dense or None,
                query_filter=condition(where),
                search_params=models.SearchParams(exact=exact, hnsw_ef=None if exact else BEAM),
                limit=limit,
                with_payload=payload,
                timeout=SEARCH_SECONDS,
            )
            return by_score([point_of(found, shape) for found in answer.points])

        async with self.deadline(READ_SECONDS):
            try:
                return await self._with_shape(name, search)
            except RetrievalError as error:
                if error.missing:
                    return []
                raise

    async def _with_shape(self, name: str, work: Callable[[Collection], Awaitable[Result]]) -> Result:
        """Run `work` with a collection's cached shape; if it is refused, once more with the current one."""
        known = self._known.get(name)
        if known:
            try:
                with faults():
                    return await work(known)
            except RetrievalError as error:
                if not error.rejected:
                    raise
        found = await self._read_shape(name)  # unknown, or recreated with another shape
        if found is None or found == known:
            if self._known.pop(name, None) and found is None and self.breaker.on_recovery:
                self.breaker.on_recovery()  # it vanished: the outbox checks whether it must refill it
            raise RetrievalError("unavailable", rejected=True, missing=found is None)
        self._known[name] = found
        with faults():
            return await work(found)

    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        async with self.deadline(READ_SECONDS):
            shape = self._known.get(name) or await self._read_shape(name)
            if shape is None:
                return []
            rows: Sequence[models.Record] = ()
            with faults(missing_ok=True):
                rows, _ = await self._client.scroll(
                    name,
                    scroll_filter=condition(where),
                    limit=limit + (after is not None),
                    offset=None if after is None else identity(after),
                    with_payload=True,
                    with_vectors=vectors,
                )
        points = (point_of(row, shape) for row in rows)
        return [point for point in points if point.id != after][:limit]

    async def count(self, name: str, where: Where) -> int:
        async with self.deadline(READ_SECONDS):
            with faults(missing_ok=True):
                return (await self._client.count(name, count_filter=condition(where), exact=True)).count
            return 0

    async def compact(self, name: str) -> None:
        """The server rewrites its files by itself; this only lowers its threshold."""
        async with self.deadline(None):
            with faults(missing_ok=True):
                await self._client.update_collection(name, optimizers_config=VACUUM)

    async def check(self) -> Mapping[str, str | int | float]:
        async with self.deadline(READ_SECONDS, always=True):
            with faults():
                info = await self._client.info()
            return {"server": "qdrant", "version": info.version}

    async def close(self) -> None:
        await self._client.close()


def connected(url: str, key: str | None, dim: int = 0) -> QdrantRemote:
    """A client that connects at its first call. Sends the key in a header of our own: the vendor warns
    without TLS."""
    limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
    return QdrantRemote(
        AsyncQdrantClient(
            url=url,
            timeout=CALL_SECONDS,
            check_compatibility=False,
            headers={"api-key": key} if key else None,
            limits=limits,
            verify=not url.startswith("http://"),  # avoids reading certificates that are not used
        ),
        dim,
    )


@contextmanager
def faults(*, missing_ok: bool = False) -> Iterator[None]:
    """Translate the vendor's errors. `missing_ok`: ignore a missing collection."""
    try:
        yield
    except UnexpectedResponse as error:
        refused = refusal(error.status_code or 500)
        if not (missing_ok and refused.missing):
            raise refused from error
    except ResourceExhaustedResponse as error:
        raise RetrievalError("overloaded") from error
    except ResponseHandlingException as error:
        late = isinstance(error.source, httpx.TimeoutException)
        raise RetrievalError("timeout" if late else "unavailable") from error
    except ValueError as error:
        refused = own_refusal(error)
        if not (missing_ok and refused.missing):
            raise refused from error
    except (ApiException, QdrantException, httpx.HTTPError, OSError) as error:
        raise RetrievalError("unavailable") from error


def refusal(status: int) -> RetrievalError:
    if status == 429:
        return RetrievalError("overloaded")
    return RetrievalError("unavailable", rejected=status < 500, missing=status == 404)


def own_refusal(error: ValueError) -> RetrievalError:
    """A plain `ValueError` is a refusal by the client's own checks, a subclass a reply without JSON."""
    plain = type(error) is ValueError
    missing = plain and str(error).endswith("not found")  # the client's memory mode
    return RetrievalError("unavailable", rejected=plain, missing=missing)


def condition(where: Where) -> models.Filter:
    must: list[models.Condition] = [one_of(key, values) for key, values in where.has]
    for key, values in where.open:
        missing = models.IsEmptyCondition(is_empty=models.PayloadField(key=key))
        must.append(models.Filter(should=[missing, one_of(key, values)]))
    if where.ids is not None:
        must.append(models.HasIdCondition(has_id=[json_id(each) for each in identities(where.ids)]))
    return models.Filter(must=must, must_not=[one_of(key, values) for key, values in where.lacks])


def one_of(key: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def json_id(id_: int | UUID) -> int | str:
    return id_ if isinstance(id_, int) else str(id_)


def record(point: Point, shape: Collection) -> models.PointStruct:
    vector: models.VectorStruct = {}
    if point.dense is not None:
        vector = {shape.dense: floats(point.dense)} if shape.dense else floats(point.dense)
    return models.PointStruct(id=json_id(identity(point.id)), vector=vector, payload=dict(point.payload))


def point_of(found: models.ScoredPoint | models.Record, shape: Collection) -> Point:
    vectors = found.vector if isinstance(found.vector, Mapping) else {"": found.vector}
    return Point(
        str(found.id),
        found.payload or {},
        packed(vectors.get(shape.dense)),
        found.score if isinstance(found, models.ScoredPoint) else 0.0,
    )


def shape_of(name: str, info: models.CollectionInfo, dim: int = 0) -> Collection:
    """A collection's shape with the dense vector to search: of several, one of size `dim` if there is. Size
    0: it has none."""
    params, points = info.config.params, info.points_count or 0
    vectors = params.vectors if isinstance(params.vectors, Mapping) else {"": params.vectors}
    dense = {each: found for each, found in vectors.items() if found and not found.multivector_config}
    if not dense:
        return Collection(name, 0, points=points)

    def preference(each: str) -> tuple[bool, bool, bool, str]:
        ours = dense[each].size == dim and dense[each].distance == models.Distance.COSINE
        return (not ours, each != DENSE, each != "", each)

    chosen = min(dense, key=preference)
    cosine = dense[chosen].distance == models.Distance.COSINE
    return Collection(name, dense[chosen].size, chosen, points, cosine)


def indexes(
    keys: Sequence[str], tenants: Sequence[str], times: Sequence[str]
) -> Mapping[str, models.PayloadSchemaType | models.KeywordIndexParams]:
    own = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    return {
        **dict.fromkeys(keys, models.PayloadSchemaType.KEYWORD),
        **dict.fromkeys(times, models.PayloadSchemaType.DATETIME),
        **dict.fromkeys(tenants, own),
    }
