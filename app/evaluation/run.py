"""Benchmark runs: texts go through the service's write side, questions through its search, on temporary
stores.

Each question is ranked four ways (`data.ABLATIONS`), every candidate down to LIMIT for each way. Vectors are
kept in one SQLite file between runs. Raises what the write side raises, and `StartError` where the file of
vectors cannot be used.
"""

import asyncio
import hashlib
import os
import shutil
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TypeVar

from app.db.code import CodeRow
from app.db.conversations import ConversationDraft as Conversation
from app.db.corpus import ReferenceDraft
from app.db.documents import Parser, Told, Upload
from app.db.folder import read_lock
from app.db.memories import Draft, MemoryOutcome
from app.errors import PdfTextless, StartError
from app.evaluation.data import ABLATIONS, SERVED, Benchmark, BenchmarkQuestion, CorpusText
from app.ingest.chunking import Count, chunks
from app.ingest.layout import BlockKind, LayoutBlock
from app.models.base import Embedder
from app.models.embeddings import Patient
from app.models.tokens import O200k
from app.retrieval.ranking import content
from app.retrieval.search import Retrieval
from app.services.memories import BATCH_SECONDS
from app.services.services import Services
from app.settings import CacheSettings, ChromaSettings, Postgres, QdrantSettings, Settings
from app.tasks import side_by_side
from app.types import CONVERSATIONS, Embedding, Hit, ParsedDocument, Passage, Query, Scope
from app.wiring import open_services

LIMIT = 50
"""Passages a leg: recall is measured to 20."""
BATCH = 64
"""Texts written in one request."""
AT_ONCE, UPLOADS = 2, 4
"""Batches or questions under way at once, and documents of a batch."""
RANK = 60
"""Reciprocal rank fusion: 1 / (RANK + rank) a leg (Cormack, Clarke, Büttcher 2009)."""
EVERYONE = "everyone"
"""The scope of texts without one, where the source needs one."""
VECTORS = "eval"
"""The folder of kept vectors inside the data folder."""
PREFIX = "ibid-eval-"
"""Temporary store folders begin with it."""
ENGINES = frozenset(("chroma", "qdrant"))
POLL_SECONDS, COPY_SECONDS = 0.5, 1_800.0
ABANDONED_SECONDS = 60.0
"""A folder that is being made has no lock for a moment."""

Item = TypeVar("Item")
Run = dict[str, dict[str, float]]
"""By question, by text: a score that falls from rank to rank."""
Step = Callable[[int], None]


class Place(StrEnum):
    MEMORIES = "memories"
    CORPUS = "corpus"
    DOCUMENTS = "documents"
    CODE = "code"
    CONVERSATIONS = CONVERSATIONS


