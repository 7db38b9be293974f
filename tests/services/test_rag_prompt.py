"""What is recalled for a question of a person, and the prompt of /rag/query made from it."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from app.answer import GREETING_FORM, MEMORY_FORM, Kind
from app.answering.budget import Meter, PromptLimits
from app.answering.pipeline import recalled_facts
from app.answering.prompt import PERSONA_TOKENS
from app.answering.question import Context, Question
from app.answering.recall import CANDIDATES, Recall, Recalled, Split, Weighing, draw_memories, timely
from app.answering.replay import card_ref
from app.db.memories import GRAVITY, Moment, Tallies, Tally
from app.errors import InvalidField, RetrievalError
from app.retrieval.memories import MemorySource
from app.retrieval.search import Retrieval
from app.services.rag import persona_tokens, recall_context, small_talk_context
from app.types import Candidate, Degraded, Found, Passage, Reason, Scope
from tests.fakes.answering import NOW, FakeEmbedder, FakeSource, Words
from tests.fakes.remembering import FakeCards, FakeTemporal, FakeVotes, card, memory, reference

ADA = Scope(user_id="ada")
SECONDS = 0.4


def parts(delay: float = 0) -> tuple[Recall, dict[str, FakeSource], FakeCards, FakeVotes]:
    """A recall over hand-written parts, each of which takes so long."""
    sources = {
        "memories": FakeSource([memory("m", "I walk")], name="memories", delay=delay),
        "corpus": FakeSource([reference("c", "Walking")], name="corpus", delay=delay),
    }
    cards, votes = FakeCards([card("persona", "Ada")], delay), FakeVotes({"m": Tally(1)}, delay)
    retrieval = Retrieval(sources, FakeEmbedder(), seconds=SECONDS)
    return (
        Recall(retrieval, cast(MemorySource, cards), votes, FakeTemporal(delay=delay)),
        sources,
        cards,
        votes,
    )


async def gathered(
    recall: Recall, personal: int = 8, corpus: int = 8, kinds: tuple[str, ...] = ("persona",)
) -> Recalled:
    """So many of each."""
    by = Weighing(Split(personal, corpus), 0.3, None, NOW)
    return await recall.gather(Question(ADA, "where do I walk"), by, kinds)


async def test_everything_is_fetched_for_one_message() -> None:
    """Passages, cards, votes of what may be told, and when the user was last here."""
    recall, _, cards, votes = parts()
    known = await gathered(recall)
    assert {item.passage.id for item in known.found.candidates} == {"m", "c"}
    assert [held.text for held in known.cards] == ["Ada"]
    assert known.tallies == {"m": Tally(1)}
    assert (known.moment and known.moment.bucket, known.degraded) == ("days", ())
    assert (cards.asked, votes.asked) == ([(ADA, ("persona",))], [("m",)])


async def test_all_hung_parts_together_cost_one_deadline() -> None:
    """Each is named, and what was missed is empty."""
    known = await gathered(parts(delay=30)[0])
    assert {item.source for item in known.degraded} == {"memories", "corpus", "cards", "temporal"}
    assert {item.reason for item in known.degraded} == {"timeout"}
    assert (known.found.candidates, known.cards, known.moment) == ((), (), None)


@pytest.mark.parametrize(("personal", "corpus", "asked"), [(0, 3, "corpus"), (3, 0, "memories")])
async def test_a_split_of_nothing_asks_nobody(personal: int, corpus: int, asked: str) -> None:
    """Of a source that is to give nothing nothing is searched; nor are cards that nobody wants."""
    recall, sources, cards, _ = parts()
    await gathered(recall, personal, corpus, kinds=())
    assert [name for name, source in sources.items() if source.queries] == [asked]
    assert cards.asked == []


async def test_enough_is_looked_at_to_leave_some_out() -> None:
    """So many a leg, or what is wanted if that is more."""
    recall, sources, *_ = parts()
    await gathered(recall, 8, 50)
    await gathered(recall, 3, 3)
    assert [query.limit for query in sources["memories"].queries] == [50, CANDIDATES]


async def test_a_late_part_is_a_word_and_not_an_error() -> None:
    """Its reason too; what comes in time is given as it is."""
    lost: list[Degraded] = []
    until = asyncio.get_running_loop().time() + 0.05

    async def fails() -> int:
        raise RetrievalError("overloaded")

    assert await timely("slow", asyncio.sleep(30, 1), until, lost) is None
    assert await timely("full", fails(), until + 1, lost) is None
    assert await timely("well", asyncio.sleep(0, 7), until + 1, lost) == 7
    assert lost == [Degraded("slow", "timeout"), Degraded("full", "overloaded")]


async def test_who_leaves_is_not_waited_for() -> None:
    """Cancellation passes through, and no task is left."""
    recall, *_ = parts(delay=30)
    before = asyncio.all_tasks()
    task = asyncio.create_task(gathered(recall))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before


LIMITS = PromptLimits(budget=5_000, top_k=50, threshold=0.3, window=10_000, history=0, answer=100)
SAID = "explain how I sleep"
BY = Weighing(Split(8, 8), 0.3, None, NOW)


def meter() -> Meter:
    """Counts words."""
    return Meter(Words().count, form=MEMORY_FORM)


def known(*passages: Passage, **facts: Any) -> Recalled:
    """These were found, each as relevant as it is similar."""
    candidates = tuple(Candidate(replace(each, score=each.similarity or 0.0)) for each in passages)
    found = Found(candidates, stored=len(candidates), answered=2)
    return Recalled(found, draw_memories(SAID, BY, found), tallies=Tallies(), **facts)


def made(found: Recalled, overlay: str = "", limits: PromptLimits = LIMITS, message: str = SAID) -> Context:
    """Of what was recalled."""
    question = Question(Scope(user_id="ada"), message, overlay=overlay)
    return recall_context(question, found, BY, limits, meter())


def talked(message: str, moment: Moment | None, overlay: str = "", **facts: Any) -> Context:
    """Of small talk."""
    question = Question(Scope(user_id="ada"), message, overlay=overlay)
    return small_talk_context(question, moment, LIMITS, meter(), **facts)


def system(found: Recalled, overlay: str = "", limits: PromptLimits = LIMITS) -> str:
    """The system text."""
    return made(found, overlay, limits).prompt.messages()[0]["content"]


def test_what_is_a_memory_here_is_not_told_as_a_card_too() -> None:
    """Identical content once: a card that was found stands under its label alone, where it can be cited."""
    mine = card("preference", "Ada prefers tea")
    told = system(known(memory(mine.id, mine.text, kind="preference"), cards=[mine]))
    assert told.count("Ada prefers tea") == 1
    assert f"[memory#{mine.id}] Ada prefers tea" in told
    assert system(known(cards=[mine])).count("Ada prefers tea") == 1


def test_sources_tell_in_the_notes() -> None:
    """A collection that was passed over, and every part that failed."""
    found = replace(known(), degraded=(Degraded("cards", "timeout"),))
    found = replace(found, found=replace(found.found, notes=("old was passed over",)))
    trace = made(found).trace
    assert "old was passed over" in trace.notes()
    assert trace.degraded == (Degraded("cards", "timeout"),)


def test_the_gravity_note_stands_last_and_only_from_two_fifths() -> None:
    """A question that lies where the person usually is has none."""
    near, far = (
        card(GRAVITY, weights={"intent:explain": 1.0, "vb:rest": 1.0}),
        card(GRAVITY, weights={"intent:compare": 1.0, "vb:play": 1.0}),
    )
    assert "[gravity-note]" not in system(known(cards=[near]))
    assert system(known(cards=[far])).splitlines()[-1].startswith("[gravity-note]")


def test_votes_count_on_what_is_told() -> None:
    """The explanation sums them over the memories in the prompt; reference texts have none."""
    found = replace(
        known(memory("m", "I sleep"), reference("c", "Sleep")), tallies=Tallies({"m": Tally(3, 1)})
    )
    explanation = made(found).explanation
    assert explanation
    assert explanation.feedback == Tally(3, 1)


def test_an_overlay_that_does_not_fit_is_refused() -> None:
    """It is never cut."""
    with pytest.raises(InvalidField):
        system(known(), "word " * 10_000)


@pytest.mark.parametrize(("window", "room"), [(100_000, PERSONA_TOKENS), (1_200, 274), (100, 0)])
def test_the_persona_has_a_quarter_of_what_is_free(window: int, room: int) -> None:
    """At most its own limit, and nothing where nothing is free."""
    limits = replace(LIMITS, window=window)
    assert persona_tokens(limits, meter(), "two words", ("one", "")) == room


def test_a_greeting_has_a_minimal_prompt() -> None:
    """How long the person was away and the request's own overlay; no retrieval to tell of."""
    context = talked("hello", Moment("weeks", NOW, 1e6), "Be warm.")
    assert (context.prompt.form, context.bypass, context.trace.reason) == (
        GREETING_FORM,
        "greeting",
        Reason.GREETING,
    )
    assert context.prompt.blocks()[1:] == ["This person is back after some weeks.", "Be warm."]
    assert recalled_facts(context, debug=False)["memory_used"] == []


