"""Hand-written stand-ins of the intake's ports: they keep the contract and can be told to break it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.db.documents import ParsedDocument
from app.errors import IbidError
from app.types import Embedding
from tests.fakes.uploads import SPACE, parsed, vector

Step = Callable[[str], None]


class Crash(Exception):
    """The process dies here."""


@dataclass
class Fuse:
    """Breaks at the n-th step, once; notes every step."""

    at: int = 0
    steps: list[str] = field(default_factory=list)

    def __call__(self, step: str) -> None:
        """A step was made."""
        self.steps.append(step)
        if len(self.steps) == self.at:
            raise Crash(step)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens soon: five seconds at most."""
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


def no_fuse(step: str) -> None:
    """Nothing breaks."""


@dataclass
class FakeParser:
    """A chunk a line after the header; may wait, or fail."""

    step: Step = no_fuse
    error: IbidError | None = None
    gate: asyncio.Event | None = None
    paths: list[Path] = field(default_factory=list)

    async def parse(self, path: Path, filename: str) -> ParsedDocument:
        """Keeps `ports.Parser`."""
        self.paths.append(path)
        if self.gate:
            await self.gate.wait()
        if self.error:
            raise self.error
        text = await asyncio.to_thread(path.read_text)
        self.step("parse")
        return parsed(text.partition("\n")[2])


@dataclass
class FakeEmbedder:
    """Eight numbers a text; notes the sizes of batches."""

    step: Step = no_fuse
    error: IbidError | None = None
    short: int = 0
    """Vectors too few, as a broken server gives."""
    batches: list[list[str]] = field(default_factory=list)

    @property
    def space(self) -> str:
        """The fake space."""
        return SPACE.name

    async def query(self, text: str) -> Embedding:
        """One text."""
        return vector(text)

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Texts in order."""
        self.batches.append(list(texts))
        if self.error:
            raise self.error
        self.step("embed")
        return [vector(text) for text in texts][self.short :]
