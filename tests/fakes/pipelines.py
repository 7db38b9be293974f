"""Answering services over hand-written parts."""

from typing import Any, cast

from app.answering.budget import PromptLimits
from app.answering.pipeline import Pipeline
from app.answering.recorder import Recorder
from app.models.tokens import O200k
from app.retrieval.search import Retrieval
from app.services.chat import ChatService
from tests.fakes.answering import NOW, FakeLog, FakeModel, Words
from tests.fakes.projecting import FakeKnowledge, FakeProjects


def pipeline(
    limits: PromptLimits,
    *,
    endpoint: str = "/api/chat",
    model: FakeModel | None = None,
    log: FakeLog | None = None,
    tokens: O200k | None = None,
    name: str | None = None,
    remember: Any = None,
    speaks: bool = True,
) -> Pipeline:
    """Counts words, at noon."""
    return Pipeline(
        endpoint=endpoint,
        model=model or FakeModel(),
        tokens=tokens or Words(),
        recorder=Recorder(log or FakeLog()),
        limits=limits,
        clock=lambda: NOW,
        name=name,
        remember=remember,
        speaks=speaks,
    )


def chat_service(
    retrieval: Retrieval,
    limits: PromptLimits,
    *,
    log: FakeLog | None = None,
    projects: FakeProjects | None = None,
    knowledge: FakeKnowledge | None = None,
    documents: Any = None,
    **parts: Any,
) -> ChatService:
    """A chat; `parts` are the pipeline's."""
    log, shown = log or FakeLog(), cast("Any", projects or FakeProjects())
    answering = pipeline(limits, log=log, **parts)
    return ChatService(retrieval, log, shown, knowledge or FakeKnowledge(), answering, documents=documents)
