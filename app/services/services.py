"""The services of one running Ibid, as `wiring` built them and the API uses them."""

from collections.abc import Callable
from dataclasses import dataclass

from app.db.keys import KeyStore
from app.retrieval.search import Retrieval
from app.services.answers import AnswerService, ReplayService, SessionService
from app.services.chat import ChatService
from app.services.code import CodeService
from app.services.conversations import ConversationService
from app.services.corpus import CorpusService
from app.services.documents import DocumentService
from app.services.feedback import FeedbackService, SignalService
from app.services.memories import MemoryService
from app.services.profiles import ProfileService
from app.services.projects import KnowledgeService, ProjectService
from app.services.rag import RagService
from app.services.users import UserService
from app.services.vantage import CardService, MixService, VantageService
from app.types import Probe


@dataclass(frozen=True, slots=True)
class Services:
    chat: ChatService
    documents: DocumentService
    sessions: SessionService
    answers: AnswerService
    replays: ReplayService
    rag: RagService
    vantage: VantageService
    feedback: FeedbackService
    signals: SignalService
    memories: MemoryService
    profiles: ProfileService
    corpus: CorpusService
    users: UserService
    cards: CardService
    projects: ProjectService
    code: CodeService
    conversations: ConversationService
    """Dreams too."""
    knowledge: KnowledgeService
    mixing: MixService
    retrieval: Retrieval
    """Every source at once: what `ibid eval` measures."""
    keys: KeyStore
    probes: tuple[Probe, ...]
    """What `/readyz` asks, in order."""
    debug: bool | None
    """Whether replies carry `debug` (RAG_DEBUG_MODE); None: while the service is open on loopback."""
    token: str
    """The data folder's local token: acts as a tenant key of the tenant `default` on this machine."""
    publish: Callable[[str], None]
    """Tells commands on this machine the address to come through (the folder's lock file)."""
    optional: tuple[Probe, ...] = ()
    """What `/readyz` asks too, and answers can do without."""
    hurry: Callable[[], None] = lambda: None
    """Ends the waits of uploads before the service stops: their bytes and jobs are durable."""
