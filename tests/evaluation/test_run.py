"""A benchmark through a write side and a search: who is asked for what, and what counts as found."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from app.db.code import CodeRow
from app.db.conversations import Conversation
from app.db.conversations import ConversationDraft as Talk
from app.db.conversations import ConversationOutcome as Kept
from app.db.conversations import Written as WrittenTalk
from app.db.corpus import ReferenceDraft
from app.db.documents import Document, Upload
from app.db.memories import Draft, MemoryOutcome, Written
from app.errors import RetrievalError, StartError
from app.evaluation import run
from app.evaluation.data import Benchmark, BenchmarkQuestion, CorpusText
from app.evaluation.run import (
    Evaluation,
    KeptEmbedder,
    Place,
    PlainParser,
    Target,
    as_pdf,
    open_vectors,
)
from app.retrieval.search import Retrieval
from app.services.services import Services
from app.types import Embedding, Hit, Legs, Passage, Query, Scope
from tests.fakes.answering import FakeEmbedder, FakeSource
from tests.fakes.services import stored


@dataclass
class Writing:
    """Keeps what it is given, once a user and text."""

    kept: list[tuple[Scope, Draft]] = field(default_factory=list)
    error: Exception | None = None

    def services(self) -> Services:
        return cast(Services, SimpleNamespace(memories=self))

    async def remember(self, scope: Scope, drafts: Sequence[Draft], *, seconds: float) -> list[Written]:
        if self.error:
            raise self.error
        written = []
        for draft in drafts:
            known = any((scope, draft.text) == (whose, there.text) for whose, there in self.kept)
            self.kept.append((scope, draft))
            written.append(Written(MemoryOutcome.REPEATED if known else MemoryOutcome.CREATED))
        await asyncio.sleep(0)
        return written


def found(*texts: str) -> FakeSource:
    """A source that finds these, best first."""
    passages = [
        Passage("memories", f"m{n}", text, 3, f"m#{n}", similarity=0.9 - n / 100)
        for n, text in enumerate(texts)
    ]
    return FakeSource(passages, name="memories")


def subject(
    source: FakeSource, texts: Sequence[CorpusText], questions: Sequence[BenchmarkQuestion], writing: Writing
) -> Evaluation:
    retrieval = Retrieval({"memories": source}, FakeEmbedder(), seconds=5)
    target = Target(writing.services(), Place.MEMORIES, Path())
    return Evaluation(retrieval, target, Benchmark("b", "dev", texts, questions))


async def test_a_scope_is_a_user_and_its_texts_his_memories() -> None:
    """In the thread and at the time that they were said, a title in front; without a scope: everyone's."""
    writing, steps = Writing(), list[int]()
    meta = {"session": 2, "date": "2024-05-08T13:56:00Z"}
    texts = [
        CorpusText("1", "one", "T", "ada", meta),
        CorpusText("2", "two", scope="bob"),
        CorpusText("3", "three"),
    ]

    await subject(found(), texts, [], writing).put(steps.append)

    kept = {scope.user_id: draft for scope, draft in writing.kept}
    at = datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert (kept["ada"].text, kept["ada"].thread_id, kept["ada"].created_at) == ("T\none", "2", at)
    assert (kept["bob"].text, kept["everyone"].text) == ("two", "three")
    assert sum(steps) == 3


