"""`ibid index`: fills projects from files: code of a repository, conversations and dreams as JSON lines.

`code` synchronises a project with a folder; new files are put before missing ones are deleted, so that a
renamed file keeps its vectors. If most indexed files are missing, nothing is deleted without `--prune`.
`conversations` and `dreams` read a row a line, as POST /projects/{project}/conversations takes it. Exit 1 if
a file or line was refused or unreadable, nothing was found, or missing files were kept. Raises `Answered`,
`Unavailable`, `Unreadable`.
"""

import asyncio
import hashlib
import json as jsonlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

import typer

from app.cli.client import Answered, connect, patient, taken
from app.cli.repository import FileText, Root, Skipped, SkipReason, read, rooted, walk
from app.cli.terminal import (
    STDIN,
    DataDir,
    Json,
    Unreadable,
    as_json,
    configured,
    counted,
    input_file,
    name,
    progress,
    remark,
    run,
    tell,
)
from app.settings import Settings
from app.tasks import side_by_side
from app.types import CONVERSATIONS, DREAMS

if TYPE_CHECKING:
    import httpx

SLICE = 50
"""Files read between two updates of the bar."""
AT_ONCE = 2
"""Concurrent requests with files."""
BATCH_BYTES, BATCH_FILES = 48 << 10, 50
"""Of a request with files: a hundred chunks, a second or two of the bundled embedder."""
PATIENCE_SECONDS = 600.0
"""Deadline of a reply: a large file on a busy machine takes minutes."""
DELETED, DELETED_BYTES = 100, 4_000
"""Paths of a request, and their length in its URL."""
ROWS, ROW_BYTES = 32, 512 << 10
"""Of a request with rows: some seconds of the service."""
LONGEST_LINE = 2 << 20
"""Bytes: no request is larger."""
ROW_FAULTS = {400, 413, 422}
"""Statuses about the rows, not the request."""
REJECTED = "urn:ibid:problem:rejected"

Item = TypeVar("Item")

index = typer.Typer(no_args_is_help=True, help="Add what projects know: code, conversations, dreams.")


