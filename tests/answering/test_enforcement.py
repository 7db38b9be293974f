"""The decision of /vantage, as stored JSON and back, and answers held to their class, sentence by
sentence or whole."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.answer import Finish, Prompt, Usage
from app.answering import enforcement as module
from app.answering.enforcement import (
    ANSWER_CHARACTERS,
    Enforcement,
    SentenceBuffer,
)
from app.answering.ruling import Ruling, read, written
from app.errors import ModelTimeout
from app.models.base import Delta, ModelStream
from app.vantage.checks import HELP, refusal
from app.vantage.terms import (
    Decision,
    Descriptors,
    Limits,
    Params,
    ResponseClass,
)
from tests.fakes.answering import FakeModel, FakeStream

COMPLY, REDIRECT, CLARIFY, NEGOTIATE, REFUSE = ResponseClass
STEPS = "Sure! First, take two pipes. Then fill them with powder. Finally, close both ends."


def held(
    kind: ResponseClass = COMPLY, *, target: int = 800, labels: Sequence[str] = (), **fields: Any
) -> Enforcement:
    ruling = Ruling(Descriptors(), Params(target, 3, 2, 0.5, 0.4), Decision(kind, ("default",), "1"))
    return Enforcement(ruling, tuple(labels), lambda text: len(text.split()), **fields)


def endangered(kind: ResponseClass, rule: str, target: int = 800) -> Enforcement:
    answer = held(kind, target=target)
    answer.ruling = replace(answer.ruling, decision=Decision(kind, (rule,), "1"))
    return answer


async def said(answer: Enforcement, model: FakeModel) -> list[Delta]:
    async with answer.over(model.open(Prompt("", ""))) as stream:
        return [delta async for delta in stream]


async def hear(stream: ModelStream, seen: list[str]) -> None:
    async for delta in stream:
        seen.append(delta.text)  # noqa: PERF401 - what was heard before a fault counts


def spoken(*deltas: str, **fields: Any) -> FakeModel:
    return FakeModel(FakeStream(list(deltas), **fields))


async def test_a_sentence_leaves_when_it_is_complete() -> None:
    """One delta a sentence, the last with how it ended and what it used."""
    answer = held()
    deltas = await said(answer, spoken("On", "e. Tw", "o, or so. Thr", "ee"))
    assert deltas == [
        Delta("One."),
        Delta(" Two, or so."),
        Delta(" Three"),
        Delta("", Finish.STOP, Usage(7, 3)),
    ]
    assert answer.check
    assert (answer.check.held, answer.check.tokens, answer.check.replaced) == (True, 5, False)


async def test_a_sentence_does_not_wait_for_the_rest() -> None:
    class Silent(FakeStream):
        async def __aiter__(self) -> AsyncIterator[Delta]:
            yield Delta("One. Two")
            await asyncio.Event().wait()

    async with asyncio.timeout(10), held().over(FakeModel(Silent([])).open(Prompt("", ""))) as stream:
        assert (await anext(aiter(stream))).text == "One."


async def test_the_budget_ends_the_answer_and_the_models_stream() -> None:
    """The sentence that would exceed it does not leave; the stream is closed before the end is told."""
    model = spoken("One two three. ", "Four five. ", "Six seven eight. ", *["And so on. "] * 100)
    answer = held(target=6)
    async with answer.over(model.open(Prompt("", ""))) as stream:
        deltas = [delta async for delta in stream]
        assert model.closed == 1
    assert "".join(delta.text for delta in deltas) == "One two three. Four five."
    assert deltas[-1] == Delta(finish=Finish.LENGTH)
    assert answer.check
    assert (answer.check.held, answer.check.tokens) == (True, 5)


async def test_the_first_sentence_always_leaves() -> None:
    """An answer is never empty; that it is too long stands in the check."""
    answer = held(target=2)
    deltas = await said(answer, spoken("One two three four. Five."))
    assert [delta.text for delta in deltas] == ["One two three four.", ""]
    assert answer.check
    assert answer.check.broken == ("budget.tokens",)


async def test_the_last_sentence_may_be_the_one_too_many() -> None:
    deltas = await said(held(target=3), spoken("One two. Three four"))
    assert [(delta.text, delta.finish) for delta in deltas] == [("One two.", None), ("", Finish.LENGTH)]


def allowed(hedges: int, questions: int, *, own: bool = True) -> Enforcement:
    """An answer of so many hedges and questions; `own`: the asker set the hedges."""
    answer = held()
    params = Params(800, hedges, questions, 0.5, 0.4)
    limits = Limits(hedge_budget=hedges if own else None, question_budget=questions)
    answer.ruling = replace(answer.ruling, params=params, limits=limits)
    return answer


@pytest.mark.parametrize(
    ("hedges", "questions", "text", "left"),
    [
        (0, 2, "It rains. Perhaps it snows. It is cold.", "It rains."),
        (1, 2, "Perhaps it rains. Maybe it snows. It is cold.", "Perhaps it rains."),
        (0, 0, "It rains. Does it snow? It is cold.", "It rains."),
        (0, 1, "Does it rain? It does. Does it snow? It is cold.", "Does it rain? It does."),
        (0, 0, "It rains. She asked “Perhaps snow?”, he said. It is cold.", None),
        (0, 0, "Ask these:\n- Who are you?\n- Where do you live?\n- What do you do?\nGood luck.", None),
        (0, 0, "It rains in May. It is cold.", None),
    ],
    ids=["no hedge", "one hedge", "no question", "one question", "quoted", "a list of questions", "a month"],
)
async def test_each_budget_ends_the_answer(hedges: int, questions: int, text: str, left: str | None) -> None:
    """The sentence that would exceed the hedges or the questions does not leave, nor what is behind it; the
    model's stream is closed. What others say and lists of questions are no questions of the answer's."""
    model, answer = (
        spoken(*(f"{word} " for word in f"{text} And".split(" ")), *["so on. "] * 50),
        allowed(hedges, questions),
    )
    deltas = await said(answer, model)
    told = "".join(delta.text for delta in deltas)
    assert answer.check
    assert answer.check.held
    if left is None:
        assert text in told
        assert deltas[-1].finish is Finish.STOP
    else:
        assert told == left
        assert (deltas[-1].finish, model.closed) == (Finish.LENGTH, 1)


async def test_the_policys_hedges_are_for_each_hundred_tokens() -> None:
    text = f"Perhaps it rains. {'It is cold and wet. ' * 21}Perhaps it snows."
    assert "snows" in "".join(delta.text for delta in await said(allowed(1, 2, own=False), spoken(text)))
    assert "snows" not in "".join(delta.text for delta in await said(allowed(1, 2), spoken(text)))


@pytest.mark.parametrize(
    ("text", "left", "broken"),
    [
        ("Perhaps it rains? It does. It is cold.", "It does. It is cold.", ()),
        ("Do you mean Oslo? Or Bergen?\n\nIt rains in Oslo.", "It rains in Oslo.", ()),
        ("Maybe. Perhaps it rains. It does", "It does", ()),
        ("Perhaps it rains?", "Perhaps it rains?", ("budget.hedges", "budget.questions")),
        ("Which town is it? Is it Oslo?", "Which town is it?", ("budget.questions",)),
    ],
    ids=["both", "questions first", "hedges first", "nothing else", "nothing but questions"],
)
async def test_a_first_sentence_over_budget_waits(text: str, left: str, broken: tuple[str, ...]) -> None:
    """It is left out where another one fits, which keeps the budget; an answer is never empty."""
    answer = allowed(0, 0)
    deltas = await said(answer, spoken(*(f"{word} " for word in text.split(" "))))
    assert "".join(delta.text for delta in deltas).rstrip() == left
    assert answer.check
    assert answer.check.broken == broken


async def test_a_lead_comes_first_and_counts() -> None:
    answer = held(NEGOTIATE, target=9, lead="I can help with a part.")
    deltas = await said(answer, spoken("“One two.” [a#1]\n\n“Three four.” [a#1]"))
    assert [delta.text for delta in deltas] == ["I can help with a part.", "\n\n“One two.” [a#1]", ""]
    assert (deltas[-1].finish, answer.names_sources) == (Finish.LENGTH, True)


async def test_a_lead_that_is_all_there_is_names_no_sources() -> None:
    """The budget had no room for what they are sources of: no blank lines behind it, either."""
    answer = held(NEGOTIATE, target=6, lead="I can help with a part.")
    deltas = await said(answer, spoken("“One two three.” [a#1]"))
    assert [delta.text for delta in deltas] == ["I can help with a part.", ""]
    assert (deltas[-1].finish, answer.names_sources) == (Finish.LENGTH, False)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("word " * 4_000, " ".join(["word"] * 16), id="words without an end"),
        pytest.param("\n" * 9_000, "", id="nothing but line ends"),
        pytest.param("\n" * 9_000 + "One.", "One.", id="line ends first"),
        pytest.param("One." + "\n" * 9_000, "One.", id="line ends last"),
        pytest.param("word " * 30, " ".join(["word"] * 16), id="all there is, without an end"),
        pytest.param("One. " + "word " * 15, "One. " + " ".join(["word"] * 15), id="a rest that fits"),
        pytest.param("One. " + "word " * 16, "One.", id="a rest that does not"),
        pytest.param("One. " + "word " * 4_000, "One. " + " ".join(["word"] * 15), id="an endless rest"),
    ],
)
@pytest.mark.parametrize("step", [7, 50_000])
async def test_what_has_no_end_is_cut_at_the_budget(text: str, left: str, step: int) -> None:
    answer = held(target=16)
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    deltas = await said(answer, spoken(*pieces))
    assert "".join(delta.text for delta in deltas) == left


async def test_a_word_that_has_no_end_is_cut_too() -> None:
    ruling = held(target=16).ruling
    answer = Enforcement(ruling, (), len)
    assert "".join(delta.text for delta in await said(answer, spoken("x" * 9_000))) == "x" * 16


async def test_labels_are_checked_as_they_leave() -> None:
    """A label that is not packed never leaves, and is none of the answer's."""
    answer = held(labels=["a#1"])
    await said(answer, spoken("One [a#1]. Two [b#2]."))
    assert answer.check
    assert (answer.check.tokens, answer.check.held) == (3, True)


