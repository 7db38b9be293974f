"""JSON lines up to the service, in batches: read as they are needed, each line with its number.

A batch that the service refuses for what it holds is sent again in halves, until the lines at fault are
found. Any other refusal, as for a project that keeps something else, ends the work. Raises `Answered`,
`Unavailable`, `Unreadable`.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

import typer

from app.cli.session import Answered, patient
from app.errors import IbidError

if TYPE_CHECKING:
    import httpx

STDIN = Path("-")
ROWS, BYTES = 32, 512 << 10
"""Of a batch: what a service takes some seconds for."""
LONGEST = 2 << 20
"""Bytes of a line: no request is larger."""
AT_ONCE = 1_000
"""Lines that are read in one go, in a thread."""
FAULTY = {400, 413, 422}
"""Statuses that speak of the rows, and not of the request."""
REJECTED = "urn:ibid:problem:rejected"


class Unreadable(IbidError):
    """The file cannot be read."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank."""

    number: int
    """From 1."""
    row: Mapping[str, Any] | None
    """None: it is no JSON object."""
    size: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that was not kept."""

    line: int
    problem: Mapping[str, Any]

    @property
    def why(self) -> str:
        """In one sentence, without the place in a request that nobody wrote."""
        return str(self.problem.get("detail") or self.problem.get("title")).replace("body.0.", "", 1)


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of some lines."""

    outcomes: Counter[str]
    refused: Sequence[Refused] = ()

    @property
    def lines(self) -> int:
        """How many."""
        return self.outcomes.total() + len(self.refused)


@dataclass
class Sum:
    """Of all of them."""

    outcomes: Counter[str] = field(default_factory=Counter)
    refused: int = 0

    def add(self, batch: Batch) -> None:
        """One batch more."""
        self.outcomes += batch.outcomes
        self.refused += len(batch.refused)

    @property
    def counts(self) -> dict[str, int]:
        """By what became of them."""
        told = {name: self.outcomes[name] for name in ("created", "replaced", "unchanged")}
        return told | {"refused": self.refused}


def there(file: Path | None) -> Path | None:
    """A file that an option names, or stdin."""
    if file is not None and file != STDIN and not file.is_file():
        raise typer.BadParameter(f"{file} is no file")
    return file


def size(file: Path) -> int | None:
    """Lines of a file; None: nobody knows, as of stdin."""
    if not file.is_file():
        return None
    try:
        with file.open("rb") as opened:
            return sum(piece.count(b"\n") for piece in iter(lambda: opened.read(1 << 20), b""))
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from error


async def lines(file: Path) -> AsyncGenerator[Line, None]:
    """In order; a thread reads some at a time."""
    try:
        source = nullcontext(sys.stdin.buffer) if file == STDIN else file.open("rb")
        with source as opened:
            number = 0
            while raw := await asyncio.to_thread(some, opened):
                for each in raw:
                    number += 1
                    if each.strip():
                        yield Line(number, parsed(each), len(each))
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from error


def some(opened: IO[bytes]) -> list[bytes]:
    """The next lines; of one that is far too long, its beginning."""
    found: list[bytes] = []
    total = 0
    while len(found) < AT_ONCE and total < LONGEST and (line := opened.readline(LONGEST + 1)):
        found.append(line)
        total += len(line)
        rest = line
        while len(rest) > LONGEST and not rest.endswith(b"\n"):
            rest = opened.readline(LONGEST + 1)
    return found


def parsed(line: bytes) -> Mapping[str, Any] | None:
    """A line's object; a byte order mark before the first is none of it."""
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


async def sent(
    client: "httpx.AsyncClient", kind: str, project: str, read: AsyncIterator[Line]
) -> AsyncGenerator[Batch, None]:
    """What became of each batch."""
    path = f"/projects/{quote(project, safe='')}/{kind}"
    async for batch in batches(read):
        good = [line for line in batch if line.row is not None]
        bad = [Refused(line.number, fault(line)) for line in batch if line.row is None]
        kept = await posted(client, path, good) if good else Batch(Counter())
        yield Batch(kept.outcomes, sorted([*bad, *kept.refused], key=lambda each: each.line))


async def batches(read: AsyncIterator[Line]) -> AsyncIterator[list[Line]]:
    """As many lines as go into one request."""
    batch: list[Line] = []
    async for line in read:
        if batch and (len(batch) == ROWS or sum(each.size for each in batch) + line.size > BYTES):
            yield batch
            batch = []
        batch.append(line)
    if batch:
        yield batch


def fault(line: Line) -> Mapping[str, Any]:
    """Why a line was not even sent."""
    if line.size > LONGEST:
        return {"title": "Too long", "detail": f"a row has {LONGEST >> 20} MiB at most"}
    return {"title": "Not a row", "detail": "not a JSON object"}


async def posted(client: "httpx.AsyncClient", path: str, batch: Sequence[Line]) -> Batch:
    """Rows of one request; refused, its halves."""
    try:
        told = await patient(lambda: client.post(path, json=[line.row for line in batch]))
    except Answered as answered:
        if answered.code not in FAULTY and answered.problem.get("type") != REJECTED:
            raise
        if len(batch) == 1:
            return Batch(Counter(), [Refused(batch[0].number, answered.problem)])
    else:
        return Batch(Counter(item["outcome"] for item in told["items"]))
    half = len(batch) // 2
    first, second = await posted(client, path, batch[:half]), await posted(client, path, batch[half:])
    return Batch(first.outcomes + second.outcomes, [*first.refused, *second.refused])
