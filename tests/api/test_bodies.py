"""Bodies alone: what fits and what does not, as laws."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.api.bodies import ChatBody, UploadBody

ALLOWED = string.ascii_letters + string.digits + "._:-"


def fits(**fields: object) -> bool:
    """Whether a question is taken."""
    try:
        ChatBody.model_validate({"message": "hi", "session_id": "s"} | fields)
    except ValidationError:
        return False
    return True


@given(st.text(alphabet=ALLOWED, min_size=1, max_size=200))
def test_every_session_id_of_the_contract_is_taken(session_id: str) -> None:
    """1-200 of letters, digits, `. _ : -`."""
    assert fits(session_id=session_id)


@given(st.text(max_size=300))
def test_no_other_session_id_is(session_id: str) -> None:
    """The reference is a regular expression of another engine."""
    assert fits(session_id=session_id) == bool(re.fullmatch(r"[A-Za-z0-9._:-]{1,200}", session_id))


@given(st.text(max_size=100))
def test_a_message_is_any_text_but_a_blank_one_and_nul(message: str) -> None:
    """Surrogates cannot be written; hypothesis makes none, the next test does."""
    assert fits(message=message) == (bool(message.strip()) and "\x00" not in message)


BLANKS = "".join(sign for sign in map(chr, range(0x3001)) if sign.isspace())


@given(st.text(alphabet=BLANKS, min_size=1, max_size=20), st.sampled_from(["?", "字", "\u200d", "\ud7ff"]))
def test_white_space_alone_asks_nothing(blank: str, sign: str) -> None:
    """Of any kind that Python strips; around a question it may stand."""
    assert not fits(message=blank)
    assert fits(message=f"{blank}{sign}{blank}")


def turns(count: int, length: int = 1) -> list[dict[str, str]]:
    """A history."""
    return [{"role": "user", "content": "x" * length}] * count


@pytest.mark.parametrize(
    ("largest", "larger"),
    [
        ({"notes": ["x"] * 50}, {"notes": ["x"] * 51}),
        ({"notes": ["x" * 8_000]}, {"notes": ["x" * 8_001]}),
        ({"history": turns(1_000)}, {"history": turns(1_001)}),
        ({"history": turns(1, 100_000)}, {"history": turns(1, 100_001)}),
    ],
    ids=["notes", "note", "turns", "turn"],
)
def test_lists_and_their_texts_have_an_end(largest: dict[str, object], larger: dict[str, object]) -> None:
    """Exactly at the limit they are taken."""
    assert fits(**largest)
    assert not fits(**larger)


@pytest.mark.parametrize("field", ["message", "session_id", "user_id", "thread_id", "project", "model"])
@pytest.mark.parametrize("sign", ["\x00", "\ud800"], ids=["nul", "surrogate"])
def test_no_text_field_takes_what_postgres_cannot_keep(field: str, sign: str) -> None:
    """Else the store would fail on it, later and less clearly."""
    assert not fits(**{field: f"a{sign}b"})


@pytest.mark.parametrize(
    "fields",
    [{"notes": ["a\x00"]}, {"history": [{"role": "user", "content": "a\x00"}]}],
    ids=["notes", "history"],
)
def test_nor_do_texts_inside_of_lists(fields: dict[str, object]) -> None:
    """They are kept too."""
    assert not fits(**fields)


@given(st.integers())
def test_top_k_has_its_lower_bound_here(top_k: int) -> None:
    """The upper one is a setting, and the route's."""
    assert fits(top_k=top_k) == (top_k >= 1)


@given(st.one_of(st.floats(), st.text(), st.booleans(), st.binary()))
def test_top_k_is_an_integer_and_nothing_like_one(top_k: object) -> None:
    """Strict: what a client means it can write."""
    assert not fits(top_k=top_k)


def test_a_body_cannot_be_changed() -> None:
    """It is what was sent."""
    body = ChatBody(message="hi", session_id="s")
    with pytest.raises(ValidationError):
        body.message = "other"  # type: ignore[misc] # that is the point


def test_defaults_are_the_contracts() -> None:
    """Limits and defaults of the body."""
    body = ChatBody(message="hi", session_id="s")

    assert (body.stream, body.remember, body.on_disconnect, body.notes) == (True, False, "cancel", [])


@pytest.mark.parametrize(("sent", "seconds"), [("0", 0), ("300", 300), ("0.25", 0.25)])
def test_a_forms_wait_is_a_number_in_text(sent: str, seconds: float) -> None:
    """Forms have no numbers."""
    form = UploadBody.model_validate({"session_id": "s", "wait": sent})

    assert form.wait == seconds


def test_a_form_waits_half_a_minute_by_default() -> None:
    """Limits and defaults of the form."""
    form = UploadBody.model_validate({"scope": "global"})

    assert (form.wait, form.replace) == (30, "false")
