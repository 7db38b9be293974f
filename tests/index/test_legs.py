"""What an engine is asked: long questions, few passages, days, in turn. The engine: tests/sources."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from app.clients.points import Ask, Collection, Point, Points, Sparse, Where
from app.clients.weights import TERMS, reckoned
from app.index import legs
from app.index import seen as seen_module
from app.index.legs import in_turn, look, worded
from app.index.meaning import INLINE
from app.index.seen import Question, Seen, scored

WORDS = Sparse((1,), (1.0,))
MAY = Where(between=(("created_at", "2023-05-01T00:00:00Z", "2023-06-01T00:00:00Z"),))
EVERY = [
    Point("a", {"text": "a"}, b"1234", Sparse((1,), (0.5,))),
    Point("b", {"text": "b"}, b"1234", Sparse((1, 2), (1.5, 1.0))),
    Point("c", {"text": "c"}, b"1234"),
]


async def found(
    passages: int,
    *,
    stored: Sequence[Point] = EVERY,
    words: Sparse = WORDS,
    vector: bytes | None = b"1234",
    dated: Where | None = None,
) -> tuple[Seen, list[list[Ask]]]:
    """What a look at `stored` sees, when `passages` were counted; and the rounds it took."""
    rounds = []

    class Engine:
        async def search(self, name: str, asks: Sequence[Ask]) -> list[list[Point]]:
            rounds.append(list(asks))
            return [ranked(ask, stored) for ask in asks]

    question = Question(words, vector, 8, 0.0, dated)
    points = cast(Points, Engine())
    seen = await look(points, Collection("a", 1, "meaning", "words"), Where(), question, passages=passages)
    return seen, rounds


def ranked(ask: Ask, stored: Sequence[Point]) -> list[Point]:
    """Those with the vector that is asked by, in the order they were stored."""
    held = [
        point for point in stored if (point.dense if ask.dense else reckoned(ask.words or WORDS, [point]))
    ]
    return [replace(point, dense=None) for point in held][: ask.limit]


@pytest.mark.parametrize("passages", [3, 1_000], ids=["few", "many"])
async def test_the_engine_is_told_how_many_are_in_reach(passages: int) -> None:
    """So that it can compare few of them one by one, in whatever leg."""
    _, rounds = await found(passages)
    asks = [ask for each in rounds for ask in each]
    asks += [ask.among for ask in asks if ask.among]
    assert {ask.passages for ask in asks} == {passages}


LONG = Sparse(tuple(range(TERMS + 9)), (1.0,) * (TERMS + 9))


@pytest.mark.parametrize(
    ("vector", "terms"),
    [(b"1234", {TERMS + 7, TERMS + 8}), (None, set())],
    ids=["what is near holds them", "no vector"],
)
async def test_many_are_asked_by_so_many_words(vector: bytes | None, terms: set[int]) -> None:
    """Of a long question those that the nearest hold, and others to that number."""
    stored = [Point("a", {"text": "a"}, b"1234", Sparse((TERMS + 7, TERMS + 8), (1.0, 1.0)))]
    _, rounds = await found(1_000, stored=stored, words=LONG, vector=vector)
    asked = {ask.words.indices for ask in rounds[-1] if ask.words}
    assert [len(words) for words in asked] == [TERMS]
    assert {term for words in asked for term in words if term >= TERMS} == terms


async def test_a_long_question_to_few_is_one_ask() -> None:
    """All their words are at hand: the rarest of them count."""
    stored = [Point("a", {"text": "a"}, b"1234", Sparse((TERMS + 8,), (1.0,)))]
    seen, rounds = await found(1, stored=stored, words=LONG)
    assert ([len(asks) for asks in rounds], [*seen.hits]) == ([1], ["a"])


@pytest.mark.parametrize(("words", "away"), [(10, False), (INLINE, True)], ids=["little", "much"])
@pytest.mark.parametrize("passages", [2, 1_000], ids=["at once", "by legs"])
async def test_much_to_weigh_leaves_the_loop(
    passages: int, words: int, away: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words in the points that were found, not points, are what takes long."""
    threads = []

    def noted(*given: Any, **named: Any) -> Seen:
        threads.append(threading.get_ident())
        return scored(*given, **named)

    for module in (legs, seen_module):
        monkeypatch.setattr(module, "scored", noted)
    own = Sparse(tuple(range(words)), (1.0,) * words)
    await found(passages, stored=[Point(key, {"text": key}, b"1234", own) for key in "ab"])
    assert [thread != threading.get_ident() for thread in threads] == [away]


async def test_the_loop_turns_between_two_collections() -> None:
    """Eight that answer together hold up others for as long as one of them."""
    order, question = [], Question(WORDS, b"1234", 8, 0.0)

    def weigh() -> Seen:
        order.append("weighed")
        asyncio.get_running_loop().call_soon(order.append, "another's request")
        return Seen()

    await asyncio.gather(*(in_turn(question, [], weigh) for _ in range(3)))
    assert order == ["weighed", "another's request"] * 3


async def test_few_passages_are_seen_by_one_ask() -> None:
    """Meaning tells them all, and their words are weighed here."""
    seen, rounds = await found(3)
    assert ([len(asks) for asks in rounds], sorted(seen.points), [*seen.hits]) == (
        [1],
        ["a", "b", "c"],
        ["b", "a"],
    )


@pytest.mark.parametrize(
    ("passages", "stored"),
    [
        pytest.param(4, [*EVERY, Point("d", {"text": "d"}, words=WORDS)], id="one without a vector"),
        pytest.param(2, EVERY, id="one written meanwhile"),
        pytest.param(4, EVERY, id="one removed meanwhile"),
    ],
)
async def test_what_one_leg_does_not_see_whole_both_are_asked(passages: int, stored: Sequence[Point]) -> None:
    """And what words alone find is there."""
    seen, rounds = await found(passages, stored=stored)
    assert [len(asks) for asks in rounds] == [1, 4]
    assert seen.hits.keys() == {point.id for point in stored if point.words}


@pytest.mark.parametrize(
    ("given", "asks"),
    [
        ({"passages": 3, "vector": None}, [[WORDS]]),
        ({"passages": 3, "words": Sparse()}, [[None]]),
        ({"passages": 3, "words": Sparse(), "vector": None}, []),
        ({"passages": 1_000}, [[WORDS, None, None, WORDS]]),
        ({"passages": 9, "dated": MAY}, [[WORDS, None, None, None, WORDS, WORDS]]),
        ({"passages": 3, "dated": MAY, "vector": None}, [[WORDS]]),
        ({"passages": 3, "dated": MAY, "words": Sparse()}, [[None, None]]),
    ],
    ids=["words alone", "meaning alone", "nothing", "many", "of days", "words, of days", "meaning, of days"],
)
async def test_one_leg_is_asked_by_itself(given: Any, asks: list[list[Sparse | None]]) -> None:
    """Both together rank what the other found, where there is more than they can see."""
    _, rounds = await found(**given)
    assert [[ask.words for ask in each] for each in rounds] == asks


@pytest.mark.parametrize(
    ("shape", "ours"),
    [
        (Collection("a", 8, "meaning", "words"), True),
        (Collection("a", 8), False),
        (Collection("a", 8, "", "words"), False),
        (Collection("a", 8, "meaning", "bm25"), False),
    ],
    ids=["ours", "no words", "another's dense", "another's words"],
)
def test_word_vectors_of_others_are_left_alone(shape: Collection, ours: bool) -> None:
    """Their terms are not hashed as ours are."""
    assert worded(shape) is ours
