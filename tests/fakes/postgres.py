"""A real Postgres with pgvector for POSTGRES_DSN: killed, started again, or hung; nobody else restarts it."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from anyio.from_thread import BlockingPortal, start_blocking_portal

from app.db.embedded import Cluster, prepare
from tests.fakes.processes import family, kill


@dataclass
class PostgresServer:
    """A server and its faults; `dsn` stays the same over all of them."""

    cluster: Cluster
    portal: BlockingPortal

    @property
    def dsn(self) -> str:
        """As POSTGRES_DSN takes it."""
        return self.cluster.dsn

    def start(self) -> None:
        """Up and answering, recovered from whatever ended it."""
        self.portal.call(self.cluster.start)

    def kill(self) -> None:
        """Gone at once (`kill -9` of all its processes): connections break, new ones are refused."""
        kill(self.family())

    def stop_answering(self) -> None:
        """Hung (SIGSTOP): the kernel still takes connections, and nothing is said on them."""
        for pid in self.family():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """As before, with all that was asked meanwhile."""
        for pid in self.family():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    async def ended(self) -> None:
        """The loop knows that the postmaster is dead."""
        if self.cluster.process:
            await self.cluster.process.wait()

    def family(self) -> set[int]:
        """The postmaster and its backends."""
        assert self.cluster.process
        return family(self.cluster.process.pid)


@contextmanager
def postgres_server(home: Path) -> Iterator[PostgresServer]:
    """One that answers; dead after the block whatever happened."""
    with start_blocking_portal() as portal:
        server = PostgresServer(Cluster(prepare(home), {}), portal)
        portal.call(server.cluster.create)  # unless it is there
        try:
            server.start()
            yield server
        finally:
            server.kill()
            # The loop ends with this block: what it has not heard the end of it tells as a leak, at any test.
            portal.call(server.ended)
            server.cluster.places.vacate()
