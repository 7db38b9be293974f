"""What the services ask of the storing column. Protocols only; `wiring` hands in what keeps them.

Cancellation is passed on. Reads raise `RetrievalError` where an answer can do without, else `Unavailable`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from app.domain.answer import Answer, Finish, Usage
from app.domain.document import Chunk, Document, Fault, Parsed, Part, Unembedded, Upload
from app.domain.found import Reach
from app.domain.passage import Embedding, Scope
from app.domain.prompt import Prompt, Turn
from app.domain.space import Space


class Embedder(Protocol):
    """Texts to vectors of one space. Batched and off the loop; raises `RetrievalError("embedding")`."""

    @property
    def space(self) -> str:
        """The embedding space's name: model and dimensions, as recorded with every vector."""

    async def query(self, text: str) -> Embedding:
        """One query, with the model's query prefix where it wants one."""

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Texts to store, in order. Longer than the model reads: cut by the model's tokenizer."""


class Source(Protocol):
    """One thing searched. Laws (one contract test): best first; at most `limit` a leg; nothing
    outside `scope`; similarities, not distances; raises only `RetrievalError`; read-your-writes."""

    @property
    def name(self) -> str:
        """`Passage.source` of all it finds."""

    async def reach(self, scope: Scope) -> Reach:
        """In one round trip, or it costs a cached answer more than it saves."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the model's answer, or (last) how it ended."""

    text: str = ""
    finish: Finish | None = None
    usage: Usage | None = None
    more: bool = False
    """The next one has arrived with it: both may leave in one piece."""


class ModelStream(Protocol):
    """An answer under way: the response head has arrived."""

    @property
    def model(self) -> str:
        """The model that answers, as its server names it."""

    def __aiter__(self) -> AsyncIterator[Delta]:
        """Deltas in order; the last has `finish`. Raises `ModelError`."""


class ChatModel(Protocol):
    """Something that answers a prompt."""

    @property
    def name(self) -> str:
        """The model asked when the request names none."""

    def open(self, prompt: Prompt, *, model: str | None = None) -> AbstractAsyncContextManager[ModelStream]:
        """Entered when the response head is there; leaving closes the connection. `ModelError`."""


class Tokens(Protocol):
    """Counts o200k tokens."""

    def count(self, text: str) -> int:
        """Tokens of `text`; special-token look-alikes count as plain text."""

    def factor(self, model: str) -> float:
        """What to multiply by for a model: 1.0 where its vocabulary is o200k, else 1.3."""


class ChatLog(Protocol):
    """`public.chat_log`: the turns of every thread."""

    async def turns(self, scope: Scope, limit: int) -> list[Turn]:
        """The newest `limit` turns of the scope's thread, oldest first. `RetrievalError` if down."""


class Answers(Protocol):
    """The record of every answer: what was seen, what was packed, what was said."""

    async def keep(self, scope: Scope, answer: Answer, turns: Sequence[Turn] = ()) -> None:
        """Write one answer with its trace, and its turns into the chat log: all or none; again replaces.
        Nothing of a session removed or a user erased since the question came. `Rejected`: for good."""

    async def get(self, scope: Scope, answer_id: str) -> Answer | None:
        """The answer if it is the scope's user's, whichever key asked; a key for all may name no user."""

    async def asked(self, scope: Scope, answer_id: str) -> Scope | None:
        """The scope in which that answer was asked: its session and thread too."""

    async def used(self, scope: Scope, answer_id: str) -> tuple[str, ...] | None:
        """The memories of an answer that is not kept here, of the scope's user, by an older tool's trace."""

    async def last(self, scope: Scope) -> Answer | None:
        """The newest of the scope's user and thread that said anything."""

    async def removed(self, scope: Scope, since: datetime) -> bool:
        """Whether the scope's session was removed after `since`, or its user erased."""