async def test_texts_are_written_in_order_a_batch_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours in a conversation are found by their places."""
    monkeypatch.setattr(run, "BATCH", 2)
    writing, steps = Writing(), list[int]()
    texts = [CorpusText(str(n), f"turn {n}", scope="ada") for n in range(5)]
    evaluated = subject(found(), texts, [], writing)

    await evaluated.put(steps.append)

    assert [draft.text for _, draft in writing.kept] == [f"turn {n}" for n in range(5)]
    assert (steps, evaluated.found.stored) == ([2, 2, 1], 5)


async def test_batches_go_side_by_side_only_where_order_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the first, which makes what the others are put into: one is embedded while another is stored."""
    monkeypatch.setattr(run, "BATCH", 1)
    most = dict[bool, int]()
    for in_order in (True, False):
        under_way, seen = 0, list[int]()

        class Counting(Writing):
            async def remember(
                self, scope: Scope, drafts: Sequence[Draft], *, seconds: float
            ) -> list[Written]:
                nonlocal under_way
                under_way += 1
                seen.append(under_way)  # noqa: B023 - used up within the turn
                await asyncio.sleep(0)
                under_way -= 1
                return await super().remember(scope, drafts, seconds=seconds)

        texts = [CorpusText(str(n), f"turn {n}", scope="ada") for n in range(5)]
        target = Target(Counting().services(), Place.MEMORIES, Path())
        target.in_order = in_order
        retrieval = Retrieval({}, FakeEmbedder(), seconds=5)
        await Evaluation(retrieval, target, Benchmark("b", "dev", texts, [])).put(lambda _: None)
        most[in_order] = max(seen)
        assert (seen[0], len(seen)) == (1, 5)

    assert most == {True: 1, False: 2}


async def test_every_question_is_asked_once() -> None:
    source = found("one")
    questions = [BenchmarkQuestion(str(n), f"question {n}", {"1": 1}, "ada") for n in range(9)]
    evaluated = subject(source, [CorpusText("1", "one", scope="ada")], questions, Writing())

    await evaluated.ask(lambda _: None)

    assert sorted(query.text for query in source.queries) == [question.text for question in questions]


async def test_questions_search_the_source_of_their_scope() -> None:
    """With nothing cut off, and more than the widest measure looks at."""
    source = found("one")
    question = BenchmarkQuestion("q", "which?", {"1": 1}, "ada")

    evaluated = subject(source, [CorpusText("1", "one", scope="ada")], [question], Writing())
    await evaluated.put(lambda _: None)
    await evaluated.ask(lambda _: None)

    (query,) = source.queries
    assert (query.text, query.scope, query.threshold) == ("which?", Scope(user_id="ada"), -1.0)
    assert query.limit > 20
    assert evaluated.found.runs["all"] == {"q": {"1": 0.0}}


async def test_texts_of_the_same_words_are_found_as_one() -> None:
    """All their ids count, where the one stands; another scope's do not."""
    texts = [
        CorpusText("1", "Yes, of course!", scope="ada"),
        CorpusText("2", "no", scope="ada"),
        CorpusText("3", "yes,  of course!", scope="ada"),
        CorpusText("4", "Yes, of course!", scope="bob"),
    ]
    source = found("no", "Yes, of course!", "what nobody wrote")
    evaluated = subject(source, texts, [BenchmarkQuestion("q", "?", {"3": 1}, "ada")], Writing())

    await evaluated.put(lambda _: None)
    await evaluated.ask(lambda _: None)

    run = evaluated.found.runs["all"]["q"]
    assert list(run) == ["2", "1", "3"]
    assert run["1"] > run["3"]


async def test_a_search_that_fails_is_counted() -> None:
    """The figures would be too low without a word."""
    source = found()
    source.error = RetrievalError("timeout")
    evaluated = subject(source, [], [BenchmarkQuestion(str(n), "?", {"1": 1}) for n in range(3)], Writing())

    await evaluated.ask(lambda _: None)

    assert evaluated.found.degraded == {"memories: timeout": 3}


class Legged(FakeSource):
    """A source whose legs disagree: words find b, then a; meaning a, then c."""

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        self.queries.append(query)
        return Legs(
            "memories",
            words=(Hit("b", 5.0, 0.9), Hit("a", 4.9, 0.85)),
            meaning=(Hit("a", 0.8), Hit("c", 0.4)),
            passages={
                key: Passage("memories", key, f"text {key}", 3, f"m#{key}", similarity=similar)
                for key, similar in (("a", 0.8), ("b", 0.2), ("c", 0.4))
            },
            stored=3,
        )


