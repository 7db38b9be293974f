"""What is settled of an answer before anything is searched: the thread, the cards, and the decision.

Thread and cards are read, and the outside service is asked, beside each other; what fails or is late ends in
`degraded`, and the decision is taken without it. The features see the asker's own turns of those that the
prompt shows, and no others: what the model does not see makes nothing clearer, and an earlier answer may
quote what somebody else wrote. Seconds. Raises `InvalidField` for a lens that is not there.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from app.domain.budget import Meter
from app.domain.card import SHOWN, CardsBlock, VantageCards, cards_block
from app.domain.card import TOKENS as CARDS_MOST
from app.domain.greeting import is_small_talk
from app.domain.moderation import MODERATION, Moderator
from app.domain.passage import Scope
from app.domain.prompt import Role
from app.domain.thread import TOKENS as THREAD_MOST
from app.domain.thread import ThreadBlock, thread_block
from app.domain.trace import Degraded
from app.services.brief import Given, roomy
from app.services.inquiry import House, Inquiry
from app.services.recall import timely
from app.services.thread import Threads
from app.vantage import mix
from app.vantage.terms import Evidence, ResponseClass
from app.vantage.weigh import Weighed, weigh

SECONDS = 2.0
"""The cards have so long, as the thread has."""
AT_ONCE = 1_000
"""Characters that are weighed on the loop: about a millisecond."""

T = TypeVar("T")


class Briefing:
    """Settles it."""

    def __init__(
        self, threads: Threads, cards: VantageCards, house: House, moderator: Moderator | None = None
    ) -> None:
        self._threads = threads
        self._moderator = moderator
        self._cards = cards
        self._house = house

    async def given(self, ask: Inquiry, at: datetime, meter: Meter) -> Given:
        """Everything. `at`: when the question came."""
        mix.lens_name(ask.mix.lens_fm)  # raises, before anything is asked
        room, personal = self._house.room, self._house.personal
        by = mix.weighed(ask.mix, ask.top_k, threshold=room.threshold, at=at, personal=personal)
        if is_small_talk(ask.message):
            alone = await weighed(ask, ThreadBlock(), None)
            if alone.decision.response_class is ResponseClass.COMPLY:
                return Given(ask.message, alone, by, overlay=ask.overlay, greets=True)
        asked, lost = (ask.message, ask.overlay), list[Degraded]()
        most = await aside(sum(map(len, asked)), roomy, room, meter, asked)
        async with asyncio.TaskGroup() as group:
            thread = group.create_task(self._thread(ask, meter, min(most, THREAD_MOST), lost))
            cards = group.create_task(self._shown(ask.scope, meter, min(most, CARDS_MOST), lost))
            evidence = group.create_task(self._evidence(ask.message, lost))
        return Given(
            ask.message,
            await weighed(ask, thread.result(), evidence.result()),
            by,
            overlay=ask.overlay,
            lens=ask.mix.lens_fm,
            cards=cards.result(),
            thread=thread.result(),
            lost=tuple(dict.fromkeys(lost)),
        )

    async def _thread(self, ask: Inquiry, meter: Meter, most: int, lost: list[Degraded]) -> ThreadBlock:
        """The turns that the mix wants shown."""
        turns, faults = await self._threads.turns(ask.scope, ask.mix.conversation)
        lost += faults
        return await aside(sum(len(turn.content) for turn in turns), thread_block, turns, meter, most)

    async def _evidence(self, message: str, lost: list[Degraded]) -> Evidence | None:
        """What the outside service says of the message; None: there is none, or it does not answer."""
        if self._moderator is None:
            return None
        until = asyncio.get_running_loop().time() + SECONDS
        scores = await timely(MODERATION, self._moderator.scores(message), until, lost)
        return None if scores is None else Evidence(scores)

    async def _shown(self, scope: Scope, meter: Meter, most: int, lost: list[Degraded]) -> CardsBlock:
        """The cards and facts of the namespace."""
        if scope.vantage_id is None:
            return CardsBlock()
        until = asyncio.get_running_loop().time() + SECONDS
        found = await timely("vantage_cards", self._cards.shown(scope, SHOWN), until, lost)
        return await aside(sum(len(card.text) for card in found or ()), cards_block, found or (), meter, most)


async def weighed(ask: Inquiry, thread: ThreadBlock, evidence: Evidence | None) -> Weighed:
    """The decision."""
    said = tuple(turn.content for turn in thread.turns if turn.role is Role.USER)
    size = len(ask.message) + len(ask.overlay) + sum(map(len, said))
    told = (ask.message, said, ask.overlay, ask.limits, ask.routing)
    return await aside(size, weigh, *told, evidence=evidence)


async def aside(size: int, work: Callable[..., T], *args: Any, **named: Any) -> T:  # noqa: ANN401 - the work's own
    """What comes of it; in a thread where there are more than AT_ONCE characters to look through or count."""
    return await asyncio.to_thread(work, *args, **named) if size > AT_ONCE else work(*args, **named)
