"""/api/chat: the recipe and its prompt."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest

from app.answer import Kind, Role, Turn
from app.answering import stream as stream_
from app.answering.budget import Meter, PromptLimits
from app.answering.projects import Gathered
from app.answering.prompt import (
    SYSTEM,
    SYSTEM_BARE,
    SYSTEM_CROWDED,
    SYSTEM_PROJECT,
    SYSTEM_PROJECT_BARE,
    SYSTEM_PROJECT_CROWDED,
    SYSTEM_SOURCES,
    SYSTEM_SOURCES_BARE,
    SYSTEM_SOURCES_CROWDED,
)
from app.answering.question import Context, Question
from app.answering.replay import Today, rebuilt
from app.api.schemas.chat import ChatReply
from app.db.projects import Knowledge, KnowledgeNote
from app.errors import InvalidField, ModelError, RetrievalError, Unavailable
from app.retrieval.search import RANKING_VERSION, Retrieval
from app.services.chat import ChatService, Fetched, chat_context, form_of
from app.types import Candidate, Degraded, Found, Passage, PendingDocument, Scope
from tests.fakes.answering import (
    NOW,
    FakeEmbedder,
    FakeLog,
    FakeModel,
    FakeSource,
    FakeStream,
    Words,
    as_json,
    chat_service,
    passage,
)
from tests.fakes.projecting import FakeKnowledge, FakeProjects, gathered, row
from tests.fakes.services import ScriptedMemories

SCOPE = Scope(session_id="s", thread_id="t")
QUESTION = "why is the sky blue today"


@dataclass
class FakeFiled:
    pending_now: tuple[PendingDocument, ...] = (PendingDocument("d1", "report.pdf"),)
    error: Exception | None = None
    asked: int = 0

    async def pending(self, scope: Scope) -> tuple[PendingDocument, ...]:
        self.asked += 1
        if self.error:
            raise self.error
        return self.pending_now


def service(
    source: FakeSource | None = None,
    *,
    model: FakeModel | None = None,
    log: FakeLog | None = None,
    projects: FakeProjects | None = None,
    knowledge: FakeKnowledge | None = None,
    filed: FakeFiled | None = None,
    seconds: float = 0.3,
    **limits: Any,
) -> ChatService:
    """A chat service over hand-written parts; `limits` override generous ones."""
    knobs: dict[str, Any] = {
        "budget": 5_000,
        "top_k": 40,
        "threshold": 0.2,
        "window": 10_000,
        "history": 500,
        "answer": 100,
    }
    source, log, bounds = (
        source or FakeSource([passage("a")]),
        log or FakeLog(),
        PromptLimits(**(knobs | limits)),
    )
    retrieval = Retrieval({"documents": source}, FakeEmbedder(), seconds=seconds)
    return chat_service(
        retrieval, bounds, log=log, projects=projects, knowledge=knowledge, documents=filed, model=model
    )


async def told(chat: ChatService, message: str = QUESTION, **fields: Any) -> dict[str, Any]:
    reply = await chat.prepare(Question(SCOPE, message, **fields))
    return as_json(ChatReply, await reply.whole())


@pytest.mark.parametrize(
    "source",
    [
        FakeSource([]),
        FakeSource([passage("a", similarity=0.1)]),
        FakeSource([passage("a")], delay=30),
        FakeSource([passage("a")], error=RetrievalError("unavailable")),
    ],
    ids=["nothing else stored", "nothing fits", "the search is late", "the search fails"],
)
async def test_a_document_that_is_being_read_is_not_absent(source: FakeSource) -> None:
    """Where nothing matches, the reply says what is still being read, and so does its record."""
    log, model = FakeLog(), FakeModel()
    said = await told(service(source, log=log, model=model, filed=FakeFiled()))
    assert (said["rag"]["reason"], said["rag"]["used"]) == ("processing", False)
    assert said["rag"]["pending"] == [{"id": "d1", "filename": "report.pdf"}]
    (answer,) = log.answers
    assert answer.trace.pending == (PendingDocument("d1", "report.pdf"),)
    assert "still being read" in model.prompts[0].system
    assert answer.recipe is not None
    assert rebuilt(answer, answer.recipe, Today()).sha256() == answer.prompt_sha256


async def test_where_matches_had_no_room_none_is_waited_for() -> None:
    said = await told(service(budget=3, filed=FakeFiled()))
    assert (said["rag"]["reason"], "pending" in said["rag"]) == ("no_match", False)


@pytest.mark.parametrize(
    ("filed", "sources", "reason"),
    [
        pytest.param(FakeFiled(()), None, "empty", id="nothing is being read"),
        pytest.param(FakeFiled(error=Unavailable()), None, "empty", id="nobody can tell"),
        pytest.param(FakeFiled(), (), "empty", id="documents are not searched"),
    ],
)
async def test_nothing_is_said_to_be_read_that_is_not(
    filed: FakeFiled, sources: tuple[str, ...] | None, reason: str
) -> None:
    """The reason stays what the search came to, and `pending` is left out."""
    said = await told(service(FakeSource([]), filed=filed), sources=sources)
    assert said["rag"]["reason"] == reason
    assert "pending" not in said["rag"]


async def test_the_same_words_in_two_sources_are_told_once() -> None:
    """Where they are most relevant; the others are duplicates in the ledger."""
    copy = replace(passage("m", "The sky  is BLUE.", 0.7), source="memories")
    said = await told(service(FakeSource([passage("a"), copy])), debug=True)
    assert [item["id"] for item in said["citations"]] == ["a"]
    assert {item["id"]: item["verdict"] for item in said["debug"]["chunks"]}["m"] == "duplicate"


PERHAPS = passage("a", similarity=0.4)
"""Chance alone finds one as similar among thousands of passages, not among ten."""


@pytest.mark.parametrize(
    ("source", "message", "reason"),
    [
        pytest.param(FakeSource([]), QUESTION, "empty", id="nothing stored"),
        pytest.param(FakeSource([passage("a")], delay=30), QUESTION, "timeout", id="slow"),
        pytest.param(FakeSource(error=RetrievalError("unavailable")), QUESTION, "unavailable", id="down"),
        pytest.param(FakeSource([passage("a", similarity=0.1)]), "rhine", "skipped_short_query", id="short"),
        pytest.param(FakeSource([passage("a")]), "thanks", "small_talk", id="small talk"),
        pytest.param(FakeSource([passage("a", similarity=0.1)]), QUESTION, "no_match", id="unrelated"),
        pytest.param(FakeSource([PERHAPS], stored=10_000), QUESTION, "no_match", id="the best of 10,000"),
    ],
)
async def test_without_context_the_model_answers_all_the_same(
    source: FakeSource, message: str, reason: str
) -> None:
    model = FakeModel()
    said = await told(service(source, model=model), message)
    assert (said["rag"]["reason"], said["rag"]["used"], said["citations"]) == (reason, False, [])
    assert said["answer"] == "Hello there"
    assert "[Context]" not in model.prompts[0].text().splitlines()


@pytest.mark.parametrize(
    ("stored", "given"), [(10, PERHAPS), (10_000, passage("a"))], ids=["of ten", "clearly, of 10,000"]
)
async def test_what_chance_does_not_explain_is_context(stored: int, given: Passage) -> None:
    said = await told(service(FakeSource([given], stored=stored)))
    assert (said["rag"]["reason"], len(said["citations"])) == ("ok", 1)


async def test_a_short_message_with_a_match_is_not_skipped() -> None:
    """The skip rule needs both: under 10 characters, and no match above the threshold."""
    said = await told(service(FakeSource([passage("a", similarity=0.9)])), "sky?")
    assert said["rag"]["reason"] == "ok"


async def test_top_k_and_budget_bound_the_context() -> None:
    """At most top_k passages, and never more tokens than the budget."""
    many = [passage(f"p{n}", f"fact number {n} stands here") for n in range(9)]
    said = await told(service(FakeSource(many)), top_k=3)
    assert said["rag"]["passages"] == 3
    said = await told(service(FakeSource(many), budget=30))
    assert 0 < said["rag"]["passages"] < 9
    assert said["rag"]["tokens"] <= said["rag"]["budget"] == 30


async def test_history_comes_from_the_thread_unless_given() -> None:
    """The thread's turns stand before the message; the request's own history replaces them."""
    model, log = FakeModel(), FakeLog()
    log.rows += [(SCOPE, Turn(Role.USER, "earlier", NOW)), (SCOPE, Turn(Role.ASSISTANT, "said", NOW))]
    chat = service(model=model, log=log)
    await told(chat)
    await told(chat, history=(Turn(Role.ASSISTANT, "given"),))
    assert [turn.content for turn in model.prompts[0].turns] == ["earlier", "said"]
    assert [turn.content for turn in model.prompts[1].turns] == ["given"]


@pytest.mark.parametrize("log", [FakeLog(down=True), FakeLog(hang=30)], ids=["down", "hangs"])
async def test_no_history_is_told_not_fatal(log: FakeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the log the answer goes on, with `degraded: postgres`."""
    monkeypatch.setattr("app.answering.pipeline.HISTORY_SECONDS", 0.05)
    monkeypatch.setattr("app.answering.recorder.PATIENCE", 0.05)
    log_error = log.down
    if log_error:
        monkeypatch.setattr(log, "turns", _no_turns)
    said = await told(service(log=log))
    assert [item["source"] for item in said["degraded"]] == ["postgres"]
    assert said["answer"]


