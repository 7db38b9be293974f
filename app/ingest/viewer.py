"""Pages of PDFs as images, and the places of passages on them: child processes (`drawing.py`) under limits.

A process shows one document and is kept for a while, since people look at one page after the other. It dies
at its deadlines; a hostile file can use up its time and memory, nothing else: what hung once is refused from
then on. Raises `PdfDamaged`, `PdfTooComplex` (the file's fault), `Missing` (no such page, or the document was
removed), `Overloaded`, `Unavailable`. Times are seconds.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, BinaryIO, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from app.errors import IbidError, Missing, Overloaded, PdfDamaged, PdfTooComplex, Unavailable
from app.ingest.pdf import DETAIL_CHARS, RETRY_SECONDS, UNREADABLE, decode_problem, exit_problem
from app.process import Child, ChildReply, Died, Fault, NotStarted, Program, python
from app.settings import DocumentLimits

PROCESSES = 2
"""Documents that are shown at a time; further ones wait for one that nobody is waiting for."""
WAIT_SECONDS = 17.0
"""How long a request waits for a process, and for its turn: longer than a call takes that hangs."""
CALL_SECONDS = 15.0
"""After this a page or a passage counts as too complex. Most take a twentieth of a second."""
START_SECONDS = 30.0
"""Deadline of a process's start, with the copy of the file from the store: most take a third of a second."""
LEFT_SECONDS = 1.0
"""How long a call may go on for which nobody waits any more. Then its process ends."""
REMEMBERED = 10_000
"""Most pages and passages that are remembered because they took too long; the oldest are forgotten."""
IDLE_SECONDS = 60.0
"""A process ends so long after its last page."""
LIFE_SECONDS = 600.0
"""After this a process gets no more calls; its own limits end it two calls later."""
MAX_OUTPUT = 64 << 20
"""Bytes that a process may send: some 500 pages. From half of it on, it gets no more calls."""
QUEUE = 64
"""Calls that wait for one process: those of a few browsers."""
WORKER = Program("pages", python("app.ingest.drawing"), close_seconds=0.0, output_bytes=MAX_OUTPUT)
HEADER = b"RIFF"

Content: TypeAlias = Callable[[], AsyncIterator[bytes]]
Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Rect: TypeAlias = tuple[Fraction, Fraction, Fraction, Fraction]


class Places(BaseModel):
    """Where a passage, and a quotation from it, are on the pages of its document."""

    model_config = ConfigDict(frozen=True)

    boxes: list[tuple[int, list[Rect]]]
    """(page, a rectangle for each line), pages physical, from 1; rectangles (left, top, right, bottom) in
    fractions of the page as it is shown."""
    quote_boxes: list[tuple[int, list[Rect]]]
    found: int
    """Letters of the passage that were found, of `letters`."""
    letters: int


PLACES = TypeAdapter(Places)


Subject: TypeAlias = tuple[str, str, int, int]
"""The document of a call, its name, the first and the last page."""
TOO_SLOW = "Showing a page of it takes too much time"
ATTEMPTS = 2
"""A call whose process ended before its turn is made again with a new one."""


def opening(document_id: str) -> Subject:
    return document_id, "open", 0, 0


class BeginsAnew(Exception):
    """The process ended before the call's turn."""


@dataclass(frozen=True, slots=True)
class PageCall:
    subject: Subject
    tenant: str
    payload: dict[str, object]

    @property
    def document_id(self) -> str:
        return self.subject[0]


@dataclass(eq=False, slots=True)
class Process:
    """A process that shows a document."""

    starting: asyncio.Task[Child]
    until: float
    """Loop time after which it gets no more calls."""
    tenant: str
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    calls: int = 0
    """Waiting ones included."""
    sent: int = 0
    """Bytes."""
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)
    why: IbidError | None = None
    """The error of its calls after it was ended: not the file's fault."""

    def is_over(self, now: float) -> bool:
        if not self.starting.done():
            return False
        failed = self.starting.cancelled() or self.starting.exception() is not None
        return failed or self.starting.result().ended or now > self.until or self.sent > MAX_OUTPUT // 2


