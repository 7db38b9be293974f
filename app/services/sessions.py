"""A session looked back at, and removed. Raises `Missing`, `InvalidField` (a cursor), `Unavailable`."""

from app.answering.recorder import Recorder
from app.db.sessions import Session, SessionStore, Utterance
from app.errors import Missing
from app.types import Scope


class SessionService:
    def __init__(self, sessions: SessionStore, recorder: Recorder) -> None:
        self._sessions = sessions
        self._recorder = recorder

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Session], str | None]:
        return await self._sessions.recent(scope, cursor=cursor, limit=limit)

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        """What was said in the scope's session (in its thread, if it names one), oldest first."""
        await self._recorder.written(scope)
        return await self._sessions.turns(scope, cursor=cursor, limit=limit)

    async def remove(self, scope: Scope) -> None:
        """Documents, turns and answers of the scope's session, also those that still wait to be written."""
        removed = await self._sessions.remove(scope)
        if not self._recorder.forget(scope) and not removed:
            raise Missing("there is no such session")