@dataclass
class Report:
    """Result of a run of `index code`."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    deleted: int = 0
    kept: int = 0
    """Missing files that were not deleted: this looks like another folder."""
    refused: int = 0
    chunks: int = 0
    """Chunks of the files that were put."""
    embedded: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    told: list[dict[str, str]] = field(default_factory=list)
    """{path, reason} of secrets, and of files that were refused or could not be read."""

    unread: list[str] = field(default_factory=list)
    """Files and folders that could not be read."""

    @property
    def failed(self) -> bool:
        """True if the index differs from the folder."""
        return bool(self.refused or self.unread or self.kept or not (self.files or self.deleted))

    @property
    def files(self) -> int:
        return self.added + self.changed + self.unchanged + self.refused

    def summary(self, seconds: float) -> str:
        """`2,000 files: 12 added, 1,988 unchanged; 345 chunks, 310 embedded in 4.6 s (67/s); left out: …`."""
        names = ("added", "changed", "unchanged", "deleted", "refused")
        counts = [f"{getattr(self, name):,} {name}" for name in names if getattr(self, name)]
        rate = f" ({self.embedded / seconds:.0f}/s)" if self.embedded and seconds else ""
        parts = [f"{counted(self.files, 'file')}: {', '.join(counts) or 'nothing'}"]
        parts += [f"{counted(self.chunks, 'chunk')}, {self.embedded:,} embedded in {seconds:.1f} s{rate}"]
        left = [f"{count:,} {reason}" for reason, count in self.skipped.most_common()]
        return "; ".join([*parts, f"left out: {', '.join(left)}"] if left else parts)

    def as_json(self, seconds: float) -> dict[str, Any]:
        """For machines; all keys are always present."""
        told = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "unread"}
        return told | {"skipped": dict(self.skipped), "seconds": round(seconds, 3)}

    def skip(self, skipped: Skipped) -> None:
        self.skipped[str(skipped.reason)] += 1
        if skipped.reason is SkipReason.UNREADABLE:
            self.unread.append(skipped.path)
        if skipped.reason in {SkipReason.SECRET, SkipReason.UNREADABLE, SkipReason.NAME, SkipReason.LARGE}:
            self.tell(skipped.path, str(skipped.reason))

    def tell(self, path: str, reason: str) -> None:
        self.told.append({"path": path.encode("utf-8", "backslashreplace").decode(), "reason": reason})

    def put(self, items: Iterable[dict[str, Any]]) -> None:
        for item in items:
            setattr(self, item["outcome"], getattr(self, item["outcome"]) + 1)
            if item["outcome"] != "unchanged":  # another run may have put it meanwhile
                self.chunks += item["chunks"]
                self.embedded += item["embedded"]
            if item.get("note"):
                self.tell(item["path"], item["note"])


@dataclass(frozen=True, slots=True)
class CodeFiles:
    """The files of a project in the service; `under` prefixes every path."""

    client: "httpx.AsyncClient"
    project: str
    under: str = ""

    async def known(self, root: Root) -> dict[str, str]:
        """SHA-256 by path, of the files in the part that is indexed."""
        found: dict[str, str] = {}
        after: str | None = None
        while True:
            asked = {"limit": 1_000} | ({"cursor": after} if after else {})
            page = taken(await self.client.get(self._address, params=asked))
            for item in page["items"]:
                path = item["path"]
                if path.startswith(self.under) and root.holds(path[len(self.under) :]):
                    found[path[len(self.under) :]] = item["sha256"]
            after = page["next"]
            if after is None:
                return found

    async def put(self, texts: Sequence[FileText], report: Report) -> int:
        """Put files; a refused request is sent again file by file. Returns the number of files."""
        if not texts:
            return 0
        files = [{"path": self.under + text.path, "text": text.text} for text in texts]
        try:
            report.put((await self._ask("PUT", json={"files": files}))["items"])
        except Answered as answered:
            if answered.code in {401, 403} or answered.code >= 500:
                raise
            if len(texts) > 1:
                return sum([await self.put([text], report) for text in texts])
            report.refused += 1
            report.tell(texts[0].path, answered.detail)
        return len(texts)

    async def delete(self, paths: Sequence[str]) -> int:
        """Returns how many of the files existed."""
        removed = 0
        for some in batched(paths, lambda path: len(quote(path)) + 6, DELETED, DELETED_BYTES):
            named = [("path", self.under + path) for path in some]
            removed += (await self._ask("DELETE", params=named))["removed"]
        return removed

    @property
    def _address(self) -> str:
        return f"/projects/{quote(self.project, safe='')}/code/files"

    async def _ask(self, method: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - httpx's own
        return await patient(
            lambda: self.client.request(method, self._address, timeout=PATIENCE_SECONDS, **more)
        )


@index.command()
def code(
    path: Annotated[Path, typer.Argument(exists=True, help="A repository, or a folder or file of one.")],
    project: Annotated[str, typer.Option(callback=name, help="Whose code it is.")],
    under: Annotated[
        str | None,
        typer.Option(
            help="Put in front of every path: for several repositories in one project.",
            show_default="the name of a folder that is in no repository",
        ),
    ] = None,
    *,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete what is not found, even if that is most or all of it.")
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Index code, function by function, and follow its changes."""
    config, root, report = configured(data_dir), rooted(path), Report()
    began = time.monotonic()
    try:
        run(indexed(config, root, project, prefix(root, under), report=report, prune=prune))
    except KeyboardInterrupt:
        remark(f"Interrupted. {report.summary(time.monotonic() - began)}")
        remark("What was put stays, and is searchable; the same command goes on from there.")
        raise
    print_report(report, time.monotonic() - began, json=json)
    if report.failed:
        raise typer.Exit(1)


def prefix(root: Root, under: str | None) -> str:
    """`backend/` for any spelling of it; by default the name of a folder that is in no repository."""
    if under is None:
        under = visible(root.folder.name).replace("\\", "_") if root.alone else ""
    plain = "/".join(part for part in under.replace("\\", "/").split("/") if part not in {"", "."})
    return f"{plain}/" if plain else ""


def print_report(report: Report, seconds: float, *, json: bool) -> None:
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


async def indexed(
    config: Settings, root: Root, project: str, under: str, *, report: Report, prune: bool
) -> None:
    found = await asyncio.to_thread(lambda: list(walk(root)))
    for each in found:
        if isinstance(each, Skipped):
            report.skip(each)
    hashes = await hashes_of(root, [each for each in found if isinstance(each, str)], report)
    async with connect(config) as client:
        files = CodeFiles(client, project, under)
        known = await files.known(root)
        new = [path for path, sha256 in hashes.items() if known.get(path) != sha256]
        report.unchanged = len(hashes) - len(new)
        await put_all(files, root, new, report)
        lost = missing(known, hashes, report.unread)
        if prune or same_folder(known, hashes, lost):
            report.deleted = await files.delete(lost)
        else:
            report.kept = len(lost)


