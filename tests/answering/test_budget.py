"""Budget: never over, and nothing left out that would still fit."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import DOCUMENT_FORM, MEMORY_FORM, Form, Prompt, Role, Turn, build_system_prompt
from app.answering.budget import (
    TURN_TOKENS,
    Budget,
    Meter,
    PromptLimits,
    answered,
    fit,
    newest_turns,
    scaled,
    share,
    window,
)
from app.answering.prompt import PROJECT_FORM, entry
from app.errors import InvalidField
from app.retrieval.vocabulary import count
from app.text.memo import Text
from app.text.sanitise import one_line, quote
from app.text.tokens import SHOWN, inner
from app.types import Candidate, Passage

COSTS = st.lists(st.integers(0, 60), max_size=30)


def candidates(costs: list[int]) -> list[Candidate]:
    """One candidate a cost, ranked as given."""
    return [Candidate(Passage("documents", str(n), "", cost, f"{n}.pdf#1")) for n, cost in enumerate(costs)]


def cost(passage: Passage) -> int:
    """What a passage takes of the budget."""
    return passage.tokens


def tokens(found: list[Candidate]) -> list[int]:
    """Their costs."""
    return [item.passage.tokens for item in found]


@given(COSTS, st.integers(0, 300), st.integers(0, 40), st.integers(0, 20))
def test_the_budget_is_never_exceeded(costs: list[int], limit: int, passages: int, overhead: int) -> None:
    """Whatever is found, the packed cost at most the tokens and are at most as many as allowed."""
    packed, _ = fit(candidates(costs), cost, Budget(limit, passages), overhead)
    assert len(packed) <= passages
    assert not packed or sum(tokens(packed)) + overhead <= limit


@given(COSTS, st.integers(0, 300), st.integers(0, 40), st.integers(0, 20))
def test_nothing_is_left_out_that_would_still_fit(
    costs: list[int], limit: int, passages: int, overhead: int
) -> None:
    """After packing, no candidate left out fits in what is left, unless the count is reached."""
    packed, over = fit(candidates(costs), cost, Budget(limit, passages), overhead)
    left = limit - overhead - sum(tokens(packed))
    assert len(packed) == passages or all(price > left for price in tokens(over))


@given(COSTS, st.integers(0, 300), st.integers(0, 40))
def test_every_candidate_is_told_once_in_rank_order(costs: list[int], limit: int, passages: int) -> None:
    """Packed and over are the candidates, parted, each in the order of the rank."""
    found = candidates(costs)
    packed, over = fit(found, cost, Budget(limit, passages))
    assert sorted([*packed, *over], key=found.index) == found
    assert packed == sorted(packed, key=found.index)
    assert over == sorted(over, key=found.index)


@given(COSTS, st.integers(0, 300), st.integers(0, 40), st.integers(0, 20), st.integers(0, 3))
def test_a_bound_on_the_costs_changes_nothing(
    costs: list[int], limit: int, passages: int, overhead: int, more: int
) -> None:
    """Where the bounds fit nothing is counted, and what is packed is the same."""
    found, budget = candidates(costs), Budget(limit, passages)
    bounded = fit(found, cost, budget, overhead, most=lambda passage: passage.tokens * more + passage.tokens)
    assert bounded == fit(found, cost, budget, overhead)


def test_costs_are_not_asked_where_their_bounds_fit() -> None:
    """To count forty new lines takes milliseconds."""

    def counting(passage: Passage) -> int:
        raise AssertionError(passage.id)

    packed, over = fit(candidates([1] * 5), counting, Budget(8, 4), most=lambda _: 2)
    assert (len(packed), len(over)) == (4, 1)


def test_an_oversized_passage_is_passed_over() -> None:
    """It is not a stop: what is ranked below it may still fit."""
    packed, over = fit(candidates([30, 80, 20]), cost, Budget(60, 40))
    assert (tokens(packed), tokens(over)) == ([30, 20], [80])


def test_costs_are_not_asked_once_the_count_is_reached() -> None:
    """Counting tokens costs time: a full block asks for no more."""
    asked: list[str] = []

    def counting(passage: Passage) -> int:
        asked.append(passage.id)
        return 1

    fit(candidates([1] * 5), counting, Budget(100, 2))
    assert asked == ["0", "1"]


@pytest.mark.parametrize(
    ("limit", "context", "taken", "reserve", "factor", "left"),
    [
        pytest.param(50_000, 128_000, 1_000, 4_096, 1.0, 50_000, id="the budget is the smaller"),
        pytest.param(50_000, 8_192, 1_000, 4_096, 1.0, 3_096, id="the window is the smaller"),
        pytest.param(50_000, 8_192, 1_000, 4_096, 1.3, 2_796, id="a model with another vocabulary"),
        pytest.param(50_000, 4_096, 1_000, 4_096, 1.0, 0, id="no room at all"),
    ],
)
def test_the_budget_is_what_the_window_leaves(
    *, limit: int, context: int, taken: int, reserve: int, factor: float, left: int
) -> None:
    """RAG_TOKEN_BUDGET, or what system text, history and the answer leave of the window; never below 0."""
    assert window(limit, context=context, taken=taken, reserve=reserve, factor=factor) == left


@pytest.mark.parametrize(
    ("count", "factor", "told"), [(10, 1.0, 10), (10, 1.3, 13), (1, 1.3, 2), (0, 1.3, 0)]
)
def test_a_scaled_count_rounds_up(count: int, factor: float, told: int) -> None:
    """Rather a passage less than one too many; a product that is whole stays whole."""
    assert scaled(count, factor) == told


@given(st.lists(st.text(max_size=20), max_size=12), st.integers(0, 100))
def test_the_newest_whole_turns_are_kept(contents: list[str], limit: int) -> None:
    """They are a tail of the thread, within the limit, and one more would not fit."""
    turns = [Turn(Role.USER, content) for content in contents]
    kept = newest_turns(turns, len, limit)
    assert tuple(turns[len(turns) - len(kept) :]) == kept
    used = sum(len(turn.content) for turn in kept)
    assert used <= limit
    assert len(kept) == len(turns) or used + len(turns[-len(kept) - 1].content) > limit


class Counter:
    """Counts characters, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, text: str) -> int:
        """Its length."""
        self.asked += 1
        return len(text)


