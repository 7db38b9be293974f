"""What answers within the policy (/vantage), wired: a part of `wiring.py`."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from app.config import Settings
from app.domain.room import Limits
from app.models.chat import chat_server, model_at
from app.models.tokens import O200k
from app.opened import Opened
from app.services.briefing import Briefing
from app.services.inquiry import House
from app.services.recall import Recall
from app.services.recorder import Recorder
from app.services.thread import Threads
from app.services.vantage import VantageService
from app.stores.cards import CardStore
from app.stores.chatlog import ChatLogStore
from app.vantage import distress
from app.vantage.weigh import weigh


async def warm() -> None:
    """The tables are compiled and their hash is taken before the first message, off the loop: a second."""
    await asyncio.to_thread(distress.warm)
    await asyncio.to_thread(weigh, "Hello.")


def ruled(
    settings: Settings, parts: Opened, recall: Recall, recorder: Recorder, room: Limits
) -> VantageService:
    """What answers: VANTAGE_MODEL, RETRIEVE_THRESHOLD. `room` is what a prompt may hold."""
    house = House(
        model_at(settings, settings.vantage),
        replace(room, threshold=settings.retrieve.threshold, history=0),
        personal=settings.vantage.personal_memory,
        debug=settings.vantage.debug,
        speaks=chat_server(settings) is not None,
    )
    threads = Threads(ChatLogStore(parts.pool))
    return VantageService(
        recall,
        Briefing(threads, CardStore(parts.pool), house, parts.moderator),
        parts.model,
        O200k(),
        recorder,
        house=house,
        clock=lambda: datetime.now(UTC),
    )
