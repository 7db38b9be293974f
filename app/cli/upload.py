"""Files up to the service, a few at once, each followed until it is searchable or refused.

An outcome is told by what the service says of the file: taken, known (the same bytes were there), refused
(the file must change: 4xx), failed (the service must: 5xx, unreadable file). Raises `Unavailable`.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.session import Answered, taken
from app.cli.terminal import counted

if TYPE_CHECKING:
    import httpx

AT_ONCE = 2
"""The service reads one file while the next is on its way."""
WAIT_SECONDS = 10
"""How long an upload waits for its document before it is polled instead."""
POLL_SECONDS = 0.5
PATIENCE_SECONDS = 3_600.0
"""For one file; it may stand behind many others, of other people too."""


class Status(StrEnum):
    """What became of a file."""

    TAKEN = "taken"
    KNOWN = "known"
    REFUSED = "refused"
    FAILED = "failed"

    @property
    def is_in(self) -> bool:
        """Whether its text can be found now."""
        return self in (Status.TAKEN, Status.KNOWN)

    @property
    def words(self) -> str:
        """As people say it."""
        return "already there" if self is Status.KNOWN else str(self)


@dataclass(frozen=True, slots=True)
class Form:
    """Where the files go."""

    session: str | None
    """None: global."""
    replace: bool
    user: str | None = None
    """Whose they are; None: the tenant's."""

    def fields(self) -> dict[str, str]:
        """As the form of `POST /api/documents`."""
        where = {"scope": "global"} if self.session is None else {"session_id": self.session}
        whose = {} if self.user is None else {"user_id": self.user}
        return {**where, **whose, "replace": str(self.replace).lower(), "wait": str(WAIT_SECONDS)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One file's end."""

    path: Path
    status: Status
    document: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None

    @property
    def pages(self) -> int:
        """Pages read; 0 if refused."""
        return int(self.document["pages"]) if self.document and self.status.is_in else 0

    def line(self) -> str:
        """`taken    report.pdf: 120 pages, 310 passages`."""
        if self.problem is not None:
            title, detail = self.problem.get("title", ""), self.problem.get("detail", "")
            why = title if detail in ("", title) else f"{title}: {detail}"
        else:
            chunks = (self.document or {}).get("chunks", 0)
            why = f"{counted(self.pages, 'page')}, {counted(chunks, 'passage')}"
        return f"{self.status.words:<14} {legible(self.path)}: {why}"

    def as_json(self) -> dict[str, Any]:
        """For machines; the keys are always there."""
        told = {"path": legible(self.path), "status": str(self.status)}
        return {**told, "document": self.document, "problem": self.problem}


async def upload_all(
    client: "httpx.AsyncClient", paths: Iterable[Path], form: Form, begun: Callable[[str], None]
) -> AsyncGenerator[Outcome, None]:
    """Outcomes as they come, `AT_ONCE` uploads under way; `begun` hears the name of each."""
    waiting = iter(paths)
    running: set[asyncio.Task[Outcome]] = set()
    try:
        while True:
            for path in islice(waiting, AT_ONCE - len(running)):
                begun(legible(path.name))
                running.add(asyncio.create_task(upload(client, path, form)))
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def legible(path: Path | str) -> str:
    """A path as text that can be sent and shown. Names on disk are bytes, not always UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


async def upload(client: "httpx.AsyncClient", path: Path, form: Form) -> Outcome:
    """One file, from its bytes to its end."""
    try:
        response = await sent(client, path, form)
    except OSError as error:  # at its opening, or half-way: a disk that fails, a share that is gone
        problem = {"title": "The file cannot be read", "detail": error.strerror or str(error)}
        return Outcome(path, Status.FAILED, problem=problem)
    try:
        document = await settled(client, taken(response))
    except Answered as answered:
        status = Status.REFUSED if answered.code < 500 else Status.FAILED
        return Outcome(path, status, problem=dict(answered.problem))
    if document["state"] == "failed":
        return Outcome(path, Status.REFUSED, document, document.get("problem") or {})
    return Outcome(path, Status.KNOWN if response.status_code == 200 else Status.TAKEN, document)


async def sent(client: "httpx.AsyncClient", path: Path, form: Form) -> "httpx.Response":
    """What the service answers to the file."""
    with await asyncio.to_thread(path.open, "rb") as file:
        files = {"file": (legible(path.name), file, "application/pdf")}
        return await client.post("/api/documents", data=form.fields(), files=files)


async def settled(client: "httpx.AsyncClient", document: dict[str, Any]) -> dict[str, Any]:
    """The document once it is ready or failed. `Answered` if that takes longer than anybody waits."""
    patience = time.monotonic() + PATIENCE_SECONDS
    while document["state"] == "processing":
        if time.monotonic() > patience:
            raise Answered({"title": "Still being read", "detail": "it goes on without us", "status": 504})
        await asyncio.sleep(POLL_SECONDS)
        document = taken(await client.get(f"/api/documents/{document['id']}"))
    return document
