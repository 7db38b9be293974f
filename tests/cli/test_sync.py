"""A repository's files on their way up: batches, what is refused, what is asked again, what is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cli import session
from app.cli.session import Answered
from app.cli.sync import Report, Shelf, batched, hashed, visible
from app.cli.tree import Reason, Root, Skipped, Text
from app.db.code import CodeFile

ROOT = Root(Path("/repo"), "")


@dataclass
class Service:
    """Keeps files by path; refuses those it is told to, and is busy as often as it is told to."""

    files: dict[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    busy: int = 0
    asked: list[httpx.Request] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        """One request."""
        self.asked.append(request)
        if self.busy:
            self.busy -= 1
            return httpx.Response(503, json={"title": "A store is not available", "status": 503})
        return getattr(self, request.method.lower())(request)  # type: ignore[no-any-return]

    def get(self, request: httpx.Request) -> httpx.Response:
        """Two a page."""
        after = request.url.params.get("cursor", "")
        names = [name for name in sorted(self.files) if name > after]
        items = [{"path": name, "sha256": hashed(Text(name, self.files[name]))} for name in names[:2]]
        return httpx.Response(200, json={"items": items, "next": names[1] if len(names) > 2 else None})

    def put(self, request: httpx.Request) -> httpx.Response:
        """All, or none."""
        files = json.loads(request.content)["files"]
        if any(file["path"] in self.refused for file in files):
            return httpx.Response(422, json={"title": "A field", "detail": "no", "status": 422})
        self.files |= {file["path"]: file["text"] for file in files}
        told: list[dict[str, Any]] = [
            {"path": file["path"], "outcome": "added", "chunks": 2, "embedded": 1} for file in files
        ]
        return httpx.Response(200, json={"items": told})

    def delete(self, request: httpx.Request) -> httpx.Response:
        """Those that are there."""
        names = request.url.params.get_list("path")
        return httpx.Response(200, json={"removed": len([self.files.pop(name) for name in names])})


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    """With nothing in it, and nobody waits."""
    monkeypatch.setattr(session, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(session, "BUSY_SECONDS", 0.5)
    return Service()


@pytest.fixture
async def shelf(service: Service) -> AsyncIterator[Shelf]:
    """Of a project whose name must be quoted."""
    transport = httpx.MockTransport(service.answer)
    async with httpx.AsyncClient(transport=transport, base_url="http://ibid") as client:
        yield Shelf(client, "a b", "src/")


def test_a_text_is_hashed_as_the_service_does() -> None:
    """Else every run would send everything."""
    assert hashed(Text("a", "Grüße\r\n")) == CodeFile("a", "Grüße\r\n").sha256


async def test_what_is_there_is_read_page_by_page(shelf: Shelf, service: Service) -> None:
    """Of the part that is looked at, under what stands in front; the rest is another run's."""
    service.files = {f"src/app/{name}": "x" for name in "abc"} | {"src/b": "x", "lib/app/d": "x"}

    assert sorted(await shelf.known(ROOT)) == ["app/a", "app/b", "app/c", "b"]
    assert sorted(await shelf.known(Root(ROOT.folder, "app"))) == ["app/a", "app/b", "app/c"]
    assert service.asked[0].url.raw_path.startswith(b"/projects/a%20b/code/files?")


async def test_one_file_that_is_refused_costs_no_other(shelf: Shelf, service: Service) -> None:
    """It is told with what the service says."""
    service.refused = ("src/b",)
    report = Report()

    count = await shelf.put([Text(name, name) for name in "abc"], report)

    assert (count, sorted(service.files)) == (3, ["src/a", "src/c"])
    assert (report.added, report.refused, report.chunks, report.embedded) == (2, 1, 4, 2)
    assert report.told == [{"path": "b", "reason": "A field: no"}]
    assert report.failed


