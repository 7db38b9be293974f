"""What /api/chat reads for a question, the prompt it makes, and when tokens are counted."""

import asyncio
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.answer import HEAD, Answer, Finish, Prompt, Role, Turn, Usage
from app.answering.budget import Meter, PromptLimits
from app.answering.pipeline import BESIDE_MOST, FRESH_MOST
from app.answering.projects import Gathered
from app.answering.prompt import (
    SYSTEM,
    SYSTEM_BARE,
    SYSTEM_PROJECT,
    SYSTEM_PROJECT_BARE,
    SYSTEM_PROJECT_CROWDED,
    SYSTEM_SOURCES,
    SYSTEM_SOURCES_BARE,
    SYSTEM_SOURCES_CROWDED,
)
from app.answering.question import Context, Question
from app.answering.replay import Today, changes, rebuilt
from app.api.schemas.chat import ChatReply
from app.db.projects import Knowledge, KnowledgeNote
from app.errors import InvalidField, RetrievalError
from app.models.tokens import O200k
from app.retrieval.search import Retrieval
from app.services.chat import ChatService, Fetched, chat_context, form_of, laborious
from app.text.memo import Text
from app.text.sanitise import quote
from app.text.tokens import SHOWN
from app.types import Candidate, Degraded, Found, Hit, Passage, Reason, Scope
from tests.fakes.answering import FakeEmbedder, FakeLog, FakeModel, FakeSource, Words, as_json, passage
from tests.fakes.pipelines import chat_service
from tests.fakes.projecting import FakeKnowledge, FakeProjects, gathered, row

HERE = Scope(session_id="s", thread_id="t")
THN = Scope(session_id="s", thread_id="t", project="THN")
LIMITS = PromptLimits(budget=5_000, top_k=40, threshold=0.2, window=10_000, history=500, answer=100)
ROWS = gathered(row("conversations", "k1", "entry"))
QUESTION = "why is the sky blue today"


def service(source: FakeSource | None = None, *, seconds: float = 0.3, **parts: Any) -> ChatService:
    """Over one document."""
    source = source or FakeSource([passage("a")])
    retrieval = Retrieval({"documents": source}, FakeEmbedder(), seconds=seconds)
    return chat_service(retrieval, LIMITS, **{"projects": FakeProjects(ROWS), **parts})


async def told(chat: ChatService, question: Question) -> dict[str, Any]:
    """The whole reply."""
    return as_json(ChatReply, await (await chat.prepare(question)).whole())


async def test_without_a_project_nothing_is_asked_of_one() -> None:
    """Documents are searched."""
    projects, knowledge = FakeProjects(ROWS), FakeKnowledge(Knowledge("O"))
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
    projects, source = FakeProjects(ROWS), FakeSource([passage("a")])
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


@pytest.mark.parametrize(
    ("project", "sources", "searched", "projected"),
    [
        pytest.param(None, None, ("documents",), False, id="nothing said"),
        pytest.param(None, ("code",), ("code",), False, id="sources"),
        pytest.param("THN", ("code",), ("code",), False, id="both"),
        pytest.param("THN", (), (), False, id="no sources"),
        pytest.param("THN", None, ("documents",), True, id="project"),
    ],
)
def test_the_default_is_the_project_s_or_documents(
    project: str | None, sources: tuple[str, ...] | None, searched: tuple[str, ...], projected: bool
) -> None:
    """A project's own context is shown where no sources are named; an empty list names none of them."""
    question = Question(Scope(project=project), "m", sources=sources)
    assert (question.searched, question.projected) == (searched, projected)


IN_THN = Scope(project="THN")
FOUND = Found((Candidate(passage("a"), Hit("a", 1.0, 1.0, rare=True)),), stored=1, answered=1)
ENTRY = gathered(row("conversations", "k1", "entry", title="One"))
KNOWN = Knowledge("O " * 20, "R", (KnowledgeNote("t", "n"),))


def context_of(
    ask: Question,
    found: Found | Gathered,
    knowledge: Knowledge | None = None,
    *,
    budget: int = 1_000,
    window: int = 5_000,
) -> Context:
    """Of what was fetched."""
    limits = PromptLimits(budget=budget, top_k=40, threshold=0.2, window=window, history=500, answer=100)
    lost = (Degraded("knowledge", "timeout"),)
    fetched = Fetched(ask.message, found, knowledge=knowledge or Knowledge(), lost=lost)
    return chat_context(ask, fetched, limits, Meter(Words().count, form=form_of(ask)))