class Target:
    """Writes texts to one source, each scope as a user, tenant, session or project, and finds a passage's
    texts."""

    def __init__(self, services: Services, source: Place, scratch: Path) -> None:
        self.source = source
        self.in_order = source is not Place.CORPUS
        """The texts of a scope are written in order, as they were said."""
        self._services = services
        self._scratch = scratch
        self._texts: defaultdict[Hashable, list[str]] = defaultdict(list)

    def scope(self, name: str | None) -> Scope:
        """Who asks for the texts of a benchmark's scope."""
        if self.source is Place.MEMORIES:
            return Scope(user_id=name or EVERYONE)
        if self.source is Place.CORPUS:
            return Scope(tenant=name or EVERYONE)
        if self.source is Place.DOCUMENTS:
            return Scope(session_id=digest(name) if name else None)
        return Scope(project=name or EVERYONE)

    async def put(self, name: str | None, texts: Sequence[CorpusText]) -> int:
        """Make texts searchable; returns how many were stored (the same words are stored once)."""
        match self.source:
            case Place.MEMORIES:
                return await self._remember(name, texts)
            case Place.CORPUS:
                given = [ReferenceDraft(text.text, text.id, text.title) for text in texts]
                corpus = self._services.corpus
                self._note_words(name, texts)
                return len(await corpus.keep(self.scope(name), "texts", given, seconds=BATCH_SECONDS))
            case Place.DOCUMENTS:
                return await self._upload_all(name, texts)
            case Place.CODE:
                rows = [code_row(text) for text in texts]
                code = self._services.code
                filed = await code.put(Scope(), name or EVERYONE, rows, seconds=BATCH_SECONDS)
                return self._note_rows(texts, [row for row, _ in filed])
            case Place.CONVERSATIONS:
                return await self._converse(name, texts)

    async def _remember(self, name: str | None, texts: Sequence[CorpusText]) -> int:
        drafts = [Draft(text.whole, thread_id=text.thread, created_at=text.said_at) for text in texts]
        written = await self._services.memories.remember(self.scope(name), drafts, seconds=BATCH_SECONDS)
        self._note_words(name, texts)
        return sum(one.outcome is MemoryOutcome.CREATED for one in written)

    async def _converse(self, name: str | None, texts: Sequence[CorpusText]) -> int:
        talks = [
            Conversation(text.id, text.title or None, summary_detailed=text.text, indexed_at=text.said_at)
            for text in texts
        ]
        service = self._services.conversations
        kept = await service.keep(self.scope(name), CONVERSATIONS, talks, seconds=BATCH_SECONDS)
        return self._note_rows(texts, [row.session_id for row, _ in kept])

    def texts_of(self, name: str | None, passage: Passage) -> Sequence[str]:
        """The ids of the texts that a passage is: by its words, its row, or its document."""
        if self.source in (Place.MEMORIES, Place.CORPUS):
            return self._texts.get((name, content(passage.text)), ())
        return self._texts.get(
            passage.fields["document"] if self.source is Place.DOCUMENTS else passage.id, ()
        )

    def _note_words(self, name: str | None, texts: Sequence[CorpusText]) -> None:
        for text in texts:
            for words in {content(text.text), content(text.whole)}:
                self._texts[name, words].append(text.id)

    def _note_rows(self, texts: Sequence[CorpusText], rows: Sequence[str]) -> int:
        """Returns how many of the rows are new."""
        before = len(self._texts)
        for text, row in zip(texts, rows, strict=True):
            self._texts[row].append(text.id)
        return len(self._texts) - before

    async def _upload_all(self, name: str | None, texts: Sequence[CorpusText]) -> int:
        session = self.scope(name).session_id

        async def upload(text: CorpusText) -> int:
            data = as_pdf(text.title, text.text)
            path = self._scratch / f"{digest(text.id)}.pdf"
            await asyncio.to_thread(path.write_bytes, data)
            given = Upload(path, path.name, len(data), hashlib.sha256(data).hexdigest(), session)
            document, _ = await self._services.documents.upload(Scope(), given, wait=BATCH_SECONDS)
            await asyncio.to_thread(path.unlink)
            return self._note_rows([text], [document.id])

        return sum([stored async for stored in side_by_side(upload, texts, UPLOADS)])


def code_row(text: CorpusText) -> CodeRow:
    """A text as a chunk of a file: `meta.path` or its title, and `meta.name`."""
    function = text.meta.get("name")
    path = str(text.meta.get("path") or text.title) or None
    return CodeRow(path, None, text.text, {"function_name": str(function)} if function else {}, text.id)


def digest(name: str) -> str:
    """Any id as a name that files and sessions take."""
    return hashlib.sha256(name.encode()).hexdigest()


@dataclass(slots=True)
class Measured:
    runs: Mapping[str, Run] = field(default_factory=lambda: {name: {} for name in ABLATIONS})
    """By ablation."""
    stored: int = 0
    degraded: Counter[str] = field(default_factory=Counter)
    """Searches that a source failed, by `source: reason`."""
    searched: set[str] = field(default_factory=set)
    """`exact`, `engine`: how the source was searched."""


