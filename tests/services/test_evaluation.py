"""A benchmark through a write side and a retrieval: who is asked for what, and what counts as found."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from app.db.memories import Draft, Outcome, Written
from app.domain.benchmark import Benchmark, Question, Text
from app.errors import RetrievalError, Unavailable
from app.retrieval.search import Retrieval
from app.services import evaluation
from app.services.evaluation import Evaluation, by_ranks, ranks
from app.services.shelf import MemoryShelf
from app.types import Embedding, Hit, Legs, Passage, Query, Scope
from tests.fakes.answering import FakeEmbedder, FakeSource


@dataclass
class Writing:
    """Keeps what it is given, once a user and text."""

    kept: list[tuple[Scope, Draft]] = field(default_factory=list)
    error: Exception | None = None

    async def remember(self, scope: Scope, drafts: Sequence[Draft], *, seconds: float) -> list[Written]:
        """Same words: repeated."""
        if self.error:
            raise self.error
        written = []
        for draft in drafts:
            known = any((scope, draft.text) == (whose, there.text) for whose, there in self.kept)
            self.kept.append((scope, draft))
            written.append(Written(Outcome.REPEATED if known else Outcome.CREATED))
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
    source: FakeSource, texts: Sequence[Text], questions: Sequence[Question], writing: Writing
) -> Evaluation:
    """On memories."""
    retrieval = Retrieval({"memories": source}, FakeEmbedder(), seconds=5)
    return Evaluation(retrieval, MemoryShelf(writing), Benchmark("b", "dev", texts, questions))


async def test_a_scope_is_a_user_and_its_texts_his_memories() -> None:
    """In the thread and at the time that they were said, a title in front; without a scope: everyone's."""
    writing, steps = Writing(), list[int]()
    meta = {"session": 2, "date": "2024-05-08T13:56:00Z"}
    texts = [Text("1", "one", "T", "ada", meta), Text("2", "two", scope="bob"), Text("3", "three")]

    await subject(found(), texts, [], writing).file(steps.append)

    kept = {scope.user_id: draft for scope, draft in writing.kept}
    at = datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert (kept["ada"].text, kept["ada"].thread_id, kept["ada"].created_at) == ("T\none", "2", at)
    assert (kept["bob"].text, kept["everyone"].text) == ("two", "three")
    assert sum(steps) == 3


async def test_texts_are_written_in_order_a_batch_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours in a conversation are found by their places."""
    monkeypatch.setattr(evaluation, "BATCH", 2)
    writing, steps = Writing(), list[int]()
    texts = [Text(str(n), f"turn {n}", scope="ada") for n in range(5)]
    evaluated = subject(found(), texts, [], writing)

    await evaluated.file(steps.append)

    assert [draft.text for _, draft in writing.kept] == [f"turn {n}" for n in range(5)]
    assert (steps, evaluated.found.stored) == ([2, 2, 1], 5)


class Anyhow(MemoryShelf):
    """One that minds no order."""

    ordered = False


async def test_where_order_does_not_matter_batches_go_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first, which makes what the others are put into: one is embedded while another is stored."""
    monkeypatch.setattr(evaluation, "BATCH", 1)
    most = dict[type[MemoryShelf], int]()
    for kind in (MemoryShelf, Anyhow):
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

        texts = [Text(str(n), f"turn {n}", scope="ada") for n in range(5)]
        shelf = kind(Counting())
        retrieval = Retrieval({}, FakeEmbedder(), seconds=5)
        await Evaluation(retrieval, shelf, Benchmark("b", "dev", texts, [])).file(lambda _: None)
        most[kind] = max(seen)
        assert (seen[0], len(seen)) == (1, 5)

    assert most == {MemoryShelf: 1, Anyhow: 2}


