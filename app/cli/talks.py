"""`ibid index conversations` and `ibid index dreams`: JSON lines into a project.

A line is a row, its fields named as POST /projects/{project}/conversations takes them; blank lines are passed
over. A line that cannot be taken is told with its number, and the others are kept: exit 1. Interrupted and
run again, nothing doubles, and what is there already costs next to nothing.
"""

import json as jsonlib
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import typer

from app.cli.progress import shown
from app.cli.rows import Refused, Sum, lines, sent, size, there
from app.cli.session import connect
from app.cli.terminal import DataDir, Json, as_json, configured, counted, name, remark, run, tell
from app.db.projects import CONVERSATIONS, DREAMS
from app.settings import Settings

File = Annotated[Path, typer.Argument(callback=there, help="JSON lines; - is stdin.")]


def conversations(
    file: File,
    *,
    project: Annotated[str, typer.Option(callback=name, help="Whose they are.")],
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Keep conversations of a project: rows, or what was said, to be summed up."""
    kept(configured(data_dir), file, CONVERSATIONS, project, json=json)


def dreams(
    file: File,
    *,
    project: Annotated[str, typer.Option(callback=name, help="A project that keeps dreams.")] = "DAAS",
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Keep dreams: rows, or texts as they were written down, to be summed up."""
    kept(configured(data_dir), file, DREAMS, project, json=json)


def kept(config: Settings, file: Path, kind: str, project: str, *, json: bool) -> None:
    """All of a file, and the sum of it."""
    total = run(filled(config, file, kind, project, json=json))
    if json:
        as_json({"project": project, "kind": kind, **total.counts})
    else:
        tell(summary(total))
    if total.refused:
        raise typer.Exit(1)


async def filled(config: Settings, file: Path, kind: str, project: str, *, json: bool) -> Sum:
    """Batch by batch, telling of each line that was refused as it comes."""
    total = Sum()
    with shown(f"Reading {kind}", size(file)) as progress:
        async with (
            connect(config) as client,
            aclosing(lines(file)) as read,
            aclosing(sent(client, kind, project, read)) as ended,
        ):
            async for batch in ended:
                total.add(batch)
                progress.add(batch.lines, f"lines, {total.refused:,} refused")
                for each in batch.refused:
                    told(each, json=json)
    return total


def told(each: Refused, *, json: bool) -> None:
    """A line that was not kept, and why."""
    if json:
        tell(jsonlib.dumps({"line": each.line, "problem": each.problem}, ensure_ascii=False))
    else:
        remark(f"line {each.line:,}: {each.why}")


def summary(total: Sum) -> str:
    """`1,200 rows: 1,190 created, 8 unchanged, 2 refused`."""
    counts = {name: count for name, count in total.counts.items() if count}
    parts = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return f"{counted(sum(counts.values()), 'row')}{': ' if parts else ''}{parts}"
