"""`ibid ingest`: uploads files and folders, with one line of output per file: taken, already there, refused,
or failed.

Documents are global unless --session is given: files that a person ingests by hand are meant for every
session. Each file is followed until it is searchable. Refused (4xx) means that the file must change, failed
that the service must (5xx), or that the file cannot be read. Exit 0 if every file is in, 1 if one is not.
Raises `Unavailable`.
"""

import asyncio
import os
import time
from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.client import Answered, connect, taken
from app.cli.terminal import (
    DataDir,
    Json,
    as_json,
    configured,
    counted,
    progress,
    remark,
    run,
    session_id,
    tell,
)
from app.settings import Settings
from app.tasks import side_by_side

if TYPE_CHECKING:
    import httpx

AT_ONCE = 2
"""Concurrent uploads: the service reads one file while the next is sent."""
WAIT_SECONDS = 10
"""How long an upload waits for its document before it is polled instead."""
POLL_SECONDS = 0.5
PATIENCE_SECONDS = 3_600.0
"""Deadline of one file; others may be read before it."""


class Status(StrEnum):
    TAKEN = "taken"
    KNOWN = "known"
    REFUSED = "refused"
    FAILED = "failed"

    @property
    def is_in(self) -> bool:
        """True if the text can be found now."""
        return self in (Status.TAKEN, Status.KNOWN)

    @property
    def words(self) -> str:
        return "already there" if self is Status.KNOWN else str(self)


@dataclass(frozen=True, slots=True)
class UploadOptions:
    """The fields of `POST /api/documents`."""

    session: str | None
    replace: bool
    user: str | None = None
    """The owner; None: the tenant."""

    def fields(self) -> dict[str, str]:
        scope = {"scope": "global"} if self.session is None else {"session_id": self.session}
        user = {} if self.user is None else {"user_id": self.user}
        return {**scope, **user, "replace": str(self.replace).lower(), "wait": str(WAIT_SECONDS)}


@dataclass(frozen=True, slots=True)
class Outcome:
    path: Path
    status: Status
    document: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None

    @property
    def pages(self) -> int:
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
        """For machines; all keys are always present."""
        told = {"path": legible(self.path), "status": str(self.status)}
        return {**told, "document": self.document, "problem": self.problem}


def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(exists=True, help="PDFs, or folders searched for *.pdf; named files of any kind."),
    ],
    *,
    session: Annotated[
        str | None, typer.Option(callback=session_id, help="Keep them in this session.")
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--global", help="Keep them for every session (this is the default).")
    ] = False,
    user: Annotated[
        str | None, typer.Option(help="Who owns them: they are exported and erased with this user.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="A file replaces the stored one of the same name.")
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Add PDFs, so that questions find them."""
    if session is not None and everyone:
        raise typer.BadParameter("give --session or --global, not both")
    files = pdfs(paths)
    if not files:
        remark("No PDF found.")
        raise typer.Exit(1)
    form = UploadOptions(session, replace, user)
    outcomes = run(ingested(configured(data_dir), files, form, json=json))
    if not json:
        tell(summary(outcomes))
    if any(not outcome.status.is_in for outcome in outcomes):
        raise typer.Exit(1)


def pdfs(paths: list[Path]) -> list[Path]:
    """Each file once: named files as they are, folders for their *.pdf of any case."""
    files: dict[Path, Path] = {}
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in inside:
            if file == path or (file.suffix.lower() == ".pdf" and file.is_file()):
                files.setdefault(file.resolve(), file)
    return list(files.values())


async def ingested(config: Settings, files: list[Path], form: UploadOptions, *, json: bool) -> list[Outcome]:
    """Upload all files and print each outcome as it comes."""
    outcomes: list[Outcome] = []
    with progress("Opening", len(files)) as bar:

        async def sent(path: Path) -> Outcome:
            bar.now(legible(path.name))
            return await upload(client, path, form)

        async with connect(config) as client, aclosing(side_by_side(sent, files, AT_ONCE)) as ended:
            async for outcome in ended:
                outcomes.append(outcome)
                pages = sum(outcome.pages for outcome in outcomes)
                bar.add(1, f"files, {counted(pages, 'page')}")
                if json:
                    as_json(outcome.as_json())
                else:
                    tell(outcome.line())
    return outcomes


def summary(outcomes: list[Outcome]) -> str:
    """`27 files: 22 taken (2,544 pages), 1 already there, 4 refused`."""
    counts = Counter(outcome.status for outcome in outcomes)
    pages = sum(outcome.pages for outcome in outcomes if outcome.status is Status.TAKEN)
    parts = [f"{counts[status]:,} {status.words}" for status in Status if counts[status]]
    told = ", ".join(parts).replace("taken", f"taken ({counted(pages, 'page')})", 1)
    return f"{counted(len(outcomes), 'file')}: {told}"


def legible(path: Path | str) -> str:
    """A path as text that can be sent and shown. Names on disk are bytes, not always UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


async def upload(client: "httpx.AsyncClient", path: Path, form: UploadOptions) -> Outcome:
    try:
        with await asyncio.to_thread(path.open, "rb") as file:
            files = {"file": (legible(path.name), file, "application/pdf")}
            response = await client.post("/api/documents", data=form.fields(), files=files)
    except OSError as error:  # on opening or midway: a failing disk, a lost share
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


async def settled(client: "httpx.AsyncClient", document: dict[str, Any]) -> dict[str, Any]:
    """The document once it is ready or failed. Raises `Answered` after PATIENCE_SECONDS."""
    patience = time.monotonic() + PATIENCE_SECONDS
    while document["state"] == "processing":
        if time.monotonic() > patience:
            raise Answered({"title": "Still being read", "detail": "it goes on without us", "status": 504})
        await asyncio.sleep(POLL_SECONDS)
        document = taken(await client.get(f"/api/documents/{document['id']}"))
    return document
