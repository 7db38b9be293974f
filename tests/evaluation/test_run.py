"""Benchmarks: folders read as such, who is asked for what and what counts as found; measures, intervals
and tests of differences, against what they are defined to be; runs compared."""

import asyncio
import json
from collections.abc import Mapping, Sequence
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
from app.errors import RetrievalError
from app.evaluation.data import (
    ABLATIONS,
    MEASURES,
    BadBenchmark,
    Benchmark,
    BenchmarkQuestion,
    CorpusText,
    read,
)
from app.evaluation.figures import (
    FEWEST,
    RESAMPLES,
    compared,
    difference,
    earlier,
    measured,
    result,
    rows,
    verdict,
)
from app.evaluation.run import (
    Evaluation,
    KeptEmbedder,
    Measured,
    Place,
    PlainParser,
    Target,
    as_pdf,
    open_vectors,
)
from app.retrieval.search import Retrieval
from app.services.services import Services
from app.types import Embedding, Passage, Scope
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


TEXTS = [
    {"id": "a", "title": "T", "text": "one", "scope": "s", "meta": {"session": 1}},
    {"id": "b", "text": "two"},
]
QUESTION = {"id": "q", "text": "which?", "scope": "s", "rel": {"a": 2, "b": 0}}


def folder(place: Path, texts: list[object], questions: list[object]) -> Path:
    """A benchmark of these lines; what is text already is written as it is."""
    for name, said in (("corpus.jsonl", texts), ("queries_dev.jsonl", questions)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in said]
        (place / name).write_text("\n".join(lines))
    return place


def test_texts_and_questions_are_read_as_they_stand(tmp_path: Path) -> None:
    """With scope, title and meta; empty lines do not count."""
    found = read(folder(tmp_path, [*TEXTS, ""], [QUESTION]), "dev")

    assert (found.name, found.split, len(found.texts)) == (tmp_path.name, "dev", 2)
    assert (found.texts[0].title, found.texts[0].scope, found.texts[0].thread) == ("T", "s", "1")
    assert found.questions[0].rel == {"a": 2, "b": 0}
    assert (found.unanswerable, found.dangling) == (0, 0)


@pytest.mark.parametrize(
    ("texts", "questions", "said"),
    [
        pytest.param(['{"id": "a"', *TEXTS], [QUESTION], "corpus.jsonl, line 1: Invalid JSON", id="broken"),
        pytest.param([{"id": "a", "text": " "}], [QUESTION], "line 1: `text` String", id="blank"),
        pytest.param(
            [*TEXTS, "", TEXTS[0]], [QUESTION], "line 4: the id 'a' .* twice, first in line 1", id="twice"
        ),
        pytest.param([{"text": "x"}], [QUESTION], "corpus.jsonl, line 1: `id` Field required", id="no id"),
        pytest.param(
            TEXTS, [QUESTION | {"rel": {"a": 10**9}}], "less than or equal to 1000", id="vast grade"
        ),
        pytest.param(TEXTS, [QUESTION | {"rel": {"x": 1}}], "no graded text is in corpus", id="strangers"),
        pytest.param(
            TEXTS, [QUESTION | {"rel": {"a": 0.5}}], "`rel` `a` Input should be a valid integer", id="grade"
        ),
        pytest.param(TEXTS, [QUESTION | {"rel": {}}], "no question can be measured", id="none left"),
        pytest.param([], [QUESTION], "corpus.jsonl is empty", id="no texts"),
    ],
)
def test_a_bad_line_is_told_with_its_file_and_number(
    tmp_path: Path, texts: list[object], questions: list[object], said: str
) -> None:
    """So that it can be mended."""
    with pytest.raises(BadBenchmark, match=said):
        read(folder(tmp_path, texts, questions), "dev")


def test_marks_line_ends_and_large_texts_of_other_systems_are_read(tmp_path: Path) -> None:
    """A byte order mark, CR LF, a separator inside a text, nulls for what is missing, eight megabytes."""
    folder(tmp_path, [], [QUESTION])
    large = {"id": "a", "title": None, "text": "wörd\u2028" * 1_000_000, "scope": None, "meta": None}
    line = json.dumps(large, ensure_ascii=False).encode()
    (tmp_path / "corpus.jsonl").write_bytes(b"\xef\xbb\xbf" + line + b'\r\n{"id": "b", "text": "x"}\r\n')

    found = read(tmp_path, "dev")

    assert [(text.id, text.title, text.scope) for text in found.texts] == [("a", "", None), ("b", "", None)]
    assert found.texts[0].text == large["text"]


@pytest.mark.parametrize(
    ("date", "at"),
    [
        pytest.param("2024-05-08T13:56:00Z", datetime(2024, 5, 8, 13, 56, tzinfo=UTC), id="rfc3339"),
        pytest.param("2024-05-08T13:56:00", datetime(2024, 5, 8, tzinfo=UTC), id="no zone"),
        pytest.param("1:56 pm on 8 May, 2024", datetime(2024, 5, 8, tzinfo=UTC), id="in words"),
        pytest.param("Mittwoch, 8. Mai 2024", datetime(2024, 5, 8, tzinfo=UTC), id="in other words"),
        pytest.param("8 May", None, id="any year's"),
        pytest.param("May 2024", None, id="a month"),
        pytest.param("yesterday", None, id="relative"),
        pytest.param(None, None, id="null"),
    ],
)
def test_a_date_is_a_time_with_its_zone_or_a_day_in_words(date: str | None, at: datetime | None) -> None:
    """The day at its beginning in UTC; what is no whole day with its year is no date."""
    assert CorpusText("1", "words", meta={"date": date}).said_at == at


