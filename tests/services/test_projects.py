"""Project contexts over sources by hand: every branch of their error handling."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from app.answering.prompt import SYSTEM_PROJECT
from app.db.projects import Knowledge, KnowledgeNote
from app.errors import RetrievalError
from app.retrieval.projects import RowSource
from app.retrieval.search import Retrieval
from app.services.projects import Means, ProjectService
from app.types import Degraded, Passage, Reason, Scope, Verdict
from tests.fakes.logged import captured
from tests.fakes.projecting import FakeKnowledge
from tests.fakes.projects import FakeEmbedder, FakeRows

SEEN = [
    "Retrieved 5 conversations from conversation_index",
    "Retrieved 5 code chunks via vector similarity search",
]
MESSAGE = "How is the context built?"


def talk(name: str, **fields: Any) -> Passage:
    """A conversation or a dream."""
    row = {"title": name, "tags": None, "summary_short": "short", "summary_detailed": "long"} | fields
    return Passage("conversations", name, f"text {name}", 1, f"conversation#{name}", 0.9, fields=row)


def dream(name: str) -> Passage:
    """A dream."""
    return Passage(
        "dreams", name, name, 1, f"dream#{name}", 0.5, fields={"title": name, "summary_short": "s"}
    )


def chunk(name: str, similarity: float = 0.9) -> Passage:
    """A chunk."""
    fields = {"file_path": f"{name}.py", "language": "python", "chunk_metadata": None}
    return Passage("code", name, f"{name} = 1", 1, f"{name}.py#L1-1", similarity, fields=fields)


@dataclass
class House:
    """A service, and what it stands on."""

    conversations: FakeRows = field(
        default_factory=lambda: rows("conversations", [talk(f"c{n}") for n in range(6)])
    )
    code: FakeRows = field(default_factory=lambda: rows("code", [chunk(f"k{n}") for n in range(6)]))
    dreams: FakeRows = field(default_factory=lambda: rows("dreams", [dream(f"d{n}") for n in range(6)]))
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    knowledge: FakeKnowledge = field(default_factory=FakeKnowledge)
    seconds: float = 5.0

    @property
    def service(self) -> ProjectService:
        """Built anew of what is there now."""
        sources = {each.name: each for each in (self.conversations, self.code, self.dreams)}
        retrieval = Retrieval(sources, self.embedder, seconds=self.seconds)
        return ProjectService(
            Means(cast(Mapping[str, RowSource], sources), retrieval, len, 0.2), self.knowledge
        )


def rows(name: str, passages: Sequence[Passage] = ()) -> FakeRows:
    """A source that works."""
    return FakeRows(name, passages)


@pytest.fixture
def house() -> House:
    """Everything works, and holds six of each."""
    return House()


async def test_thn_shows_its_last_five_and_the_nearest_five(house: House) -> None:
    """Conversations, then code; with its notes, and one embedding."""
    found = await house.service.build_thn_rag_context(MESSAGE)

    head, *_ = found["context"].split("\n\n")
    assert head == "### History & Context: Last 5 Conversations"
    assert found["context"].count("- **Title:** c") == 5
    assert found["context"].count("**File:** k") == 5
    assert found["context"].index("### Relevant Code Snippets") > found["context"].index("c4")
    assert found["notes"] == SEEN
    assert house.embedder.asked == [MESSAGE]


async def test_daas_shows_the_nearest_dreams(house: House) -> None:
    """Three unless asked otherwise, with its note."""
    found = await house.service.build_daas_rag_context("water")

    assert found["context"].count("**Dream: ") == 3
    assert found["context"].count("\n\n---\n\n") == 2
    assert found["notes"] == ["Retrieved 3 dreams via vector similarity search"]


@pytest.mark.parametrize(("top_k", "shown"), [(1, 1), (5, 5), (9, 5), (0, 3), (-4, 3)])
async def test_daas_takes_any_count(house: House, top_k: int, shown: int) -> None:
    """Capped at 5; under 1 it is 3."""
    found = await house.service.build_daas_rag_context("water", top_k)

    assert found["context"].count("**Dream: ") == shown
    assert found["notes"] == [f"Retrieved {shown} dreams via vector similarity search"]


async def test_each_project_asks_for_its_own_rows(house: House) -> None:
    """Whatever project the scope named: the function's; tenant and owner are the asker's."""
    asker = Scope("acme", "ada", project="other")
    await house.service.build_thn_rag_context(MESSAGE, asker)
    await house.service.build_daas_rag_context(MESSAGE, scope=asker)

    thn = Scope("acme", "ada", project="THN")
    assert (house.conversations.asked, house.code.asked) == ([(thn, 5)], [(thn, 5)])
    assert house.dreams.asked == [(Scope("acme", "ada", project="DAAS"), 3)]


async def test_nothing_stored_is_no_error(house: House) -> None:
    """An empty context, and notes that say so."""
    house = House(rows("conversations"), rows("code"), rows("dreams"))

    assert await house.service.build_thn_rag_context(MESSAGE) == {
        "context": "",
        "notes": [note.replace("5", "0") for note in SEEN],
    }
    assert await house.service.build_daas_rag_context("water") == {
        "context": "",
        "notes": ["Retrieved 0 dreams via vector similarity search"],
    }
    assert (await house.service.gathered(Scope(project="THN"), MESSAGE)).reason is Reason.EMPTY


async def test_conversations_without_code_stand_alone(house: House) -> None:
    """The empty section is left out, its heading too."""
    house.code = rows("code")
    found = await house.service.build_thn_rag_context(MESSAGE)

    assert "### Relevant" not in found["context"]
    assert found["context"].endswith("- **Title:** c4\n- **Summary:** long")
    assert found["notes"] == [SEEN[0], "Retrieved 0 code chunks via vector similarity search"]


@pytest.mark.parametrize("fault", ["refuses", "hangs"])
async def test_without_an_embedding_thn_shows_conversations(house: House, fault: str) -> None:
    """Only them, and a note; within the deadline."""
    house.seconds = 0.2
    house.embedder = FakeEmbedder(
        RetrievalError("embedding") if fault == "refuses" else None, fault == "hangs"
    )
    found = await house.service.gathered(Scope(project="THN"), MESSAGE)

    assert found.context.startswith("### History & Context")
    assert "### Relevant" not in found.context
    [lost] = found.degraded
    assert found.notes == (SEEN[0], f"No code chunks retrieved: embedding {lost.reason}")
    assert found.reason is Reason.OK


async def test_without_an_embedding_daas_shows_nothing(house: House) -> None:
    """An empty context, and a note."""
    house.embedder.error = RetrievalError("unavailable")

    assert await house.service.build_daas_rag_context("water") == {
        "context": "",
        "notes": ["No dreams retrieved: embedding unavailable"],
    }


@pytest.mark.parametrize("message", [None, "", " \n\t"])
async def test_a_blank_message_searches_nothing(house: House, message: str | None) -> None:
    """Nothing is embedded; what goes by time is shown."""
    dreams = await house.service.build_daas_rag_context(message)
    thn = await house.service.build_thn_rag_context(message)
    other = await house.service.build_project_context("garden", message)

    assert dreams == {"context": "", "notes": ["No dreams retrieved: the message is blank"]}
    assert thn["context"].count("- **Title:** c") == 5
    assert thn["notes"] == [SEEN[0], "No code chunks retrieved: the message is blank"]
    assert other == {"context": "", "notes": ["No conversations retrieved: the message is blank"]}
    assert house.embedder.asked == []


async def test_a_database_failure_is_an_empty_context(house: House) -> None:
    """Without a note for THN; DAAS says why."""
    for source in (house.conversations, house.code, house.dreams):
        source.error = RetrievalError("unavailable")

    with captured() as log:
        assert await house.service.build_thn_rag_context(MESSAGE) == {"context": "", "notes": []}
    assert {line["part"] for line in log.of("part failed")} == {"conversations", "code"}
    assert await house.service.build_daas_rag_context("water") == {
        "context": "",
        "notes": ["No dreams retrieved: dreams unavailable"],
    }
    found = await house.service.gathered(Scope(project="THN"), MESSAGE)
    assert found.reason is Reason.UNAVAILABLE
    assert found.degraded == (Degraded("conversations", "unavailable"), Degraded("code", "unavailable"))


@pytest.mark.parametrize("lost", ["conversations", "code"])
async def test_a_hung_store_costs_its_section(house: House, lost: str) -> None:
    """The other is shown, within the deadline, and the notes are honest."""
    house.seconds = 0.2
    getattr(house, lost).hung = True
    found = await house.service.gathered(Scope(project="THN"), MESSAGE)

    assert len(found.items) == 5
    assert {item.passage.source for item in found.items} == {"conversations", "code"} - {lost}
    assert found.degraded == (Degraded(lost, "timeout"),)
    assert f"{lost} timeout" in " ".join(found.notes)


async def test_everything_hung_is_a_timeout(house: House) -> None:
    """Told as such, in time."""
    house.seconds = 0.2
    house.conversations.hung = house.code.hung = True
    found = await house.service.gathered(Scope(project="THN"), MESSAGE)

    assert (found.reason, found.context) == (Reason.TIMEOUT, "")


async def test_until_is_kept(house: House) -> None:
    """Where part of the time is gone already."""
    house.code.hung = True
    until = asyncio.get_running_loop().time() + 0.1
    found = await house.service.gathered(Scope(project="THN"), MESSAGE, until=until)

    assert found.degraded == (Degraded("code", "timeout"),)


async def test_an_unexpected_error_falls_through(house: House) -> None:
    """To the project's conversations by words and meaning; DAAS' are dreams."""
    house.code.error = KeyError("chunk_text")
    house.conversations.passages = [talk("c1"), talk("c2")]
    with captured() as log:
        found = await house.service.build_thn_rag_context(MESSAGE)

    assert found["context"].startswith("### Related Conversations\n\n- **Title:** c1")
    assert found["notes"] == ["Retrieved 2 conversations by words and meaning"]
    assert [line["error"] for line in log.of("project context failed")] == ["KeyError"]


async def test_an_error_behind_an_error_is_an_empty_context(house: House) -> None:
    """The chat goes on."""
    house.conversations.error = house.dreams.error = ValueError("a row beyond imagination")
    with captured() as log:
        found = await house.service.gathered(Scope(project="DAAS"), "water")

    assert len(log.of("default context failed")) == 1
    assert (found.context, found.reason) == ("", Reason.UNAVAILABLE)
    assert found.degraded == (Degraded("dreams", "unavailable"),)


async def test_who_leaves_is_not_kept(house: House) -> None:
    """Cancellation passes through all of it, and no task stays."""
    house.code.hung = True
    work = asyncio.create_task(house.service.build_thn_rag_context(MESSAGE))
    await asyncio.sleep(0.05)
    work.cancel()

    with pytest.raises(asyncio.CancelledError):
        await work
    assert len(asyncio.all_tasks()) == 1


async def test_another_project_shows_what_matches(house: House) -> None:
    """By relevance: what is not similar, and has none of the words, is told apart."""
    house.code.passages = []
    house.conversations.passages = [talk("far"), talk("near"), talk("worded")]
    far, near, worded = house.conversations.passages
    house.conversations.passages = [
        with_similarity(far, 0.1),
        with_similarity(near, 0.6),
        with_similarity(worded, 0.1, text=MESSAGE),
    ]
    found = await house.service.gathered(Scope(project="garden"), MESSAGE)

    assert {item.passage.id for item in found.items} == {"near", "worded"}
    assert [item.passage.score for item in found.items] == sorted(
        (item.passage.score for item in found.items), reverse=True
    )
    part, code = found.parts
    assert (code.items, code.left) == ((), ())
    assert [(item.passage.id, verdict) for item, verdict in part.left] == [("far", Verdict.BELOW_THRESHOLD)]
    assert found.notes == ("Retrieved 2 conversations by words and meaning",)


def with_similarity(passage: Passage, similarity: float, text: str = "") -> Passage:
    """The same, as similar as that."""
    return Passage(
        passage.source, passage.id, text or passage.text, 1, passage.label, similarity, fields=passage.fields
    )


async def test_this_repository_shows_code_and_talk(house: House) -> None:
    """One search for both, most relevant first; as much code as asked for."""
    house.code.passages = [chunk(f"k{n}", 0.9 - n / 20) for n in range(12)]
    found = await house.service.gathered(Scope(project="IBID"), MESSAGE)
    fewer = await house.service.gathered(Scope(project="IBID"), MESSAGE, top_k=2)

    code, conversations = found.parts
    assert [item.passage.id for item in code.items] == [f"k{n}" for n in range(8)]
    assert len(conversations.items) == 5
    assert [len(part.items) for part in fewer.parts] == [2, 2]
    assert {verdict for _, verdict in fewer.parts[0].left} == {Verdict.OVER_LIMIT}


async def test_a_lost_source_of_a_search_is_told(house: House) -> None:
    """The other is shown."""
    house.code.error = RetrievalError("unavailable")
    found = await house.service.gathered(Scope(project="IBID"), MESSAGE)

    assert found.notes[0] == "No code chunks retrieved: code unavailable"
    assert found.degraded == (Degraded("code", "unavailable"),)
    assert len(found.items) == 5


async def test_what_was_gathered_is_what_is_built(house: House) -> None:
    """The same text, and the same without a part of it."""
    for project in ("THN", "DAAS", "IBID", "garden"):
        found = await house.service.gathered(Scope(project=project), MESSAGE)
        built = await house.service.build_project_context(project, MESSAGE)

        assert found.context == built["context"]
        assert list(found.notes) == built["notes"]
        assert (
            found.keeping(found.items[:1]).context
            == found.parts[0].section.heading + "\n\n" + found.items[0].text
        )


async def test_a_row_that_says_nothing_is_not_shown(house: House) -> None:
    """Nor counted."""
    house.dreams.passages = [Passage("dreams", "1", "", 0, "dream#1"), dream("2")]
    found = await house.service.gathered(Scope(project="DAAS"), "water")

    assert found.notes == ("Retrieved 1 dreams via vector similarity search",)
    assert [(item.passage.id, verdict) for item, verdict in found.parts[0].left] == [("1", Verdict.SKIPPED)]


async def test_rows_are_retrieved_as_the_seed_has_them(house: House) -> None:
    """Tuples of conversations, mappings of chunks; as many as asked for."""
    service = house.service

    assert await service._retrieve_thn_conversations(2) == [
        ("c0", None, None, "long", None),
        ("c1", None, None, "long", None),
    ]
    assert await service._retrieve_thn_code(MESSAGE, 1) == [
        {"file_path": "k0.py", "language": "python", "chunk_metadata": None, "chunk_text": "k0 = 1"}
    ]
    assert house.conversations.asked == [(Scope(project="THN"), 2)]


async def test_rows_that_cannot_be_had_are_none(house: House) -> None:
    """The database or the embedding fails, or there are none."""
    house.conversations.error = house.code.error = RetrievalError("unavailable")
    assert await house.service._retrieve_thn_conversations() == []
    assert await house.service._retrieve_thn_code(MESSAGE) == []

    house.embedder.error = RetrievalError("embedding")
    house.code = rows("code", [chunk("k")])
    assert await house.service._retrieve_thn_code(MESSAGE) == []
    assert house.code.asked == []
    house.conversations = rows("conversations")
    assert await house.service._retrieve_thn_conversations() == []


async def test_the_system_prompt_has_overview_and_rules(house: House) -> None:
    """Behind the base prompt; notes are no part of it."""
    house.knowledge.known = Knowledge(
        "A home network.", "Never reboot at night.", (KnowledgeNote("n", "note"),)
    )
    prompt = await house.service.build_project_system_prompt("THN", Scope("acme"))

    assert prompt.startswith(SYSTEM_PROJECT)
    assert prompt.index("A home network.") < prompt.index("Never reboot at night.")
    assert "note" not in prompt.removeprefix(SYSTEM_PROJECT)
    assert house.knowledge.asked == [Scope("acme", project="THN")]


@pytest.mark.parametrize("fault", [None, RetrievalError("unavailable")], ids=["none", "failed"])
async def test_without_knowledge_the_base_prompt_stands_alone(
    house: House, fault: RetrievalError | None
) -> None:
    """Whether there is none, or it cannot be had."""
    house.knowledge.error = fault

    assert await house.service.build_project_system_prompt("THN") == SYSTEM_PROJECT
