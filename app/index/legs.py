"""Both legs of a collection of points in one round trip, each leg's passages scored exactly by the other too.

Word scores are BM25, meaning's are similarities above the space's floor. Points without text, and those that
are barred, are left out. Raises `RetrievalError` as the engine does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import structlog

from app.clients.points import Ask, Point, Points, Sparse, Where
from app.clients.points import Collection as Shape
from app.clients.weights import TERMS, chosen
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding, Query
from app.domain.space import Space
from app.domain.stopwatch import BOTH, WEIGHING, stage
from app.index.meaning import computed
from app.index.search import LETTER
from app.index.seen import DATED, Given, Question, Seen, counted, scored
from app.index.sparse import meant
from app.index.sparse import question as worded_question

WIDE = 100
"""Word hits that are looked at, at least: neighbours speak for each other, and IDFs are read off them
(`sparse.frequencies`). 200 found nothing more."""

Search: TypeAlias = Callable[[Sequence[Ask]], Awaitable[list[list[Point]]]]
"""Of one collection."""

log = structlog.get_logger(__name__)


async def asked(query: Query, vector: Embedding | None, space: Space) -> Question:
    """A query as collections are asked; a vector of another space is no vector."""
    if vector is not None and len(vector) != 4 * space.dim:
        log.error("the query's vector is of another space", space=space.name)
        raise RetrievalError("embedding")
    words = await computed(LETTER * len(query.text), worded_question, query.text)
    told = await asyncio.to_thread(meant, query.text) if vector is None else None
    return Question(words, vector, query.limit, space.floor, content=told)


def worded(shape: Shape) -> bool:
    """Whether its word vectors are of our making: another's terms are not ours."""
    return shape.words == "words" and shape.dense == "meaning"


async def look(
    points: Points,
    shape: Shape,
    where: Where,
    question: Question,
    *,
    passages: int,
    barred: Collection[str] = (),
) -> Seen:
    """The collection's passages for a question; `passages` are in reach, `barred` ids may not be told."""
    wide = max(WIDE, 2 * question.limit) + len(barred)
    few = passages <= wide  # then both legs see everything, and none needs the other's to be scored
    if not worded(shape):
        question = replace(question, words=Sparse())
    search = partial(reaching, points, shape.name, passages)
    short = few and (not question.dated or passages <= question.limit)  # else by its days, too
    every = await at_once(search, where, question, passages) if short else None
    if every is not None:
        return await in_turn(question, every, partial(counted, question, every, barred))
    question = await shortened(search, where, question, wide)
    near = wide if few else question.limit + len(barred)
    found = await apart(search, where, question, wide, near, DATED + len(barred))
    whole = few or len(found.words) < wide
    work = partial(scored, question, found, passages, barred, whole=whole)
    return await in_turn(question, [*found.words, *found.worded], work)


async def in_turn(question: Question, found: Iterable[Point], work: Callable[[], Seen]) -> Seen:
    """One collection's after the other's, the loop free in between; where there is much, in a thread."""
    async with question.turn:
        with stage(WEIGHING):
            seen = await computed(effort(question, found), work)
        await asyncio.sleep(0)
    return seen


def effort(question: Question, found: Iterable[Point]) -> int:
    """What it takes to weigh these points' words, in `computed`'s passages: about a word each."""
    return len(question.words.indices) + sum(len(point.words.indices) for point in found if point.words)


async def reaching(points: Points, name: str, passages: int, asks: Sequence[Ask]) -> list[list[Point]]:
    """Ask, and tell how many points are in reach."""
    with stage(BOTH):
        return await points.search(name, [known(ask, passages) for ask in asks])


def known(ask: Ask, passages: int) -> Ask:
    """With their number, also in what it ranks among."""
    return replace(ask, passages=passages, among=known(ask.among, passages) if ask.among else None)


async def at_once(search: Search, where: Where, question: Question, passages: int) -> list[Point] | None:
    """Few passages by one ask: meaning tells them all, with their words. None: one leg is enough, or it does
    not see them all (somebody writes meanwhile, or a point has no vector)."""
    if question.vector is None or not question.words.indices:
        return None
    [found] = await search([Ask(where, passages + 1, dense=question.vector, vectors=True)])
    return found if len(found) == passages else None


async def shortened(search: Search, where: Where, question: Question, near: int) -> Question:
    """A long question by those of its words that the passages nearest in meaning hold, the rarest first;
    without a vector, by some: each word has its price, and what decides must be the asker's own."""
    if len(question.words.indices) <= TERMS:
        return question
    found: list[Point] = []
    if question.vector is not None:
        [found] = await search([Ask(where, near, dense=question.vector, payload=False, vectors=True)])
    return replace(question, words=await computed(effort(question, found), chosen, question.words, found))


async def apart(  # noqa: PLR0917 - how long each list is
    search: Search, where: Where, question: Question, wide: int, most: int, of_days: int
) -> Given:
    """By an ask a leg, `wide` and `most` long, by one more for the days asked about, and what each found as
    the other scores it, if both ask."""
    words = Ask(where, wide, words=question.words, vectors=True) if question.words.indices else None
    meaning, dated = by_meaning(where, question, most, of_days)
    worded, meant = crossed(words, list(filter(None, (meaning, dated))))
    asks = [ask for ask in (words, meaning, dated) if ask]
    found = iter(await search([*asks, *meant, *worded]) if asks else ())
    by_words, near, days = (next(found) if ask else [] for ask in (words, meaning, dated))
    alike = next(found) if meant else []
    return Given(by_words, near, days, [point for row in found for point in row], alike)


def by_meaning(where: Where, question: Question, near: int, of_days: int) -> tuple[Ask | None, Ask | None]:
    """What is near, and what of the days asked about."""
    if question.vector is None:
        return None, None
    dated = Ask(question.dated, of_days, dense=question.vector) if question.dated else None
    return Ask(where, near, dense=question.vector), dated


def crossed(words: Ask | None, others: Sequence[Ask]) -> tuple[list[Ask], list[Ask]]:
    """What the others find as words score it, and what words find as meaning does."""
    if not words or not others:
        return [], []
    worded = [replace(words, limit=own.limit, among=own, payload=False) for own in others]
    return worded, [replace(others[0], limit=words.limit, among=words, payload=False)]
