"""`ibid migrate`, `ibid reembed` and `ibid adopt`: work on the stores themselves, without a service on the
folder.

`reembed` and `adopt` need the data folder for themselves. Interrupted, or run again, they do what is left.
`adopt` leaves the rows, vectors and collections of older tools as they are; it exits with 1 if another tool
kept writing.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from app.cli.store import open_store
from app.cli.terminal import DataDir, Json, as_json, configured, counted, progress, remark, run, tell
from app.errors import RetrievalError, Unavailable
from app.services.adopt import AdoptReport, Taken
from app.settings import Settings
from app.wiring import open_adopt, open_reembed


def migrate(*, json: Json = False, data_dir: DataDir = None) -> None:
    """Bring the database up to date; the service also does this at its start."""
    run(migrated(configured(data_dir)))
    if json:
        as_json({"migrated": True})
    else:
        tell("The database is up to date.")


async def migrated(config: Settings) -> None:
    async with open_store(config):
        pass


def reembed(json: Json = False, data_dir: DataDir = None) -> None:
    """Move what is stored to the configured embedding model."""
    chunks = run(reembedded(configured(data_dir)))
    if json:
        as_json({"chunks": chunks})
    else:
        tell(f"{counted(chunks, 'passage')} embedded anew.")


async def reembedded(config: Settings) -> int:
    """The number of passages that this run embedded."""
    chunks = 0
    async with open_reembed(config) as work:
        with progress("Embedding", await work.total()) as bar:
            async for taken in work.run():
                chunks += taken
                bar.add(taken, "passages")
        for waiting in work.waiting:
            remark(f"{waiting}: the service goes on with it when it runs.")
    return chunks


def adopt(
    *,
    dry: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what would be done; a sample is embedded, nothing is taken over."
        ),
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Take over what older tools wrote, beside them."""
    report = run(adopted(configured(data_dir), dry=dry))
    if json:
        as_json({"dry_run": dry} | asdict(report))
    else:
        for line in adopted_lines(report, dry=dry):
            tell(line)
    if report.waiting:
        remark(f"{report.waiting}: the service goes on with it when it runs.")
    if report.left:
        remark(f"{counted(report.left, 'row')} changed meanwhile, by another tool: run ibid adopt again.")
        raise typer.Exit(1)


async def adopted(config: Settings, *, dry: bool) -> AdoptReport:
    try:
        async with open_adopt(config) as work:
            if dry:
                return await work.plan()
            with progress("Taking over", await work.total()) as bar:
                async for taken in work.run():
                    bar.add(taken)
            return work.report
    except RetrievalError as error:
        lost = "the embedding model" if error.reason == "embedding" else "Qdrant"
        raise Unavailable(f"{lost} does not answer; run it again: what is done is kept") from error


def adopted_lines(report: AdoptReport, *, dry: bool = False) -> Iterator[str]:
    """A line for each table and collection."""
    yield f"{'Would be' if dry else 'Are'} in {report.space}:"
    for each in (*report.tables, *report.collections):
        yield f"  {each.name}: {adopted_counts(each)}"
    turns, traces = report.older.turns, report.older.traces
    yield f"  public.chat_log: {counted(turns, 'turn')} of older tools, read as they are"
    yield f"  public.vantage_answer_trace: {counted(traces, 'answer')} of older tools, as they are"


def adopted_counts(taken: Taken) -> str:
    """`3 embedded anew, 40 with the vectors they have, 1 without text left alone`."""
    parts = (
        (taken.kept, "with the vectors they have"),
        (taken.embedded, f"embedded anew{f' into {taken.home}' if taken.home else ''}"),
        (taken.silent, "without text left alone"),
        (taken.unowned, "without a user left alone"),
        (taken.left, "changed meanwhile"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in parts if count) or "nothing to do"
