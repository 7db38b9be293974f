"""LRU cache of query vectors, so that asking again, or paging, embeds nothing.

Kept by asker and text: how long an answer takes must not tell one asker what another has asked.
"""

from collections import OrderedDict

from app.domain.passage import Embedding, Scope


class Recent:
    """Least recently used first out. For one event loop; never awaits."""

    def __init__(self, limit: int = 1_024) -> None:
        self._limit = limit
        self._vectors: OrderedDict[tuple[str, str, str | None, str], Embedding] = OrderedDict()

    def get(self, scope: Scope, text: str) -> Embedding | None:
        """The vector, if this asker's is still there."""
        key = (scope.tenant, scope.owner, scope.user_id, text)
        if key in self._vectors:
            self._vectors.move_to_end(key)
        return self._vectors.get(key)

    def keep(self, scope: Scope, text: str, vector: Embedding) -> Embedding:
        """Remember it for this asker, and hand it on."""
        self._vectors[scope.tenant, scope.owner, scope.user_id, text] = vector
        if len(self._vectors) > self._limit:
            self._vectors.popitem(last=False)
        return vector
