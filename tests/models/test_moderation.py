"""The client of the outside judge of messages: both protocols spoken, and nothing taken but scores."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from app.errors import RetrievalError
from app.models.moderation import (
    ANSWER_BYTES,
    UNUSABLE,
    HttpModerator,
    address,
    guarded,
    moderated,
    open_moderator,
)
from app.settings import Settings, Vantage
from tests.fakes.judges import Ill, ModerationServer, moderation_server


@asynccontextmanager
async def moderator(
    server: ModerationServer, path: str = "", model: str | None = None
) -> AsyncIterator[HttpModerator]:
    knobs = Vantage(risk_url=server.url + path, risk_model=model, risk_api_key=SecretStr("k"))
    async with open_moderator(Settings(vantage=knobs)) as found:
        assert found
        yield found


async def test_a_moderation_endpoint_gives_its_scores() -> None:
    """By its own categories; the message and the key are sent, and the model where one is set."""
    async with moderation_server() as server, moderator(server, "/v1", "m-1") as found:
        server.scores = {"violence": 0.91234567, "self-harm/intent": 0.2, "illicit": None}
        assert await found.scores("How?\ud800") == {"violence": 0.9123, "self-harm/intent": 0.2}
        [request] = server.requests
    assert request.path == "/v1/moderations"
    assert request.headers["authorization"] == "Bearer k"
    assert request.body == {"model": "m-1", "input": "How??"}


@pytest.mark.parametrize(
    ("said", "scores"),
    [
        ("safe", {"harm": 0.0}),
        ("unsafe\nS1,S9", {"harm": 1.0}),
        ("\n\nunsafe\nS11", {"self-harm": 1.0}),
        ("unsafe S2,S11", {"harm": 1.0, "self-harm": 1.0}),
        ("Yes", {"harm": 1.0}),
        ("User Safety: unsafe\nSafety Categories: Violence", {"harm": 1.0}),
        ('{"User Safety": "safe"}', {"harm": 0.0}),
        ("<think>No, wait.</think>No.", {"harm": 0.0}),
    ],
)
async def test_a_guard_model_gives_a_verdict(said: str, scores: dict[str, float]) -> None:
    """Named by its path; it is sent the message alone."""
    async with moderation_server() as server, moderator(server, "/v1/chat/completions", "guard") as found:
        server.verdict = said
        assert await found.scores("How?") == scores
        [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body["messages"] == [{"role": "user", "content": "How?"}]


@pytest.mark.parametrize(
    ("ill", "reason", "rejected"),
    [
        (Ill(status=500), "unavailable", False),
        (Ill(status=401), "moderation", True),
        (Ill(status=302), "moderation", True),
        (Ill(body=b"no JSON"), "moderation", False),
        (Ill(body=b'{"results": []}'), "moderation", False),
        (Ill(body=b'{"results": [{"category_scores": {"x": NaN}}]}'), "moderation", False),
        (Ill(body=b" " * (ANSWER_BYTES + 1)), "moderation", False),
    ],
    ids=str,
)
async def test_a_fault_is_a_retrieval_fault(ill: Ill, reason: str, rejected: bool) -> None:
    """Nothing of the vendor's."""
    async with moderation_server() as server, moderator(server) as found:
        server.ill = ill
        with pytest.raises(RetrievalError) as caught:
            await found.scores("How?")
        assert (caught.value.reason, caught.value.rejected) == (reason, rejected)


async def test_a_dead_one_is_not_waited_for() -> None:
    """After several failures in a row; one that is late has failed only if it was left a second."""
    async with moderation_server() as server, moderator(server) as found:
        now = [0.0]
        found.breaker = type(found.breaker)(lambda: now[0])
        server.ill = Ill(status=503)
        for _ in range(3):
            with pytest.raises(RetrievalError):
                await found.scores("How?")
        asked = len(server.requests)
        with pytest.raises(RetrievalError, match="unavailable"):
            await found.scores("How?")
        assert len(server.requests) == asked
        now[0] += 6.0
        server.ill = Ill(delay=5)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await found.scores("How?")
        assert not found.breaker.refuses


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: (
            st.lists(x, max_size=3)
            | st.dictionaries(
                st.sampled_from(["results", "category_scores", "choices", "message", "content"]),
                x,
                max_size=3,
            )
        ),
        max_leaves=8,
    )
)
def test_law_anything_is_scores_or_unusable(value: Any) -> None:
    """Whatever a server says."""
    for read in (moderated, guarded):
        try:
            scores = read(json.dumps(value).encode())
        except UNUSABLE:
            continue
        assert all(0 <= score <= 1 for score in scores.values())


def test_an_address_is_completed() -> None:
    """Unless it names the path."""
    assert address("http://h/v1/") == "http://h/v1/moderations"
    assert address("http://h/v1/moderations") == "http://h/v1/moderations"
    assert address("http://h/v1/chat/completions") == "http://h/v1/chat/completions"