QUESTIONS = [BenchmarkQuestion("q1", "one?", {"a": 1}), BenchmarkQuestion("q2", "two?", {"b": 1})]
BENCHMARK = Benchmark("birds", "dev", [], QUESTIONS, unanswerable=2, dangling=1)


def found_both() -> Measured:
    """Words find both, meaning the first, all the second in second place."""
    seen = Measured(stored=7)
    seen.runs["words"].update({"q1": {"a": 0.0}, "q2": {"b": 0.0}})
    seen.runs["meaning"].update({"q1": {"a": 0.0}, "q2": {}})
    seen.runs["all"].update({"q1": {}, "q2": {"x": 0.0, "b": -1.0}})
    return seen


def ways() -> dict[str, Mapping[str, Mapping[str, float]]]:
    return {way: measured(BENCHMARK, found_both().runs[way]) for way in ABLATIONS}


def test_a_result_has_the_service_s_figures_and_those_of_each_way() -> None:
    """The keys that CONTRACT names stand at the top."""
    told = result(BENCHMARK, "corpus", found_both(), ways())

    assert {name: told[name] for name in ("set", "split", "source", "queries", "stored")} == {
        "set": "birds",
        "split": "dev",
        "source": "corpus",
        "queries": 2,
        "stored": 7,
    }
    assert list(told["ablations"]) == list(ABLATIONS)
    assert told["metrics"] == told["ablations"]["all"]["metrics"]
    assert [told["ablations"][name]["metrics"]["recall@5"] for name in ABLATIONS] == [1.0, 0.5, 0.0, 0.5]
    assert told["metrics"]["mrr"] == 0.25
    assert json.loads(json.dumps(told)) == told


def test_what_is_written_down_is_read_again(tmp_path: Path) -> None:
    """A line a question, with what was found for it; the next run compares with what the service gave."""
    figures = ways()
    lines = list(rows(BENCHMARK, "corpus", figures, found_both().runs["all"]))
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    known = earlier(path)

    assert [(line["id"], line["found"]) for line in lines] == [("q1", []), ("q2", ["x", "b"])]
    assert lines[0]["metrics"]["words"]["recall@5"] == 1
    assert known == {("birds", "dev", "corpus"): figures["all"]}


def test_two_runs_are_compared_over_what_both_asked() -> None:
    """More is a win, but less failure is."""
    before = {"q1": dict.fromkeys(MEASURES, 0.2), "q2": dict.fromkeys(MEASURES, 0.5), "gone": {}}
    after = {"q2": dict.fromkeys(MEASURES, 0.7), "q1": dict.fromkeys(MEASURES, 0.2), "new": {}}

    told = compared(before, after)

    assert told["questions"] == 2
    recall, failure = told["measures"]["recall@10"], told["measures"]["failure@20"]
    assert (recall["before"], recall["after"], recall["difference"]) == (0.35, 0.45, 0.1)
    assert (recall["wins"], recall["losses"], recall["ties"]) == (1, 0, 1)
    assert (failure["wins"], failure["losses"], failure["ties"]) == (0, 1, 1)
    assert (recall["p"], recall["interval"]) == (1.0, [0.0, 0.2])


def asked(*grades: dict[str, int]) -> Benchmark:
    questions = [BenchmarkQuestion(f"q{n}", "?", given) for n, given in enumerate(grades)]
    return Benchmark("b", "dev", [], questions)


def paired(before: Sequence[float], after: Sequence[float], measure: str = "mrr") -> Mapping[str, float]:
    """The difference of two runs with these figures."""
    names = [str(n) for n in range(len(before))]
    first, second = (
        {name: {measure: value} for name, value in zip(names, values, strict=True)}
        for values in (before, after)
    )
    return difference(measure, first, second, names)


def test_a_difference_that_chance_does_not_make_has_a_small_p() -> None:
    """Twenty gains in a row: 2 in 2^20 ways of signs. Ten gains and ten losses as large: any is as large."""
    assert paired([0.0] * 20, [0.1] * 20)["p"] == round(1 / (RESAMPLES + 1), 4)
    assert paired([0.0] * 20, [0.1, -0.1] * 10)["p"] == 1


@pytest.mark.parametrize(
    ("low", "high", "p", "less", "expected"),
    [
        pytest.param(0.01, 0.2, 0.01, False, "better", id="above"),
        pytest.param(-0.2, -0.01, 0.01, False, "worse", id="below"),
        pytest.param(-0.1, 0.1, 0.01, False, "inside", id="around"),
        pytest.param(0.0, 0.1, 0.01, False, "inside", id="from 0"),
        pytest.param(0.01, 0.2, 0.05, False, "inside", id="chance would, too"),
        pytest.param(0.01, 0.2, 0.01, True, "worse", id="more failures"),
        pytest.param(-0.2, -0.01, 0.01, True, "better", id="fewer failures"),
    ],
)
def test_a_verdict_needs_the_whole_interval_and_little_chance(
    low: float, high: float, p: float, less: bool, expected: str
) -> None:
    """On one side of 0; of failures fewer are better. Nothing is said of a handful of questions."""
    found = {"interval": [low, high], "p": p}

    assert verdict(found, FEWEST, less_is_better=less) == expected
    assert verdict(found, FEWEST - 1, less_is_better=less) == "too few"
