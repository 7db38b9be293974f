"""Where `ibid eval` puts texts: through the write side of one source, each scope somebody's.

A shelf remembers what it was given, so that a passage can be told for the texts that it is: by its words,
since same words are stored once; of documents, whose passages are parts, by the document. Raises what the
write side raises.
"""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from app.db.corpus import Given
from app.db.documents import Document, Upload
from app.db.memories import Draft, Outcome, Written
from app.domain.benchmark import Text
from app.retrieval.ranking import content
from app.services.memories import BATCH_SECONDS
from app.types import Passage, Scope

COLLECTION = "texts"
ALL = "everyone"
"""The scope of texts that name none, where the source needs one."""
UPLOADS = 4
"""Documents on their way at once."""

Item = TypeVar("Item")


class Shelf(Protocol):
    """A source under measurement."""

    @property
    def source(self) -> str:
        """Its name."""

    @property
    def ordered(self) -> bool:
        """Whether the texts of a scope must come one after the other, as they were said."""

    def scope(self, name: str | None) -> Scope:
        """Who asks for what belongs to `name`."""

    async def put(self, name: str | None, texts: Sequence[Text]) -> int:
        """Make them searchable, in order; how many were stored (same words: once)."""

    def names(self, name: str | None, passage: Passage) -> Sequence[str]:
        """The texts that a passage found there is."""


class Worded:
    """Texts known by their words, alone and with the title in front."""

    def __init__(self) -> None:
        self._words: defaultdict[tuple[str | None, str], list[str]] = defaultdict(list)

    def note(self, name: str | None, texts: Sequence[Text]) -> None:
        """They are there."""
        for text in texts:
            for words in {content(text.text), content(text.whole)}:
                self._words[name, words].append(text.id)

    def names(self, name: str | None, passage: Passage) -> Sequence[str]:
        """All texts of that scope with these words."""
        return self._words.get((name, content(passage.text)), ())


class Remembering(Protocol):
    """The write side of memories (`services/memories.py`)."""

    async def remember(self, scope: Scope, drafts: Sequence[Draft], *, seconds: float) -> Sequence[Written]:
        """Searchable when it returns."""


class MemoryShelf(Worded):
    """Each scope is a user, and each of his texts a memory in the thread that it was said in."""

    source = "memories"
    ordered = True

    def __init__(self, memories: Remembering) -> None:
        super().__init__()
        self._memories = memories

    def scope(self, name: str | None) -> Scope:
        """The user."""
        return Scope(user_id=name or ALL)

    async def put(self, name: str | None, texts: Sequence[Text]) -> int:
        """In the order they were said."""
        self.note(name, texts)
        drafts = [Draft(item.whole, thread_id=item.thread, created_at=item.said_at) for item in texts]
        written = await self._memories.remember(self.scope(name), drafts, seconds=BATCH_SECONDS)
        return sum(one.outcome is Outcome.CREATED for one in written)


class Keeping(Protocol):
    """The write side of the corpus (`services/corpus.py`)."""

    async def keep(
        self, scope: Scope, collection: str, texts: Sequence[Given], *, seconds: float
    ) -> Sequence[tuple[object, bool]]:
        """Searchable when it returns."""


class CorpusShelf(Worded):
    """Each scope is a tenant with one collection."""

    source = "corpus"
    ordered = False

    def __init__(self, corpus: Keeping) -> None:
        super().__init__()
        self._corpus = corpus

    def scope(self, name: str | None) -> Scope:
        """The tenant."""
        return Scope(tenant=name or ALL)

    async def put(self, name: str | None, texts: Sequence[Text]) -> int:
        """Under their own ids and titles."""
        self.note(name, texts)
        given = [Given(item.text, item.id, item.title) for item in texts]
        return len(await self._corpus.keep(self.scope(name), COLLECTION, given, seconds=BATCH_SECONDS))


class Uploading(Protocol):
    """The write side of documents (`services/documents.py`)."""

    async def upload(self, scope: Scope, upload: Upload, *, wait: float) -> tuple[Document, object]:
        """Searchable when it returns, unless it takes longer than `wait` seconds."""


class DocumentShelf:
    """Each scope is a session; what names none is there for all of them. A text is a document."""

    source = "documents"
    ordered = True  # and side by side within a batch

    def __init__(self, documents: Uploading, folder: Path, dressed: Callable[[str, str], bytes]) -> None:
        """`folder`: for files on their way; `dressed`: title and text as a file that the parser reads."""
        self._documents = documents
        self._folder = folder
        self._dressed = dressed
        self._known: defaultdict[str, list[str]] = defaultdict(list)

    def scope(self, name: str | None) -> Scope:
        """The session."""
        return Scope(session_id=named(name) if name else None)

    async def put(self, name: str | None, texts: Sequence[Text]) -> int:
        """Side by side, as clients upload them: one is read while another is embedded."""
        session, made = self.scope(name).session_id, list[str]()

        async def one(text: Text) -> None:
            made.extend(await self._upload(text, session))

        await side_by_side(one, texts, UPLOADS)
        return len(made)

    async def _upload(self, text: Text, session: str | None) -> list[str]:
        """One file; its document if it is a new one: the same bytes again are the same."""
        data = self._dressed(text.title, text.text)
        path = self._folder / f"{named(text.id)}.pdf"
        await asyncio.to_thread(path.write_bytes, data)
        given = Upload(path, path.name, len(data), hashlib.sha256(data).hexdigest(), session)
        document, _ = await self._documents.upload(Scope(), given, wait=BATCH_SECONDS)
        made = [] if document.id in self._known else [document.id]
        self._known[document.id].append(text.id)
        await asyncio.to_thread(path.unlink)
        return made

    def names(self, name: str | None, passage: Passage) -> Sequence[str]:
        """Those of its document."""
        return self._known.get(str(passage.fields["document"]), ())


def named(text: str) -> str:
    """Any id as a name that files and sessions take."""
    return hashlib.sha256(text.encode()).hexdigest()


async def side_by_side(
    work: Callable[[Item], Coroutine[Any, Any, None]], items: Iterable[Item], at_once: int
) -> None:
    """Do `work` for all; the first error ends the others."""
    left = iter(list(items))

    async def hand() -> None:
        for item in left:
            await work(item)

    hands = [asyncio.create_task(hand()) for _ in range(at_once)]
    try:
        await asyncio.gather(*hands)  # not a TaskGroup: the error is told as it is
    finally:
        for task in hands:
            task.cancel()
        await asyncio.gather(*hands, return_exceptions=True)