async def test_a_refusal_that_refuses_leaves_whole() -> None:
    text = "I can't help with that. I'm glad to help with something else."
    answer = held(REFUSE)
    deltas = await said(answer, spoken(*(f"{word} " for word in text.split())))
    assert deltas == [Delta(text), Delta("", Finish.STOP, Usage(7, 3))]
    assert answer.check
    assert (answer.check.held, answer.check.replaced) == (True, False)


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        pytest.param(STEPS, "refuse.no_instructions", id="steps"),
        pytest.param("", "answer.some", id="nothing"),
        pytest.param("I can't. " * 200, "own.tokens", id="too long"),
    ],
)
async def test_a_refusal_that_does_not_refuse_is_the_policys(text: str, clause: str) -> None:
    """Nothing of the model's text leaves; the check says what it broke, and that it was replaced."""
    answer = held(REFUSE, target=100)
    deltas = await said(answer, spoken(text))
    assert deltas[0].text == refusal(answer.ruling.decision)
    assert answer.check
    assert (answer.check.held, answer.check.replaced) == (True, True)
    assert clause in answer.check.broken


async def test_a_made_up_citation_in_a_refusal_does_not_leave() -> None:
    """Nothing was shown, so nothing can be cited; the refusal stands without it."""
    deltas = await said(held(REFUSE), spoken("I can't help with that [memory#x]."))
    assert deltas[0].text == "I can't help with that."