def test_the_system_prompt_is_shown_with_debug_alone() -> None:
    """As it is sent."""
    context = made(known(memory("m", "I sleep")))
    assert recalled_facts(context, debug=True)["system_prompt"] == context.prompt.messages()[0]["content"]
    assert "system_prompt" not in recalled_facts(context, debug=False)


def test_the_recipe_names_what_a_prompt_was_made_of() -> None:
    """Cards that are shown, by id and hash, not those that are a memory here; the overlay as text."""
    mine, shown = card("preference", "Ada prefers tea"), card("persona", "Ada sails")
    profile = card(GRAVITY, "", weights={"topic:fm": 0.9})
    found = known(memory(mine.id, mine.text, kind="preference"), cards=[mine, shown, profile])
    recipe = made(found, "Rhyme.", message="rewrite my workout").recipe
    persona, overlay = recipe.before
    [note] = recipe.notes
    assert (persona.kind, persona.text, persona.refs) == (Kind.PERSONA, "", (card_ref(shown),))
    assert (overlay.kind, overlay.text) == (Kind.OVERLAY, "Rhyme.")
    assert (note.kind, note.text, note.refs) == (Kind.GRAVITY, "", (card_ref(profile),))
    assert (recipe.form, recipe.system.name) == ("memories", "memories")


def test_the_recipe_of_a_greeting_keeps_its_line() -> None:
    """How long somebody was away is not known again."""
    recipe = talked("hey!", Moment("days"), "Rhyme.").recipe
    assert [(block.kind, bool(block.text)) for block in recipe.before] == [
        (Kind.REENTRY, True),
        (Kind.OVERLAY, True),
    ]
    assert recipe.form == "greeting"
