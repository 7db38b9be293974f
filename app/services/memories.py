"""The write side of memories: said, kept, searchable; listed; taken back.

Words -> what of them is new (`domain/echo.py`) -> vectors -> the record -> the index -> searchable. Only then
it is acknowledged. Where the index does not take it, the record takes it back and the writer is told so; what
a crash leaves between the two is `services/upkeep.py`'s. Times are seconds. Raises `Unavailable`, `NoRoom`,
`Missing`, `RemovedMeanwhile`, `InvalidField` (a cursor); what is embedded in vain is `Unavailable` too.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

import structlog

from app.domain.echo import Echoes
from app.domain.errors import Missing, RemovedMeanwhile, RetrievalError, Unavailable
from app.domain.memory import DAEMONS, Draft, Memories, Memory, MemoryIndex, Outcome, Written
from app.domain.passage import Embedding, Scope
from app.domain.ports import Embedder, Tokens

BATCH = 64
"""Texts embedded at once (as in `services/ingest.py`)."""
SECONDS = 60.0
"""For one write: five hundred long texts with the bundled model take about that."""
MOMENT = 20_000
"""Characters heard that are compared on the loop; more, in a thread."""
AGAIN = 2
"""Seconds after which the writer may ask again."""

log = structlog.get_logger(__name__)


class Heard(Protocol):
    """What was heard in a conversation (`stores/heard.py`). `Unavailable`."""

    async def heard(self, scope: Scope, thread_id: str | None, before: datetime | None) -> Sequence[str]:
        """What the assistant said in the user's thread, and what it recalled there."""


class MemoryService:
    """Memories, as their owners see them."""

    def __init__(
        self, record: Memories, index: MemoryIndex, heard: Heard, embedder: Embedder, tokens: Tokens
    ) -> None:
        self._record = record
        self._index = index
        self._heard = heard
        self._embedder = embedder
        self._tokens = tokens

    async def remember(
        self,
        scope: Scope,
        drafts: Sequence[Draft],
        *,
        asked: datetime | None = None,
        seconds: float = SECONDS,
    ) -> list[Written]:
        """One outcome a draft, in order; durable and searchable when it returns. `scope` has a user_id.

        `asked`: when the words were said; what was heard later is no echo, and of a user who was erased since
        nothing is kept. Cancelled, what was begun is finished by the next repair.
        """
        until = asyncio.get_running_loop().time() + seconds
        said = await self._own(scope, drafts, asked)
        settled = await self._known(scope, said)
        new = [at for at, draft in enumerate(said) if draft and at not in settled]
        if new:
            fresh = [draft for draft in (said[at] for at in new) if draft]
            settled |= dict(zip(new, await self._write(scope, fresh, asked, until), strict=True))
        return [settled.get(at, Written(Outcome.ECHO)) for at in range(len(drafts))]

    async def _own(self, scope: Scope, drafts: Sequence[Draft], asked: datetime | None) -> list[Draft | None]:
        """The drafts with their own words alone; None: an echo. What a daemon writes was said by nobody."""
        threads = {draft.thread_id for draft in drafts if draft.origin not in DAEMONS}
        heard = {thread: await echoes(await self._heard.heard(scope, thread, asked)) for thread in threads}
        return [
            draft if draft.origin in DAEMONS else sifted(draft, heard[draft.thread_id]) for draft in drafts
        ]

    async def _known(self, scope: Scope, drafts: Sequence[Draft | None]) -> dict[int, Written]:
        """Those that need not be embedded, by position: the same words are kept already."""
        asked = {
            at: draft for at, draft in enumerate(drafts) if draft is not None and draft.origin not in DAEMONS
        }
        known: dict[int, Written] = {}
        for space in {draft.vantage_id for draft in asked.values()}:
            here = {at: draft.text for at, draft in asked.items() if draft.vantage_id == space}
            found = await self._record.known(replace(scope, vantage_id=space), list(here.values()))
            known |= {
                at: Written(Outcome.REPEATED, found[text]) for at, text in here.items() if text in found
            }
        return known

    async def _write(
        self, scope: Scope, drafts: Sequence[Draft], asked: datetime | None, until: float
    ) -> list[Written]:
        """Embedded, admitted, indexed."""
        embeddings = await embedded(self._embedder, [draft.text for draft in drafts], until)
        tokens = [self._tokens.count(draft.text) for draft in drafts]
        space = self._embedder.space
        written = await self._record.admit(scope, drafts, embeddings, tokens, space, asked=asked)
        created = [
            (each.memory, vector)
            for each, vector in zip(written, embeddings, strict=True)
            if each.memory and each.outcome is Outcome.CREATED
        ]
        if created:
            await self._show(scope, [memory for memory, _ in created], [each for _, each in created], until)
        return written

    async def _show(
        self, scope: Scope, memories: Sequence[Memory], embeddings: Sequence[Embedding], until: float
    ) -> None:
        """Make them searchable, or as if they had never been."""
        ids = [memory.id for memory in memories]
        try:
            async with asyncio.timeout_at(until):
                await self._index.put(scope, memories, embeddings)
                gone = await self._record.indexed(scope, ids)
        except (Unavailable, TimeoutError) as error:
            await self._clear(scope, await self._record.withdraw(scope, ids))
            raise Unavailable("the index of memories does not answer", retry_after=AGAIN) from error
        if gone:
            await self._clear(scope, gone)
            raise RemovedMeanwhile("a memory was taken back while it was written")

    async def _clear(self, scope: Scope, ids: Sequence[str]) -> None:
        """The points of what is not kept; what does not go now, a repair removes: no search tells it."""
        try:
            await self._index.remove(scope, ids)
        except Unavailable:
            log.warning("points not removed", points=len(ids))
        else:
            await self._record.forget(ids)

    async def list(self, scope: Scope, *, cursor: str | None, limit: int) -> tuple[list[Memory], str | None]:
        """The user's, newest first, and the cursor of the next page."""
        return await self._record.list(scope, cursor=cursor, limit=limit)

    async def remove(self, scope: Scope, memory_id: str) -> None:
        """Gone from the next answer on, and its votes with it."""
        memory = await self._record.get(scope, memory_id)
        if memory is None or not await self._record.remove(scope, memory_id):
            raise Missing("there is no such memory")
        await self._clear(replace(scope, user_id=memory.user_id), [memory_id])


async def echoes(heard: Sequence[str]) -> Echoes | None:
    """What was heard, to compare with; of a long conversation that is made in a thread. None: nothing was."""
    long = sum(map(len, heard)) > MOMENT
    return (await asyncio.to_thread(Echoes, heard) if long else Echoes(heard)) if heard else None


def sifted(draft: Draft, heard: Echoes | None) -> Draft | None:
    """A draft without what was heard; None: nothing is left."""
    text = heard.own(draft.text) if heard else draft.text
    return replace(draft, text=text) if text else None


async def embedded(embedder: Embedder, texts: Sequence[str], until: float) -> list[Embedding]:
    """One vector a text, by `until` (the loop's time). `Unavailable`."""
    embeddings: list[Embedding] = []
    try:
        async with asyncio.timeout_at(until):
            for start in range(0, len(texts), BATCH):
                embeddings += await embedder.passages(texts[start : start + BATCH])
    except (RetrievalError, TimeoutError) as error:
        raise Unavailable("the embedding model does not answer", retry_after=AGAIN) from error
    return embeddings
