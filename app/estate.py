"""What is kept of a person: every holding and every engine's files, for export and erasure (DESIGN §2.3); and
what an answer was made of, for its replay.

A part of `wiring.py`, which hands in what is open. Whatever comes to keep something of a person is listed
here; a test walks the schema and the sources for what is missing.
"""

from app.config import Settings
from app.domain.card import VantageCards
from app.models.tokens import O200k
from app.opened import Opened
from app.services.answers import AnswerService
from app.services.recorder import Recorder
from app.services.replay import ReplayService
from app.services.twofold import Twofold
from app.services.users import Caching, UserService
from app.stores.belongings import Memories, belongings
from app.stores.erasures import ErasureStore
from app.stores.files import RecordFiles
from app.stores.knowledge import KnowledgeStore
from app.stores.originals import OriginalStore


def users(settings: Settings, parts: Opened, recorder: Recorder) -> UserService:
    """The service of `/users`."""
    pool, kept = parts.pool, parts.kept
    return UserService(
        holdings=(Twofold(Memories(pool), kept.memories), *belongings(pool)),
        files=(RecordFiles(pool), kept.copy, parts.vectors),
        erasures=ErasureStore(pool),
        recorder=recorder,
        caching=Caching(parts.cache, settings.rag.cache_ttl_seconds if settings.cache.url else 0),
        engines=(kept.outbox, parts.outbox),
        outside=settings.memory.service_url is not None,
    )


def replays(parts: Opened, answers: AnswerService, notices: VantageCards) -> ReplayService:
    """The service of `/answers/{id}/replay`."""
    rows = {source.name: source.named for source in parts.rows.every}
    originals = OriginalStore(parts.pool, parts.kept.points, rows)
    return ReplayService(answers, originals, notices, KnowledgeStore(parts.pool), O200k().count)
