"""One message's way through the sources: one embedding, all sections at once, honest reasons."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from app.answering.projects import Choice, Profile, code, profile_of, talk
from app.errors import RetrievalError
from app.retrieval.projects import RowSource
from app.retrieval.search import Retrieval
from app.services.projects import Excerpt, Means
from app.types import Degraded, Passage, Reason, Scope
from tests.fakes.projects import FakeEmbedder, FakeRows

MESSAGE = "How is the context built?"
MIXED = Profile("mixed", (replace(code(), choice=Choice.NEAREST), talk()))
"""One section by cosine, one by words and meaning."""


@dataclass
class Ground:
    """Two sources and an embedder."""

    code: FakeRows = field(default_factory=lambda: FakeRows("code", [passage("code", n) for n in "ab"]))
    talk: FakeRows = field(
        default_factory=lambda: FakeRows("conversations", [passage("conversations", n) for n in "ab"])
    )
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)

    def excerpt(self, message: str = MESSAGE, seconds: float = 5.0) -> Excerpt:
        """Begun now."""
        sources = {each.name: each for each in (self.code, self.talk)}
        retrieval = Retrieval(sources, self.embedder, seconds=seconds)
        until = asyncio.get_running_loop().time() + seconds
        return Excerpt(
            Means(cast(Mapping[str, RowSource], sources), retrieval, len, 0.2), Scope(), message, until
        )


def passage(source: str, name: str, similarity: float = 0.9) -> Passage:
    """With something to show."""
    fields = {"title": name, "file_path": name}
    return Passage(source, name, f"text {name}", 1, f"{source}#{name}", similarity, fields=fields)


async def test_sections_are_fetched_at_once() -> None:
    """Two hung stores cost one deadline, and only their sections."""
    ground = Ground()
    ground.code.hung = ground.talk.hung = True
    found = await ground.excerpt(seconds=0.3).of(profile_of("THN"), None)

    assert found.degraded == (Degraded("conversations", "timeout"), Degraded("code", "timeout"))


async def test_by_time_nothing_is_embedded() -> None:
    """Nor is anything searched."""
    ground = Ground()
    newest = Profile("n", (replace(talk(), choice=Choice.NEWEST),))
    found = await ground.excerpt().of(newest, None)

    assert [item.passage.id for item in found.items] == ["a", "b"]
    assert ground.embedder.asked == []


async def test_ways_may_be_mixed() -> None:
    """Each section by its own, in the profile's order."""
    found = await Ground().excerpt().of(MIXED, None)

    assert [(item.passage.source, item.passage.id) for item in found.items] == [
        ("code", "a"), ("code", "b"), ("conversations", "a"), ("conversations", "b"),
    ]  # fmt: skip


async def test_a_hung_embedding_leaves_the_stores_their_time() -> None:
    """Of a search by words and meaning the words are left."""
    ground = Ground(embedder=FakeEmbedder(hung=True))
    ground.talk.passages = [replace(passage("conversations", "w"), text=MESSAGE, similarity=None)]
    found = await ground.excerpt(seconds=0.4).of(MIXED, None)

    assert [item.passage.id for item in found.items] == ["w"]
    assert found.degraded == (Degraded("embedding", "timeout"),)
    assert found.notes[0] == "No code chunks retrieved: embedding timeout"


@pytest.mark.parametrize(
    ("stored", "fault", "message", "reason"),
    [
        (0.9, None, MESSAGE, Reason.OK),
        (0.1, None, MESSAGE, Reason.NO_MATCH),
        (None, None, MESSAGE, Reason.EMPTY),
        (0.9, RetrievalError("timeout"), MESSAGE, Reason.TIMEOUT),
        (0.9, RetrievalError("unavailable"), MESSAGE, Reason.UNAVAILABLE),
        (0.9, None, " ", Reason.NO_MATCH),
    ],
    ids=["ok", "no match", "empty", "timeout", "unavailable", "blank"],
)
async def test_the_reason_is_told(
    stored: float | None, fault: RetrievalError | None, message: str, reason: Reason
) -> None:
    """By what came of it."""
    ground = Ground()
    ground.talk.passages = [] if stored is None else [passage("conversations", "a", stored)]
    ground.talk.error = fault
    found = await ground.excerpt(message).of(Profile("garden", (talk(),)), None)

    assert found.reason is reason
    assert bool(found.context) is (reason is Reason.OK)


@pytest.mark.parametrize(
    ("error", "stored", "reason"),
    [(None, True, Reason.NO_MATCH), (None, False, Reason.EMPTY), ("timeout", True, Reason.NO_MATCH)],
    ids=["rows", "none", "not told"],
)
async def test_rows_without_a_vector_are_not_nothing(
    monkeypatch: pytest.MonkeyPatch, error: str | None, reason: Reason, *, stored: bool
) -> None:
    """None is near: `empty` is said only where nothing is stored."""
    ground = Ground()
    ground.code.passages = ground.code.passages if stored else []
    ground.code.error = RetrievalError("timeout") if error else None

    async def nobody(*_: object) -> list[Passage]:
        return []

    monkeypatch.setattr(ground.code, "most_similar", nobody)
    found = await ground.excerpt().of(Profile("n", (replace(code(), choice=Choice.NEAREST),)), None)

    assert found.reason is reason
    assert found.context == ""


async def test_a_source_that_is_not_there_is_told() -> None:
    """As one that failed."""
    ground = Ground()
    excerpt = ground.excerpt()
    retrieval = Retrieval({"code": ground.code}, ground.embedder, seconds=5)
    excerpt = replace(excerpt, means=replace(excerpt.means, retrieval=retrieval))
    found = await excerpt.of(profile_of("IBID"), None)

    assert found.degraded == (Degraded("conversations", "not_available"),)
    assert found.notes[1] == "No conversations retrieved: conversations not_available"
