"""What a fault of a dependency comes to, in words: the form of the table in `failures.py`, and its page.

One `Case` is a dependency and a fault of it, with the declared outcome of every group of endpoints, what is
kept, and the tests that hold it. Slow but within every deadline is no fault: the answer comes as ever, later.
Source: DESIGN §6.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from enum import StrEnum

AS_EVER, AS_CHAT = "as ever", "as /api/chat"

HEAD = """# When things break

For every dependency and every fault of it: what each group of endpoints answers, what is kept, and the tests
that hold it. Written by `python -m app.domain.failures > docs/failures.md`; a test compares the two. What a
breaker is, and which failures count: [0020](decisions/0020-breakers.md). Problems: [their list](problems.md).

*Silent* is hung, or slower than the deadline of whoever waits; slow within it is no fault. *Degraded a/b* is
an entry `{"source": "a", "reason": "b"}` of `degraded`. No fault delays the first byte of answers that do not
need what is broken; those that need it wait only until its breaker is open.
"""


class Dependency(StrEnum):
    """What Ibid does not hold in its hands."""

    MODEL = "the chat model's server"
    EMBEDDING = "the embedding server"
    POSTGRES = "Postgres"
    CHROMA = "Chroma"
    QDRANT = "Qdrant"
    REDIS = "Redis (CACHE_URL)"
    MEMORY_SERVICE = "the outside memory service (MEMORY_SERVICE_URL)"
    RERANK = "the second stage's server (RERANK_URL)"
    MODERATION = "the outside judge of messages (VANTAGE_RISK_URL)"
    DISK = "the disk of the data folder"
    CLIENT = "the client"
    IBID = "Ibid itself"


class Failing(StrEnum):
    """How it fails."""

    DOWN = "down"
    SILENT = "silent"
    WRONG = "answers wrongly"
    REFUSES = "refuses"
    BUSY = "busy"
    BREAKS_OFF = "breaks off"
    RESTARTS = "dies and is back"
    FULL = "full"
    DAMAGED = "is damaged"
    LEAVES = "leaves"
    KILLED = "killed"


@dataclass(frozen=True, slots=True)
class Case:
    """One fault of one dependency, and what it comes to where: as ever, but for what is said."""

    of: Dependency
    failing: Failing
    means: str
    """What is seen of it."""
    _: KW_ONLY
    chat: str = AS_EVER
    """POST /api/chat."""
    rag: str = AS_CHAT
    """POST /rag/query; of /vantage/query the same holds."""
    contexts: str = AS_EVER
    """POST /projects/{project}/context."""
    memories: str = AS_EVER
    """Writing memories, corpus and feedback; reading memories and the local services."""
    cards: str = AS_EVER
    """/vantage/cards and /vantage/facts; an answer without them is `rag`'s."""
    writes: str = AS_EVER
    """POST and DELETE of /api/documents."""
    reads: str = AS_EVER
    """GET of /api/documents and what lies beneath."""
    sessions: str = AS_EVER
    """/api/sessions and what lies beneath."""
    answers: str = AS_EVER
    """GET /answers/{id}, and its replay."""
    health: str = AS_EVER
    """/readyz; /healthz is always 200."""
    kept: str = AS_EVER
    """What of a chat is in the record afterwards, and what the next request sees."""
    tests: tuple[str, ...] = ()
    """Node ids, without parameters."""

    def __str__(self) -> str:
        """As a heading."""
        return f"{self.of}: {self.failing}"


SHOWN: Mapping[str, str] = {
    "chat": "chat",
    "rag": "/rag/query, /vantage/query",
    "contexts": "project contexts",
    "memories": "memories, corpus, feedback",
    "cards": "/vantage cards and facts",
    "writes": "writing documents",
    "reads": "reading documents",
    "sessions": "sessions",
    "answers": "answers",
    "health": "readiness",
    "kept": "the record",
}
"""The outcomes of a case, as the page names them."""


def page(table: Sequence[Case]) -> str:
    """The whole page, in Markdown."""
    return "\n".join([HEAD, *(line for case in table for line in section(case))])


def section(case: Case) -> Iterator[str]:
    """One case. What is as ever is told in one line."""
    yield f"## {str(case)[0].upper()}{str(case)[1:]}\n"
    yield f"{case.means[0].upper()}{case.means[1:]}.\n"
    yield "| | |\n|---|---|"
    told = {SHOWN[field.name]: getattr(case, field.name) for field in fields(case) if field.name in SHOWN}
    yield from (f"| {name} | {outcome} |" for name, outcome in told.items() if outcome != AS_EVER)
    if same := [name for name, outcome in told.items() if outcome == AS_EVER]:
        yield f"| {', '.join(same)} | {AS_EVER} |"
    yield "\nHeld by " + ", ".join(f"`{test}`" for test in case.tests) + ".\n"
