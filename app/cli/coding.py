"""`ibid index code`: a repository, a folder or a file of it into a project, and kept up with it run by run.

Only what is new, changed or gone since the last run costs anything. Where most of what was indexed is not
found, the folder may be another one: then nothing is deleted without `--prune`. Exit 0; 1 when a file could
not be read or was refused, nothing was found, or what was not found stays.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from app.cli.progress import Progress, shown
from app.cli.session import connect
from app.cli.sync import AT_ONCE, BATCH_BYTES, BATCH_FILES, Report, Shelf, batched, hashed, visible
from app.cli.terminal import DataDir, Json, as_json, configured, counted, name, remark, run, tell
from app.cli.tree import Root, Skipped, Text, read, rooted, walk
from app.settings import Settings

SLICE = 50
"""Files read at a time, between two looks at the bar."""


def code(
    path: Annotated[Path, typer.Argument(exists=True, help="A repository, or a folder or file of one.")],
    project: Annotated[str, typer.Option(callback=name, help="Whose code it is.")],
    under: Annotated[
        str | None,
        typer.Option(
            help="Put in front of every path: for several repositories in one project. "
            "[default: the folder's name, where it is in no repository]"
        ),
    ] = None,
    *,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete what is not found, also if that is nearly all, or all.")
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Put code in, function by function, and follow what changes in it."""
    config, root, report = configured(data_dir), rooted(path), Report()
    began = time.monotonic()
    try:
        before = prefix(named(root) if under is None else under)
        run(indexed(config, root, project, before, report=report, prune=prune))
    except KeyboardInterrupt:
        remark(f"Interrupted. {report.summary(time.monotonic() - began)}")
        remark("What was put stays, and is searchable; the same command goes on from there.")
        raise
    ended(report, time.monotonic() - began, json=json)
    if report.failed:
        raise typer.Exit(1)


def ended(report: Report, seconds: float, *, json: bool) -> None:
    """What a run came to, told."""
    if json:
        as_json(report.as_json(seconds))
    else:
        for each in report.told:
            tell(visible(f"{each['path']}: {each['reason']}"))
        tell(report.summary(seconds))
    if not report.files and not report.deleted:
        remark("Nothing to index was found; what was indexed before stays as it is.")
    if report.kept:
        remark(
            f"{counted(report.kept, 'file')} of those indexed before, most of them, cannot be found here, "
            "and stay. If this is their folder, --prune deletes them; if not, --under keeps the two apart."
        )


def named(root: Root) -> str:
    """What stands in front of the paths of a folder that is in no repository: its name."""
    return visible(root.folder.name).replace("\\", "_") if root.alone else ""


def prefix(under: str) -> str:
    """`backend/` for any way to write it."""
    plain = "/".join(part for part in under.replace("\\", "/").split("/") if part not in {"", "."})
    return f"{plain}/" if plain else ""


async def indexed(
    config: Settings, root: Root, project: str, under: str, *, report: Report, prune: bool
) -> None:
    """A whole run, reported as it goes."""
    found = await asyncio.to_thread(lambda: list(walk(root)))
    for each in found:
        if isinstance(each, Skipped):
            report.skip(each)
    hashes = await hashes_of(root, [each for each in found if isinstance(each, str)], report)
    async with connect(config) as client:
        shelf = Shelf(client, project, under)
        known = await shelf.known(root)
        new = [path for path, sha256 in hashes.items() if known.get(path) != sha256]
        report.unchanged = len(hashes) - len(new)
        await put(shelf, root, new, report)
        lost = gone(known, hashes, report)
        if prune or followed(known, hashes, lost):
            report.deleted = await shelf.delete(lost)
        else:
            report.kept = len(lost)


async def hashes_of(root: Root, paths: Sequence[str], report: Report) -> dict[str, str]:
    """Of each file's text as it would be sent; those that have none are told as skipped."""
    hashes: dict[str, str] = {}
    with shown("Reading", len(paths)) as progress:
        for at in range(0, len(paths), SLICE):
            some = paths[at : at + SLICE]
            for text, sha256 in await asyncio.to_thread(weighed, root, some):
                if isinstance(text, Skipped):
                    report.skip(text)
                    continue
                hashes[text.path] = sha256
                if text.masked:
                    report.tell(text.path, f"secrets written over: {', '.join(text.masked)}")
            progress.add(len(some))
    return hashes


def weighed(root: Root, paths: Sequence[str]) -> list[tuple[Text | Skipped, str]]:
    """Files and their hashes."""
    texts = [read(root, path) for path in paths]
    return [(text, hashed(text) if isinstance(text, Text) else "") for text in texts]


async def put(shelf: Shelf, root: Root, paths: Sequence[str], report: Report) -> None:
    """Batches, a few under way at once."""
    began = time.monotonic()
    with shown("Indexing", len(paths)) as progress:
        running: set[asyncio.Task[int]] = set()
        try:
            async for texts in batches(root, paths):
                running.add(asyncio.create_task(shelf.put(texts, report)))
                if len(running) == AT_ONCE:
                    running = await first(running, progress, report, began)
            while running:
                running = await first(running, progress, report, began)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)


async def first(
    running: set[asyncio.Task[int]], progress: Progress, report: Report, began: float
) -> set[asyncio.Task[int]]:
    """Wait for one of them; those that are still under way."""
    done, left = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    running.difference_update(done)
    for task in done:
        rate = report.embedded / max(0.001, time.monotonic() - began)
        progress.add(task.result(), f"files, {counted(report.chunks, 'chunk')}, {rate:.0f}/s")
    return left


async def batches(root: Root, paths: Sequence[str]) -> AsyncIterator[list[Text]]:
    """Texts, read again: between two looks a file may change, and what is sent is what is told of it."""
    sizes = [(path, size) for path in paths if (size := await asyncio.to_thread(sized, root, path))]
    for some in batched(sizes, lambda each: each[1], BATCH_FILES, BATCH_BYTES):
        texts = await asyncio.to_thread(weighed, root, [path for path, _ in some])
        yield [text for text, _ in texts if isinstance(text, Text)]


def sized(root: Root, path: str) -> int:
    """Bytes; 0: it is gone."""
    try:
        return (root.folder / path).lstat().st_size
    except OSError:
        return 0


def gone(known: Iterable[str], seen: Mapping[str, str], report: Report) -> list[str]:
    """What is there and no more in the tree; not what could not be read, nor what lies in such a folder."""
    kept = tuple(f"{path}/" if path else "" for path in report.unread)
    return [path for path in known if path not in seen and not f"{path}/".startswith(kept)]


def followed(known: Mapping[str, str], seen: Mapping[str, str], lost: Sequence[str]) -> bool:
    """Whether what is kept (hash by path) is of the folder that was seen: half of it is there, maybe renamed.
    Two repositories share a few names, and one user's key may have put files by HTTP."""
    texts = set(seen.values())
    return 2 * sum(known[path] not in texts for path in lost) <= len(known)