async def hashes_of(root: Root, paths: Sequence[str], report: Report) -> dict[str, str]:
    """SHA-256 of each file's text as it would be sent; files without one are reported as skipped."""
    hashes: dict[str, str] = {}
    with progress("Reading", len(paths)) as bar:
        for at in range(0, len(paths), SLICE):
            some = paths[at : at + SLICE]
            for text, sha256 in await asyncio.to_thread(read_all, root, some):
                if isinstance(text, Skipped):
                    report.skip(text)
                    continue
                hashes[text.path] = sha256
                if text.masked:
                    report.tell(text.path, f"secrets written over: {', '.join(text.masked)}")
            bar.add(len(some))
    return hashes


def read_all(root: Root, paths: Sequence[str]) -> list[tuple[FileText | Skipped, str]]:
    """Files and the SHA-256 of their texts, as the service computes it (`CodeFile` in `db/code.py`)."""
    texts = [read(root, path) for path in paths]
    return [
        (each, hashlib.sha256(each.text.encode("utf-8", "surrogatepass")).hexdigest())
        if isinstance(each, FileText)
        else (each, "")
        for each in texts
    ]


async def put_all(files: CodeFiles, root: Root, paths: Sequence[str], report: Report) -> None:
    """Put files in batches, AT_ONCE concurrently: the service embeds one while it cuts the next."""

    def size(path: str) -> int:
        try:
            return (root.folder / path).lstat().st_size
        except OSError:
            return 0

    async def put(some: Sequence[str]) -> int:
        # Read again: a file may have changed since it was hashed.
        texts = await asyncio.to_thread(read_all, root, some)
        return await files.put([text for text, _ in texts if isinstance(text, FileText)], report)

    began = time.monotonic()
    batches = batched(paths, size, BATCH_FILES, BATCH_BYTES)
    with progress("Indexing", len(paths)) as bar:
        async with aclosing(side_by_side(put, batches, AT_ONCE)) as counts:
            async for count in counts:
                rate = report.embedded / max(0.001, time.monotonic() - began)
                bar.add(count, f"files, {counted(report.chunks, 'chunk')}, {rate:.0f}/s")


def missing(known: Iterable[str], seen: Mapping[str, str], unread: Iterable[str]) -> list[str]:
    kept = tuple(f"{path}/" if path else "" for path in unread)
    return [path for path in known if path not in seen and not f"{path}/".startswith(kept)]


def same_folder(known: Mapping[str, str], seen: Mapping[str, str], lost: Sequence[str]) -> bool:
    """True if half of the indexed files are there, maybe renamed. Two repositories share a few names, and
    files may have been put by HTTP."""
    texts = set(seen.values())
    return 2 * sum(known[path] not in texts for path in lost) <= len(known)


def visible(text: str) -> str:
    """On one line of a terminal: names may hold line ends and terminal commands."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


@dataclass(frozen=True, slots=True)
class InputLine:
    number: int
    row: Mapping[str, Any] | None
    """None if it is no JSON object."""
    size: int


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that was not stored."""

    line: int
    problem: Mapping[str, Any]

    @property
    def why(self) -> str:
        """One sentence, without the position in a request that the user did not write."""
        return (
            str(self.problem.get("detail") or self.problem.get("title"))
            .removeprefix("entry 0 ")
            .removeprefix("0.")
        )


@dataclass
class RowCounts:
    """Counts by outcome, and the refused lines."""

    outcomes: Counter[str] = field(default_factory=Counter)
    refused: list[RefusedLine] = field(default_factory=list)

    def __add__(self, other: "RowCounts") -> "RowCounts":
        return RowCounts(self.outcomes + other.outcomes, [*self.refused, *other.refused])

    @property
    def counts(self) -> dict[str, int]:
        told = {name: self.outcomes[name] for name in ("created", "replaced", "unchanged")}
        return told | {"refused": len(self.refused)}


File = Annotated[Path, typer.Argument(callback=input_file, help="JSON lines; - is stdin.")]


