"""How a prompt was put together, as JSON."""

import pytest

from app.answer import Block, Kind, Recipe, Ref, recipe_block
from app.answering.replay import Replayed
from app.api.specimens import REPLAY
from app.api.traced import BlockReply, RecipeReply, RefReply, ReplayReply, recipe, replay, ruling
from tests.stores.test_answers import RULED, RULING

KEPT = Recipe(
    "memories",
    recipe_block(Kind.INSTRUCTIONS, "You answer.", name="memories"),
    before=(recipe_block(Kind.OVERLAY, "Rhyme.", keep=True),),
    turns=(Block(Kind.TURN, "aa", "hello", "user", (Ref("chat_log", "7", "aa"),)),),
    ranking=3,
)


def test_a_recipe_shows_no_text() -> None:
    """Not even the request's own: kinds, names, hashes and references."""
    shown = recipe(KEPT)
    assert shown is not None
    RecipeReply.model_validate(shown)
    assert not any(text in str(shown) for text in ("You answer", "Rhyme", "hello"))
    assert shown["turns"][0] == {
        "kind": "turn",
        "name": "user",
        "sha256": "aa",
        "refs": [{"source": "chat_log", "id": "7", "sha256": "aa"}],
    }
    assert recipe(None) is None


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (RecipeReply, recipe(KEPT)),
        (BlockReply, (recipe(KEPT) or {})["system"]),
        (RefReply, (recipe(KEPT) or {})["turns"][0]["refs"][0]),
        (ReplayReply, replay("a", Replayed("ab", "ab"))),
        (ReplayReply, REPLAY),
    ],
    ids=["recipe", "block", "ref", "replay", "example"],
)
def test_schemas_have_the_fields_of_what_is_sent(model: type[RecipeReply], value: object) -> None:
    """No more and no fewer."""
    assert isinstance(value, dict)
    assert set(model.model_fields) == set(value)


def test_a_ruling_without_its_descriptors() -> None:
    """They are debug data, and how many turns were looked at is a replay's."""
    assert ruling(RULED.ruling) == {key: RULING[key] for key in RULING if key not in ("sd", "thread")}
    assert ruling(None) is None
