"""What is kept of a person: every holding and every engine's files, for export and erasure (DESIGN §2.3).

A part of `wiring.py`, which hands in what is open. Whatever comes to keep something of a person is listed
here; a test walks the schema and the sources for what is missing.
"""

from app.config import Settings
from app.index.files import PointFiles
from app.opened import Opened
from app.services.recorder import Recorder
from app.services.twofold import Twofold
from app.services.users import Caching, UserService
from app.stores.belongings import Memories, belongings
from app.stores.erasures import ErasureStore
from app.stores.files import RecordFiles


def users(settings: Settings, parts: Opened, recorder: Recorder) -> UserService:
    """The service of `/users`."""
    pool, kept = parts.pool, parts.kept
    return UserService(
        holdings=(Twofold(Memories(pool), kept.memories), *belongings(pool)),
        files=(
            RecordFiles(pool),
            PointFiles(kept.points, external=settings.qdrant.url is not None),
            parts.documents.probe,
        ),
        erasures=ErasureStore(pool),
        recorder=recorder,
        caching=Caching(parts.cache, settings.rag.cache_ttl_seconds if settings.cache.url else 0),
    )
