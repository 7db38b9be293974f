"""What fills projects: conversations, dreams, knowledge (a part of `wiring.py`, which gives what is open)."""

from app.config import Settings
from app.contexts import DREAMS
from app.domain.budget import scaled
from app.models.chat import chat_name, chat_server, model_at
from app.models.digest import Sentences
from app.models.tokens import O200k
from app.opened import Opened
from app.services.conversations import ConversationService
from app.services.digest import Digest
from app.services.knowledge import KnowledgeService
from app.stores.conversations import ConversationStore
from app.stores.knowledge import KnowledgeStore


def conversations(settings: Settings, parts: Opened) -> ConversationService:
    """Summed up in RAG_MODEL's words, where there is a model."""
    model = parts.model if chat_server(settings) else None
    digest = Digest(Sentences(), model, model_at(settings, settings.rag))
    return ConversationService(ConversationStore(parts.pool), digest, parts.embedder, DREAMS.__contains__)


def knowledge(settings: Settings, parts: Opened) -> KnowledgeService:
    """What is told of projects, in tokens of the model that chats have where they name none."""
    tokens = O200k()
    factor = tokens.factor(chat_name(settings))
    return KnowledgeService(
        KnowledgeStore(parts.pool),
        lambda text: scaled(tokens.count(text), factor),
        settings.chat.context_tokens,
    )