async def test_questions_alone_leave() -> None:
    """Statements go, and questions beyond the budget; the model's text broke its class, what left did not."""
    answer = held(CLARIFY)
    text = "It depends. Which city? Which year [a#1]? Which month? Bring a coat."
    deltas = await said(answer, spoken(text))
    assert deltas[0].text == "Which city? Which year?"
    assert answer.check
    assert (answer.check.held, answer.check.replaced, answer.check.questions) == (True, False, 2)
    assert "clarify.only_questions" in answer.check.broken


async def test_a_text_without_a_question_asks_the_policys() -> None:
    answer = held(CLARIFY)
    deltas = await said(answer, spoken("It depends on many things."))
    assert deltas[0].text == answer.own()
    assert deltas[0].text.endswith("?")
    assert answer.check
    assert (answer.check.held, answer.check.replaced) == (True, True)


async def test_a_whole_answer_that_never_ends_is_cut_off() -> None:
    model = spoken(*["I can't help with that. "] * ANSWER_CHARACTERS)
    answer = held(REFUSE)
    deltas = await said(answer, model)
    assert deltas[0].text == answer.own()
    assert model.closed == 1


@pytest.mark.parametrize(
    ("kind", "piece", "most"),
    [
        (REFUSE, "I can't help with that. ", 120),
        (CLARIFY, "It depends on that. ", 120),
        (CLARIFY, "Which one? ", 16),
    ],
    ids=["a refusal", "no question", "questions enough"],
)
async def test_nobody_waits_for_what_changes_nothing(kind: ResponseClass, piece: str, most: int) -> None:
    """What is too long, or has asked all it may, is not heard to its end: the model's stream is closed."""
    heard = list[str]()

    class Dribbling(FakeStream):
        async def __aiter__(self) -> AsyncIterator[Delta]:
            async for delta in super().__aiter__():
                heard.append(delta.text)
                yield delta

    answer, model = held(kind, target=40), FakeModel(Dribbling([piece] * 500))
    deltas = await said(answer, model)
    assert len("".join(heard).split()) < 1.3 * most + 16
    assert (model.closed, deltas[-1].finish) == (1, Finish.STOP)
    assert answer.check
    assert answer.check.held