@index.command()
def conversations(
    file: File,
    *,
    project: Annotated[str, typer.Option(callback=name, help="The project they belong to.")],
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Keep conversations of a project: rows, or what was said, to be summed up."""
    keep_rows(configured(data_dir), file, CONVERSATIONS, project, json=json)


@index.command()
def dreams(
    file: File,
    *,
    project: Annotated[str, typer.Option(callback=name, help="A project that keeps dreams.")] = "DAAS",
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Keep dreams: rows, or texts as they were written down, to be summed up."""
    keep_rows(configured(data_dir), file, DREAMS, project, json=json)


def keep_rows(config: Settings, file: Path, kind: str, project: str, *, json: bool) -> None:
    counts = run(rows_kept(config, file, kind, project, json=json)).counts
    if json:
        as_json({"project": project, "kind": kind, **counts})
    else:
        parts = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        tell(f"{counted(sum(counts.values()), 'row')}{': ' if parts else ''}{parts}")
    if counts["refused"]:
        raise typer.Exit(1)


async def rows_kept(config: Settings, file: Path, kind: str, project: str, *, json: bool) -> RowCounts:
    """Send a file in batches, and report refused lines as they come."""
    total = RowCounts()
    path = f"/projects/{quote(project, safe='')}/{kind}"
    batches = batched(json_lines(file), lambda line: line.size, ROWS, ROW_BYTES)
    with progress(f"Reading {kind}", line_count(file)) as bar:
        async with connect(config) as client:
            while lines := await asyncio.to_thread(next, batches, None):
                rows = await kept(client, path, lines)
                total += rows
                bar.add(len(lines), f"lines, {len(total.refused):,} refused")
                for each in rows.refused:
                    if json:
                        as_json({"line": each.line, "problem": each.problem})
                    else:
                        remark(f"line {each.line:,}: {each.why}")
    return total


async def kept(client: "httpx.AsyncClient", path: str, lines: Sequence[InputLine]) -> RowCounts:
    good = [line for line in lines if line.row is not None]
    rows = await posted(client, path, good) if good else RowCounts()
    refused = [RefusedLine(line.number, line_problem(line)) for line in lines if line.row is None]
    return RowCounts(rows.outcomes, sorted([*rows.refused, *refused], key=lambda each: each.line))


def line_count(file: Path) -> int | None:
    """None for what is no file, such as stdin."""
    if not file.is_file():
        return None
    try:
        with file.open("rb") as opened:
            return sum(piece.count(b"\n") for piece in iter(lambda: opened.read(1 << 20), b""))
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from error


def json_lines(file: Path) -> Iterator[InputLine]:
    """Lines that are not blank; of one that is too long only the beginning."""
    try:
        with nullcontext(sys.stdin.buffer) if file == STDIN else file.open("rb") as opened:
            number = 0
            while line := opened.readline(LONGEST_LINE + 1):
                number += 1
                rest = line
                while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
                    rest = opened.readline(LONGEST_LINE + 1)
                if line.strip():
                    yield InputLine(number, json_object(line), len(line))
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from error


def json_object(line: bytes) -> Mapping[str, Any] | None:
    try:
        found = jsonlib.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def line_problem(line: InputLine) -> Mapping[str, Any]:
    if line.size > LONGEST_LINE:
        return {"title": "Too long", "detail": f"a row has {LONGEST_LINE >> 20} MiB at most"}
    return {"title": "Not a row", "detail": "not a JSON object"}


async def posted(client: "httpx.AsyncClient", path: str, batch: Sequence[InputLine]) -> RowCounts:
    """Send rows in one request. If a row is the reason for a refusal, its halves are sent."""
    try:
        told = await patient(lambda: client.post(path, json=[line.row for line in batch]))
    except Answered as answered:
        if answered.code not in ROW_FAULTS and answered.problem.get("type") != REJECTED:
            raise
        if len(batch) == 1:
            return RowCounts(refused=[RefusedLine(batch[0].number, answered.problem)])
    else:
        return RowCounts(Counter(item["outcome"] for item in told["items"]))
    half = len(batch) // 2
    return await posted(client, path, batch[:half]) + await posted(client, path, batch[half:])


def batched(items: Iterable[Item], size: Callable[[Item], int], most: int, room: int) -> Iterator[list[Item]]:
    """In order, at most `most` items and `room` bytes together; a larger item is alone."""
    batch: list[Item] = []
    total = 0
    for item in items:
        if batch and (len(batch) == most or total + size(item) > room):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size(item)
    if batch:
        yield batch
