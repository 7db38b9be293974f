"""A project's sources and its service, for tests of what stands on them: rows by hand, faults on demand."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

from app.errors import RetrievalError
from app.services.projects import ProjectContext
from app.types import Embedding, Hit, Legs, Passage, Query, Scope


@dataclass
class FakeRows:
    """Keeps `ProjectSource`, and its `Reach`, over passages by hand; a hung one never answers."""

    name: str
    passages: Sequence[Passage] = ()
    error: Exception | None = None
    hung: bool = False
    asked: list[tuple[Scope, int]] = field(default_factory=list)
    standing: str = "1"

    async def newest(self, scope: Scope, limit: int) -> list[Passage]:
        """The first ones."""
        return await self._given(scope, limit)

    async def most_similar(self, scope: Scope, vector: Embedding, limit: int) -> list[Passage]:
        """The first ones, whatever the vector."""
        assert vector
        return await self._given(scope, limit)

    async def reach(self, scope: Scope) -> "FakeRows":
        """Itself."""
        await self._given(scope, 0)
        return self

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """All of them, by the similarity they have; words find those that hold the whole query."""
        await embedding
        words = tuple(Hit(each.id, 1.0, 1.0, rare=True) for each in self.passages if query.text in each.text)
        return Legs(
            self.name,
            words=words,
            meaning=tuple(Hit(each.id, each.similarity or 0.0) for each in self.passages),
            passages={each.id: each for each in self.passages},
            stored=len(self.passages),
        )

    async def _given(self, scope: Scope, limit: int) -> list[Passage]:
        self.asked.append((scope, limit))
        if self.hung:
            await asyncio.Event().wait()
        if self.error:
            raise self.error
        return list(self.passages[:limit])


@dataclass
class FakeEmbedder:
    """One vector for everything, or none."""

    error: RetrievalError | None = None
    hung: bool = False
    asked: list[str] = field(default_factory=list)
    space: str = "fake"

    async def query(self, text: str) -> Embedding:
        """Counted."""
        self.asked.append(text)
        if self.hung:
            await asyncio.Event().wait()
        if self.error:
            raise self.error
        return b"\0\0\x80\x3f"

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Likewise."""
        return [await self.query(text) for text in texts]


@dataclass
class FakeProjects:
    """What the API asks of `ProjectService`."""

    asked: list[tuple[str, str | None, Scope, int | None]] = field(default_factory=list)

    async def build_project_context(
        self, project: str, user_message: str | None, scope: Scope, top_k: int | None = None
    ) -> ProjectContext:
        """The same for all."""
        self.asked.append((project, user_message, scope, top_k))
        return ProjectContext(context="### Heading\n\nentry", notes=["Retrieved 1 things"])