@pytest.mark.parametrize(
    ("scope", "sources", "found", "budget", "system"),
    [
        pytest.param(Scope(), None, FOUND, 1_000, SYSTEM, id="documents"),
        pytest.param(Scope(), ("documents",), Found(answered=1), 1_000, SYSTEM_BARE, id="documents, none"),
        pytest.param(IN_THN, ("documents",), FOUND, 1_000, SYSTEM, id="a project's documents"),
        pytest.param(Scope(), ("code", "memories"), FOUND, 1_000, SYSTEM_SOURCES, id="sources"),
        pytest.param(IN_THN, ("code",), Found(answered=1), 1_000, SYSTEM_SOURCES_BARE, id="sources, none"),
        pytest.param(IN_THN, ("code",), FOUND, 1, SYSTEM_SOURCES_CROWDED, id="sources, no room"),
        pytest.param(IN_THN, None, ENTRY, 1_000, SYSTEM_PROJECT, id="project"),
        pytest.param(IN_THN, None, gathered(), 1_000, SYSTEM_PROJECT_BARE, id="project, none"),
        pytest.param(IN_THN, None, ENTRY, 1, SYSTEM_PROJECT_CROWDED, id="project, no room"),
    ],
)
def test_the_system_text_is_true_of_what_is_shown(
    scope: Scope, sources: tuple[str, ...] | None, found: Found | Gathered, budget: int, system: str
) -> None:
    """Of where it was looked for, and of what came of it."""
    assert (
        context_of(Question(scope, QUESTION, sources=sources), found, budget=budget).prompt.system == system
    )


def test_overview_and_rules_are_never_cut_and_leave_less_room() -> None:
    """They stand in the prompt whatever is found: the budget is what is left."""
    ask = Question(IN_THN, QUESTION)
    window = 400
    bare, known = context_of(ask, ENTRY, window=window), context_of(ask, ENTRY, KNOWN, window=window)
    assert known.trace.budget < bare.trace.budget < 1_000
    assert "O O O" in known.prompt.messages()[0]["content"]


@pytest.mark.parametrize(
    ("known", "opening", "notes", "told"),
    [
        pytest.param(
            Knowledge("O", "R", tuple(KnowledgeNote(str(n), "word " * 30) for n in range(50))),
            "### Project Overview\n\nO\n\n### Project Rules\n\nR",
            3,
            "Left out 47 of 50 project notes: no room in the model's window",
            id="notes",
        ),
        pytest.param(
            Knowledge("word " * 900, "R", (KnowledgeNote("t", "n"),)),
            "### Project Rules\n\nR",
            0,
            "Left out 1 of 1 project notes, the project's overview: no room in the model's window",
            id="overview",
        ),
        pytest.param(
            Knowledge("", "word " * 900),
            "",
            0,
            "Left out the project's rules: no room in the model's window",
            id="rules",
        ),
    ],
)
def test_knowledge_over_the_window_is_left_out_from_the_end(
    known: Knowledge, opening: str, notes: int, told: str
) -> None:
    """The chat is answered with a quarter of the window's worth of it, and what is missing is told."""
    given = context_of(Question(IN_THN, QUESTION), ENTRY, known, window=500)
    assert given.prompt.before == ((opening,) if opening else ())
    assert "\n".join(given.prompt.notes).count("**") == 2 * notes
    assert told in given.trace.notes()
    assert given.trace.packed


def test_what_fits_is_told_whole() -> None:
    """Also where it takes more than a quarter: it was there before the limit."""
    given = context_of(Question(IN_THN, QUESTION), ENTRY, Knowledge("word " * 150), window=500)
    assert given.prompt.before[0].count("word") == 150
    assert not any("Left out" in note for note in given.trace.notes())


def test_a_replay_knows_how_much_of_the_knowledge_had_room() -> None:
    """So that it is identical as long as that part is."""
    known = Knowledge("O", "R", tuple(KnowledgeNote(str(n), "word " * 30) for n in range(50)))
    given = context_of(Question(IN_THN, QUESTION), gathered(), known, window=500)
    answer = Answer(
        *("a", "/api/chat", QUESTION, "", "m", None, (), (), (), given.prompt.sha256(), given.trace, Usage()),
        created_at=datetime(2026, 11, 21, tzinfo=UTC),
    )
    for today, same in (
        (known, True),
        (replace(known, notes=known.notes[:3]), True),
        (Knowledge("O"), False),
    ):
        assert (not list(changes(answer, given.recipe, Today({}, knowledge=today)))) is same
        again = rebuilt(answer, given.recipe, Today({}, knowledge=today))
        assert (again.sha256() == answer.prompt_sha256) is same


def test_a_request_over_the_window_is_refused() -> None:
    """Whatever is left out of the project's knowledge."""
    with pytest.raises(InvalidField) as caught:
        context_of(Question(IN_THN, "word " * 5_000), ENTRY, KNOWN)
    assert caught.value.field == "body.message"


def test_how_it_came_to_be_is_told() -> None:
    """Reason, ledger, notes, what was lost beside it; the recipe has the order of the blocks."""
    given = context_of(Question(IN_THN, QUESTION, notes=("mine",)), ENTRY, KNOWN)
    assert (given.trace.reason, [entry.id for entry in given.trace.packed]) == (Reason.OK, ["k1"])
    assert "Retrieved as a project says" in given.trace.notes()
    assert given.trace.degraded == (Degraded("knowledge", "timeout"),)
    assert [str(block.kind) for block in given.recipe.blocks] == [
        *("instructions", "knowledge", "project_notes", "note")
    ]


