"""The examples of the past, as clients will read them."""

from app.answer import Role, Turn
from app.answering.followup import resolve
from app.api import specimens
from app.api.replies import AnswerReply, SessionList, TurnList
from app.db.rows import opened


def test_they_are_of_their_schemas() -> None:
    """Every field of each."""
    for model, value in (
        (AnswerReply, specimens.ANSWER),
        (SessionList, specimens.SESSIONS),
        (TurnList, specimens.TURNS),
    ):
        model.model_validate(value)
        assert set(model.model_fields) == set(value)


def test_the_follow_up_would_be_searched_so() -> None:
    """By the service itself, after the turns of the other example."""
    turns = [Turn(Role(turn["role"]), turn["content"]) for turn in specimens.TURNS["items"]]
    assert resolve(specimens.ANSWER["question"], turns) == specimens.ANSWER["searched"]


def test_the_cursor_is_one_of_ours() -> None:
    """So that it can be tried."""
    assert opened(specimens.NEXT)[1] == "thesis"