@pytest.mark.parametrize("kind", [COMPLY, REDIRECT, NEGOTIATE])
async def test_a_fault_of_the_model_passes(kind: ResponseClass) -> None:
    answer, seen = held(kind), list[str]()
    model = spoken("One. Two. Thr", error=ModelTimeout())
    async with answer.over(model.open(Prompt("", ""))) as stream:
        with pytest.raises(ModelTimeout):
            await hear(stream, seen)
    assert seen == ["One.", " Two."]
    assert answer.check is not None
    with pytest.raises(ModelTimeout):
        await said(held(kind), FakeModel(error=ModelTimeout()))


@pytest.mark.parametrize("kind", [CLARIFY, REFUSE])
@pytest.mark.parametrize(
    "model",
    [
        FakeModel(error=ModelTimeout()),
        FakeModel(head=30),
        spoken("One. Two. Thr", error=ModelTimeout()),
        spoken("One.", *[" more"] * 50, pause=0.05),
    ],
    ids=["no head", "a late head", "broken off", "a late text"],
)
async def test_a_model_that_fails_is_stood_in_for(
    kind: ResponseClass, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions and refusals need no model: the policy's own text leaves, checked, and ends the answer."""
    monkeypatch.setattr(module, "WHOLE_SECONDS", 0.1)
    answer = held(kind)
    *deltas, last = await said(answer, model)
    assert "".join(delta.text for delta in deltas) == answer.own()
    assert last.finish is Finish.STOP
    assert answer.check
    assert answer.check.held


@pytest.mark.parametrize(
    ("spoke", "left"),
    [
        pytest.param("One. Two.", ["One.", " Two."], id="whole"),
        pytest.param("One. It is two, e.g.", ["One."], id="shortened"),
        pytest.param("One. Two", ["One."], id="half"),
        pytest.param("- one\n", ["- one"], id="a line"),
        pytest.param("", [], id="nothing"),
        pytest.param("Hal", [], id="half a word"),
    ],
)
async def test_what_was_whole_leaves_before_a_fault(spoke: str, left: list[str]) -> None:
    answer, seen = held(), list[str]()
    async with answer.over(spoken(spoke, error=ModelTimeout()).open(Prompt("", ""))) as stream:
        with pytest.raises(ModelTimeout):
            await hear(stream, seen)
    assert (seen, answer.check is not None) == (left, bool(left))


async def test_a_refusal_that_names_no_help_is_sent_with_it() -> None:
    """To somebody who may be in danger: the model's words stay, in their language, and help behind them."""
    answer = endangered(REFUSE, "selfharm.asked")
    deltas = await said(answer, spoken("Es tut mir leid, dabei kann ich nicht helfen."))
    assert deltas[0].text == f"Es tut mir leid, dabei kann ich nicht helfen.\n\n{HELP}"
    assert answer.check
    assert (answer.check.held, answer.check.broken, answer.check.replaced) == (True, ("helped",), False)


@pytest.mark.parametrize("kind", [COMPLY, REDIRECT, NEGOTIATE])
@pytest.mark.parametrize("target", [800, 16])
async def test_help_is_said_last_if_nothing_said_it(kind: ResponseClass, target: int) -> None:
    """Also where the budget is spent; the check tells that the model did not say it."""
    answer = endangered(kind, "distress", target)
    deltas = await said(answer, spoken("Be professional. ", "Life is what it is. ", "And so on. " * 9))
    text = "".join(delta.text for delta in deltas)
    assert text.endswith(f"\n\n{HELP}")
    assert answer.check
    assert "helped" in answer.check.broken


async def test_help_stands_outside_of_code() -> None:
    answer = endangered(REDIRECT, "emergency")
    deltas = await said(answer, spoken("Here:\n```\nsome code\n"))
    assert "".join(delta.text for delta in deltas).endswith(f"some code\n```\n\n\n{HELP}")
    assert answer.check
    assert answer.check.held


async def test_help_that_was_said_is_not_said_again() -> None:
    for answer in (endangered(REDIRECT, "distress"), endangered(COMPLY, "default")):
        deltas = await said(answer, spoken("Please call 112 now."))
        assert "".join(delta.text for delta in deltas) == "Please call 112 now."


async def test_help_is_said_also_where_the_model_fails() -> None:
    """It ends the answer: a reply that is an error would not have it."""
    answer = endangered(REDIRECT, "emergency")
    *deltas, last = await said(answer, spoken("One. Two", error=ModelTimeout()))
    assert [delta.text for delta in deltas] == ["One.", f"\n\n{HELP}"]
    assert last.finish is Finish.STOP


@pytest.mark.parametrize("kind", [REDIRECT, COMPLY])
@pytest.mark.parametrize(
    "model",
    [FakeModel(error=ModelTimeout()), FakeModel(head=30), spoken("Hal", error=ModelTimeout())],
    ids=["no head", "a late head", "half a word"],
)
async def test_help_needs_no_model(
    kind: ResponseClass, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may be in danger reads where help is, and never an error instead."""
    monkeypatch.setattr(module, "WHOLE_SECONDS", 0.1)
    answer = endangered(kind, "emergency")
    *deltas, last = await said(answer, model)
    assert HELP in "".join(delta.text for delta in deltas)
    assert last.finish is Finish.STOP


async def test_what_a_model_thinks_does_not_leave() -> None:
    """However long it thinks: the questions behind it are its answer."""
    deltas = await said(held(CLARIFY), spoken("<think>" + "Who? Perhaps. " * 200, "</think>Which file?"))
    assert deltas[0].text == "Which file?"


def split(text: str, *, step: int = 1) -> list[str]:
    """Fed in pieces of so many characters, and what is left at the end."""
    sentences = SentenceBuffer()
    found = [one for at in range(0, len(text), step) for one in sentences.feed(text[at : at + step])]
    rest = sentences.end()
    return [*found, rest] if rest else found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("One. Two? Three!", ["One.", " Two?", " Three!"], id="marks"),
        pytest.param("It rose by 3.5 % in v1.2. So?", ["It rose by 3.5 % in v1.2.", " So?"], id="decimals"),
        pytest.param("It did [a#1]. So [b#2].", ["It did [a#1].", " So [b#2]."], id="citations within"),
        pytest.param("It did. [a#1][b#2] So.", ["It did. [a#1][b#2]", " So."], id="citations behind"),
        pytest.param("“It did.” [a#1]\n\n“So.”", ["“It did.” [a#1]", "\n\n“So.”"], id="quotations"),
        pytest.param("Dr. Who, e.g. the first. No.", ["Dr. Who, e.g. the first.", " No."], id="shortened"),
        pytest.param("J. S. Bach wrote. So.", ["J. S. Bach wrote.", " So."], id="initials"),
        pytest.param("1. Read.\n2. Sleep.", ["1. Read.", "\n2. Sleep."], id="items"),
        pytest.param("Well... so it is. Yes.", ["Well...", " so it is.", " Yes."], id="dots"),
        pytest.param("- one\n- two\n", ["- one", "\n- two\n"], id="lines"),
        pytest.param("你好。你好吗？好", ["你好。", "你好吗？", "好"], id="no blanks between"),
        pytest.param("no end at all", ["no end at all"], id="no mark"),
        pytest.param("", [], id="nothing"),
    ],
)
@pytest.mark.parametrize("step", [1, 3, 1_000])
def test_a_sentence_ends_where_a_reader_ends_it(text: str, found: list[str], step: int) -> None:
    assert split(text, step=step) == found


def test_a_citation_that_is_arriving_holds_its_sentence() -> None:
    sentences = SentenceBuffer()
    assert sentences.feed("It did. [a.pdf#") == []
    assert sentences.feed("1] So") == ["It did. [a.pdf#1]"]


@given(st.text(alphabet="ab1 .?!\n[]#“”)。？e.g", max_size=300), st.integers(1, 50))
def test_every_character_leaves_once_in_order(text: str, step: int) -> None:
    assert "".join(split(text, step=step)) == text


@given(st.text(alphabet="ab1 .?!\n[]#“”)。？e.g", max_size=300), st.integers(1, 50))
@example("。[。]1", 1)
@example("One. [a. b", 1)
@example("One.\n[a.\n b [c. d] e. F", 2)
def test_the_pieces_do_not_depend_on_the_deltas(text: str, step: int) -> None:
    """What waits for what comes next is found again, however little of it comes."""
    assert split(text, step=step) == split(text, step=1_000)


PLAIN = Ruling(
    Descriptors(terms=("secret", "words")),
    Params(800, 3, 2, 0.5, 0.4),
    Decision(ResponseClass.COMPLY, (), "1"),
)


def test_no_word_of_the_message_is_kept() -> None:
    kept = json.dumps(written(PLAIN))
    assert "secret" not in kept
    assert read(json.loads(kept)).sd == Descriptors()