async def _no_turns(scope: Scope, limit: int) -> list[Turn]:
    raise RetrievalError("unavailable")


async def test_a_question_finds_what_was_just_cancelled() -> None:
    """The turns of its thread that still wait to be written are written first."""
    log = FakeLog()
    model = FakeModel(FakeStream(["One ", "two."], pause=0.01))
    chat = service(model=model, log=log)
    first = await chat.prepare(Question(SCOPE, QUESTION))
    stream = first.events()
    await anext(stream)
    await first.aclose()
    second = await chat.prepare(Question(SCOPE, "And then?"))
    assert [turn.content for turn in second.context.prompt.turns] == [QUESTION, "One"]
    await second.aclose()


async def test_a_slow_head_does_not_hold_back_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """After HEAD_SECONDS the head goes out; the fault that comes later is raised by events()."""
    monkeypatch.setattr(stream_, "HEAD_SECONDS", 0.05)
    reply = await service(model=FakeModel(head=0.5, error=ModelError("late"))).prepare(
        Question(SCOPE, QUESTION)
    )
    with pytest.raises(ModelError):
        await reply.whole()


async def test_a_caller_that_leaves_prepare_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    task = asyncio.create_task(service(model=FakeModel(head=30)).prepare(Question(SCOPE, QUESTION)))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before


