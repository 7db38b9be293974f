"""Documents and sessions while Postgres is down: refused at once, and back as soon as one got through."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.domain.breaker import Breaker
from app.domain.document import Upload
from app.domain.errors import IbidError, Unavailable
from app.domain.passage import Scope
from app.services.barred import BarredDocuments, BarredSessions

SCOPE = Scope(session_id="s")
UPLOAD = Upload(Path("a.pdf"), "a.pdf", 1, "00", "s")


@dataclass
class Store:
    """Every method there is; counts its calls, and fails while `error` is set."""

    error: IbidError | None = None
    calls: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*_values: object, **_named: object) -> str:
            self.calls.append(name)
            if self.error:
                raise self.error
            return name

        return call


@dataclass
class Barred:
    """Both services' stores behind one breaker, whose clock tests turn."""

    now: float = 0.0
    store: Store = field(default_factory=Store)

    def __post_init__(self) -> None:
        self.breaker = Breaker(lambda: self.now)
        self.documents = BarredDocuments(self.store, self.breaker)
        self.sessions = BarredSessions(self.store, self.breaker)

    def down(self) -> None:
        """As the answers have found it."""
        for _ in range(3):
            with suppress(Unavailable), self.breaker.attempt():
                raise Unavailable

    async def ask(self, name: str) -> Any:
        """One of its calls."""
        page: dict[str, Any] = {"cursor": None, "limit": 9}
        calls: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
            "admit": lambda: self.documents.admit(SCOPE, UPLOAD),
            "get": lambda: self.documents.get(SCOPE, "a"),
            "list": lambda: self.documents.list(SCOPE, **page),
            "chunk": lambda: self.documents.chunk(SCOPE, "a", 1),
            "remove": lambda: self.documents.remove(SCOPE, "a"),
            "recent": lambda: self.sessions.recent(SCOPE, **page),
            "turns": lambda: self.sessions.turns(SCOPE, **page),
            "remove session": lambda: self.sessions.remove(SCOPE),
            "finished": lambda: self.documents.finished("a", seconds=1),
            "forget_failed": lambda: self.documents.forget_failed("a"),
        }
        return await calls[name]()


CALLS = ["admit", "get", "list", "chunk", "remove", "recent", "turns", "remove session"]


@pytest.mark.parametrize("name", CALLS)
async def test_while_it_is_down_nobody_waits(name: str) -> None:
    """503 with Retry-After; the store is not asked."""
    barred = Barred()
    barred.down()
    with pytest.raises(Unavailable) as told:
        await barred.ask(name)
    assert (told.value.retry_after, barred.store.calls) == (5, [])


@pytest.mark.parametrize("name", CALLS)
async def test_one_that_gets_through_opens_the_way(name: str) -> None:
    """After the pause it is the probe, also where nobody asks a question."""
    barred = Barred()
    barred.down()
    barred.now += 5.0
    assert await barred.ask(name) == name.split(maxsplit=1)[0]
    assert barred.breaker.closed


async def test_a_probe_that_fails_bars_the_way_again() -> None:
    """The next is refused at once."""
    barred = Barred(store=Store(Unavailable("down")))
    barred.down()
    barred.now += 5.0
    for _ in range(2):
        with pytest.raises(Unavailable):
            await barred.ask("list")
    assert barred.store.calls == ["list"]


async def test_they_do_not_open_it() -> None:
    """A large upload may be slow on a store that is well: no answer loses its documents for it."""
    barred = Barred(store=Store(Unavailable("slow")))
    for _ in range(9):
        with pytest.raises(Unavailable):
            await barred.ask("admit")
    assert barred.breaker.closed


@pytest.mark.parametrize("name", ["finished", "forget_failed"])
async def test_an_upload_that_was_taken_is_seen_through(name: str) -> None:
    """Its bytes are durable: who waits for it is not sent away."""
    barred = Barred()
    barred.down()
    await barred.ask(name)
    assert barred.store.calls == [name]
