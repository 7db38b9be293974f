"""Sessions: their list, turns, titles and removal.

Raises `Missing`, `InvalidField` (a cursor), and `Unavailable` if Postgres does not answer.
"""

from app.answering.recorder import Recorder
from app.db.sessions import Session, SessionStore, Utterance
from app.errors import Missing
from app.types import Scope


class SessionService:
    def __init__(self, sessions: SessionStore, recorder: Recorder) -> None:
        self._sessions = sessions
        self._recorder = recorder

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int, containing: str | None = None
    ) -> tuple[list[Session], str | None]:
        return await self._sessions.recent(scope, cursor=cursor, limit=limit, containing=containing)

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        await self._recorder.written(scope)
        return await self._sessions.turns(scope, cursor=cursor, limit=limit)

    async def rename(self, scope: Scope, title: str) -> Session:
        """The session with this title, or with "" with its own."""
        await self._recorder.written(scope)
        if (found := await self._sessions.rename(scope, title)) is None:
            raise Missing("there is no such session")
        return found

    async def remove(self, scope: Scope) -> None:
        removed = await self._sessions.remove(scope)
        if not self._recorder.forget(scope) and not removed:
            raise Missing("there is no such session")
