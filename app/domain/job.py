"""Work that is done behind the requests: jobs, leased so that a crash repeats them.

Leases and delays are seconds. `Unavailable` when Postgres does not answer; cancellation passes through.
"""

from dataclasses import dataclass
from typing import Protocol

from app.domain.document import Part

BROKE = 3
"""A service is also killed for reasons of others; its own code breaks off over this very document."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work to do, leased to this worker."""

    id: int
    kind: str
    """`ingest` or `purge`."""
    document_id: str
    part: Part
    attempts: int
    """Times it was leased, this one included."""
    lost: int = 0
    """Marks against it: one for each worker that died over it, BROKE for work that broke off by itself."""


class Jobs(Protocol):
    """The `jobs` table: SKIP LOCKED, lease, attempts, heartbeat."""

    async def claim(self, *, lease_seconds: float) -> Job | None:
        """The next job, leased; None: nothing to do."""

    async def beat(self, job: Job, *, lease_seconds: float) -> bool:
        """Extend the lease; False: it was lost."""

    async def finish(self, job: Job) -> None:
        """Done: the row goes."""

    async def retry(self, job: Job, *, delay_seconds: float) -> None:
        """Give it back, not before `delay_seconds` from now."""

    async def broke(self, job: Job, *, delay_seconds: float) -> None:
        """Give it back with BROKE marks: nobody foresaw how it ended."""

    async def wait(self, *, seconds: float) -> None:
        """Until a job may be there (a notification) or the time is up."""
