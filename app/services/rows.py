"""A project's source behind Postgres' breaker (`guarded.py`): all that is asked of it by time or by cosine
is a few statements to Postgres, and counts."""

from app.domain.breaker import Breaker
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding, Passage, Scope
from app.domain.project import ProjectSource
from app.services.guarded import PATIENCE, GuardedSource, lost


class GuardedRows(GuardedSource):
    """Keeps `project.ProjectSource`."""

    def __init__(self, source: ProjectSource, breaker: Breaker, patience: float = PATIENCE) -> None:
        super().__init__(source, breaker, patience)
        self._rows = source

    async def newest(self, scope: Scope, limit: int) -> list[Passage]:
        """By time; `RetrievalError` at once while Postgres is down."""
        self._present()
        with self._breaker.attempt(lost, patience=self._patience):
            return await self._rows.newest(scope, limit)

    async def most_similar(self, scope: Scope, vector: Embedding, limit: int) -> list[Passage]:
        """By cosine; `RetrievalError` at once while Postgres is down."""
        self._present()
        with self._breaker.attempt(lost, patience=self._patience):
            return await self._rows.most_similar(scope, vector, limit)

    def _present(self) -> None:
        """Nobody waits for what has just failed several times in a row."""
        if self._breaker.refuses:
            raise RetrievalError("unavailable")
