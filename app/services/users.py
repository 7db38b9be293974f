"""Export and erasure of everything stored about a person, files included.

Both walk the list of holdings, so that none is forgotten. An erasure first marks the user, so that earlier
requests write nothing more, on any replica; then each holding deletes its rows, even if another fails. Files
are rewritten in the background. Times are in seconds. Raises `Unavailable`. docs/adr/0017.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import structlog

from app.answering.recorder import Recorder
from app.db.outbox import Outbox
from app.db.users import Due, ErasureStore, Files, Holding, Mark, Memories, Receipt
from app.errors import IbidError, Unavailable
from app.retrieval.cache import Cache
from app.types import DEFAULT_TENANT, Scope

WITHIN = timedelta(minutes=10)
"""An erasure promises rewritten files within this time. They take seconds, but wait for a table in use."""
SOON, IDLE = 1.0, 60.0
"""Seconds between two looks for files to rewrite: soon after an erasure, and otherwise."""
EAGER = 60
"""Number of looks after an erasure that are SOON apart."""
BURST, SHARE, EVERY = 4, 0.05, 180.0
"""Files are rewritten BURST times at once, then for SHARE of the time, or once in EVERY seconds: a rewrite
locks tables for everybody, and a user may erase themselves any number of times."""

FOLLOW_SECONDS = 5.0
"""Seconds an erasure waits for the search engines; usually they need some hundredths."""
AGAIN = 5
"""Retry-After of an incomplete erasure, in seconds."""

log = structlog.get_logger(__name__)


OUTSIDE = (
    "The outside memory service (MEMORY_SERVICE_URL) keeps votes and activity of its own, which Ibid neither"
    " exports nor erases: ask it."
)


class TokenBucket:
    """Limits the rewriting of files: BURST at once, then SHARE of the time, or once in EVERY seconds."""

    def __init__(self) -> None:
        self._left, self._at, self._every = float(BURST), time.monotonic(), EVERY

    def cost(self, seconds: float) -> None:
        self._every = min(EVERY, seconds / SHARE)

    def take(self) -> bool:
        now = time.monotonic()
        self._left = min(BURST, self._left + (now - self._at) / max(self._every, SOON))
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


UNSEEN = (
    "All that Ibid keeps is erased. Qdrant does not answer: points that other tools wrote there are not shown"
    " any more, and are deleted as soon as it does. There is no need to ask again, which would also erase"
    " what was written since."
)


class OthersUnseen(Unavailable):
    """Qdrant did not answer: an erased user's points of other tools are deleted later."""