class Evaluation:
    def __init__(self, retrieval: Retrieval, target: Target, benchmark: Benchmark) -> None:
        self._retrieval = retrieval
        self._target = target
        self._benchmark = benchmark
        self.found = Measured()

    async def put(self, step: Step) -> None:
        """Write all texts; `step` gets the number of texts of each batch."""
        scopes: defaultdict[str | None, list[CorpusText]] = defaultdict(list)
        for text in self._benchmark.texts:
            scopes[text.scope].append(text)

        async def batch(name: str | None, at: int) -> None:
            texts = scopes[name][at : at + BATCH]
            stored = await self._target.put(name, texts)
            self.found.stored += stored
            step(len(texts))

        async def scope(name: str | None) -> None:
            await batch(name, 0)  # alone: it makes the collection that the others are put into
            at_once = 1 if self._target.in_order else AT_ONCE
            rest = range(BATCH, len(scopes[name]), BATCH)
            async for _ in side_by_side(partial(batch, name), rest, at_once):
                pass

        async for _ in side_by_side(scope, scopes, AT_ONCE):
            pass

    async def ask(self, step: Step) -> None:
        """Search for all questions; `step` gets 1 after each."""

        async def ask(question: BenchmarkQuestion) -> None:
            for way, passages in (await self._ranked(question)).items():
                found = (name for each in passages for name in self._target.texts_of(question.scope, each))
                self.found.runs[way][question.id] = ranks(found)

        async for _ in side_by_side(ask, self._benchmark.questions, AT_ONCE):
            step(1)

    async def _ranked(self, question: BenchmarkQuestion) -> Mapping[str, Sequence[Passage]]:
        """Passages by ablation, best first."""
        query = Query(question.text, self._target.scope(question.scope), limit=LIMIT, threshold=-1.0)
        found, every = await self._retrieval.apart(query, [self._target.source])
        self.found.degraded.update(f"{lost.source}: {lost.reason}" for lost in found.degraded)
        self.found.searched.update(found.sources.values())
        ways: dict[str, Sequence[Passage]] = dict.fromkeys(ABLATIONS, ())
        ways[SERVED] = [candidate.passage for candidate in found.candidates]
        for legs in every:
            ways["words"] = [legs.passages[hit.key] for hit in legs.words]
            ways["meaning"] = [legs.passages[hit.key] for hit in legs.meaning]
            ways["fused"] = [legs.passages[key] for key in by_ranks(legs.words, legs.meaning)]
        return ways


async def copied(services: Services) -> None:
    """Wait until Chroma and Qdrant have taken all that was written. Raises `StartError` in the end."""
    for probe in (*services.probes, *services.optional):
        if probe.name in ENGINES:
            try:
                async with asyncio.timeout(COPY_SECONDS):
                    while not {"waiting", "refill"}.isdisjoint(await probe.check()):  # noqa: ASYNC110 - polled
                        await asyncio.sleep(POLL_SECONDS)
            except TimeoutError:
                raise StartError(f"{probe.name} does not take the texts that were written") from None


def by_ranks(*legs: Sequence[Hit]) -> list[str]:
    """Reciprocal rank fusion; ties by id."""
    scores: defaultdict[str, float] = defaultdict(float)
    for leg in legs:
        for rank, hit in enumerate(leg, 1):
            scores[hit.key] += 1 / (RANK + rank)
    return sorted(scores, key=lambda key: (-scores[key], key))


def ranks(names: Iterable[str]) -> dict[str, float]:
    """A score for each name, the first one's highest: the measures sort by score."""
    return {name: -float(rank) for rank, name in enumerate(dict.fromkeys(names))}


class PlainParser:
    """Reads files of `as_pdf`, cut as a PDF's paragraphs are. Keeps `Parser`; raises `PdfTextless`."""

    def __init__(self, count: Count) -> None:
        self._count = count

    async def parse(self, path: Path, filename: str, told: Told | None = None) -> ParsedDocument:
        return await asyncio.to_thread(self._read, path)

    def _read(self, path: Path) -> ParsedDocument:
        _, title, text = path.read_text(encoding="utf-8").split("\n", 2)
        prose = [" ".join(part.split()) for part in text.split("\n\n")]
        blocks = [LayoutBlock(BlockKind.PROSE, part, ((0, 1),)) for part in prose if part]
        if not blocks:
            raise PdfTextless
        return ParsedDocument(1, title, tuple(chunks(blocks, self._count)))


