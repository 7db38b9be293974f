"""Rival sources: found where they answer differently, named, recorded, and asked back for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.types import Passage
from app.vantage.checks import HELP_ASKED, check, enforce_clarify_shape, question
from app.vantage.decision import decide
from app.vantage.rivals import MOST, STRENGTH, rivals
from app.vantage.terms import Evidence, Limits, Params, ResponseClass, Rival, Routing
from app.vantage.weigh import Weighed, rivalled, weigh

WHEN = "When is the deadline?"
PARAMS = Params(800, 3, 2, 0.5, 0.5)


def text(title: str, said: str, score: float = 0.8, collection: str = "plans") -> Passage:
    fields = {"collection": collection}
    return Passage("corpus", title or said, said, 9, f"plans#{title}", 0.5, score, title, fields)


def note(said: str, score: float = 0.8) -> Passage:
    return Passage("memories", said, said, 9, "memory#1", 0.5, score, "Memory of 7 May 2026")


def names(message: str, *passages: Passage, thread: tuple[str, ...] = ()) -> list[str]:
    return [rival.name for rival in rivals(message, passages, thread)]


HERON = text("Heron", "The deadline is 14 March.")
OSPREY = text("Osprey", "The deadline is on 2 May.", 0.75)
LEO, SAM = note("My nephew Leo is allergic to peanuts."), note("My nephew Sam is allergic to penicillin.")


@pytest.mark.parametrize(
    ("message", "passages", "named"),
    [
        pytest.param(WHEN, (HERON, OSPREY), ["Heron", "Osprey"], id="titles"),
        pytest.param("What is my nephew allergic to?", (LEO, SAM), ["Leo", "Sam"], id="people"),
        pytest.param(
            "What is the wifi password?",
            (note("Anna's wifi password is tulip44."), note("James' wifi password is rose12.")),
            ["Anna", "James"],
            id="whose it is",
        ),
        pytest.param(
            "When is the birthday?",
            (note("My brother Tom's birthday is 3 May."), note("Lena’s birthday is 9 June.")),
            ["brother Tom", "Lena"],
            id="a brother's",
        ),
        pytest.param(
            "What is the door code?",
            (note("The door code of the office is 4471."), note("The door code of the garage is 9032.")),
            ["office", "garage"],
            id="things",
        ),
        pytest.param(
            "Who signs the invoices?",
            (
                text("", "Invoices are signed by Odile.", collection="bakery"),
                text("", "It is Ramon who signs the invoices.", collection="winery"),
            ),
            ["bakery", "winery"],
            id="collections",
        ),
        pytest.param(
            "Wann ist die Abgabe fällig?",
            (
                text("Botanik", "Die Abgabe ist am 3. Februar fällig."),
                text("Optik", "Fällige Abgabe: 17. März."),
            ),
            ["Botanik", "Optik"],
            id="another language",
        ),
        pytest.param(
            "Срок сдачи отчёта?",
            (text("Сокол", "Срок сдачи отчёта 3 мая."), text("Ястреб", "Срок сдачи отчёта 12 июня.")),
            ["Сокол", "Ястреб"],
            id="a language without word lists",
        ),
    ],
)
def test_rivals_are_found_and_named(message: str, passages: tuple[Passage, ...], named: list[str]) -> None:
    """By title, collection, or the subject of a memory."""
    assert names(message, *passages) == named


@pytest.mark.parametrize(
    ("message", "passages"),
    [
        pytest.param("When is the deadline of Heron?", (HERON, OSPREY), id="named"),
        pytest.param(WHEN, (HERON, replace(OSPREY, text="Deadline: 14 March!")), id="they say the same"),
        pytest.param(WHEN, (HERON, replace(OSPREY, score=STRENGTH * 0.79)), id="one is clearly better"),
        pytest.param(WHEN, (HERON, replace(OSPREY, title="Heron")), id="one source"),
        pytest.param(WHEN, (HERON, replace(OSPREY, text="The deadline was discussed.")), id="no date in one"),
        pytest.param(WHEN, (HERON, text("Zoo", "It opens at 9.")), id="another subject"),
        pytest.param("Compare the deadlines.", (HERON, OSPREY), id="a comparison"),
        pytest.param("What is the deadline of both?", (HERON, OSPREY), id="both"),
        pytest.param("Which deadlines do I have?", (HERON, OSPREY), id="several"),
        pytest.param("Why is there a deadline?", (HERON, OSPREY), id="an explanation"),
        pytest.param("Is the deadline near?", (HERON, OSPREY), id="yes or no"),
        pytest.param("Write a note about the deadline.", (HERON, OSPREY), id="an order"),
        pytest.param(
            "Where do I live?", (note("I live in Graz."), note("I live in Linz now.")), id="newer memory"
        ),
        pytest.param(
            "What is the door code?",
            (note("The door code is 4471."), note("The door code is 9032 from today.")),
            id="newer number",
        ),
        pytest.param(WHEN, (HERON,), id="alone"),
        pytest.param(WHEN, (), id="nothing found"),
        pytest.param("", (HERON, OSPREY), id="nothing asked"),
    ],
)
def test_near_misses_are_answered(message: str, passages: tuple[Passage, ...]) -> None:
    """Whatever is clear, or no rivalry."""
    assert names(message, *passages) == []


def test_a_thread_that_names_one_settles_it() -> None:
    """In the asker's own words."""
    assert names(WHEN, HERON, OSPREY, thread=("I am working on Osprey.",)) == []
    assert names(WHEN, HERON, OSPREY, thread=("I am working a lot.",)) != []


