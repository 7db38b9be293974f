"""What goes beyond the first stage of retrieval (a part of `wiring.py`): RERANK_URL, RAG_REWRITE."""

import time

from app.config import Settings
from app.domain.breaker import Breaker
from app.models.chat import LASTING, chat_server
from app.opened import Opened
from app.services.rewrite import Rewriter
from app.services.second import Second


def second(settings: Settings, parts: Opened) -> Second | None:
    """None: there is nothing beyond it. The extractive answerer rewords nothing."""
    seconds = settings.rag.timeout_seconds
    rewords = settings.rag.rewrite and chat_server(settings) is not None
    rewriter = (
        Rewriter(parts.model, Breaker(time.monotonic, lasting=LASTING), seconds=seconds) if rewords else None
    )
    if parts.reranker is None and rewriter is None:
        return None
    return Second(parts.reranker, rewriter, Breaker(time.monotonic, lasting=LASTING), seconds=seconds)
