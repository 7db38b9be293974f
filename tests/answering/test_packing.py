"""What a retrieval came to, in one word."""

import pytest

from app.answering.budget import Selection, reason_of
from app.types import Degraded, Found
from tests.fakes.answering import passage

NOTHING = Selection((), (), short=False)
SOME = Selection((passage("a"),), (), short=False)


@pytest.mark.parametrize(
    ("found", "selection", "reason"),
    [
        pytest.param(Found(stored=1, answered=1), SOME, "ok", id="ok"),
        pytest.param(Found(stored=1, answered=1, cached=True), SOME, "ok", id="ok, cached"),
        pytest.param(Found(stored=1, answered=1), NOTHING, "no_match", id="nothing fits"),
        pytest.param(Found(stored=0, answered=1), NOTHING, "empty", id="nothing stored"),
        pytest.param(Found(degraded=(Degraded("documents", "timeout"),)), NOTHING, "timeout", id="late"),
        pytest.param(
            Found(degraded=(Degraded("documents", "unavailable"),)), NOTHING, "unavailable", id="down"
        ),
        pytest.param(
            Found(stored=1, answered=1, degraded=(Degraded("embedding", "timeout"),)),
            SOME,
            "ok",
            id="partial",
        ),
        pytest.param(
            Found(answered=1, degraded=(Degraded("corpus", "unavailable"),)),
            NOTHING,
            "unavailable",
            id="who knows what the other has",
        ),
        pytest.param(
            Found(answered=1, degraded=(Degraded("rewrite", "timeout"),)),
            NOTHING,
            "empty",
            id="nothing stored, nor reworded",
        ),
        pytest.param(
            Found(degraded=(Degraded("documents", "unavailable"), Degraded("rewrite", "timeout"))),
            NOTHING,
            "unavailable",
            id="down, and a late rewording",
        ),
        pytest.param(
            Found(answered=1, degraded=(Degraded("code", "not_available"),)),
            NOTHING,
            "empty",
            id="no such source",
        ),
    ],
)
def test_the_reason_follows_from_what_answered(found: Found, selection: Selection, reason: str) -> None:
    """One source was asked; that the result was kept makes no difference."""
    assert reason_of(found, 1, selection) == reason
