"""How documents' vectors lie in Chroma: two collections a space, one for sessions and one for what is global.

Ids are `<document>:<ordinal>`; metadata are keyword strings (tenant, owner, session, document), equality
filters alone: Chroma answers them fastest. Reads raise `RetrievalError`, writes `Unavailable`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b

from app.clients.chroma import Chroma, Where
from app.clients.embedded import REMADE_MOST
from app.domain.document import Part
from app.domain.space import Space
from app.index.place import Matrix, Place, key, place_of

AT_ONCE = 1_000
"""Vectors a read: keeps one answer of a Chroma server in the megabytes."""
WIDER = 4
"""How many times more than wanted the approximate index is asked for; its best are then ranked exactly."""

ASKED_AGAIN = 3
"""Times at most: 64 times more than wanted."""

OURS = re.compile(r"ibid-(global|sessions)-.*[0-9a-f]{8}$")
"""Names that `collection` gives."""


class VectorIndex:
    """Chroma, as the index uses it, for one space. Keeps ports.Probe and holding.Files."""

    name = "chroma"

    def __init__(self, chroma: Chroma, space: Space) -> None:
        self._chroma = chroma
        self._names = {is_global: collection(space.name, is_global=is_global) for is_global in (True, False)}

    async def put(self, part: Part, document_id: str, matrix: Matrix) -> None:
        """All vectors of a document, row 0 its first passage; again replaces."""
        name = self._names[part.is_global]
        ids = [key((document_id, ordinal)) for ordinal in range(1, len(matrix) + 1)]
        metadata = {"tenant": part.tenant, "owner": part.owner, "session": part.session_id}
        await self._chroma.upsert(name, ids, matrix, metadata | {"document": document_id})
        stale = set(await self._chroma.ids(name, {"document": document_id})) - set(ids)
        if stale:
            await self._chroma.drop(name, sorted(stale))

    async def filled(self) -> None:
        """The record has given Chroma all that it has."""
        await self._chroma.filled()

    async def remove(self, part: Part, document_id: str) -> None:
        """Drop a document's vectors; none there is no error."""
        await self._chroma.delete(self._names[part.is_global], {"document": document_id})

    async def held(self, part: Part, document_id: str) -> int:
        """How many vectors of a document there are."""
        return len(await self._chroma.ids(self._names[part.is_global], {"document": document_id}))

    async def get(self, part: Part, places: Sequence[Place]) -> dict[Place, Matrix]:
        """Vectors of passages; those that are not there are left out."""
        found: dict[Place, Matrix] = {}
        for at in range(0, len(places), AT_ONCE):
            ids = [key(place) for place in places[at : at + AT_ONCE]]
            vectors = await self._chroma.get(self._names[part.is_global], ids)
            found.update(zip(map(place_of, vectors.ids), vectors.matrix, strict=True))
        return found

    async def nearest(
        self, part: Part, vector: Matrix, limit: int, alive: Callable[[Iterable[Place]], Collection[Place]]
    ) -> dict[Place, Matrix]:
        """Live passages near a vector in one part with their own vectors, `limit` of them and more.

        What is dead but not yet purged would crowd out the living: then it is asked again, wider.
        """
        asked, found = limit * WIDER, dict[Place, Matrix]()
        for _ in range(ASKED_AGAIN):
            near = await self._chroma.nearest(self._names[part.is_global], vector, where(part), asked)
            rows = dict(zip(map(place_of, near.ids), near.matrix, strict=True))
            found = {place: rows[place] for place in alive(rows)}
            if len(found) >= limit or len(rows) < asked:
                break
            asked *= WIDER
        return found

    async def forget_others(self) -> int:
        """Drop the collections of other spaces, how many there were. Only by names of ours."""
        others = [name for name in await self._chroma.names() if OURS.match(name)]
        others = sorted(set(others) - set(self._names.values()))
        for name in others:
            await self._chroma.forget(name)
        return len(others)

    @property
    def external(self) -> bool:
        """Whether it is a server."""
        return not self._chroma.embedded

    async def compact(self, holdings: Collection[str]) -> Collection[str]:
        """Its folder made anew, and filled from the record beside the searches. Chroma holds no text, but
        vectors tell of one. A large folder, without which searches would go without meaning, is left."""
        asked = {"documents", self.name}.intersection(holdings)
        if asked and (await self.check())["vectors"] > REMADE_MOST:
            return asked
        if asked:
            await self._chroma.renew()
        return ()

    async def check(self) -> dict[str, int]:
        """Whether Chroma answers, and how many vectors it holds in this space."""
        await self._chroma.beat()
        return {"vectors": sum([await self._chroma.count(name) for name in self._names.values()])}


def collection(space: str, *, is_global: bool) -> str:
    """A collection's name: Chroma takes letters, digits, `.`, `_` and `-`, so a digest keeps spaces apart."""
    slug = re.sub(r"[^a-z0-9]+", "-", space.lower()).strip("-")[:64]
    digest = blake2b(space.encode(), digest_size=4).hexdigest()
    return f"ibid-{'global' if is_global else 'sessions'}-{slug}-{digest}"


def where(part: Part) -> Where:
    """Exactly one part."""
    if part.is_global:
        return {"tenant": part.tenant}
    return {"$and": [{"tenant": part.tenant}, {"owner": part.owner}, {"session": part.session_id}]}