def as_pdf(title: str, text: str) -> bytes:
    """A text as a file that the upload accepts as PDF and only `PlainParser` can read."""
    return "\n".join(("%PDF-text", " ".join(title.split()), text)).encode()


@contextmanager
def open_vectors(folder: Path) -> Iterator[sqlite3.Connection]:
    """The file of kept vectors; file and folder are made where they are missing."""
    file = folder / "embeddings.sqlite"
    try:
        for each in (folder.parent, folder):  # the data folder may be made here, for its owner alone
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=30)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # a crash costs the newest, never the file
        connection.execute(
            "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
        )
    except (OSError, sqlite3.Error) as error:
        raise StartError(f"{file} cannot be used: {error}") from None
    with closing(connection):
        yield connection


class KeptEmbedder:
    """An embedder that keeps its vectors in a file, keyed by space, use and text. Keeps `base.Embedder`."""

    def __init__(self, embedder: Embedder, vectors: sqlite3.Connection) -> None:
        self._embedder = embedder
        self._vectors = vectors

    @property
    def space(self) -> str:
        return self._embedder.space

    async def query(self, text: str) -> Embedding:
        async def embed(texts: Sequence[str]) -> list[Embedding]:
            return [await self._embedder.query(text) for text in texts]

        # The number in the use changes when queries are embedded in another way.
        return (await self._kept("query.3", [text], embed))[0]

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        return await self._kept("passage", texts, self._embedder.passages)

    async def _kept(
        self, use: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Awaitable[list[Embedding]]]
    ) -> list[Embedding]:
        keys = [
            hashlib.sha256(f"{self.space}\n{use}\n{text}".encode("utf-8", "surrogatepass")).digest()
            for text in texts
        ]
        known: dict[bytes, Embedding] = {}
        for key in keys:
            for (vector,) in self._vectors.execute("SELECT vector FROM vector WHERE key = ?", (key,)):
                known[key] = vector
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = dict(zip(missing, await embed(list(missing.values())), strict=True))
            with self._vectors:
                self._vectors.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", made.items())
            known |= made
        return [known[key] for key in keys]


@asynccontextmanager
async def open_target(
    config: Settings, source: Place, vectors: sqlite3.Connection
) -> AsyncIterator[tuple[Services, Target]]:
    """Fresh stores in a temporary folder, and the source to measure."""
    parser: Parser | None = PlainParser(O200k().count) if source is Place.DOCUMENTS else None
    await asyncio.to_thread(remove_abandoned)
    with TemporaryDirectory(prefix=PREFIX) as folder:
        own = isolated(config, Path(folder))
        async with open_services(
            own, parser, lambda model: KeptEmbedder(Patient(model), vectors)
        ) as services:
            yield services, Target(services, source, own.scratch)


def remove_abandoned() -> None:
    """Remove the stores of killed runs: nobody holds their lock."""
    for folder in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError, StartError):
            made = folder.stat()
            old = time.time() - made.st_mtime > ABANDONED_SECONDS
            if made.st_uid == os.getuid() and old and not read_lock(folder):
                shutil.rmtree(folder, ignore_errors=True)


def isolated(config: Settings, folder: Path) -> Settings:
    """The same configuration on embedded stores of its own, without a cache, and with time to answer."""
    rag = config.rag.model_copy(update={"cache_ttl_seconds": 0, "timeout_seconds": BATCH_SECONDS})
    own = {
        "postgres": Postgres(),
        "chroma": ChromaSettings(),
        "qdrant": QdrantSettings(),
        "cache": CacheSettings(),
    }
    ibid = config.ibid.model_copy(update={"data_dir": folder, "workers": max(1, config.ibid.workers)})
    return config.model_copy(update={**own, "ibid": ibid, "rag": rag})
