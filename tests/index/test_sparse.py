"""Word vectors say what BM25 says, and what was counted over a whole reach is read off a part of it."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients.points import Point, Sparse
from app.index.bm25 import K1, B
from app.index.sparse import BITS, MEAN, Stock, folded, frequencies, passage, question, stock

WORDS = ["river", "sea", "otter", "danube", "the", "flows", "fish", "black"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)


def product(one: Sparse, other: Sparse) -> float:
    """Of two sparse vectors."""
    weights = dict(zip(one.indices, one.values, strict=True))
    return sum(
        weights.get(term, 0.0) * value for term, value in zip(other.indices, other.values, strict=True)
    )


@given(TEXTS, TEXTS)
def test_the_product_is_bm25_without_the_idf(text: str, asked: str) -> None:
    """Robertson's formula over the query's distinct terms, with the constant mean length."""
    found = folded(text)
    norm = K1 * (1 - B + B * len(found) / MEAN)
    wanted = sum(found.count(term) * (K1 + 1) / (found.count(term) + norm) for term in set(folded(asked)))
    assert product(passage(text), question(asked)) == pytest.approx(wanted)


@given(TEXTS)
def test_terms_are_in_order_and_once(text: str) -> None:
    """As engines want them: ascending, distinct, 32 bits."""
    for words in (passage(text), question(text)):
        assert list(words.indices) == sorted(set(words.indices))
        assert all(0 <= term <= BITS for term in words.indices)
        assert len(words.values) == len(words.indices)


def hits(texts: list[str], asked: str, reach: list[str]) -> list[Point]:
    """Texts as an engine would score them, counting its IDF over the reach."""
    held = [set(folded(text)) for text in reach]
    idf = {
        term: math.log1p((len(reach) - df + 0.5) / (df + 0.5))
        for term in folded(asked)
        for df in [sum(term in each for each in held)]
    }
    return [
        Point(
            str(n),
            words=words,
            score=sum(
                idf.get(term, 0.0) * value for term, value in zip(words.indices, words.values, strict=True)
            ),
        )
        for n, text in enumerate(texts)
        for words in [passage(text)]
    ]


def test_frequencies_of_a_cut_off_leg_are_those_of_the_whole_reach() -> None:
    """Forty of a thousand passages give the counts over the thousand; counting would have called all rare."""
    chance = random.Random(1)  # noqa: S311 - the same on every run
    reach = [" ".join(chance.choices(WORDS, k=chance.randint(2, 9))) for _ in range(1_000)]
    asked = "the black otter"
    seen = [text for text in reach if "otter" in text][:40]
    found = frequencies(question(asked), hits(seen, asked, reach), 1_000, whole=False)
    for word in asked.split():
        [term] = folded(word)
        assert found[term] == sum(word in text.split() for text in reach)


def test_a_whole_leg_is_counted() -> None:
    """Where every passage with a word is there, so is the count; a word that stands nowhere counts none."""
    reach = ["the otter", "the fish", "the sea"]
    found = frequencies(question("the otter danube"), hits(reach, "the otter", reach), 3, whole=True)
    assert [found[term] for word in ("the", "otter", "danube") for term in folded(word)] == [3, 1, 0]


def test_more_words_than_hits_are_counted_as_far_as_they_go() -> None:
    """With too few scores to read from, a count is the least there is."""
    reach = ["the otter eats fish", "the black sea"]
    found = frequencies(question(reach[0]), hits(reach, reach[0], reach), 500, whole=False)
    assert found[folded("the")[0]] == 2


@pytest.mark.parametrize(
    ("text", "rare", "most"),
    [
        pytest.param("the otter came home", True, True, id="the rare word"),
        pytest.param("the fish", False, False, id="a common one"),
        pytest.param("nothing of it", False, False, id="none"),
    ],
)
def test_rare_words_are_held_or_not(text: str, rare: bool, most: bool) -> None:
    """As `bm25.shares` has it: half of the rare words' IDF; the share of all of it."""
    reach = [f"the fish number {n}" for n in range(99)] + ["the otter"]
    found = stock(question("the otter"), hits(reach, "the otter", reach), 100, whole=True)
    held = found.held(passage(text))
    assert (held.rare, held.coverage > 0.6) == (rare, most)


def test_nothing_asked_is_nothing_held() -> None:
    """A question without words covers nothing, and calls nothing rare."""
    held = stock(Sparse(), [], 10, whole=True).held(passage("the otter"))
    assert (held.coverage, held.rare) == (0.0, False)


def test_coverage_is_the_same_in_any_order() -> None:
    """Added in the order of the terms."""
    weights = {n: 1 / (n + 3) for n in range(50)}
    one = Stock(weights, frozenset(weights))
    other = Stock(dict(reversed(weights.items())), frozenset(weights))
    words = Sparse(tuple(range(0, 50, 3)), (1.0,) * 17)
    assert one.held(words) == other.held(words)
