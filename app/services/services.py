"""The services of one running Ibid, as built by `wiring` and used by the API."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from app.db.history import HistoryStore
from app.db.keys import KeyStore
from app.metrics import Metrics
from app.retrieval.search import Retrieval
from app.services.answers import AnswerService
from app.services.chat import ChatService
from app.services.code import CodeService
from app.services.conversations import ConversationService
from app.services.corpus import CorpusService
from app.services.documents import DocumentService
from app.services.feedback import FeedbackService, SignalService
from app.services.limits import Limiter
from app.services.memories import MemoryService
from app.services.profiles import ProfileService
from app.services.projects import KnowledgeService, ProjectService
from app.services.rag import RagService
from app.services.replay import ReplayService
from app.services.search import SearchService
from app.services.sessions import SessionService
from app.services.streams import StreamService
from app.services.users import UserService
from app.services.vantage import CardService, MixService, VantageService
from app.tracing import Tracer
from app.types import Probe


@dataclass(frozen=True, slots=True)
class Services:
    chat: ChatService
    documents: DocumentService
    sessions: SessionService
    answers: AnswerService
    replays: ReplayService
    streams: StreamService
    rag: RagService
    vantage: VantageService
    feedback: FeedbackService
    signals: SignalService
    memories: MemoryService
    profiles: ProfileService
    corpus: CorpusService
    users: UserService
    history: HistoryStore
    cards: CardService
    projects: ProjectService
    code: CodeService
    conversations: ConversationService
    """Conversations and dreams."""
    knowledge: KnowledgeService
    mixing: MixService
    search: SearchService
    retrieval: Retrieval
    """Searches every source; measured by `ibid eval`."""
    keys: KeyStore
    probes: tuple[Probe, ...]
    """Checks of `/readyz`, in order."""
    debug: bool | None
    """True if replies carry `debug` (RAG_DEBUG_MODE); None: while the service is open on loopback."""
    token: str
    """The data folder's local token: acts as a tenant key of the tenant `default` on this machine."""
    publish: Callable[[str], None]
    """Publishes the service's URL to commands on this machine (the folder's lock file)."""
    optional: tuple[Probe, ...] = ()
    """Checks of `/readyz` that answers can do without."""
    hurry: Callable[[], None] = lambda: None
    """Ends the waits for uploads and pages before the service stops: bytes and jobs are durable."""
    limiter: Limiter = field(default_factory=Limiter)
    tracer: Tracer | None = None
    metrics: Metrics = field(default_factory=Metrics)
    gauges: Callable[[], Awaitable[None]] | None = None
    """Reads the numbers that `/metrics` shows as they are now."""
