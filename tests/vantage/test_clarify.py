"""Answers that only ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.clarify import LONGEST, allowed, enforce_clarify_shape
from app.vantage.contract import check
from app.vantage.sentence import sentences
from app.vantage.terms import Decision, Params, ResponseClass
from app.vantage.wording import question

CLARIFY = Decision(ResponseClass.CLARIFY, ("unclear",), "1")
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
    assert enforce_clarify_shape(text, params(2), CLARIFY) == kept


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
        "word " * LONGEST + "?",
    ],
)
def test_without_a_question_the_policy_asks(text: str) -> None:
    """A text that asks nothing, or hides an answer in what it calls a question, gives way."""
    assert enforce_clarify_shape(text, params(2), CLARIFY) == question(CLARIFY)


def test_a_budget_of_none_is_one_question() -> None:
    """An answer of this class that asks nothing would be empty."""
    assert enforce_clarify_shape("Which file? Which year?", params(0), CLARIFY) == "Which file?"
    assert allowed(params(0)) == 1


@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=30).map("".join),
    st.integers(0, 4),
)
def test_what_leaves_holds_its_class(text: str, questions: int) -> None:
    """Whatever the model wrote: questions within budget, and mending it again changes nothing."""
    mended = enforce_clarify_shape(text, params(questions), CLARIFY)
    assert check(mended, CLARIFY, params(questions), cited=(), tokens=0).broken == ()
    assert enforce_clarify_shape(mended, params(questions), CLARIFY) == mended
    assert 1 <= len(sentences(mended)) <= max(1, questions)