class PdfViewer:
    """Close it at the end, or its processes stay until this one ends."""

    def __init__(
        self,
        limits: DocumentLimits,
        folder: Path,
        worker: Program = WORKER,
        *,
        call_seconds: float = CALL_SECONDS,
        wait_seconds: float = WAIT_SECONDS,
        start_seconds: float = START_SECONDS,
    ) -> None:
        """`folder`: for the files while they are shown; they have no names there."""
        self._call_seconds = call_seconds
        self._wait_seconds = wait_seconds
        self._start_seconds = start_seconds
        self._limits = limits
        self._folder = folder
        self._worker = worker
        self._shown: dict[str, Process] = {}
        """By document, the least recently used first."""
        self._waiting: Counter[str] = Counter()
        """Requests that wait for a place, by tenant."""
        self._hung: dict[Subject, None] = {}
        """Pages and passages that took too long, the oldest first."""
        self._stopped: IbidError | None = None
        self._changed = asyncio.Condition()
        self._ending: set[asyncio.Task[None]] = set()

    async def page(
        self, document_id: str, content: Content, n: int, scale: float | None, *, tenant: str = ""
    ) -> bytes:
        """Page n, from 1, as WebP. `content` gives the file's bytes; `scale` is in pixels per point."""
        call = PageCall((document_id, "draw", n, n), tenant, {"page": n, "scale": scale})
        reply = await self._call(call, content)
        if bytes(reply.data[:4]) != HEADER:
            raise PdfDamaged(UNREADABLE)
        return bytes(reply.data)

    async def places(
        self,
        document_id: str,
        content: Content,
        *,
        pages: tuple[int, int],
        text: str,
        quote: str,
        tenant: str = "",
    ) -> Places:
        """Where a passage is on these pages, the last one included."""
        asked = {"first": pages[0], "last": pages[1], "text": text, "quote": quote}
        reply = await self._call(PageCall((document_id, "boxes", *pages), tenant, asked), content)
        try:
            return await asyncio.to_thread(PLACES.validate_json, bytes(reply.data))
        except ValidationError:
            raise PdfDamaged(UNREADABLE) from None

    def forget(self, document_id: str) -> None:
        """End the process of a document that was removed; its calls raise `Missing`."""
        if process := self._shown.get(document_id):
            self._drop(document_id, process, Missing("the document is not here any more"))

    def hurry(self) -> None:
        """End all calls, present and future, because the service stops."""
        self._stopped = Unavailable("the service is stopping", retry_after=RETRY_SECONDS)
        for document_id, process in list(self._shown.items()):
            self._drop(document_id, process, self._stopped)
        self._start(self._tell())

    async def close(self) -> None:
        self.hurry()
        while self._ending:
            await asyncio.wait(self._ending)

    async def _call(self, call: PageCall, content: Content) -> ChildReply:
        for _ in range(ATTEMPTS):
            with suppress(BeginsAnew):
                return await self._called(call, content)
        raise Overloaded("the process that shows this document begins anew", retry_after=1)

    async def _called(self, call: PageCall, content: Content) -> ChildReply:
        self._check(call)
        async with self._process(call, content) as process:
            await asyncio.wait({process.starting})
            if process.why:
                raise process.why
            child = process.starting.result()
            await self._take_turn(process)
            work = asyncio.create_task(self._answer(call, process, child))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                self._start(self._leave(call, process, work))
                raise

    async def _answer(self, call: PageCall, process: Process, child: Child) -> ChildReply:
        """The child's answer, also after its caller has left. Ends the turn."""
        try:
            self._check(call)  # the call before may have been the same
            if child.ended:  # at the call before
                raise process.why or BeginsAnew
            reply = await child.call(call.subject[1], call.payload, hangs_after=self._call_seconds)
        except Fault as fault:
            raise fault_problem(fault) from None
        except Died as died:
            if process.why:
                raise process.why from None
            if died.hung:
                self._remember(call.subject)
            raise died_problem(died, self._limits.memory_mb) from None
        finally:
            process.turn.release()
        process.sent += len(reply.data)
        return reply

    async def _leave(self, call: PageCall, process: Process, work: "asyncio.Task[ChildReply]") -> None:
        """A call for which nobody waits any more may end soon, so that the next page has its process."""
        await asyncio.wait({work}, timeout=LEFT_SECONDS)
        if not work.done():
            self._drop(call.document_id, process)
            await asyncio.wait({work})
        work.exception()

    def _check(self, call: PageCall) -> None:
        if self._stopped:
            raise self._stopped
        if {call.subject, opening(call.document_id)} & self._hung.keys():
            raise PdfTooComplex(TOO_SLOW)

    def _remember(self, subject: Subject) -> None:
        self._hung[subject] = None
        if len(self._hung) > REMEMBERED:
            del self._hung[next(iter(self._hung))]

    async def _take_turn(self, process: Process) -> None:
        """One call at a time, so that the deadline of each is its own, and who leaves costs nothing."""
        try:
            if process.calls > QUEUE:
                raise TimeoutError
            async with asyncio.timeout(self._wait_seconds):
                await process.turn.acquire()
        except TimeoutError:
            raise Overloaded("too many pages of this document at once", retry_after=1) from None

    @asynccontextmanager
    async def _process(self, call: PageCall, content: Content) -> AsyncIterator[Process]:
        """The document's process, started if necessary."""
        self._waiting[call.tenant] += 1
        try:
            async with asyncio.timeout(self._wait_seconds), self._changed:
                while (process := self._find(call, content)) is None:
                    await self._changed.wait()
        except TimeoutError:
            self._start(self._tell())
            raise Overloaded("pages of other documents are being shown", retry_after=1) from None
        finally:
            self._waiting[call.tenant] -= 1
        try:
            yield process
        finally:
            process.calls -= 1
            self._rest(call.document_id, process)
            # Waiters are few, and each looks by itself whether there is room for it now.
            self._start(self._tell())

    def _find(self, call: PageCall, content: Content) -> Process | None:
        """The document's process with one more call, a new one if there is room; None: there is none."""
        if self._stopped:
            raise self._stopped
        now = asyncio.get_running_loop().time()
        for name, each in list(self._shown.items()):
            if each.is_over(now) and not each.calls:
                self._drop(name, each)
        process = self._shown.get(call.document_id)
        if process is not None and process.is_over(now):
            return None  # its last calls are being answered
        if process is None:
            if not self._make_room(call.tenant):
                return None
            starting = asyncio.create_task(self._opened(call.document_id, content))
            process = Process(starting, now + LIFE_SECONDS, call.tenant)
        self._shown.pop(call.document_id, None)
        self._shown[call.document_id] = process  # the most recently used
        process.calls += 1
        if process.timer:
            process.timer.cancel()
        return process

    def _make_room(self, tenant: str) -> bool:
        """True if there is a place for another document. A tenant with one at work leaves it to others that
        wait."""
        at_work = {each.tenant for each in self._shown.values() if each.calls}
        others = {each for each, count in self._waiting.items() if count} - at_work - {tenant}
        if tenant in at_work and others:
            return False
        if len(self._shown) >= PROCESSES:
            idle = next((name for name, each in self._shown.items() if not each.calls), None)
            if idle is None:
                return False
            self._drop(idle, self._shown[idle])
        return True

    async def _opened(self, document_id: str, content: Content) -> Child:
        """A process that has opened the file, in START_SECONDS."""
        try:
            async with asyncio.timeout(self._start_seconds):
                return await self._open(document_id, content)
        except TimeoutError:
            raise Unavailable("the file does not come in time", retry_after=RETRY_SECONDS) from None

    async def _open(self, document_id: str, content: Content) -> Child:
        with await self._file(content) as file:
            try:
                child = await Child.start(self._worker, files=[file.fileno()])
            except NotStarted as died:
                raise Unavailable(f"pages cannot be shown: {died}", retry_after=RETRY_SECONDS) from None
            try:
                asked = {
                    "file": file.fileno(),
                    "memory_mb": self._limits.memory_mb,
                    "seconds": LIFE_SECONDS + 2 * CALL_SECONDS,
                }
                await child.call("open", asked, hangs_after=self._call_seconds)
            except Fault as fault:
                await child.close()
                raise fault_problem(fault) from None
            except Died as died:
                await child.close()
                if died.hung:
                    self._remember(opening(document_id))
                raise died_problem(died, self._limits.memory_mb) from None
            except BaseException:
                await child.close()
                raise
        return child

    async def _file(self, content: Content) -> BinaryIO:
        """The document in a file without a name."""
        try:
            file: BinaryIO = await asyncio.to_thread(unnamed_file, self._folder)
        except OSError as error:
            raise Unavailable("no room for a temporary file") from error
        try:
            async for piece in content():
                await asyncio.to_thread(file.write, piece)
            await asyncio.to_thread(file.seek, 0)
        except OSError as error:
            file.close()
            raise Unavailable("no room for a temporary file") from error
        except BaseException:
            file.close()
            raise
        return file

    def _rest(self, document_id: str, process: Process) -> None:
        if process.timer:
            process.timer.cancel()
        if not process.calls and self._shown.get(document_id) is process:
            loop = asyncio.get_running_loop()
            process.timer = loop.call_later(IDLE_SECONDS, self._drop, document_id, process)

    def _drop(self, document_id: str, process: Process, why: IbidError | None = None) -> None:
        """End a process, in a task. `why`: the error of its calls."""
        process.why = process.why or why
        if process.timer:
            process.timer.cancel()
        if self._shown.get(document_id) is process:
            del self._shown[document_id]
        self._start(ended(process.starting))

    def _start(self, work: "asyncio._CoroutineLike[None]") -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def unnamed_file(folder: Path) -> BinaryIO:
    folder.mkdir(mode=0o700, exist_ok=True)
    return TemporaryFile(dir=folder)


def fault_problem(fault: Fault) -> IbidError:
    if fault.payload.get("fault") == Missing.slug:
        return Missing(str(fault.payload.get("detail"))[:DETAIL_CHARS])
    return decode_problem(fault.payload)


def died_problem(died: Died, memory_mb: int) -> IbidError:
    if died.hung:
        return PdfTooComplex(TOO_SLOW)
    return exit_problem(died.code, memory_mb)


async def ended(starting: asyncio.Task[Child]) -> None:
    """End a process, also one that is starting."""
    starting.cancel()
    await asyncio.wait({starting})
    if not starting.cancelled() and not starting.exception():
        await starting.result().close()
