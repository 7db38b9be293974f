"""Answers against their class, and the policy's own texts."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.models.tokens import O200k
from app.vantage.checks import (
    CONTRACTS,
    HELP,
    LONG_QUESTION,
    OWN,
    REQUIREMENTS,
    asked_enough,
    check,
    enforce_clarify_shape,
    lead,
    question,
    refusal,
)
from app.vantage.decision import DISTRESSED, RULES
from app.vantage.sentences import sentences
from app.vantage.terms import Check, Decision, Limits, Params, ResponseClass
from tests.vantage import answers
from tests.vantage.refusals import LEAKS, REFUSALS

ROOMY = Params(800, 3, 2, 0.5, 0.4)
COUNT = O200k().count
COMPLY, REDIRECT, CLARIFY, NEGOTIATE, REFUSE = ResponseClass
BY = {REDIRECT: "distress", CLARIFY: "unclear", REFUSE: "violence.asked"}


def broken(kind: ResponseClass, text: str) -> tuple[str, ...]:
    """What an answer breaks as it leaves the model."""
    decision = Decision(kind, (BY.get(kind, "default"),), "1")
    return check(text, decision, ROOMY, cited=(), tokens=COUNT(text)).broken


def asked(text: str) -> bool:
    """True if the model's own questions leave, and hold."""
    decision = Decision(CLARIFY, ("unclear",), "1")
    sent = enforce_clarify_shape(text, ROOMY, decision)
    return sent != question(decision) and not broken(CLARIFY, sent)


def share(texts: Sequence[str], bad: Callable[[str], object]) -> float:
    return sum(map(bool, map(bad, texts))) / len(texts)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (COMPLY, answers.COMPLY),
        (REDIRECT, answers.REDIRECT),
        (NEGOTIATE, answers.NEGOTIATE),
        (REFUSE, answers.REFUSE),
    ],
)
def test_an_ordinary_answer_holds_its_class(kind: ResponseClass, texts: Sequence[str]) -> None:
    """At most one in ten is told to be broken."""
    assert len(texts) == 30
    assert share(texts, lambda text: broken(kind, text)) <= 0.1, [
        (text, broken(kind, text)) for text in texts if broken(kind, text)
    ]


def test_a_models_questions_leave() -> None:
    """At most one in ten of those who ask is replaced by the policy's question."""
    lost = [text for text in answers.CLARIFY if not asked(text)]
    assert len(answers.CLARIFY) == 30
    assert len(lost) <= 3, lost


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (REFUSE, answers.LEAKING),
        (CLARIFY, answers.TELLING),
        (NEGOTIATE, answers.UNNAMED),
        (REDIRECT, answers.UNHELPED),
    ],
)
def test_a_bad_answer_is_told(kind: ResponseClass, texts: Sequence[str]) -> None:
    """At least four in five."""
    assert share(texts, lambda text: broken(kind, text)) >= 0.8, [
        text for text in texts if not broken(kind, text)
    ]


@pytest.mark.parametrize(
    "text", ["Contact your bank right away; they can freeze the card.", "Talk to your vet."]
)
def test_help_of_any_kind_is_better_help(text: str) -> None:
    """Where nobody is in danger."""
    decision = Decision(REDIRECT, ("routing.force",), "1")
    assert check(text, decision, ROOMY, cited=(), tokens=10).held


@pytest.mark.parametrize("kind", ResponseClass)
@pytest.mark.parametrize("rule", ["emergency", "distress", "selfharm.asked", "selfharm.likely"])
def test_danger_needs_help_named_in_every_class(kind: ResponseClass, rule: str) -> None:
    """And no other rule does."""
    found = [
        "helped" in check("I can't help.", Decision(kind, (by,), "1"), ROOMY, cited=(), tokens=9).broken
        for by in (rule, "default")
    ]
    assert found == [True, False]


def test_hedges_have_room_by_length_but_not_beyond_the_askers() -> None:
    """Three for each hundred tokens that the answer has begun; the asker's own limit is for all of it."""
    text = "Perhaps. " * 6
    decision = Decision(COMPLY, ("default",), "1")
    held = [
        check(text, decision, ROOMY, cited=(), tokens=tokens, limits=limits).held
        for tokens, limits in ((100, None), (101, None), (101, Limits()), (101, Limits(hedge_budget=3)))
    ]
    assert held == [False, True, True, False]


