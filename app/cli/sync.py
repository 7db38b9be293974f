"""A repository's files up to the service: what is new or changed is put, what is gone is deleted.

What the service has is told by the hash of its text, so an interrupted run goes on where it was, and one
without a change sends nothing. What is new is put before what is gone is deleted: a file that was renamed
brings its vectors along. Files that cannot be read keep what they had. Raises `Unavailable`, `Answered`.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from app.cli.session import Answered, patient, taken
from app.cli.terminal import counted
from app.cli.tree import Reason, Root, Skipped, Text

if TYPE_CHECKING:
    import httpx

AT_ONCE = 2
"""Batches under way: one is embedded while the next is cut."""
BATCH_BYTES, BATCH_FILES = 48 << 10, 50
"""Of a request: a hundred chunks, a second or two of the bundled embedder."""
PATIENCE_SECONDS = 600.0
"""For an answer: a large file on a busy machine takes minutes."""
DELETED, DELETED_BYTES = 100, 4_000
"""Paths of a request, and how long they may be in its address."""


@dataclass
class Report:
    """What a run came to."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    deleted: int = 0
    kept: int = 0
    """Not found any more, and not deleted either: it looks like another folder (`coding.followed`)."""
    refused: int = 0
    chunks: int = 0
    """Of the files that were put."""
    embedded: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    told: list[dict[str, str]] = field(default_factory=list)
    """{path, reason} of what a person should know: secrets, what could not be read or was refused."""

    unread: list[str] = field(default_factory=list)
    """Files and folders that could not be read: what is known of them stays."""

    @property
    def failed(self) -> bool:
        """Whether what is kept is not what is there."""
        return bool(self.refused or self.unread or self.kept or not (self.files or self.deleted))

    @property
    def files(self) -> int:
        """Those that were found."""
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
        """For machines; the keys are always there."""
        told = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "unread"}
        return told | {"skipped": dict(self.skipped), "seconds": round(seconds, 3)}

    def skip(self, skipped: Skipped) -> None:
        """Something was left out."""
        self.skipped[str(skipped.reason)] += 1
        if skipped.reason is Reason.UNREADABLE:
            self.unread.append(skipped.path)
        if skipped.reason in {Reason.SECRET, Reason.UNREADABLE, Reason.NAME, Reason.LARGE}:
            self.tell(skipped.path, str(skipped.reason))

    def tell(self, path: str, reason: str) -> None:
        """A line of its own."""
        self.told.append({"path": path.encode("utf-8", "backslashreplace").decode(), "reason": reason})

    def put(self, items: Iterable[dict[str, Any]]) -> None:
        """What the service says of a batch. What another run put meanwhile is that one's work."""
        for item in items:
            setattr(self, item["outcome"], getattr(self, item["outcome"]) + 1)
            if item["outcome"] != "unchanged":
                self.chunks += item["chunks"]
                self.embedded += item["embedded"]
            if item.get("note"):
                self.tell(item["path"], item["note"])


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where the files go: a project, and what stands in front of their paths."""

    client: "httpx.AsyncClient"
    project: str
    under: str = ""

    @property
    def address(self) -> str:
        """Of its files."""
        return f"/projects/{quote(self.project, safe='')}/code/files"

    async def known(self, root: Root) -> dict[str, str]:
        """Hash by path, of the files that are there and belong to the part that is looked at."""
        found: dict[str, str] = {}
        after: str | None = None
        while True:
            asked = {"limit": 1_000} | ({"cursor": after} if after else {})
            page = taken(await self.client.get(self.address, params=asked))
            for item in page["items"]:
                path = item["path"]
                if path.startswith(self.under) and root.holds(path[len(self.under) :]):
                    found[path[len(self.under) :]] = item["sha256"]
            after = page["next"]
            if after is None:
                return found

    async def put(self, texts: Sequence[Text], report: Report) -> int:
        """How many files a batch had. Where it is refused, each by itself, so that one costs no other."""
        files = [{"path": self.under + text.path, "text": text.text} for text in texts]
        try:
            report.put((await self.asked("PUT", json={"files": files}))["items"])
        except Answered as answered:
            if answered.code in {401, 403} or answered.code >= 500:
                raise
            if len(texts) > 1:
                return sum([await self.put([text], report) for text in texts])
            report.refused += 1
            report.tell(texts[0].path, answered.detail)
        return len(texts)

    async def delete(self, paths: Sequence[str]) -> int:
        """How many were there."""
        removed = 0
        for some in batched(paths, lambda path: len(quote(path)) + 6, DELETED, DELETED_BYTES):
            named = [("path", self.under + path) for path in some]
            removed += (await self.asked("DELETE", params=named))["removed"]
        return removed

    async def asked(self, method: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - httpx's own
        """What the service answers; one that is busy is asked again."""
        return await patient(
            lambda: self.client.request(method, self.address, timeout=PATIENCE_SECONDS, **more)
        )


def batched(items: Iterable[Any], size: Callable[[Any], int], most: int, room: int) -> Iterator[list[Any]]:
    """In order, at most so many together, and no larger together than the room, but for one alone."""
    batch: list[Any] = []
    total = 0
    for item in items:
        if batch and (len(batch) == most or total + size(item) > room):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size(item)
    if batch:
        yield batch


def visible(text: str) -> str:
    """On one line of a terminal, which takes it for text: names may hold line ends and its commands."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def hashed(text: Text) -> str:
    """As the service has it (`domain/code.CodeFile`)."""
    return hashlib.sha256(text.text.encode("utf-8", "surrogatepass")).hexdigest()