async def test_a_crowded_window_does_not_deny_the_documents() -> None:
    """Passages that match but do not fit: the model is not told that nothing was found."""
    model = FakeModel()
    said = await told(service(model=model, budget=3))
    assert (said["rag"]["used"], model.prompts[0].system) == (False, SYSTEM_CROWDED)


async def test_a_message_over_the_window_is_the_askers_fault() -> None:
    model = FakeModel()
    with pytest.raises(InvalidField) as caught:
        await service(model=model, window=300).prepare(Question(SCOPE, "word " * 500))
    assert (caught.value.field, model.prompts) == ("body.message", [])


TODAY = "Today is Saturday, 2026-11-21."
BEFORE = (Turn(Role.USER, "Who keeps the harbour lamp?", NOW), Turn(Role.ASSISTANT, "The warden.", NOW))
HARBOUR = "Who keeps the harbour lamp? and the bell?"


@pytest.mark.parametrize("given", [True, False], ids=["given", "stored"])
async def test_a_follow_up_is_searched_with_what_it_refers_to(given: bool) -> None:
    """Whether the history came with the request or from the log; the model is asked the message as it is."""
    source, model, log = FakeSource([passage("a")]), FakeModel(), FakeLog()
    log.rows += [] if given else [(SCOPE, turn) for turn in BEFORE]
    chat = service(source, model=model, log=log)
    said = await told(chat, "and the bell?", history=BEFORE if given else None)
    assert [query.text for query in source.queries] == [HARBOUR]
    assert f'Searched with "{HARBOUR}"' in said["notes"]
    assert (log.answers[0].trace.searched, log.answers[0].question) == (HARBOUR, "and the bell?")
    assert model.prompts[0].message == "and the bell?"


async def test_a_follow_up_without_its_history_is_searched_as_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.answering.pipeline.HISTORY_SECONDS", 0.05)
    monkeypatch.setattr("app.answering.recorder.PATIENCE", 0.05)
    source = FakeSource([passage("a")])
    said = await told(service(source, log=FakeLog(hang=30)), "and the bell?")
    assert [query.text for query in source.queries] == ["and the bell?"]
    assert [item["source"] for item in said["degraded"]] == ["postgres"]
    assert not any(note.startswith("Searched") for note in said["notes"])