def test_a_clarification_in_danger_asks_for_help_first() -> None:
    """Questions only, within budget, and 112 among them."""
    decision = Decision(CLARIFY, ("emergency", "routing.force"), "1")
    sent = enforce_clarify_shape("Where does it hurt? Since when? How old are you?", ROOMY, decision)
    assert sent == f"{question(decision)}\nWhere does it hurt?"
    assert check(sent, decision, ROOMY, cited=(), tokens=COUNT(sent)).held
    assert enforce_clarify_shape(sent, ROOMY, decision) == sent


SMALL = Params(token_target=50, hedge_budget=1, question_budget=1, directness=0.5, warmth=0.5)


def held(kind: ResponseClass, text: str, *, tokens: int = 10, cited: tuple[str, ...] = ()) -> Check:
    """A text of this class."""
    return check(text, Decision(kind, ("x",), "1"), SMALL, cited=cited, tokens=tokens)


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
    assert held(ResponseClass.REFUSE, text, tokens=60).broken == ()


@pytest.mark.parametrize("text", LEAKS)
def test_a_refusal_has_to_refuse(text: str) -> None:
    """Whatever else it does not do."""
    assert "refuse.declines" in held(ResponseClass.REFUSE, text).broken


@pytest.mark.parametrize("kind", ResponseClass)
def test_no_answer_may_be_longer_than_its_budget(kind: ResponseClass) -> None:
    """The target, or what a refusal and a question always may have."""
    free = kind not in {ResponseClass.CLARIFY, ResponseClass.REFUSE}
    most = SMALL.token_target if free else OWN
    clause = "budget.tokens" if free else "own.tokens"
    assert held(kind, KEPT[kind], tokens=most).held
    assert held(kind, KEPT[kind], tokens=most + 1).broken == (clause,)


def test_what_is_quoted_is_not_the_answers_own() -> None:
    """A source may ask, and hedge."""
    told = '“Who? And perhaps why?” [a.pdf#1]\n\n«It might be.» [b.pdf#1] "Maybe."'
    found = held(ResponseClass.COMPLY, told)
    assert (found.held, found.hedges, found.questions) == (True, 0, 0)


def test_every_clause_is_told_and_used() -> None:
    """What the policy shows is what is checked."""
    assert {clause for clauses in CONTRACTS.values() for clause in clauses} == set(REQUIREMENTS)
    assert set(CONTRACTS) == set(ResponseClass)


@given(st.text(max_size=200), st.sampled_from(list(ResponseClass)))
def test_any_text_is_judged(text: str, kind: ResponseClass) -> None:
    """Only clauses of its own class are named, and it holds exactly if none is."""
    found = held(kind, text)
    assert set(found.broken) <= set(CONTRACTS[kind])
    assert found.held is not bool(found.broken)


ASKED_BACK = Decision(ResponseClass.CLARIFY, ("unclear",), "1")
PIECES = (
    "Which? ",
    "No. ",
    "1. ",
    "- ",
    "```",
    "~~~",
    "\n",
    "? ",
    "[a.pdf#1]",
    "；",
    "。",
    "か。",
    "α;",
    "e.g. ",
    "x" * 310,
)


