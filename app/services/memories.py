"""Writing memories: new texts are embedded and stored in one transaction; list and delete.

Sentences that only repeat what the assistant said or what was recalled in the same conversation are dropped,
so that recall does not feed on itself (docs/adr/0016). A memory is durable and searchable when the
transaction ends; Qdrant follows by the outbox. Times are in seconds. Raises `Unavailable`, `NoRoom`,
`Missing`, `RemovedMeanwhile`, `InvalidField` (a cursor).
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from app.answering.stream import Remembered
from app.db.memories import (
    CARDS,
    DAEMONS,
    Draft,
    Memory,
    MemoryOutcome,
    MemoryStore,
    RecentTextStore,
    Written,
    memory_id,
)
from app.errors import IbidError, KeptElsewhere, Missing, RetrievalError, Unavailable
from app.models.base import Embedder
from app.models.tokens import O200k
from app.tasks import aside, deadline
from app.text.greeting import is_small_talk
from app.text.sentences import split
from app.types import Embedding, Scope

SPAN = 3
"""Words per span: two agree by chance too often, four miss a changed word too often."""
SHARE = 0.8
"""Share of a sentence's spans that one earlier text must contain for the sentence to be an echo."""

MARKER = re.compile(r"\[[^\[\]\n]{1,160}#[^\[\]\n]{1,80}\]|【[^【】\n]{1,200}】")
"""A citation as in answers."""
SOURCES = re.compile(r"(?i)\bsources:\s*(?=\[|【|$)")
GAP = re.compile(r"(?<![ \t])[ \t]+(?=[.,;:!?])")
"""White space before punctuation, tried once per run of it: otherwise long runs take quadratic time."""
BULLET = re.compile(r"^[\s>*•·\-–—]*(?:\d{1,2}[.)]\s+)?")
WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|[^\W_\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]+")
"""A word, or a character in scripts without spaces (Thai, Japanese, Chinese)."""

Span = tuple[str, ...]


class Echoes:
    def __init__(self, heard: Iterable[str]) -> None:
        """Half a million characters take a fifth of a second of CPU."""
        self._texts: dict[Span, set[int]] = {}
        self._judged: dict[Span, bool] = {}
        for number, text in enumerate(heard):
            for span in runs(words(plain(text)), range(1, SPAN + 1)):
                self._texts.setdefault(span, set()).add(number)

    def own(self, text: str) -> str:
        """The sentences with new words, in order; "" if there is none; `text` unchanged if all are new."""
        sentences = sentences_of(text)
        said = [words(sentence) for sentence in sentences]
        kept = [index for index, each in enumerate(said) if each and not self._repeats(each)]
        if len(kept) == sum(map(bool, said)):
            return text if kept else ""
        return " ".join(sentences[index] for index in kept)

    def _repeats(self, said: Sequence[str]) -> bool:
        """True if one earlier text has a share of at least SHARE of the sentence's spans."""
        key = tuple(said)
        if key not in self._judged:
            asked = spans(said)
            shared = Counter(number for span in asked for number in self._texts.get(span, ()))
            self._judged[key] = any(count >= SHARE * len(asked) for count in shared.values())
        return self._judged[key]


def spans(said: Sequence[str]) -> list[Span]:
    return list(runs(said, [min(SPAN, len(said))]))


def runs(said: Sequence[str], sizes: Iterable[int]) -> Iterator[Span]:
    for size in sizes:
        yield from zip(*(said[at:] for at in range(size)), strict=False)


def sentences_of(text: str) -> list[str]:
    lines = (BULLET.sub("", line) for line in plain(text).splitlines())
    return [sentence for line in lines for sentence in split(line, cased=False) if sentence]


def plain(text: str) -> str:
    bare = MARKER.sub("", SOURCES.sub("", text))
    return GAP.sub("", bare)


def words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