async def test_each_way_tells_what_it_finds() -> None:
    """Each leg by itself, both by their places, and the service, to which such words say little."""
    texts = [CorpusText(key, f"text {key}", scope="ada") for key in "abc"]
    question = BenchmarkQuestion("q", "which?", {"a": 1}, "ada")
    evaluated = subject(Legged([], name="memories"), texts, [question], Writing())

    await evaluated.put(lambda _: None)
    await evaluated.ask(lambda _: None)

    assert {way: list(run["q"]) for way, run in evaluated.found.runs.items()} == {
        "words": ["b", "a"],
        "meaning": ["a", "c"],
        "fused": ["a", "b", "c"],
        "all": ["a", "c", "b"],
    }


@dataclass
class Stores:
    """The other write sides; the same bytes in the same place are one document, the same code one row."""

    texts: list[tuple[Scope, Sequence[ReferenceDraft]]] = field(default_factory=list)
    uploads: list[tuple[Upload, bytes]] = field(default_factory=list)
    code: list[tuple[str, CodeRow]] = field(default_factory=list)
    talks: list[tuple[str | None, str, Talk]] = field(default_factory=list)

    def target(self, source: Place, scratch: Path = Path()) -> Target:
        corpus = SimpleNamespace(keep=self.keep_texts)
        documents = SimpleNamespace(upload=self.upload)
        code, talks = SimpleNamespace(put=self.put_code), SimpleNamespace(keep=self.keep_talks)
        services = SimpleNamespace(corpus=corpus, documents=documents, code=code, conversations=talks)
        return Target(cast(Services, services), source, scratch)

    async def keep_texts(
        self, scope: Scope, collection: str, texts: Sequence[ReferenceDraft], *, seconds: float
    ) -> list[tuple[object, bool]]:
        self.texts.append((scope, texts))
        return [(text, True) for text in texts]

    async def upload(self, scope: Scope, upload: Upload, *, wait: float) -> tuple[Document, object]:
        self.uploads.append((upload, await asyncio.to_thread(upload.path.read_bytes)))
        return stored(id=f"{upload.session_id}/{upload.sha256}"), "created"

    async def put_code(
        self, scope: Scope, project: str, rows: Sequence[CodeRow], *, seconds: float
    ) -> list[tuple[str, bool]]:
        self.code += [(project, row) for row in rows]
        return [(row.chunk_text, True) for row in rows]

    async def keep_talks(
        self, scope: Scope, kind: str, drafts: Sequence[Talk], *, seconds: float
    ) -> list[WrittenTalk]:
        self.talks += [(scope.project, kind, draft) for draft in drafts]
        return [
            (Conversation(f"row-{draft.id}", "", None, (), (), None, None, None, None), Kept.CREATED)
            for draft in drafts
        ]


def passage(text: str = "text", *, key: str = "p", document: str = "") -> Passage:
    return Passage("documents", key, text, 3, "p#1", fields={"document": document})


async def test_in_the_corpus_a_scope_is_a_tenant() -> None:
    """Its texts keep their ids and titles, and are found by their words with and without title."""
    stores = Stores()
    target = stores.target(Place.CORPUS)

    count = await target.put("en", [CorpusText("1", "one", "T", "en")])

    ((scope, (given,)),) = stores.texts
    assert (count, scope, target.scope("en")) == (1, Scope(tenant="en"), Scope(tenant="en"))
    assert (given.id, given.text, given.title) == ("1", "one", "T")
    assert list(target.texts_of("en", passage("One"))) == ["1"]
    assert list(target.texts_of("en", passage("t  one"))) == ["1"]
    assert list(target.texts_of("de", passage("One"))) == []


