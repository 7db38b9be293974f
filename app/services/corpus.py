"""Writing the corpus: reference texts shared by all users of a tenant; list and delete.

Texts are embedded, then stored in one transaction; Qdrant follows by the outbox. A text is stored and cited
whole: lexical retrieval covers all of it, dense retrieval as much as the embedding model reads (the bundled
one: 512 tokens); long works should be documents. Needs a tenant key. Raises `Forbidden`, `Missing`,
`TooMany`, `Unavailable`, `NoRoom`.
"""

from collections.abc import Sequence

from app.db.corpus import CollectionFigures, CorpusStore, Reference, ReferenceDraft
from app.db.documents import embedded_text
from app.errors import Forbidden, Missing
from app.models.base import Embedder
from app.models.tokens import O200k
from app.services.memories import WRITE_SECONDS, counted, embedded
from app.tasks import deadline
from app.types import Scope


class CorpusService:
    def __init__(self, record: CorpusStore, embedder: Embedder, tokens: O200k) -> None:
        self._record = record
        self._embedder = embedder
        self._tokens = tokens

    async def keep(
        self,
        scope: Scope,
        collection: str,
        texts: Sequence[ReferenceDraft],
        *,
        seconds: float = WRITE_SECONDS,
    ) -> list[tuple[Reference, bool]]:
        """(text, True if new) in order; durable and searchable on return. If an id occurs twice the last one
        counts."""
        permit(scope)
        until = deadline(seconds)
        inputs = [embedded_text(given.title, "", given.text) for given in texts]
        embeddings = await embedded(self._embedder, inputs, until)
        tokens = await counted(self._tokens, [given.text for given in texts])
        space = self._embedder.space
        return await self._record.admit(scope, collection, texts, embeddings, tokens, space=space)

    async def collections(self, scope: Scope) -> list[CollectionFigures]:
        return await self._record.collections(scope)

    async def texts(
        self, scope: Scope, collection: str, *, cursor: str | None, limit: int
    ) -> tuple[list[Reference], str | None]:
        found, after = await self._record.texts(scope, collection, cursor=cursor, limit=limit)
        if not found and cursor is None:
            raise Missing("there is no such collection")
        return found, after

    async def remove(self, scope: Scope, collection: str, text_id: str) -> None:
        permit(scope)
        if not await self._record.remove(scope, collection, text_id):
            raise Missing("there is no such text")

    async def remove_all(self, scope: Scope, collection: str) -> None:
        permit(scope)
        if not await self._record.clear(scope, collection):
            raise Missing("there is no such collection")


def permit(scope: Scope) -> None:
    if scope.owner:
        raise Forbidden("the corpus needs a tenant key")
