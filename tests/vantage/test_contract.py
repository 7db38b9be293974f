"""Answers held against their class, clause by clause."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.contract import CLAUSES, CONTRACTS, OWN, check, refusal
from app.vantage.terms import Check, Decision, Params, ResponseClass
from app.vantage.wording import refusal as worded
from tests.vantage.refusals import LEAKS, REFUSALS

PARAMS = Params(token_target=50, hedge_budget=1, question_budget=1, directness=0.5, warmth=0.5)
HOSTILE = ("1. ", "[a#", "mix ", "perhaps ", "“", '"\n')


def held(kind: ResponseClass, text: str, *, tokens: int = 10, cited: tuple[str, ...] = ()) -> Check:
    """A text of this class."""
    return check(text, Decision(kind, ("x",), "1"), PARAMS, cited=cited, tokens=tokens)


KEPT = {
    ResponseClass.COMPLY: "Kayaks are boats. Perhaps yours is too. Which one is it?",
    ResponseClass.REDIRECT: "Please call a doctor first: they can look at it.",
    ResponseClass.CLARIFY: "Which boat do you mean?",
    ResponseClass.NEGOTIATE: "Here is its history. I won't go into how it is made.",
    ResponseClass.REFUSE: "I'm sorry, I can't help with that. I can tell you about its history.",
}


@pytest.mark.parametrize("kind", ResponseClass)
def test_a_good_answer_holds(kind: ResponseClass) -> None:
    """One for each class."""
    assert held(kind, KEPT[kind]).broken == ()
    assert held(kind, KEPT[kind]).held


@pytest.mark.parametrize(
    ("kind", "text", "clause"),
    [
        (ResponseClass.COMPLY, "", "answer.some"),
        (ResponseClass.COMPLY, "Perhaps. It might be.", "budget.hedges"),
        (ResponseClass.COMPLY, "Which? And why?", "budget.questions"),
        (ResponseClass.REDIRECT, "It is nothing, just wait.", "redirect.named"),
        (ResponseClass.NEGOTIATE, "Here is everything about it.", "negotiate.named"),
        (ResponseClass.CLARIFY, "It is a boat. Which one?", "clarify.only_questions"),
        (ResponseClass.CLARIFY, "Which? And why?", "clarify.budget"),
        (ResponseClass.CLARIFY, "", "clarify.budget"),
        (ResponseClass.CLARIFY, "Do you mean [a.pdf#1]?", "clarify.no_citation"),
        (ResponseClass.REFUSE, "I can't, see [a.pdf#1].", "refuse.no_citation"),
        (ResponseClass.REFUSE, "I can't, see 【a.pdf#1】.", "refuse.no_citation"),
        (ResponseClass.REFUSE, "I can't. But:\n1. Mix it\n2. Heat it", "refuse.no_instructions"),
        (ResponseClass.REFUSE, "", "answer.some"),
        (ResponseClass.REFUSE, "Sure.", "refuse.declines"),
        (ResponseClass.REFUSE, "It is a boat of skin and wood.", "refuse.declines"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_breaks_a_clause_is_named(kind: ResponseClass, text: str, clause: str) -> None:
    """By the clause's id, and the answer does not hold."""
    found = held(kind, text)
    assert clause in found.broken
    assert not found.held


@pytest.mark.parametrize("text", REFUSALS)
def test_an_ordinary_refusal_keeps_every_clause(text: str) -> None:
    """Of its class."""
    assert held(ResponseClass.REFUSE, text, tokens=60).broken == ()


@pytest.mark.parametrize("text", LEAKS)
def test_a_refusal_has_to_refuse(text: str) -> None:
    """Whatever else it does not do."""
    assert "refuse.declines" in held(ResponseClass.REFUSE, text).broken


@pytest.mark.parametrize("kind", ResponseClass)
def test_no_answer_may_be_longer_than_its_budget(kind: ResponseClass) -> None:
    """The target, or what a refusal and a question always may have."""
    free = kind not in {ResponseClass.CLARIFY, ResponseClass.REFUSE}
    most = PARAMS.token_target if free else OWN
    clause = "budget.tokens" if free else "own.tokens"
    assert held(kind, KEPT[kind], tokens=most).held
    assert held(kind, KEPT[kind], tokens=most + 1).broken == (clause,)


@pytest.mark.parametrize("kind", [ResponseClass.CLARIFY, ResponseClass.REFUSE])
def test_a_label_that_left_is_a_citation(kind: ResponseClass) -> None:
    """Even if the text does not show it."""
    assert not held(kind, KEPT[kind], cited=("a.pdf#1",)).held


def test_what_is_quoted_is_not_the_answers_own() -> None:
    """A source may ask, and hedge."""
    told = '“Who? And perhaps why?” [a.pdf#1]\n\n«It might be.» [b.pdf#1] "Maybe."'
    found = held(ResponseClass.COMPLY, told)
    assert (found.held, found.hedges, found.questions) == (True, 0, 0)


def test_other_scripts_are_not_held_to_latin_words() -> None:
    """Whether a text in Chinese says where help is, is not read off English words."""
    assert held(ResponseClass.REDIRECT, "请先去看医生，他们可以帮助你。").held


def test_what_is_counted_is_told() -> None:
    """Tokens as the caller counted them, hedges, questions."""
    found = held(ResponseClass.COMPLY, KEPT[ResponseClass.COMPLY], tokens=12)
    assert (found.tokens, found.hedges, found.questions, found.replaced) == (12, 1, 1, False)


def test_every_clause_is_told_and_used() -> None:
    """What the policy shows is what is checked."""
    assert {clause for clauses in CONTRACTS.values() for clause in clauses} == set(CLAUSES)
    assert set(CONTRACTS) == set(ResponseClass)


def test_the_refusal_is_the_policys() -> None:
    """Under the name that the contract has for it."""
    decision = Decision(ResponseClass.REFUSE, ("limits.refuse",), "1")
    assert refusal(decision) == worded(decision)


@given(st.text(max_size=200), st.sampled_from(list(ResponseClass)))
def test_any_text_is_judged(text: str, kind: ResponseClass) -> None:
    """Only clauses of its own class are named, and it holds exactly if none is."""
    found = held(kind, text)
    assert set(found.broken) <= set(CONTRACTS[kind])
    assert found.held is not bool(found.broken)