def test_turns_stand_behind_the_notes() -> None:
    """Message 1, 2, 3, the earlier turns, the message."""
    ask = Question(IN_THN, QUESTION, history=(Turn(Role.USER, "hello"), Turn(Role.ASSISTANT, "hi")))
    fetched = Fetched(QUESTION, ENTRY, ask.history or (), KNOWN)
    limits = PromptLimits(budget=1_000, top_k=40, threshold=0.2, window=5_000, history=500, answer=100)
    prompt = chat_context(ask, fetched, limits, Meter(Words().count, form=form_of(ask))).prompt
    told = [message["role"] for message in prompt.messages()]
    assert told == ["system", "system", "system", "user", "assistant", "user"]


LARGE = PromptLimits(budget=10_000, top_k=40, threshold=0.2, window=20_000, history=500, answer=100)
ASK = Question(Scope(session_id="s", thread_id="t"), "why is the sky blue today")


def sky(count: int) -> list[Passage]:
    """Passages whose texts remember, and were never seen."""
    return [passage(f"p{n}", Text(f"The sky is blue for reason {n}.")) for n in range(count)]


@dataclass
class Held(O200k):
    """Keeps `ports.Tokens`: a line of the context is counted only once `free`, and waits for that."""

    free: threading.Event = field(default_factory=threading.Event)
    on: set[str] = field(default_factory=set)
    """Threads that counted lines."""

    def count(self, text: str) -> int:
        """Its words."""
        if text.startswith(f"{HEAD}\n- From"):
            assert self.free.wait(5)
            self.on.add(threading.current_thread().name)
        return len(text.split())

    def factor(self, model: str) -> float:
        """As it is."""
        return 1.0


def counting(tokens: Held, model: FakeModel, log: FakeLog, found: list[Passage]) -> ChatService:
    """A chat over what is found."""
    retrieval = Retrieval({"documents": FakeSource(found)}, FakeEmbedder(), seconds=5)
    return chat_service(retrieval, LARGE, log=log, model=model, tokens=tokens)


async def asked(model: FakeModel) -> Prompt:
    """What the model is asked, as soon as it is."""
    async with asyncio.timeout(5):
        while not model.prompts:  # noqa: ASYNC110 - a fake tells nobody
            await asyncio.sleep(0.001)
    return model.prompts[0]


async def test_new_passages_are_counted_while_the_model_is_asked() -> None:
    """The model has its prompt before one line of it was counted; the reply tells them exactly."""
    tokens, model = Held(), FakeModel()
    chat = counting(tokens, model, FakeLog(), sky(FRESH_MOST + 1))
    preparing = asyncio.create_task(chat.prepare(ASK))
    prompt = await asked(model)
    assert not tokens.on
    assert not preparing.done()
    tokens.free.set()
    reply = await preparing
    assert threading.main_thread().name not in tokens.on
    assert reply.context.trace.tokens == Meter(tokens.count).context(prompt) > 0
    assert reply.context.tokens == Meter(tokens.count).prompt(prompt)
    await reply.aclose()


async def test_who_leaves_while_it_counts_is_kept_as_cancelled() -> None:
    """The model is let go, and the record tells the tokens."""
    tokens, model, log = Held(), FakeModel(), FakeLog()
    chat = counting(tokens, model, log, sky(FRESH_MOST + 1))
    preparing = asyncio.create_task(chat.prepare(ASK))
    await asked(model)
    preparing.cancel()
    tokens.free.set()
    with pytest.raises(asyncio.CancelledError):
        await preparing
    await chat.recorder.drain()
    assert [answer.finish for answer in log.answers] == [Finish.CANCELLED]
    assert log.answers[0].trace.tokens > 0
    assert model.closed == 1


def known(text: str) -> Text:
    """A text that was counted when it was written."""
    made = Text(text)
    made.memo[SHOWN] = {quote: 1}
    return made


@pytest.mark.parametrize(
    ("beside", "texts", "expected"),
    [
        pytest.param("why", [Text("x" * 100)] * 60, False, id="all fit"),
        pytest.param("why", [Text("x" * 300)] * 60, True, id="they may not"),
        pytest.param("why", [Text("\u0436" * 150)] * 60, True, id="by their bytes"),
        pytest.param("why", [Text("x" * 300)] * FRESH_MOST, False, id="few"),
        pytest.param("why", [known("x" * 300)] * 60, False, id="known"),
        pytest.param("x" * (BESIDE_MOST + 1), [], True, id="much beside them"),
    ],
)
def test_only_much_counting_goes_to_a_thread(beside: str, texts: list[str], expected: bool) -> None:
    """A thread takes as long as a little counting."""
    found = Found(tuple(Candidate(passage(f"p{n}", text)) for n, text in enumerate(texts)))
    assert laborious(Question(Scope(), beside), Fetched(beside, found), LARGE) is expected