BATCH = 64
"""Texts embedded at once (as in `ingest/jobs.py`)."""
WRITE_SECONDS = 60.0
"""Deadline of a write: about what five hundred long texts take with the bundled model."""
BATCH_SECONDS = 86_400.0
"""Deadline of writes by batch commands (a day). In practice `models/embeddings.py` gives up first."""
REMEMBER_SECONDS = 4.0
"""Seconds that the end of an answer waits for its message to be stored."""
ASKER = "frontend/chat:user"
"""Origin of a message, as front ends write a person's messages."""
ATTEMPTS = 3
"""To change a memory that others change at the same time."""
AGAIN = 2
"""Retry-After in seconds."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """What of a memory becomes other; None: it stays."""

    text: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] | None = None

    def of(self, old: Memory) -> Memory:
        return replace(
            old,
            text=old.text if self.text is None else self.text,
            kind=self.kind or old.kind,
            tags=old.tags if self.tags is None else self.tags,
        )


class MemoryService:
    def __init__(
        self,
        record: MemoryStore,
        recent: RecentTextStore,
        embedder: Embedder,
        tokens: O200k,
    ) -> None:
        self._record = record
        self._recent = recent
        self._embedder = embedder
        self._tokens = tokens

    async def remember(
        self,
        scope: Scope,
        drafts: Sequence[Draft],
        *,
        asked: datetime | None = None,
        seconds: float = WRITE_SECONDS,
    ) -> list[Written]:
        """One outcome per draft, in order; durable and searchable on return. `scope` has a user_id.

        `asked`: when the texts were said (default: now); what was heard later makes no echo.
        `RemovedMeanwhile` if the user was erased after that, or since this call began.
        """
        until = deadline(seconds)
        # The same clock as for erasures. If it lags behind `asked`, too much is refused, never too little.
        began = await self._record.clock()
        since = min(asked, began) if asked else began
        said = await self._own(scope, drafts, asked)
        known = await self._known(scope, said)
        new = [at for at, draft in enumerate(said) if draft and at not in known]
        if new:
            fresh = [draft for draft in (said[at] for at in new) if draft]
            known |= dict(zip(new, await self._write(scope, fresh, since, until), strict=True))
        return [known.get(at, Written(MemoryOutcome.ECHO)) for at in range(len(drafts))]

    async def remember_message(self, scope: Scope, message: str, asked: datetime) -> Remembered:
        """Store a message that was just answered, with the scope's thread, else its session; small talk is
        skipped. Raises only on cancellation."""
        if is_small_talk(message):
            return Remembered.SKIPPED
        thread = scope.thread or None
        draft = Draft(message, origin=ASKER, thread_id=thread, vantage_id=scope.vantage_id, created_at=asked)
        try:
            scope = replace(scope, thread_id=thread)
            [written] = await self.remember(scope, [draft], asked=asked, seconds=REMEMBER_SECONDS)
        except IbidError as error:
            log.warning("words not remembered", slug=error.slug)
            return Remembered.FAILED
        return Remembered(written.outcome)

    async def _own(self, scope: Scope, drafts: Sequence[Draft], asked: datetime | None) -> list[Draft | None]:
        """The drafts without echoes; None: only an echo. Daemons' texts are kept whole."""
        threads = {draft.thread_id for draft in drafts if compared(draft)}
        heard = {thread: await self._recent.recent(scope, thread, asked) for thread in threads}
        texts = [draft.text for draft in drafts] + [
            text for utterances in heard.values() for text in utterances
        ]
        return await aside(sum(map(len, texts)), sifted, drafts, heard)

    async def _known(self, scope: Scope, drafts: Sequence[Draft | None]) -> dict[int, Written]:
        """Drafts that need no embedding, by position: the same text is stored already."""
        ids = {
            at: memory_id(scope.tenant, scope.user_id or "", draft)
            for at, draft in enumerate(drafts)
            if draft is not None and draft.origin not in DAEMONS
        }
        found = await self._record.known(scope, [draft for at in ids if (draft := drafts[at])])
        return {at: Written(MemoryOutcome.REPEATED, found[name]) for at, name in ids.items() if name in found}

    async def _write(
        self, scope: Scope, drafts: Sequence[Draft], since: datetime, until: float
    ) -> list[Written]:
        embeddings = await embedded(self._embedder, [draft.text for draft in drafts], until)
        tokens = await counted(self._tokens, [draft.text for draft in drafts])
        space = self._embedder.space
        return await self._record.admit(scope, drafts, embeddings, tokens, space, since=since)

    async def list(self, scope: Scope, *, cursor: str | None, limit: int) -> tuple[list[Memory], str | None]:
        return await self._record.list(scope, cursor=cursor, limit=limit)

    async def count(self, scope: Scope) -> int:
        return await self._record.count(scope)

    async def get(self, scope: Scope, memory_id: str) -> Memory:
        found = await self._record.get(scope, memory_id)
        if found is None:
            raise Missing("there is no such memory")
        return found

    async def change(self, scope: Scope, memory_id: str, change: MemoryChange) -> Memory:
        """The memory with other words, kind or tags, embedded again; its id and day stay. `KeptElsewhere`:
        a service computes it. `Unavailable`: others change it all the time."""
        until, since = deadline(WRITE_SECONDS), await self._record.clock()
        for _ in range(ATTEMPTS):
            old = await self.get(scope, memory_id)
            if old.origin in DAEMONS:
                raise KeptElsewhere("this card is computed; `ibid profiles` writes it again")
            new = change.of(old)
            if new == old:
                return old
            [embedding] = await embedded(self._embedder, [new.text], until)
            [tokens] = await counted(self._tokens, [new.text])
            kept = await self._record.rewrite(
                scope, replace(new, tokens=tokens), embedding, self._embedder.space, since=since
            )
            if kept:
                return kept
        raise Unavailable("the memory is being changed by others", retry_after=AGAIN)

    async def remove(self, scope: Scope, memory_id: str) -> None:
        if not await self._record.remove(scope, memory_id):
            raise Missing("there is no such memory")


def compared(draft: Draft) -> bool:
    """False for cards, whose text should be repeated."""
    return draft.origin not in DAEMONS and draft.kind not in CARDS


def sifted(drafts: Sequence[Draft], heard: Mapping[str | None, Sequence[str]]) -> list[Draft | None]:
    echoes = {thread: Echoes(utterances) for thread, utterances in heard.items() if utterances}
    return [own(draft, echoes.get(draft.thread_id)) if compared(draft) else draft for draft in drafts]


def own(draft: Draft, heard: Echoes | None) -> Draft | None:
    text = heard.own(draft.text) if heard else draft.text
    return replace(draft, text=text) if text else None


async def counted(tokens: O200k, texts: Sequence[str]) -> list[int]:
    return await aside(sum(map(len, texts)), lambda: [tokens.count(text) for text in texts])


async def embedded(embedder: Embedder, texts: Sequence[str], until: float) -> list[Embedding]:
    """One vector per text, by `until` (the loop's time). Raises `Unavailable`."""
    embeddings: list[Embedding] = []
    try:
        async with asyncio.timeout_at(until):
            for start in range(0, len(texts), BATCH):
                embeddings += await embedder.passages(texts[start : start + BATCH])
    except (RetrievalError, TimeoutError) as error:
        raise Unavailable("the embedding model does not answer", retry_after=AGAIN) from error
    return embeddings