@given(
    st.sampled_from([WHEN, "How many?", "Где?", ""]) | st.text(max_size=80),
    st.lists(st.tuples(st.text(max_size=30), st.text(max_size=120), st.floats(0, 1)), max_size=6),
)
def test_any_texts_can_be_compared(message: str, told: list[tuple[str, str, float]]) -> None:
    """The same each time; never one alone, never more than are named."""
    passages = [text(title, said, score) for title, said, score in told]
    found = rivals(message, passages)
    assert found == rivals(message, passages)
    assert len(found) == 0 or 2 <= len(found) <= MOST


RIVALS = tuple(Rival(name, "corpus", name, f"plans#{name}", 0.5) for name in ("Heron", "Osprey"))


def asked_back(
    message: str = WHEN, limits: Limits | None = None, routing: Routing | None = None
) -> Weighed | None:
    """A message over rivals, weighed."""
    limits, routing = limits or Limits(), routing or Routing()
    return rivalled(weigh(message, (), "", limits, routing), limits, routing, RIVALS)


def test_rivals_turn_a_comply_into_a_question_that_names_them() -> None:
    """The rule is told, the names are the evidence's, and the policy's own question holds its class."""
    again = asked_back()
    assert again is not None
    decision = again.decision
    assert (decision.response_class, decision.rules) == (ResponseClass.CLARIFY, ("rivals",))
    assert decision.names == ("Heron", "Osprey")
    assert question(decision) == "Do you mean “Heron” or “Osprey”?"
    assert check(question(decision), decision, PARAMS, cited=(), tokens=9).held


def test_the_decision_is_a_function_of_what_is_recorded() -> None:
    """The whole message weighed again with the evidence gives the same, overlay and all."""
    again = asked_back()
    assert again is not None
    assert weigh(WHEN, evidence=Evidence(rivals=RIVALS)) == again
    assert decide(again.sd, again.params, Limits(), Routing(), again.evidence) == again.decision


def test_a_models_question_names_them_too() -> None:
    """Else the policy's own is sent (`clarify.names`)."""
    again = asked_back()
    assert again is not None
    for said, held in (("Do you mean Heron, or Osprey?", True), ("Which project do you mean?", False)):
        shaped = enforce_clarify_shape(said, PARAMS, again.decision)
        assert check(shaped, again.decision, PARAMS, cited=(), tokens=9).held is held


def test_who_may_be_in_danger_is_asked_that_first() -> None:
    """Forced to ask, the policy asks whether help is needed."""
    forced = Routing(force=ResponseClass.CLARIFY)
    weighed = weigh("I want to die", (), "", None, forced, evidence=Evidence(rivals=RIVALS))
    assert question(weighed.decision) == HELP_ASKED


@given(st.lists(st.text(max_size=90), min_size=2, max_size=4))
def test_names_are_data(found: list[str]) -> None:
    """Whatever a title holds, the policy's text is one question of its class."""
    sources = tuple(Rival(name, "corpus", str(n), "plans#1", 0.5) for n, name in enumerate(found))
    decision = weigh(WHEN, evidence=Evidence(rivals=sources)).decision
    said = question(decision)
    assert said.count("?") == 1
    assert not set(said) & set("[]#<>`\n")
    assert enforce_clarify_shape("", PARAMS, decision) == said
