"""How a prompt was put together."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import (
    DOCUMENT_FORM,
    GREETING_FORM,
    MEMORY_FORM,
    Form,
    Kind,
    Prompt,
    Role,
    Turn,
    recipe_block,
    sha256,
)
from app.answering.prompt import NAMED, PROJECT_FORM, SYSTEM, SYSTEM_MEMORY
from app.answering.replay import (
    BROUGHT,
    card_ref,
    card_sha256,
    filled,
    instructions,
    recipe_of,
    turn_block,
    turn_blocks,
    unkept,
)
from app.db.memories import Memory
from app.text.memo import Text

CARD = Memory("c1", "ann", "Sails.", 2, datetime(2026, 11, 1, tzinfo=UTC), kind="persona")


def test_a_text_is_kept_where_it_is_the_request_s_own() -> None:
    """Else its hash alone."""
    assert recipe_block(Kind.OVERLAY, "Rhyme.", keep=True).text == "Rhyme."
    assert recipe_block(Kind.PERSONA, "Sails.").text == ""
    assert recipe_block(Kind.PERSONA, "Sails.").sha256 == sha256("Sails.")


@pytest.mark.parametrize("name", NAMED)
def test_instructions_are_named(name: str) -> None:
    """So that what stands there today can be compared."""
    made = instructions(str(NAMED[name]))
    assert (made.name, made.text) == (name, "")


def test_no_two_instructions_are_the_same() -> None:
    """A name would not tell which."""
    assert len(set(NAMED.values())) == len(NAMED)


def test_instructions_without_a_name_keep_their_words() -> None:
    """They are the service's own, and stand nowhere else."""
    assert instructions("Answer.").text == "Answer."


def test_a_turn_of_the_log_is_a_reference_and_one_of_the_request_a_text() -> None:
    """The log may be erased; what a request brought along was never in it."""
    logged, brought = Turn(Role.USER, "hello", id="7"), Turn(Role.ASSISTANT, "hi")
    one, other = turn_block(logged), turn_block(brought)
    assert (one.text, one.name, one.refs[0].id, one.refs[0].sha256) == ("", "user", "7", sha256("hello"))
    assert (other.text, other.name, other.refs) == ("hi", "assistant", ())


def test_of_a_long_history_the_newest_turns_are_kept() -> None:
    """Together BROUGHT characters, without a gap; of the older ones the hash. The log's own cost nothing."""
    third = BROUGHT // 3
    texts = [letter * third for letter in "abcd"]
    turns = [Turn(Role.USER, text) for text in texts]
    logged = Turn(Role.ASSISTANT, "l" * BROUGHT, id="7")
    made = turn_blocks([turns[0], Turn(Role.USER, ""), *turns[1:3], logged, turns[3]])
    assert [item.text for item in made] == ["", "", *texts[1:3], "", texts[3]]
    assert [unkept(item) for item in made] == [True, *[False] * 5]
    assert [item.sha256 for item in made] == [
        sha256(text) for text in (texts[0], "", *texts[1:3], logged.content, texts[3])
    ]


def test_a_card_s_weights_are_part_of_its_hash() -> None:
    """Their order is not; the text of a profile may say nothing of them."""
    weighed = replace(CARD, fields={"weights": {"a": 1, "b": 2}})
    assert card_sha256(CARD) == sha256(CARD.text) == card_ref(CARD).sha256
    assert card_sha256(weighed) == card_sha256(replace(CARD, fields={"weights": {"b": 2, "a": 1}}))
    assert len({card_sha256(card) for card in (CARD, weighed, replace(weighed, fields={"weights": {}}))}) == 3


@pytest.mark.parametrize(
    ("form", "name"), [(DOCUMENT_FORM, "documents"), (MEMORY_FORM, "memories"), (GREETING_FORM, "greeting")]
)
def test_a_recipe_names_the_form(form: Form, name: str) -> None:
    """And has every block in the prompt's order, without those that are empty."""
    turn = Turn(Role.USER, "hello", id="7")
    prompt = Prompt(str(SYSTEM_MEMORY), "why?", turns=(turn,), form=form)
    before = (recipe_block(Kind.PERSONA, ""), recipe_block(Kind.OVERLAY, "Rhyme.", keep=True))
    note = recipe_block(Kind.NOTE, "Be brief.", keep=True)
    made = recipe_of(prompt, ranking=3, before=before, notes=(note,))
    assert (made.form, made.ranking) == (name, 3)
    assert made.blocks == (instructions(SYSTEM_MEMORY), before[1], note, turn_block(turn))


def test_empty_blocks_are_left_out() -> None:
    """Also where their text would have been kept."""
    assert filled([recipe_block(Kind.NOTE, "", keep=True), recipe_block(Kind.LENS, "")]) == ()


def test_a_text_that_remembers_is_hashed_once() -> None:
    """Every answer pays for its system text."""
    text = Text(str(SYSTEM))
    assert sha256(text) == sha256(str(text))
    assert list(text.memo.values()) == [sha256(str(text))]


@given(st.text(st.characters(codec=None)))
def test_law_every_text_has_a_hash(text: str) -> None:
    """64 hexadecimals, whatever is in it."""
    assert len(sha256(text)) == 64


def test_a_project_s_form_has_its_name_and_its_project_is_told() -> None:
    """A replay looks up both."""
    made = recipe_of(Prompt("S", "m", form=PROJECT_FORM), ranking=1, project="THN")
    assert (made.form, made.project) == ("project", "THN")
    assert recipe_of(Prompt("S", "m"), ranking=1).project is None
