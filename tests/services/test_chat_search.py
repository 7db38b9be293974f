"""What /api/chat reads for one question, concurrently and under one deadline."""

import asyncio
from typing import Any

import pytest

from app.answer import Role, Turn
from app.answering.budget import PromptLimits
from app.answering.question import Question
from app.db.projects import Knowledge
from app.errors import RetrievalError
from app.retrieval.search import Retrieval
from app.services.chat import ChatService
from app.types import Scope
from tests.fakes.answering import FakeEmbedder, FakeLog, FakeModel, FakeSource, passage
from tests.fakes.pipelines import chat_service
from tests.fakes.projecting import FakeKnowledge, FakeProjects, gathered, row

HERE = Scope(session_id="s", thread_id="t")
THN = Scope(session_id="s", thread_id="t", project="THN")
LIMITS = PromptLimits(budget=5_000, top_k=40, threshold=0.2, window=10_000, history=500, answer=100)
SHOWN = gathered(row("conversations", "k1", "entry"))
QUESTION = "why is the sky blue today"


def service(source: FakeSource | None = None, *, seconds: float = 0.3, **parts: Any) -> ChatService:
    """Over one document."""
    source = source or FakeSource([passage("a")])
    retrieval = Retrieval({"documents": source}, FakeEmbedder(), seconds=seconds)
    return chat_service(retrieval, LIMITS, **{"projects": FakeProjects(SHOWN), **parts})


async def told(chat: ChatService, question: Question) -> dict[str, Any]:
    """The whole reply."""
    return await (await chat.prepare(question)).whole()


async def test_without_a_project_nothing_is_asked_of_one() -> None:
    """Documents are searched."""
    projects, knowledge = FakeProjects(SHOWN), FakeKnowledge(Knowledge("O"))
    said = await told(service(projects=projects, knowledge=knowledge), Question(HERE, QUESTION))
    assert [item["label"] for item in said["citations"]] == ["a.pdf#1"]
    assert (projects.asked, knowledge.asked) == ([], [])


async def test_a_project_gives_its_context_and_its_knowledge() -> None:
    """The turns of the thread beside them."""
    model, log = (
        FakeModel(),
        FakeLog(rows=[(THN, Turn(Role.USER, "hello")), (THN, Turn(Role.ASSISTANT, "hi"))]),
    )
    chat = service(model=model, log=log, knowledge=FakeKnowledge(Knowledge("O")))
    said = await told(chat, Question(THN, QUESTION, top_k=3))
    assert [item["id"] for item in said["citations"]] == ["k1"]
    [prompt] = model.prompts
    assert prompt.before == ("### Project Overview\n\nO",)
    assert [turn.content for turn in prompt.turns] == ["hello", "hi"]


@pytest.mark.parametrize(
    ("knowledge", "reason"),
    [
        pytest.param(FakeKnowledge(error=RetrievalError("unavailable")), "unavailable", id="down"),
        pytest.param(FakeKnowledge(delay=30), "timeout", id="hangs"),
    ],
)
async def test_knowledge_that_does_not_come_is_told(knowledge: FakeKnowledge, reason: str) -> None:
    """The context is shown without it."""
    said = await told(service(knowledge=knowledge), Question(THN, QUESTION))
    assert said["degraded"] == [{"source": "knowledge", "reason": reason}]
    assert [item["id"] for item in said["citations"]] == ["k1"]


async def test_who_leaves_leaves_no_task() -> None:
    """Whatever was being read ends with it."""
    before = asyncio.all_tasks()
    chat = service(
        log=FakeLog(hang=30), projects=FakeProjects(delay=30), knowledge=FakeKnowledge(delay=30), seconds=30
    )
    task = asyncio.create_task(chat.prepare(Question(THN, QUESTION)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before


async def test_a_follow_up_brings_what_the_person_said_before() -> None:
    """For its rewording; a message that stands alone brings nothing, and needs no turns."""
    source = FakeSource([passage("a")])
    history = (Turn(Role.USER, "What does the ferry carry?"), Turn(Role.ASSISTANT, "Barrels. [a.pdf#1]"))
    for message in ("and the bridge?", QUESTION):
        await told(service(source), Question(HERE, message, history=history))
    assert [query.before for query in source.queries] == [("What does the ferry carry?",), ()]


@pytest.mark.parametrize("scope", [HERE, THN], ids=["documents", "project"])
@pytest.mark.parametrize("message", ["thanks!", "ok cool", "hi", "\U0001f602", "why?"])
async def test_small_talk_is_searched_nowhere(message: str, scope: Scope) -> None:
    """Nor is a bare question word that has nothing to refer to."""
    projects, source = FakeProjects(SHOWN), FakeSource([passage("a")])
    said = await told(service(source, projects=projects), Question(scope, message))
    assert (said["rag"]["reason"], said["citations"]) == ("small_talk", [])
    assert (projects.asked, source.queries) == ([], [])


async def test_a_yes_that_answers_a_question_is_searched_by_it() -> None:
    """Thanks are small talk there too."""
    source = FakeSource([passage("a")])
    asked = (Turn(Role.USER, "What is sold?"), Turn(Role.ASSISTANT, "Rye. Shall I list the prices as well?"))
    for message in ("yes please", "thanks!"):
        await told(service(source), Question(HERE, message, history=asked))
    assert [query.text for query in source.queries] == ["Shall I list the prices as well? yes please"]
