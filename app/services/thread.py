"""The turns of a thread, as far as the log gives them in time; without them an answer goes on.

Seconds. Raises nothing but on cancellation: a log that is away ends in `degraded`.
"""

import asyncio
from collections.abc import Sequence

from app.domain.errors import RetrievalError
from app.domain.passage import Scope
from app.domain.ports import ChatLog
from app.domain.prompt import Turn
from app.domain.trace import Degraded

SECONDS = 2.0
"""The log has at most so long, as for chat (`services/chat.py`)."""
MOST = 200
"""Turns that are read at most."""


class Threads:
    """Conversations, read."""

    def __init__(self, chatlog: ChatLog) -> None:
        self._chatlog = chatlog

    async def turns(
        self, scope: Scope, count: int, *, seconds: float = SECONDS
    ) -> tuple[Sequence[Turn], tuple[Degraded, ...]]:
        """The newest `count` turns of the scope's thread, oldest first, and what was lost."""
        if count < 1:
            return (), ()
        try:
            async with asyncio.timeout(min(SECONDS, seconds)):
                return await self._chatlog.turns(scope, min(MOST, count)), ()
        except TimeoutError:
            return (), (Degraded("postgres", "timeout"),)
        except RetrievalError as error:
            return (), (Degraded("postgres", error.reason),)