def lines(*texts: str) -> tuple[Passage, ...]:
    """Passages of texts that remember."""
    return tuple(Passage("documents", str(n), Text(text), 1, f"a.pdf#{n}") for n, text in enumerate(texts))


def test_the_lines_add_up_to_the_block() -> None:
    """And the block with the other messages to the prompt."""
    prompt = Prompt("system", "message", lines("one", 'two "quoted"', "three"), ("note",))
    meter = Meter(len, 1.3)
    assert meter.context(prompt) == scaled(len(prompt.context), 1.3)
    assert meter.prompt(prompt) == sum(len(message["content"]) for message in prompt.messages())


def test_a_prompt_without_passages_has_no_block() -> None:
    """Not even its head."""
    assert Meter(len).context(Prompt("system", "message")) == 0


def test_what_every_prompt_holds_is_counted_once() -> None:
    """A system text that remembers is not counted for the next request."""
    count, prompt = Counter(), Prompt(Text("system"), "message", lines("one", "two"))
    first = [Meter(count).prompt(prompt), count.asked]
    second = [Meter(count).prompt(prompt), count.asked - first[1]]
    assert first[0] == second[0] == sum(len(message["content"]) for message in prompt.messages())
    assert (first[1], second[1]) == (3, 2)  # the block and the message are plain strings


@given(st.text(), st.sampled_from([1.0, 1.3]))
def test_a_line_is_bounded_without_being_counted(text: str, factor: float) -> None:
    """By its bytes, for whatever counts at most one a byte."""

    def count(line: str) -> int:
        counted.append(line)
        return len(line.encode("utf-8", "surrogatepass"))

    counted: list[str] = []
    meter, prompt = Meter(count, factor), Prompt("system", "message", lines(text, "other"))
    bound = meter.most(prompt.passages[0])
    assert (counted, meter.fresh(prompt)) == ([], 2)
    assert meter.line(prompt.passages[0]) == bound == meter.most(prompt.passages[0])


def test_a_meter_counts_a_plain_line_once() -> None:
    """What comes from a shared cache has no memory of its own; the request has."""
    count, plain = Counter(), Passage("documents", "1", "text", 1, "a.pdf#1")
    meter = Meter(count)
    assert len({meter.line(plain) for _ in range(3)}) == count.asked == 1


def test_the_lines_of_memories_add_up_too() -> None:
    """In the one system text that they share with persona and overlay; a text has a count for each form."""
    passages = lines("one", "two", "three")
    prompt = build_system_prompt("system", "message", passages, persona="persona", note="note")
    meter = Meter(len, form=MEMORY_FORM)
    assert meter.context(prompt) == len(prompt.context)
    spare = len("\n\n")  # each block is counted with the break behind it, the last one too
    assert meter.prompt(prompt) == sum(len(message["content"]) for message in prompt.messages()) + spare - 2
    assert Meter(len).line(passages[0]) != meter.line(passages[0])


def test_a_block_that_is_more_than_lines_is_counted_as_it_is() -> None:
    """A project's sections and labels: exactly what is sent."""
    entries = [
        entry(
            Passage("dreams", str(n), "", 1, f"dream#{n}", title="Sea"),
            f"**Dream: {n}**",
            heading="### H",
            between="\n\n",
        )
        for n in range(3)
    ]
    prompt = Prompt("S", "m", tuple(entries), ("n",), before=("K",), form=PROJECT_FORM)
    meter = Meter(len, form=PROJECT_FORM)
    assert meter.context(prompt) == len(prompt.context)
    assert meter.prompt(prompt) == sum(len(message["content"]) for message in prompt.messages())
    assert Meter(len, 1.3, form=PROJECT_FORM).context(prompt) == scaled(len(prompt.context), 1.3)


