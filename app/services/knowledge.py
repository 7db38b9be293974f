"""What is told of a project whatever is asked: its overview, rules and notes, written and read.

In the very next prompt of the project, of whose window it may take a quarter. It is the tenant's: a user key
reads it, and may not write it. Raises `Forbidden`, `InvalidField`, `Missing`, `TooMany`,
`Unavailable`, `NoRoom`.
"""

import asyncio
from collections.abc import Callable, Sequence

from app.answering.prompt import QUARTER, sizes
from app.db.projects import Knowledge, KnowledgeChange, KnowledgeStore, merged
from app.errors import Forbidden, InvalidField, Missing, required
from app.types import Scope


class KnowledgeService:
    """Knowledge, as those who keep it see it. The scope names the project."""

    def __init__(self, record: KnowledgeStore, count: Callable[[str], int], window: int) -> None:
        """`count` gives tokens of the model that answers, `window` are those it reads."""
        self._record = record
        self._count = count
        self._most = window // QUARTER

    async def get(self, scope: Scope) -> Knowledge:
        found = await self._found(scope)
        if found is None:
            raise Missing("this project has no knowledge")
        return found

    async def put(self, scope: Scope, knowledge: Knowledge) -> Knowledge:
        """Replaces all of it; what it is now."""
        permit(scope)
        await asyncio.to_thread(self._admit, knowledge, Knowledge(), ("overview", "rules", "notes"))
        await self._record.put(scope, knowledge)
        return knowledge

    async def merge(self, scope: Scope, change: KnowledgeChange) -> Knowledge:
        """What is given replaces what was there, note by note; what it is now. Two at once may come to more
        together than each was let to: a chat leaves out what has no room."""
        permit(scope)
        before = await self._found(scope) or Knowledge()
        sent = [name for name in ("overview", "rules", "notes") if getattr(change, name)]
        await asyncio.to_thread(self._admit, merged(before, change), before, sent)
        return await self._record.merge(scope, change)

    async def remove(self, scope: Scope) -> None:
        permit(scope)
        if not await self._record.remove(scope):
            raise Missing("this project has no knowledge")

    async def _found(self, scope: Scope) -> Knowledge | None:
        with required("Postgres"):
            return await self._record.get(scope)

    def _admit(self, told: Knowledge, before: Knowledge, sent: Sequence[str]) -> None:
        """`InvalidField` of the largest field sent where it is too much, and no less than before."""
        taken = sizes(told, self._count)
        total = sum(taken.values())
        if total <= self._most or not sent or total < sum(sizes(before, self._count).values()):
            return
        raise InvalidField(
            f"overview, rules and notes take {total} tokens together, and may take {self._most}: a quarter of"
            " the model's window",
            field=f"body.{max(sent, key=taken.__getitem__)}",
        )


def permit(scope: Scope) -> None:
    if scope.owner:
        raise Forbidden("knowledge needs a tenant key")
