"""Where the texts of a benchmark go, and what a passage found there is."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.db.corpus import Given
from app.db.documents import Document, Upload
from app.domain.benchmark import Text
from app.services.shelf import CorpusShelf, DocumentShelf, Worded, side_by_side
from app.types import Passage, Scope
from tests.fakes.services import stored


def passage(text: str, document: str = "") -> Passage:
    """Found."""
    return Passage("documents", "p", text, 3, "p#1", fields={"document": document})


@dataclass
class Writing:
    """Keeps what it is given; the same bytes in the same place are one document."""

    collected: list[tuple[Scope, str, Sequence[Given]]] = field(default_factory=list)
    uploads: list[tuple[Upload, bytes]] = field(default_factory=list)

    async def keep(
        self, scope: Scope, collection: str, texts: Sequence[Given], *, seconds: float
    ) -> list[tuple[object, bool]]:
        """All of them."""
        self.collected.append((scope, collection, texts))
        return [(text, True) for text in texts]

    async def upload(self, scope: Scope, upload: Upload, *, wait: float) -> tuple[Document, object]:
        """Searchable."""
        self.uploads.append((upload, await asyncio.to_thread(upload.path.read_bytes)))
        return stored(id=f"{upload.session_id}/{upload.sha256}"), "created"


def dressed(title: str, text: str) -> bytes:
    """Plainly."""
    return f"{title}|{text}".encode()


async def test_in_the_corpus_a_scope_is_a_tenant() -> None:
    """Its texts are one collection, under their own ids and titles."""
    writing = Writing()
    shelf = CorpusShelf(writing)

    count = await shelf.put("en", [Text("1", "one", "T", "en")])

    ((scope, _, (given,)),) = writing.collected
    assert (count, scope, shelf.scope("en")) == (1, Scope(tenant="en"), Scope(tenant="en"))
    assert (given.id, given.text, given.title) == ("1", "one", "T")
    assert list(shelf.names("en", passage("One"))) == ["1"]


async def test_among_documents_a_scope_is_a_session(tmp_path: Path) -> None:
    """Whatever its name; what names none is global. Files are gone when they are in."""
    writing = Writing()
    shelf = DocumentShelf(writing, tmp_path, dressed)

    await shelf.put("a name / of any kind", [Text("1", "one", "T")])
    await shelf.put(None, [Text("2", "two")])

    (first, data), (second, _) = writing.uploads
    assert (data, first.size) == (b"T|one", 5)
    assert first.session_id == shelf.scope("a name / of any kind").session_id
    assert first.session_id
    assert first.session_id.isalnum()
    assert second.session_id is shelf.scope(None).session_id is None
    assert not any(upload.path.exists() for upload, _ in writing.uploads)


async def test_a_part_of_a_document_is_its_text(tmp_path: Path) -> None:
    """Texts of the same bytes are one document, and it is all of them."""
    writing = Writing()
    shelf = DocumentShelf(writing, tmp_path, dressed)

    count = await shelf.put("s", [Text("1", "same"), Text("2", "same"), Text("3", "other")])

    digests = {data: upload.sha256 for upload, data in writing.uploads}
    found = shelf.names("s", passage("a part", f"{shelf.scope('s').session_id}/{digests[b'|same']}"))
    assert count == 2
    assert sorted(found) == ["1", "2"]
    assert list(shelf.names("s", passage("a part", "another's"))) == []


async def test_what_others_put_at_the_same_time_is_theirs(tmp_path: Path) -> None:
    """Each scope counts its own."""
    shelf = DocumentShelf(Writing(), tmp_path, dressed)
    scopes = {name: [Text(f"{name}{n}", f"text {n}") for n in range(3)] for name in ("s", "t")}
    assert await asyncio.gather(*(shelf.put(name, texts) for name, texts in scopes.items())) == [3, 3]
    assert await shelf.put("s", [*scopes["s"], Text("new", "another")]) == 1


def test_words_are_known_with_and_without_their_title() -> None:
    """Sources keep the one or the other."""
    shelf = Worded()
    shelf.note("s", [Text("1", "words", "Title")])

    assert (
        list(shelf.names("s", passage("words"))) == list(shelf.names("s", passage("title  words"))) == ["1"]
    )
    assert list(shelf.names("t", passage("words"))) == []


async def test_work_is_done_side_by_side() -> None:
    """As many at once as told, each thing once."""
    most, now, done = 0, 0, list[int]()

    async def work(item: int) -> None:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        done.append(item)

    await side_by_side(work, range(10), 3)

    assert (most, sorted(done)) == (3, list(range(10)))


async def test_the_first_error_ends_the_others() -> None:
    """And is told as it is."""
    ended = asyncio.Event()

    async def work(item: int) -> None:
        if item:
            raise ValueError("no")
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(ValueError, match="no"):
        await side_by_side(work, range(2), 2)

    assert ended.is_set()
