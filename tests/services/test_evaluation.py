"""A benchmark through a write side and a retrieval: who is asked for what, and what counts as found."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from app.domain.benchmark import Benchmark, Question, Text
from app.domain.errors import RetrievalError, Unavailable
from app.domain.memory import Draft, Outcome, Written
from app.domain.passage import Passage, Scope
from app.services import evaluation
from app.services.evaluation import Evaluation, ranks
from app.services.retrieval import Retrieval
from app.services.shelf import MemoryShelf
from tests.fakes.answering import FakeEmbedder, FakeSource


@dataclass
class Writing:
    """Keeps what it is given, once a user and text."""

    kept: list[tuple[Scope, Draft]] = field(default_factory=list)
    error: Exception | None = None

    async def remember(self, scope: Scope, drafts: Sequence[Draft]) -> list[Written]:
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
    assert evaluated.found.run == {"q": {"1": 0.0}}


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

    assert list(evaluated.found.run["q"]) == ["2", "1", "3"]
    assert evaluated.found.run["q"]["1"] > evaluated.found.run["q"]["3"]


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


def test_ranks_fall_and_tell_each_once() -> None:
    """The best place of a text counts."""
    assert list(ranks(["b", "a", "b"]).items()) == [("b", 0.0), ("a", -1.0)]