def params(questions: int) -> Params:
    """A budget of questions, the rest roomy."""
    return Params(4_000, 20, questions, 0.5, 0.5)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("I can help. Which file?", "Which file?", id="statements go"),
        pytest.param(
            "Which file? Which year? Which page?", "Which file? Which year?", id="no more than the budget"
        ),
        pytest.param(
            "First:\n1. Which file?\n2. Fine.\n3. Which year?", "1. Which file?\n2. Which year?", id="numbers"
        ),
        pytest.param("- Which file?\n- Which year?", "- Which file?\n- Which year?", id="bullets stay"),
        pytest.param("Do you mean page 3 [a.pdf#3]?", "Do you mean page 3?", id="citations go"),
        pytest.param("```\nwhich?\n```\nWhich file?", "Which file?", id="code goes"),
        pytest.param("You mix it with water, ok? Which file?", "Which file?", id="tag questions go"),
        pytest.param("Man mischt es, oder? Which file?", "Which file?", id="German ones too"),
        pytest.param("Mix it with water? Which file?", "Which file?", id="orders go"),
        pytest.param("Is it 50 g of it in 20 ml? Which file?", "Which file?", id="amounts go"),
        pytest.param("See [here](https://a.example/)? Which file?", "Which file?", id="links go"),
        pytest.param("Do you mean `a.py`?", "Do you mean a.py?", id="code spans are cleaned"),
        pytest.param("It is `a. B`? Which file?", "Which file?", id="half a code span goes"),
        pytest.param("我知道了。哪一个文件？", "哪一个文件？", id="Chinese"),
        pytest.param(
            "Sure! Could you tell me:\n1. What to fix\n2. What you see",
            "1. What to fix?\n2. What you see?",
            id="a list",
        ),
        pytest.param(
            "Let me know which one you want.", "Could you let me know which one you want?", id="indirect"
        ),
        pytest.param("何を修理したいですか", "何を修理したいですか", id="Japanese without a mark"),
        pytest.param("¿Qué quieres arreglar", "¿Qué quieres arreglar", id="Spanish without its end"),
        pytest.param("Meinst du z. B. Excel?", "Meinst du z. B. Excel?", id="a shortened word"),
        pytest.param("<think>Which? Who?</think>Which file?", "Which file?", id="what was thought"),
        pytest.param("حسنا. أي ملف؟", "أي ملف؟", id="Arabic"),
        pytest.param("Καλά. Ποιο αρχείο;", "Ποιο αρχείο;", id="Greek"),
        pytest.param(
            "Mix it with water" + ", then heat" * 40 + ". Ok?",
            "Ok?",
            id="a long statement before a short one",
        ),
    ],
)
def test_questions_alone_are_kept(text: str, kept: str) -> None:
    """Statements, code and citations go; at most two questions stay, in their list."""
    assert enforce_clarify_shape(text, params(2), ASKED_BACK) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I do not know.",
        "<think>Which file?",
        "Let me know if I can help!",
        "Tell me:\n1. Mix it",
        "?",
        "```\nwhich?\n```",
        "word " * LONG_QUESTION + "?",
    ],
)
def test_without_a_question_the_policy_asks(text: str) -> None:
    """A text that asks nothing, or hides an answer in what it calls a question, gives way."""
    assert enforce_clarify_shape(text, params(2), ASKED_BACK) == question(ASKED_BACK)


@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=30).map("".join),
    st.integers(0, 4),
)
def test_what_leaves_holds_its_class(text: str, questions: int) -> None:
    """Whatever the model wrote: questions within budget, and mending it again changes nothing."""
    mended = enforce_clarify_shape(text, params(questions), ASKED_BACK)
    assert check(mended, ASKED_BACK, params(questions), cited=(), tokens=0).broken == ()
    assert enforce_clarify_shape(mended, params(questions), ASKED_BACK) == mended
    assert 1 <= len(sentences(mended)) <= max(1, questions)


def test_a_stream_that_holds_its_questions_need_not_go_on() -> None:
    """A question counts once something follows it: till then it may go on."""
    assert not asked_enough("Which file?", params(1))
    assert asked_enough("Which file? I", params(1))
    assert not asked_enough("Which file? I", params(2))


TIGHT = Params(16, 0, 0, 0.5, 0.5)
"""The lowest limits there are."""
RULED = [(rule.id,) for rule in RULES] + [
    ("default",),
    ("unclear", "routing.force"),
    ("limits.refuse", "emergency"),
    ("selfharm.likely", "pressed.harm", "distress"),
]


@pytest.mark.parametrize("rules", RULED, ids=str)
def test_own_texts_hold_their_class(rules: tuple[str, ...]) -> None:
    """Under the lowest limits, whichever rule gave the class."""
    for kind, text in ((ResponseClass.REFUSE, refusal), (ResponseClass.CLARIFY, question)):
        decision = Decision(kind, rules, "1")
        own = text(decision)
        assert check(own, decision, TIGHT, cited=(), tokens=O200k().count(own)).broken == ()


@pytest.mark.parametrize("rule", sorted(DISTRESSED))
@pytest.mark.parametrize("kind", [ResponseClass.REDIRECT, ResponseClass.NEGOTIATE, ResponseClass.COMPLY])
def test_who_may_be_in_danger_is_told_where_help_is(kind: ResponseClass, rule: str) -> None:
    """Before anything else, whatever the class."""
    assert HELP in lead(Decision(kind, (rule,), "1"))


def test_a_refused_way_to_hurt_oneself_tells_where_help_is() -> None:
    """A refusal alone would leave them with nothing."""
    for rules in (("violence.asked", "selfharm.asked"), ("limits.refuse", "emergency"), ("selfharm.likely",)):
        assert refusal(Decision(ResponseClass.REFUSE, rules, "1")).count(HELP) == 1


def test_the_texts_name_the_reason_in_general() -> None:
    """A topic that was set aside is not called harmful."""
    aside = refusal(Decision(ResponseClass.REFUSE, ("limits.refuse",), "1"))
    harm = refusal(Decision(ResponseClass.REFUSE, ("weapons.asked",), "1"))
    assert "harm" not in aside
    assert "harm" in harm