async def test_among_documents_a_scope_is_a_session(tmp_path: Path) -> None:
    """Whatever its name; what names none is global. Files are gone when they are in."""
    stores = Stores()
    target = stores.target(Place.DOCUMENTS, tmp_path)

    await target.put("a name / of any kind", [CorpusText("1", "one", "T")])
    await target.put(None, [CorpusText("2", "two")])

    (first, data), (second, _) = stores.uploads
    assert (data, first.size) == (b"%PDF-text\nT\none", 15)
    assert first.session_id == target.scope("a name / of any kind").session_id
    assert first.session_id
    assert first.session_id.isalnum()
    assert second.session_id is target.scope(None).session_id is None
    assert not any(upload.path.exists() for upload, _ in stores.uploads)


async def test_a_part_of_a_document_is_its_text(tmp_path: Path) -> None:
    """Texts of the same bytes are one document, and it is all of them."""
    stores = Stores()
    target = stores.target(Place.DOCUMENTS, tmp_path)

    count = await target.put(
        "s", [CorpusText("1", "same"), CorpusText("2", "same"), CorpusText("3", "other")]
    )

    digests = {data: upload.sha256 for upload, data in stores.uploads}
    document = f"{target.scope('s').session_id}/{digests[as_pdf('', 'same')]}"
    assert count == 2
    assert sorted(target.texts_of("s", passage(document=document))) == ["1", "2"]
    assert list(target.texts_of("s", passage(document="another's"))) == []


@dataclass
class Counting:
    """An embedder whose vectors tell what was embedded, and as what."""

    space: str = "m@3"
    asked: list[str] = field(default_factory=list)
    fails: bool = False

    async def query(self, text: str) -> Embedding:
        return (await self.passages([f"?{text}"]))[0]

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        if self.fails:
            raise RetrievalError("embedding")
        self.asked += texts
        return [f"{self.space}:{text}".encode("utf-8", "surrogatepass") for text in texts]


async def test_what_was_embedded_once_is_not_embedded_again(tmp_path: Path) -> None:
    """Not by the next run either; the order stays, and a text given twice is embedded once."""
    with open_vectors(tmp_path / "made") as vectors:
        await KeptEmbedder(Counting(), vectors).passages(["a", "b"])
    embedder = Counting()
    with open_vectors(tmp_path / "made") as vectors:
        kept = KeptEmbedder(embedder, vectors)
        found = await kept.passages(["c", "b", "c", "a"])
        asked = [await kept.query("q"), await kept.query("q")]

    assert found == [b"m@3:c", b"m@3:b", b"m@3:c", b"m@3:a"]
    assert asked == [b"m@3:?q"] * 2
    assert embedder.asked == ["c", "?q"]
    assert kept.space == "m@3"


async def test_a_failure_is_passed_on_and_nothing_is_kept(tmp_path: Path) -> None:
    """The next time it is asked again."""
    embedder = Counting(fails=True)
    with open_vectors(tmp_path) as vectors:
        kept = KeptEmbedder(embedder, vectors)
        with pytest.raises(RetrievalError):
            await kept.passages(["a"])
        embedder.fails = False
        assert await kept.passages(["a"]) == [b"m@3:a"]


def test_a_file_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """Something else of that name, or a folder that cannot be made."""
    file = tmp_path / "embeddings.sqlite"
    file.write_text("not a database, though long enough to be taken for one" * 100)
    with pytest.raises(StartError, match=file.name), open_vectors(tmp_path):
        pass
    with pytest.raises(StartError), open_vectors(file / "below"):
        pass


async def test_a_text_comes_back_with_its_title(tmp_path: Path) -> None:
    """Every word of it, in order, cut where a document would be."""
    text = "\n\n".join(" ".join(f"w{n}x{m}" for m in range(150)) + "." for n in range(6))
    path = tmp_path / "a.pdf"
    path.write_bytes(as_pdf("On\nwords", text))

    parsed = await PlainParser(lambda words: len(words.split())).parse(path, "a.pdf")

    assert (parsed.title, parsed.pages) == ("On words", 1)
    assert len(parsed.chunks) > 1
    assert " ".join(chunk.text for chunk in parsed.chunks).split() == text.split()
    assert [chunk.ordinal for chunk in parsed.chunks] == list(range(1, len(parsed.chunks) + 1))
