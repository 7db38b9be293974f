"""What a chat reads of a project's knowledge, behind Postgres' breaker (`guarded.py`): nobody waits for what
has just failed several times in a row. Raises `RetrievalError`."""

from typing import Protocol

from app.domain.breaker import Breaker
from app.domain.errors import RetrievalError
from app.domain.passage import Scope
from app.domain.project import Knowledge
from app.services.guarded import PATIENCE, lost


class Knowing(Protocol):
    """The part of `project.KnowledgeRecord` that answers need."""

    async def get(self, scope: Scope) -> Knowledge | None:
        """The scope's project's; None: nobody wrote any. `RetrievalError`."""


class GuardedKnowledge:
    """Keeps `Knowing`."""

    def __init__(self, record: Knowing, breaker: Breaker, patience: float = PATIENCE) -> None:
        self._record = record
        self._breaker = breaker
        self._patience = patience

    async def get(self, scope: Scope) -> Knowledge | None:
        """The scope's project's; at once a fault while Postgres is down."""
        if self._breaker.refuses:
            raise RetrievalError("unavailable")
        with self._breaker.attempt(lost, patience=self._patience):
            return await self._record.get(scope)
