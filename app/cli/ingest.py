"""`ibid ingest`: files and folders in, one line a file: taken, already there, or refused and why.

Global unless --session is given: what a person ingests by hand is meant for every session, and `ibid ask`
finds it without naming one. Exit 0 when every file is in, 1 when one is not.
"""

import json as jsonlib
from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import typer

from app.cli.progress import shown
from app.cli.session import connect
from app.cli.terminal import DataDir, Json, configured, counted, remark, run, session_id, tell
from app.cli.upload import Form, Outcome, Status, upload_all
from app.settings import Settings


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
        str | None, typer.Option(help="Whose they are: exported and erased with this user.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="A file of the same name takes the old one's place.")
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Put PDFs in, so that questions find them."""
    if session is not None and everyone:
        raise typer.BadParameter("give --session or --global, not both")
    files = found(paths)
    if not files:
        remark("No PDF found.")
        raise typer.Exit(1)
    form = Form(session, replace, user)
    outcomes = run(ingested(configured(data_dir), files, form, json=json))
    if not json:
        tell(summary(outcomes))
    if any(not outcome.status.is_in for outcome in outcomes):
        raise typer.Exit(1)


def found(paths: list[Path]) -> list[Path]:
    """Each file once: the named ones as they are, folders for their *.pdf of any case."""
    files: dict[Path, Path] = {}
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in inside:
            if file == path or (file.suffix.lower() == ".pdf" and file.is_file()):
                files.setdefault(file.resolve(), file)
    return list(files.values())


async def ingested(config: Settings, files: list[Path], form: Form, *, json: bool) -> list[Outcome]:
    """Upload all, telling of each as it ends."""
    outcomes: list[Outcome] = []
    with shown("Opening", len(files)) as progress:
        async with (
            connect(config) as client,
            aclosing(upload_all(client, files, form, progress.now)) as ended,
        ):
            async for outcome in ended:
                outcomes.append(outcome)
                pages = sum(outcome.pages for outcome in outcomes)
                progress.add(1, f"files, {counted(pages, 'page')}")
                tell(jsonlib.dumps(outcome.as_json(), ensure_ascii=False) if json else outcome.line())
    return outcomes


def summary(outcomes: list[Outcome]) -> str:
    """`27 files: 22 taken (2,544 pages), 1 already there, 4 refused`."""
    counts = Counter(outcome.status for outcome in outcomes)
    pages = sum(outcome.pages for outcome in outcomes if outcome.status is Status.TAKEN)
    parts = [f"{counts[status]:,} {status.words}" for status in Status if counts[status]]
    told = ", ".join(parts).replace("taken", f"taken ({counted(pages, 'page')})", 1)
    return f"{counted(len(outcomes), 'file')}: {told}"