class Documents(Protocol):
    """The record of documents: rows, bytes, chunks. `Unavailable` when Postgres does not answer."""

    async def admit(self, scope: Scope, upload: Upload) -> tuple[Document, bool]:
        """Keep the bytes and a job, all or none. (document, created); the same bytes again in the same
        part: (the one there, False), also when two race. `Conflict`: the name is taken."""

    async def get(self, scope: Scope, document_id: str) -> Document | None:
        """A document in the scope's reach."""

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Document], str | None]:
        """Documents in reach, newest first, and the cursor of the next page."""

    async def chunk(self, scope: Scope, document_id: str, ordinal: int) -> Chunk | None:
        """One chunk; ordinals count from 1."""

    def content(self, document_id: str) -> AsyncIterator[bytes]:
        """The file's bytes in pieces of 1 MiB."""

    async def remove(self, scope: Scope, document_id: str) -> bool:
        """Gone from the next answer on; its vectors follow by a job. False: not there."""

    async def forget_failed(self, document_id: str) -> None:
        """Drop a failed upload whose uploader was told at once."""

    async def finished(self, document_id: str, *, seconds: float) -> Document | None:
        """Wait until it is ready or failed, or the time is up; its state then."""


class Parser(Protocol):
    """A PDF in, chunks out. In a worker process with limits on time and memory."""

    async def parse(self, path: Path, filename: str) -> Parsed:
        """Raises `PdfEncrypted`, `PdfDamaged`, `PdfTextless`, `PdfUnreadable`, `PdfTooComplex`, `NotPdf`."""


class DocumentRecord(Protocol):
    """The record as the background work sees it (`stores/documents.py`)."""

    async def placed(self, document_id: str) -> tuple[Document, Part] | None:
        """A document that is not removed, and where it lives; for jobs, whoever asks."""

    async def keep_chunks(
        self, document_id: str, parsed: Parsed, embeddings: Sequence[Embedding], space: str
    ) -> None:
        """Write the chunks with their vectors and terms; again replaces."""

    async def kept(self, document_id: str, space: str) -> Sequence[Embedding]:
        """The vectors that an earlier try wrote in `space`, in order; none, or all."""

    async def make_ready(self, document_id: str) -> None:
        """In one transaction: ready, what it replaces gone, the part's version bumped."""

    async def fail(self, document_id: str, fault: Fault) -> None:
        """Failed with its problem; bytes and chunks gone, the row kept 24 h."""

    async def purge(self, document_id: str) -> None:
        """Delete what is left of a removed document; one that is not removed stays."""

    async def sweep(self) -> None:
        """Remove what failed more than 24 h ago."""

    def content(self, document_id: str) -> AsyncIterator[bytes]:
        """The file's bytes in pieces of 1 MiB."""


class Vectors(Protocol):
    """Vectors of a space in the making (`stores/vectors.py`). `Unavailable` when Postgres is away."""

    async def count(self, space: str) -> int:
        """Chunks of ready documents without a vector in `space`."""

    async def missing(self, space: str, limit: int) -> list[Unembedded]:
        """The first `limit` of them."""

    async def keep(self, space: str, texts: Sequence[Unembedded], embeddings: Sequence[Embedding]) -> None:
        """Keep vectors beside the current ones; again replaces."""

    async def swap(self, space: Space) -> bool:
        """At once the new vectors are the vectors, `space` the current one. False: some have none yet."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom a key stands for."""

    tenant: str
    user: str | None
    """The one user a user key acts for; None: a tenant key, any user of the tenant."""


class Keys(Protocol):
    """API keys, kept hashed."""

    async def find(self, key: str) -> Caller | None:
        """Whom a key stands for; None: not known, or revoked."""

    async def any(self) -> bool:
        """Whether a key was ever made, live or revoked: if not, the service is open."""


class Probe(Protocol):
    """A dependency that can be asked whether it lives."""

    @property
    def name(self) -> str:
        """As `/readyz` shows it."""

    async def check(self) -> Mapping[str, str | int | float]:
        """Facts about it; raises `Unavailable` or `RetrievalError` if it does not answer."""


class Clock(Protocol):
    """Now, so that tests can pass time."""

    def __call__(self) -> datetime:
        """UTC, aware."""
