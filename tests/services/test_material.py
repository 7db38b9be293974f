"""What is fetched for one question, beside each other and under one deadline."""

import asyncio

import pytest

from app.answer import Role, Turn
from app.answering.budget import PromptLimits
from app.answering.projects import Gathered
from app.db.projects import Knowledge
from app.errors import RetrievalError
from app.retrieval.search import Retrieval
from app.services.chat import Collector
from app.services.projects import Ask
from app.types import Degraded, Found, Scope
from tests.fakes.answering import FakeEmbedder, FakeLog, FakeSource, passage
from tests.fakes.projecting import FakeKnowledge, FakeProjects, gathered, row

HERE = Scope(session_id="s", thread_id="t")
THN = Scope(session_id="s", thread_id="t", project="THN")
LIMITS = PromptLimits(budget=5_000, top_k=40, threshold=0.2, window=10_000, history=500, answer=100)
SHOWN = gathered(row("conversations", "k1", "entry"))


def collector(
    log: FakeLog | None = None,
    projects: FakeProjects | None = None,
    knowledge: FakeKnowledge | None = None,
    *,
    seconds: float = 0.3,
) -> Collector:
    """Over one document."""
    retrieval = Retrieval({"documents": FakeSource([passage("a")])}, FakeEmbedder(), seconds=seconds)
    projects, knowledge = projects or FakeProjects(SHOWN), knowledge or FakeKnowledge(Knowledge("O"))
    return Collector(retrieval, log or FakeLog(), projects, knowledge, limits=LIMITS)


async def test_without_a_project_nothing_is_asked_of_one() -> None:
    """Documents are searched, as ever."""
    projects, knowledge = FakeProjects(SHOWN), FakeKnowledge(Knowledge("O"))
    material = await collector(None, projects, knowledge).collect(Ask(HERE, "why is the sky blue today"))
    assert isinstance(material.found, Found)
    assert (material.texts, material.knowledge) == (["The sky is blue."], Knowledge())
    assert (projects.asked, knowledge.asked) == ([], [])


async def test_a_project_gives_its_context_and_its_knowledge() -> None:
    """The turns of the thread beside them."""
    log = FakeLog(rows=[(THN, Turn(Role.USER, "hello"))])
    material = await collector(log).collect(Ask(THN, "why is the sky blue today", top_k=3))
    assert isinstance(material.found, Gathered)
    assert (material.found, material.texts, material.knowledge) == (SHOWN, ["entry"], Knowledge("O"))
    assert material.told == ("### Project Overview\n\nO", "")
    assert [turn.content for turn in material.turns] == ["hello"]


@pytest.mark.parametrize(
    ("knowledge", "reason"),
    [
        pytest.param(FakeKnowledge(error=RetrievalError("unavailable")), "unavailable", id="down"),
        pytest.param(FakeKnowledge(delay=30), "timeout", id="hangs"),
    ],
)
async def test_knowledge_that_does_not_come_is_told(knowledge: FakeKnowledge, reason: str) -> None:
    """The context is shown without it."""
    material = await collector(knowledge=knowledge).collect(Ask(THN, "why is the sky blue today"))
    assert (material.knowledge, material.lost) == (Knowledge(), (Degraded("knowledge", reason),))
    assert material.found == SHOWN


async def test_all_is_fetched_at_once() -> None:
    """Turns, context and knowledge beside each other."""
    log, projects, knowledge = FakeLog(hang=0.2), FakeProjects(SHOWN, delay=0.2), FakeKnowledge(delay=0.2)
    await collector(log, projects, knowledge, seconds=5).collect(Ask(THN, "why is the sky blue today"))


async def test_who_leaves_leaves_no_task() -> None:
    """Whatever was being fetched ends with it."""
    before = asyncio.all_tasks()
    asked = collector(FakeLog(hang=30), FakeProjects(delay=30), FakeKnowledge(delay=30), seconds=30)
    task = asyncio.create_task(asked.collect(Ask(THN, "why is the sky blue today")))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before


async def test_a_follow_up_brings_what_the_person_said_before() -> None:
    """For its rewording; a message that stands alone brings nothing, and needs no turns."""
    source = FakeSource([passage("a")])
    retrieval = Retrieval({"documents": source}, FakeEmbedder(), seconds=0.3)
    history = (Turn(Role.USER, "What does the ferry carry?"), Turn(Role.ASSISTANT, "Barrels. [a.pdf#1]"))
    both = Collector(retrieval, FakeLog(), FakeProjects(SHOWN), FakeKnowledge(Knowledge("O")), limits=LIMITS)
    for message in ("and the bridge?", "why is the sky blue today"):
        await both.collect(Ask(HERE, message, history=history))
    assert [query.before for query in source.queries] == [("What does the ferry carry?",), ()]


@pytest.mark.parametrize("scope", [HERE, THN], ids=["documents", "project"])
@pytest.mark.parametrize("message", ["thanks!", "ok cool", "hi", "😂", "why?"])
async def test_small_talk_is_searched_nowhere(message: str, scope: Scope) -> None:
    """Nor embedded; so is a bare question word that has nothing to refer to."""
    projects = FakeProjects(SHOWN)
    material = await collector(None, projects).collect(Ask(scope, message))
    assert isinstance(material.found, Found)
    assert (material.found.unsought, material.texts, projects.asked) == (True, [], [])


async def test_a_yes_that_answers_a_question_is_searched_by_it() -> None:
    """Thanks are small talk there too."""
    source = FakeSource([passage("a")])
    retrieval = Retrieval({"documents": source}, FakeEmbedder(), seconds=0.3)
    asked = (Turn(Role.USER, "What is sold?"), Turn(Role.ASSISTANT, "Rye. Shall I list the prices as well?"))
    both = Collector(retrieval, FakeLog(), FakeProjects(SHOWN), FakeKnowledge(Knowledge("O")), limits=LIMITS)
    for message in ("yes please", "thanks!"):
        await both.collect(Ask(HERE, message, history=asked))
    assert [query.text for query in source.queries] == ["Shall I list the prices as well? yes please"]