@pytest.mark.parametrize("message", [QUESTION, "and the bell?"], ids=["alone", "follow-up"])
async def test_history_and_search_share_one_deadline(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything hung: the model is asked once RAG_TIMEOUT_SECONDS are over, not after one deadline on top of
    another."""
    monkeypatch.setattr("app.services.chat.HISTORY_SHARE", 0.8)
    source = FakeSource([passage("a")], delay=30)
    chat = service(source, log=FakeLog(hang=30), seconds=0.6)
    reply = await chat.prepare(Question(SCOPE, message))
    await reply.aclose()
    assert len(source.queries) == 1


async def test_a_question_to_remember_is_kept_as_it_was_asked() -> None:
    """The asker's words and nobody else's, in the thread they were said in; unasked, nothing is."""
    log = FakeLog()
    limits = PromptLimits(5_000, 40, 0.2, 10_000, 500, 100)
    retrieval = Retrieval({"documents": FakeSource([passage("a")])}, FakeEmbedder(), seconds=0.3)
    memories = ScriptedMemories()
    answering = chat_service(retrieval, limits, log=log, remember=memories.remember_message)
    asker = replace(SCOPE, user_id="ada")
    for remember in (False, True):
        reply = await answering.prepare(Question(asker, QUESTION, remember=remember))
        said = as_json(ChatReply, await reply.whole())
        assert said["remembered"] == ("created" if remember else None)

    ((scope, (draft,), _),) = memories.asked
    assert (scope.user_id, draft.text, draft.created_at) == ("ada", QUESTION, NOW)


async def test_the_recipe_of_a_prompt_is_kept() -> None:
    """Its notes as text, turns of the log by reference, those of the request as text; the system by name."""
    log = FakeLog([(SCOPE, Turn(Role.USER, "hello", id="7")), (SCOPE, Turn(Role.ASSISTANT, "hi", id="8"))])
    chat = service(log=log)
    await told(chat, notes=("Be brief.",))
    await told(chat, history=(Turn(Role.USER, "before"),))
    logged, given = (answer.recipe for answer in log.answers)
    assert logged is not None
    assert given is not None
    assert (logged.form, logged.system.name, logged.ranking) == ("documents", "documents", RANKING_VERSION)
    assert [(block.kind, block.text) for block in logged.notes] == [(Kind.NOTE, "Be brief.")]
    assert [(block.text, block.refs[0].id) for block in logged.turns] == [("", "7"), ("", "8")]
    assert [(block.text, block.refs) for block in given.turns] == [("before", ())]


PROJECT = replace(SCOPE, project="THN")


async def test_sources_named_are_searched_in_the_project_s_reach() -> None:
    """As one: the usual block; overview, rules and notes are told all the same."""
    model, source, projects = FakeModel(), FakeSource([passage("a")]), FakeProjects()
    chat = service(source, model=model, projects=projects, knowledge=FakeKnowledge(Knowledge("O")))
    reply = await chat.prepare(Question(PROJECT, QUESTION, sources=("documents", "code")))
    await reply.whole()
    system, context, user = [message["content"] for message in model.prompts[0].messages()]
    assert system == f"{SYSTEM_SOURCES}\n\n{TODAY}" + "\n\n### Project Overview\n\nO"
    assert context == '[Context]\n- From a.pdf#1: "The sky is blue."'
    assert (user, projects.asked, source.queries[0].scope) == (QUESTION, [], PROJECT)


async def test_a_follow_up_is_resolved_for_the_project_too() -> None:
    """What is embedded is the text with what it refers to; the reply says which."""
    projects = FakeProjects()
    reply = await service(projects=projects).prepare(Question(PROJECT, "why?", history=BEFORE))
    said = as_json(ChatReply, await reply.whole())
    [(_, searched, _)] = projects.asked
    assert searched is not None
    assert searched.endswith("why?")
    assert len(searched) > len("why?")
    assert any(note.startswith("Searched with") for note in said["notes"])


async def test_a_project_at_fault_costs_its_context_not_the_answer() -> None:
    """Both the context and the knowledge hang: one deadline, both are told, the model answers."""
    chat = service(projects=FakeProjects(delay=30), knowledge=FakeKnowledge(delay=30), seconds=0.2)
    reply = await chat.prepare(Question(PROJECT, QUESTION))
    said = as_json(ChatReply, await reply.whole())
    assert {item["source"] for item in said["degraded"]} == {"conversations", "knowledge"}
    assert (said["rag"]["reason"], said["answer"]) == ("timeout", "Hello there")


async def test_the_record_knows_the_project() -> None:
    """The turns' scope, and the recipe, by whose project a replay looks things up."""
    log = FakeLog()
    chat = service(log=log, knowledge=FakeKnowledge(Knowledge("O", notes=(KnowledgeNote("t", "n"),))))
    await (await chat.prepare(Question(PROJECT, QUESTION, notes=("mine",)))).whole()
    assert {scope.project for scope, _ in log.rows} == {"THN"}
    (answer,) = log.answers
    assert answer.recipe is not None
    assert (answer.recipe.form, answer.recipe.project) == ("project", "THN")
    told = [(item.kind, item.text, [ref.source for ref in item.refs]) for item in answer.recipe.blocks]
    assert told == [
        (Kind.INSTRUCTIONS, "", []),
        (Kind.DATE, TODAY, []),
        (Kind.KNOWLEDGE, "", ["project_knowledge"]),
        (Kind.PROJECT_NOTES, "", ["project_notes"]),
        (Kind.NOTE, "mine", []),
    ]


HERE = Scope(session_id="s", thread_id="t")
THN = Scope(session_id="s", thread_id="t", project="THN")
LIMITS = PromptLimits(budget=5_000, top_k=40, threshold=0.2, window=10_000, history=500, answer=100)
ROWS = gathered(row("conversations", "k1", "entry"))


def chat_over(source: FakeSource | None = None, *, seconds: float = 0.3, **parts: Any) -> ChatService:
    source = source or FakeSource([passage("a")])
    retrieval = Retrieval({"documents": source}, FakeEmbedder(), seconds=seconds)
    return chat_service(retrieval, LIMITS, **{"projects": FakeProjects(ROWS), **parts})


async def whole_reply(chat: ChatService, question: Question) -> dict[str, Any]:
    return as_json(ChatReply, await (await chat.prepare(question)).whole())


@pytest.mark.parametrize(
    ("knowledge", "reason"),
    [
        pytest.param(FakeKnowledge(error=RetrievalError("unavailable")), "unavailable", id="down"),
        pytest.param(FakeKnowledge(delay=30), "timeout", id="hangs"),
    ],
)
async def test_knowledge_that_does_not_come_is_told(knowledge: FakeKnowledge, reason: str) -> None:
    said = await whole_reply(chat_over(knowledge=knowledge), Question(THN, QUESTION))
    assert said["degraded"] == [{"source": "knowledge", "reason": reason}]
    assert [item["id"] for item in said["citations"]] == ["k1"]


async def test_a_follow_up_brings_what_the_person_said_before() -> None:
    """For its rewording; a message that stands alone brings nothing, and needs no turns."""
    source = FakeSource([passage("a")])
    history = (Turn(Role.USER, "What does the ferry carry?"), Turn(Role.ASSISTANT, "Barrels. [a.pdf#1]"))
    for message in ("and the bridge?", QUESTION):
        await whole_reply(chat_over(source), Question(HERE, message, history=history))
    assert [query.before for query in source.queries] == [("What does the ferry carry?",), ()]


async def test_a_yes_that_answers_a_question_is_searched_by_it() -> None:
    source = FakeSource([passage("a")])
    asked = (Turn(Role.USER, "What is sold?"), Turn(Role.ASSISTANT, "Rye. Shall I list the prices as well?"))
    for message in ("yes please", "thanks!"):
        await whole_reply(chat_over(source), Question(HERE, message, history=asked))
    assert [query.text for query in source.queries] == ["Shall I list the prices as well? yes please"]


IN_THN = Scope(project="THN")
FOUND = Found((Candidate(passage("a")),), stored=1, answered=1)
ENTRY = gathered(row("conversations", "k1", "entry", title="One"))


def context_of(
    ask: Question,
    found: Found | Gathered,
    knowledge: Knowledge | None = None,
    *,
    budget: int = 1_000,
    window: int = 5_000,
) -> Context:
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
    assert (
        context_of(Question(scope, QUESTION, sources=sources), found, budget=budget).prompt.system == system
    )


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
