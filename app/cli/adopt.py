"""`ibid adopt`: what older tools wrote into the projects' tables and into Qdrant, taken over.

Their rows, vectors and collections stay as they are, and their tools go on working. It needs the data folder
for itself; interrupted, or run again, it does what is left. Exit 1 if another tool kept writing.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from app.cli.progress import shown
from app.cli.terminal import DataDir, Json, as_json, configured, counted, remark, run, tell
from app.errors import RetrievalError, Unavailable
from app.services.adopt import Adopt, Report, Taken
from app.settings import Settings
from app.wiring import open_adopt

LOST = {"embedding": "the embedding model does not answer", "": "Qdrant does not answer"}
"""By the reason."""


def adopt(
    *,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be done; a sample is embedded, nothing taken.")
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Take over what older tools wrote, beside them."""
    report = run(adopted(configured(data_dir), dry=dry))
    if json:
        as_json({"dry_run": dry} | asdict(report))
    else:
        for line in lines(report, dry=dry):
            tell(line)
    if report.waiting:
        remark(f"{report.waiting}: the service goes on with it when it runs.")
    if report.left:
        remark(f"{counted(report.left, 'row')} changed meanwhile, by another tool: run ibid adopt again.")
        raise typer.Exit(1)


async def adopted(config: Settings, *, dry: bool) -> Report:
    """What was done, or would be."""
    try:
        async with open_adopt(config) as work:
            return await (work.plan() if dry else whole(work))
    except RetrievalError as error:
        raise Unavailable(
            f"{LOST.get(error.reason, LOST[''])}; run it again: what is done is kept"
        ) from error


async def whole(work: Adopt) -> Report:
    """With a bar."""
    with shown("Taking over", await work.total()) as progress:
        async for taken in work.run():
            progress.add(taken)
    return work.report


def lines(report: Report, *, dry: bool = False) -> Iterator[str]:
    """For people: a line a table and a collection."""
    yield f"{'Would be' if dry else 'Are'} in {report.space}:"
    for each in (*report.tables, *report.collections):
        yield f"  {each.name}: {said(each)}"
    turns, traces = report.older.turns, report.older.traces
    yield f"  public.chat_log: {counted(turns, 'turn')} of older tools, read as they are"
    yield f"  public.vantage_answer_trace: {counted(traces, 'answer')} of older tools, as they are"


def said(taken: Taken) -> str:
    """`3 embedded anew, 40 with the vectors they have, 1 without text left alone`."""
    parts = (
        (taken.kept, "with the vectors they have"),
        (taken.embedded, f"embedded anew{f' into {taken.home}' if taken.home else ''}"),
        (taken.silent, "without text left alone"),
        (taken.unowned, "without a user left alone"),
        (taken.left, "changed meanwhile"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in parts if count) or "nothing to do"