async def test_a_busy_service_is_asked_again(shelf: Shelf, service: Service) -> None:
    """For a while; then the run ends, and the next goes on from there."""
    service.busy = 7
    assert await shelf.put([Text("a", "a")], Report()) == 1
    service.busy = 1_000_000_000
    with pytest.raises(Answered):
        await shelf.put([Text("b", "b")], Report())

    assert sorted(service.files) == ["src/a"]


async def test_what_is_gone_is_deleted_in_short_addresses(shelf: Shelf, service: Service) -> None:
    """Whatever the paths hold."""
    names = [f"{at}/{'ä&b ' * 20}" for at in range(60)]
    service.files = {f"src/{name}": "x" for name in names}

    assert await shelf.delete(names) == 60
    assert service.files == {}
    assert max(len(request.url.raw_path) for request in service.asked) < 8_000
    assert await shelf.delete([]) == 0


def test_batches_keep_their_order_and_their_size() -> None:
    """What is too large for any is one by itself."""
    sizes = [3, 3, 9, 1, 1, 1, 1]

    assert list(batched(sizes, lambda size: size, 3, 6)) == [[3, 3], [9], [1, 1, 1], [1]]
    assert list(batched([], lambda size: size, 3, 6)) == []


def test_a_report_tells_what_a_person_should_know() -> None:
    """Secrets and what cannot be read by name; the rest in figures."""
    report = Report(unchanged=1_000, added=1, chunks=3, embedded=2)
    for reason in (Reason.SECRET, Reason.IGNORED, Reason.IGNORED):
        report.skip(Skipped("x", reason))

    assert report.told == [{"path": "x", "reason": "secret by its name"}]
    assert report.summary(2.0) == (
        "1,001 files: 1 added, 1,000 unchanged; 3 chunks, 2 embedded in 2.0 s (1/s); "
        "left out: 2 ignored by git, 1 secret by its name"
    )
    assert not report.failed
    assert report.as_json(2.0)["skipped"] == {"secret by its name": 1, "ignored by git": 2}
    assert json.loads(json.dumps(report.as_json(2.0)))["seconds"] == 2.0


def test_what_another_run_put_is_not_counted_again() -> None:
    """Two at once: the work is told once."""
    report = Report()
    report.put([
        {"path": "a", "outcome": "unchanged", "chunks": 4, "embedded": 4},
        {"path": "b", "outcome": "changed", "chunks": 2, "embedded": 1},
    ])  # fmt: skip

    assert report.summary(1.0) == "2 files: 1 changed, 1 unchanged; 2 chunks, 1 embedded in 1.0 s (1/s)"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a b/é.py", "a b/é.py"),
        ("\x1b[2Ja.py", r"\x1b[2Ja.py"),
        ("a\nb\x9b.py", r"a\nb\x9b.py"),
        ("a\u202eyp.b", r"a\u202eyp.b"),
        ("a\udcff.py", r"a\udcff.py"),
    ],
)
def test_names_are_shown_and_not_obeyed(name: str, shown: str) -> None:
    """A terminal gets signs alone, on one line."""
    report = Report()
    report.tell(name, "no")

    assert visible(report.told[0]["path"]) == shown


@pytest.mark.parametrize(
    ("report", "failed"),
    [
        (Report(), True),
        (Report(deleted=1), False),
        (Report(unchanged=1), False),
        (Report(unchanged=1, kept=1), True),
    ],
    ids=["nothing", "pruned", "same", "kept"],
)
def test_a_run_that_found_nothing_or_left_something_fails(report: Report, failed: bool) -> None:
    """A script must see it."""
    assert report.failed == failed


def test_what_cannot_be_read_fails_the_run() -> None:
    """And is known, so that nothing of it is deleted."""
    report = Report()
    report.skip(Skipped("a.py", Reason.UNREADABLE))

    assert report.failed
    assert report.unread == ["a.py"]


async def test_a_run_that_is_cut_off_leaves_no_request_behind(shelf: Shelf) -> None:
    """Cancelled while it waits to ask again."""
    task = asyncio.create_task(shelf.asked("GET"))
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
