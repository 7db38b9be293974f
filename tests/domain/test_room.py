"""share() and answered(): the window is never overfull, and the turns in it can be sent to any template."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Role, Turn
from app.answering.budget import TURN_TOKENS, PromptLimits, answered, share
from app.errors import InvalidField

USER, ASSISTANT = Role.USER, Role.ASSISTANT


def count(text: str) -> int:
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
    budget, kept = share(knobs, count, system="be kind", message=message, notes=notes, turns=turns)
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
    taken = sum(count(turn.content) for turn in kept) + count("be kind") + message
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