async def test_the_first_questions_are_asked_alone_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for some that wait for what is loaded at first use; every question is asked once."""
    monkeypatch.setattr(evaluation, "WARM", 2)
    monkeypatch.setattr(evaluation, "TIMED", 3)
    source = found("one")
    questions = [Question(str(n), f"question {n}", {"1": 1}, "ada") for n in range(9)]
    evaluated = subject(source, [Text("1", "one", scope="ada")], questions, Writing())

    await evaluated.ask(lambda _: None)

    assert sorted(query.text for query in source.queries) == [question.text for question in questions]
    assert len(evaluated.found.took) == 3
    assert all({"reach", "embedding", "fusion", "total"} <= took.keys() for took in evaluated.found.took)
    assert all(took["total"] >= took["embedding"] for took in evaluated.found.took)


async def test_questions_search_the_source_of_their_scope() -> None:
    """With nothing cut off, and more than the widest measure looks at."""
    source = found("one")
    question = Question("q", "which?", {"1": 1}, "ada")

    evaluated = subject(source, [Text("1", "one", scope="ada")], [question], Writing())
    await evaluated.file(lambda _: None)
    await evaluated.ask(lambda _: None)

    (query,) = source.queries
    assert (query.text, query.scope, query.threshold) == ("which?", Scope(user_id="ada"), -1.0)
    assert query.limit > 20
    assert evaluated.found.runs["all"] == {"q": {"1": 0.0}}


async def test_texts_of_the_same_words_are_found_as_one() -> None:
    """All their ids count, where the one stands; another scope's do not."""
    texts = [
        Text("1", "Yes, of course!", scope="ada"),
        Text("2", "no", scope="ada"),
        Text("3", "yes,  of course!", scope="ada"),
        Text("4", "Yes, of course!", scope="bob"),
    ]
    source = found("no", "Yes, of course!", "what nobody wrote")
    evaluated = subject(source, texts, [Question("q", "?", {"3": 1}, "ada")], Writing())

    await evaluated.file(lambda _: None)
    await evaluated.ask(lambda _: None)

    run = evaluated.found.runs["all"]["q"]
    assert list(run) == ["2", "1", "3"]
    assert run["1"] > run["3"]


async def test_a_search_that_fails_is_counted() -> None:
    """The figures would be too low without a word."""
    source = found()
    source.error = RetrievalError("timeout")
    evaluated = subject(source, [], [Question(str(n), "?", {"1": 1}) for n in range(3)], Writing())

    await evaluated.ask(lambda _: None)

    assert evaluated.found.degraded == {"memories: timeout": 3}


async def test_a_write_that_fails_ends_it() -> None:
    """A benchmark of half the texts measures nothing."""
    evaluated = subject(found(), [Text("1", "one")], [], Writing(error=Unavailable("down")))

    with pytest.raises(Unavailable):
        await evaluated.file(lambda _: None)


class Legged(FakeSource):
    """A source whose legs disagree: words find b, then a; meaning a, then c."""

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Both legs."""
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
    texts = [Text(key, f"text {key}", scope="ada") for key in "abc"]
    question = Question("q", "which?", {"a": 1}, "ada")
    evaluated = subject(Legged([], name="memories"), texts, [question], Writing())

    await evaluated.file(lambda _: None)
    await evaluated.ask(lambda _: None)

    assert {way: list(run["q"]) for way, run in evaluated.found.runs.items()} == {
        "words": ["b", "a"],
        "meaning": ["a", "c"],
        "fused": ["a", "b", "c"],
        "all": ["a", "c", "b"],
    }


def test_fused_by_ranks_equal_ones_stand_by_id() -> None:
    """First of one leg is as good as first of the other."""
    assert by_ranks([Hit("b", 9.0), Hit("c", 1.0)], [Hit("a", 0.1), Hit("c", 0.0)]) == ["c", "a", "b"]


def test_ranks_fall_and_tell_each_once() -> None:
    """The best place of a text counts."""
    assert list(ranks(["b", "a", "b"]).items()) == [("b", 0.0), ("a", -1.0)]