class UserService:
    def __init__(
        self,
        holdings: Sequence[Holding],
        files: Sequence[Files],
        erasures: ErasureStore,
        recorder: Recorder,
        cache: Cache | None = None,
        *,
        shared_cache_seconds: float = 0,
        engines: Sequence[Outbox] = (),
        outside: bool = False,
    ) -> None:
        """`cache`: this process's search results, which a shared cache may hold for `shared_cache_seconds`;
        `outside`: an outside memory service is configured."""
        self._holdings = holdings
        self._files = files
        self._erasures = erasures
        self._recorder = recorder
        self._cache = cache
        self._shared_cache_seconds = shared_cache_seconds
        self._engines = engines
        self._outside = outside
        self._more = asyncio.Event()
        self._eager = 0
        self._left: dict[Due, dict[str, frozenset[str]]] = {}
        """For erasures that wait for an engine: the engines that have rewritten files, and what each left."""
        self._rate = TokenBucket()

    @property
    def holdings(self) -> tuple[str, ...]:
        return tuple(holding.name for holding in self._holdings)

    def notes(self, scope: Scope) -> tuple[str, ...]:
        """Data of the user kept elsewhere. The outside memory service knows only the default tenant."""
        return (OUTSIDE,) if self._outside and scope.tenant == DEFAULT_TENANT else ()

    async def export(self, scope: Scope) -> AsyncIterator[tuple[str, Mapping[str, object]]]:
        for holding in self._holdings:
            async for item in holding.export(scope):
                yield holding.name, item

    async def erase(self, scope: Scope) -> Receipt:
        """Erase the user everywhere. Repeated: zeros, and the state of the files."""
        mark = await self._erasures.begin(scope, self.holdings)
        waiting = self._recorder.forget_user(scope)
        counts = await self._dropped(scope)
        mark = await self._erasures.end(scope, mark, [name for name, count in counts.items() if count])
        if mark.dirty:
            self._eager = EAGER
            self._more.set()
        counts |= {"answers": counts["answers"] + waiting} if waiting else {}
        return self._receipt(scope, mark, counts, await self._lagging() if mark.dirty else ())

    async def _lagging(self) -> tuple[str, ...]:

        async def lags(engine: Outbox) -> bool:
            try:
                return not await engine.wait_drained(FOLLOW_SECONDS)
            except IbidError as error:  # Postgres has failed since; the user is erased
                log.warning("not known whether an engine follows", engine=engine.name, slug=error.slug)
                return True

        late = await asyncio.gather(*map(lags, self._engines))
        return tuple(engine.name for engine, lag in zip(self._engines, late, strict=True) if lag)

    async def _dropped(self, scope: Scope) -> dict[str, int]:
        """Erase every holding, even if one fails, and this process's cache; returns the counts."""
        counts, faults = dict[str, int](), list[str]()
        unseen = list[str]()
        for holding in self._holdings:
            try:
                counts[holding.name] = await holding.erase(scope)
            except OthersUnseen:
                unseen.append(holding.name)
            except IbidError as error:
                log.warning("not erased", holding=holding.name, slug=error.slug)
                faults.append(holding.name)
        if self._cache and (faults or unseen or any(counts.values())):
            self._cache.clear()
        if faults:
            names = ", ".join(faults)
            raise Unavailable(f"not everything could be erased ({names}); ask again", retry_after=AGAIN)
        if unseen:
            raise OthersUnseen(UNSEEN)
        return counts

    def _receipt(
        self, scope: Scope, mark: Mark, counts: Mapping[str, int], engines: tuple[str, ...]
    ) -> Receipt:
        shared = timedelta(seconds=self._shared_cache_seconds)
        pending = tuple(files.name for files in self._ours if files.name in mark.dirty)
        soon = set(mark.dirty) - set(pending)
        return Receipt(
            user_id=scope.user_id or "",
            erased_at=mark.erased_at,
            counts=counts,
            compacted=not mark.dirty,
            at=None if mark.dirty else mark.compacted_at,
            by=mark.dirty_at + WITHIN if soon and mark.dirty_at else None,
            pending=pending,
            external=tuple(files.name for files in self._files if files.external),
            engines=engines,
            cached_until=mark.erased_at + shared if shared else None,
            notes=self.notes(scope),
        )

    async def run(self) -> None:
        """Rewrite files for as long as the service lives, also those of an earlier process."""
        while True:
            self._more.clear()  # before the look: an erasure that ends during it is handled soon
            try:
                await self._look()
            except IbidError as error:
                log.warning("files not compacted", slug=error.slug, detail=error.detail)
            with suppress(TimeoutError):
                async with asyncio.timeout(SOON if self._eager else IDLE):
                    await self._more.wait()
            self._eager = max(0, self._eager - 1)

    @property
    def _ours(self) -> tuple[Files, ...]:
        return tuple(files for files in self._files if not files.external)

    async def _look(self) -> None:
        due = await self._erasures.due()
        if due and self._rate.take():
            began = time.monotonic()
            try:
                await self._rewrite(due)
            finally:
                self._rate.cost(time.monotonic() - began)
        elif not self._eager:
            await self._erasures.sweep()

    async def compact(self) -> bool:
        """Rewrite our files with erased users' data. False: nothing can be done yet."""
        due = await self._erasures.due()
        if due:
            await self._rewrite(due)
        return bool(due)

    async def _rewrite(self, due: Sequence[Due]) -> None:
        """Rewrite for all erasures at once; files that cannot be rewritten now stay marked. Tries every
        engine; one that fails is retried alone. Raises the first error."""
        self._left = {each: self._left.get(each, {}) for each in due}
        faults = [await self._rewrite_files(files, due) for files in self._ours]
        whole = [each for each in due if len(self._left[each]) == len(self._ours)]
        if whole:
            await self._erasures.compacted([replace(each, dirty=self._still_dirty(each)) for each in whole])
            log.info("files compacted", erasures=len(whole), holdings=sorted(dirty(whole)))
        for each in whole:
            del self._left[each]
        for fault in filter(None, faults):
            raise fault

    async def _rewrite_files(self, files: Files, due: Sequence[Due]) -> IbidError | None:
        open_ = [each for each in due if files.name not in self._left[each]]
        try:
            left = frozenset(await files.compact(dirty(open_))) if open_ else frozenset()
        except IbidError as error:
            log.warning("an engine's files are not compacted", files=files.name, slug=error.slug)
            return error
        for each in open_:
            self._left[each][files.name] = left
        return None

    def _still_dirty(self, due: Due) -> tuple[str, ...]:
        return tuple(name for name, left in self._left[due].items() if left.intersection(due.dirty))


def dirty(due: Iterable[Due]) -> set[str]:
    return {name for each in due for name in each.dirty}


class MirroredHolding:
    """A holding in Postgres and in an engine, where older tools may have written further points of the user.
    Postgres first: searches read it even while the engine is down. Raises `Unavailable`."""

    def __init__(self, record: Memories, index: Holding) -> None:
        self._record = record
        self._index = index

    @property
    def name(self) -> str:
        return self._index.name

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """Postgres's rows, then points that only the engine has."""
        known = set()
        async for row in self._record.export(scope):
            known.add(row["id"])
            yield row
        async for point in self._index.export(scope):
            if point["id"] not in known:
                yield point

    async def erase(self, scope: Scope) -> int:
        """Delete from Postgres, then from the engine; the count includes points that only the engine had.
        While the engine is down, the outbox keeps its part."""
        rows = await self._record.erase(scope)
        try:
            points = await self._index.erase(scope)
        except Unavailable as error:
            await self._record.erase_others(scope)
            raise OthersUnseen(error.detail) from error
        await self._record.enter(scope)
        return max(rows, points)