ODD = st.sampled_from(
    ["don't", "a\n", "\r\n", '"', "\\", "\u00e9", "\u4f60\u597d", "e\u0301", "1234", "...", "   ", "x"]
)
texts = st.lists(ODD | st.text(max_size=6), max_size=30).map(" ".join) | st.text(max_size=80)


@given(texts, st.sampled_from([DOCUMENT_FORM, MEMORY_FORM]))
def test_a_line_takes_what_was_counted_of_its_text_before(text: str, form: Form) -> None:
    """To the token, whatever the text begins and ends with."""
    known = Text(text)
    known.memo[SHOWN] = {show: inner(count, show(text)) for show in (quote, one_line)}
    told, fresh = (Passage("memories", "m", each, 1, "a b.pdf#1") for each in (known, text))
    assert Meter(count, form=form).line(told) == Meter(count, form=form).line(fresh)
    prompts = [Prompt("S", "m", (each, each), form=form) for each in (told, fresh)]
    assert [Meter(count, form=form).context(prompt) for prompt in prompts] == [count(prompts[1].context)] * 2


def test_a_text_that_was_counted_is_not_counted_again() -> None:
    """Only what stands beside its first and last words."""
    text, asked = Text("the sea is wide and deep " * 50), list[str]()
    text.memo[SHOWN] = {quote: inner(count, quote(text))}

    def counted(part: str) -> int:
        asked.append(part)
        return count(part)

    Meter(counted).line(Passage("documents", "m", text, 1, "a.pdf#1"))
    assert max(map(len, asked)) < 40


USER, ASSISTANT = Role.USER, Role.ASSISTANT


def words_of(text: str) -> int:
    """Words instead of tokens."""
    return len(text.split())


def limits(window: int, *, budget: int = 10_000, history: int = 1_000, answer: int = 20) -> PromptLimits:
    """Knobs around a window."""
    return PromptLimits(budget=budget, top_k=40, threshold=0.2, window=window, history=history, answer=answer)


def talk(pairs: int, length: int) -> list[Turn]:
    """Questions and answers of so many words each."""
    return [Turn(role, "w " * length) for _ in range(pairs) for role in (USER, ASSISTANT)]


def shared(
    knobs: PromptLimits, turns: list[Turn], message: str = "what?", notes: tuple[str, ...] = ()
) -> tuple[int, list[Turn]]:
    """share() with a short system text."""
    budget, kept = share(knobs, words_of, system="be kind", message=message, notes=notes, turns=turns)
    return budget, list(kept)


def test_a_wide_window_leaves_the_whole_budget() -> None:
    """Nothing is cut while everything fits."""
    turns = talk(2, 5)
    assert shared(limits(100_000), turns) == (10_000, turns)


def test_turns_never_crowd_out_the_context() -> None:
    """In a small window the history takes at most half of what is free."""
    budget, kept = shared(limits(200), talk(20, 10))
    assert kept
    assert budget >= 80


def test_a_cut_history_begins_with_a_question() -> None:
    """Many chat templates refuse an answer as the first turn."""
    _, kept = shared(limits(100_000, history=3 * (10 + TURN_TOKENS)), talk(5, 10))
    assert [turn.role for turn in kept] == [USER, ASSISTANT]


@pytest.mark.parametrize(
    ("message", "notes", "field"),
    [("w " * 500, (), "body.message"), ("what?", ("w " * 500,), "body.notes")],
    ids=["message", "notes"],
)
def test_what_cannot_fit_is_refused(message: str, notes: tuple[str, ...], field: str) -> None:
    """The longer of the two is named."""
    with pytest.raises(InvalidField) as caught:
        shared(limits(300), [], message, notes)
    assert caught.value.field == field


@given(
    window=st.integers(40, 500),
    budget=st.integers(1, 500),
    lengths=st.lists(st.integers(0, 60), max_size=12),
    message=st.integers(1, 15),
)
def test_the_window_is_never_overfull(window: int, budget: int, lengths: list[int], message: int) -> None:
    """System, message, turns, context and answer together fit, whatever the lengths."""
    turns = [Turn(USER if n % 2 == 0 else ASSISTANT, "w " * length) for n, length in enumerate(lengths)]
    words = "w " * message
    tokens, kept = shared(limits(window, budget=budget, answer=8), turns, words)
    taken = sum(words_of(turn.content) for turn in kept) + words_of("be kind") + message
    assert taken + tokens + 8 <= window
    assert tokens <= budget


def test_questions_without_an_answer_are_left_out() -> None:
    """Cancelled turns would put two questions in a row before the model."""
    turns = [Turn(USER, "a"), Turn(USER, "b"), Turn(ASSISTANT, "B"), Turn(USER, "c")]
    assert [turn.content for turn in answered(turns)] == ["b", "B"]


@given(st.lists(st.sampled_from([USER, ASSISTANT]), max_size=12))
def test_no_two_questions_stand_together(roles: list[Role]) -> None:
    """And the last stored turn is never a question: the message comes next."""
    kept = [turn.role for turn in answered([Turn(role, "x") for role in roles])] + [USER]
    assert (USER, USER) not in list(pairwise(kept))
