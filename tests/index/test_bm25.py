"""BM25 against a naive one that counts by hand, and what counts as rare."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.index import bm25
from app.index.bm25 import Held, Reach, Seen, seen, shares, survey
from app.index.posting import build
from app.index.segment import Rows
from app.retrieval.terms import terms

WORDS = ["sea", "sand", "wave", "otter", "fish"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=8)
QUERY = st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=4).map(" ".join)


def naive(texts: list[str], query: str) -> list[float]:
    """BM25 as its authors write it, with Lucene's IDF."""
    bags = [Counter(text.split()) for text in texts]
    mean = sum(bag.total() for bag in bags) / len(bags) or 1
    found = []
    for bag in bags:
        total = 0.0
        for word in set(query.split()):
            holding = sum(word in other for other in bags)
            idf = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
            norm = 1.2 * (1 - 0.75 + 0.75 * bag.total() / mean)
            total += idf * bag[word] * 2.2 / (bag[word] + norm) if bag[word] else 0
        found.append(total)
    return found


def held(reach: Reach, found: Seen, rows: Rows) -> list[Held]:
    """What rows hold, a value each."""
    return list(map(Held, *shares(reach, found, rows)))


def views(texts: list[str], query: str) -> list[Held]:
    """What each passage holds of the query."""
    reach = survey([(build(texts), None)], terms(query))
    return held(reach, seen(reach)[0], np.arange(len(texts), dtype=np.uint32))


@given(TEXTS, QUERY)
def test_scores_are_those_of_the_formula(texts: list[str], query: str) -> None:
    """Exact BM25, no approximation."""
    [found] = seen(survey([(build(texts), None)], terms(query)))
    assert found.scores.tolist() == pytest.approx(naive(texts, query))


@given(st.lists(TEXTS, min_size=1, max_size=4), QUERY)
def test_scores_do_not_depend_on_how_passages_are_spread(parts: list[list[str]], query: str) -> None:
    """To the last bit: many segments score as one."""
    whole = [text for part in parts for text in part]
    [once] = seen(survey([(build(whole), None)], terms(query)))
    spread = seen(survey([(build(part), None) for part in parts], terms(query)))
    assert np.concatenate([one.scores for one in spread]).tolist() == once.scores.tolist()


@given(TEXTS, QUERY, st.data())
def test_the_dead_count_for_nothing(texts: list[str], query: str, data: st.DataObject) -> None:
    """Masked passages score 0 and move no statistics: the rest score as if they had never been."""
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), dtype=bool)
    [found] = seen(survey([(build(texts), mask)], terms(query)))
    left = [text for text, alive in zip(texts, mask, strict=True) if alive]
    [alone] = seen(survey([(build(left), None)], terms(query)))
    assert found.scores[mask].tolist() == alone.scores.tolist()
    assert not found.scores[~mask].any()


@given(TEXTS, QUERY, st.data(), st.integers(1, 9))
def test_postings_taken_by_handfuls_score_as_all_at_once(
    texts: list[str], query: str, data: st.DataObject, handful: int
) -> None:
    """To the last bit, scores and coverage, the dead left out: a long query is worked on in pieces."""
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), dtype=bool)

    def told() -> tuple[list[float], list[Held]]:
        reach = survey([(build(texts), mask)], terms(query))
        [found] = seen(reach)
        return found.scores.tolist(), held(reach, found, np.flatnonzero(mask).astype(np.uint32))

    whole = told()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25, "FEW", 0)  # else few terms are looked at one by one
        patch.setattr(bm25, "HANDFUL", handful)
        assert told() == whole


@given(TEXTS, QUERY, st.data())
def test_terms_one_by_one_score_as_many_at_once(texts: list[str], query: str, data: st.DataObject) -> None:
    """To the last bit, the dead among them: how long a question is moves no score."""
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    reach = survey([(build(texts), data.draw(st.sampled_from([None, mask])))], terms(query))
    norm = np.linspace(0.5, 2.0, len(texts))
    ways = [bm25.Seen(*(np.zeros(len(texts)) for _ in range(3))) for _ in range(2)]
    bm25.by_term(reach.fields[0], reach, norm, ways[0])
    bm25.by_handful(reach.fields[0], reach, norm, ways[1])
    one, other = ([way.scores.tobytes(), way.mass.tobytes(), way.rare.tobytes()] for way in ways)
    assert one == other


def test_handfuls_bound_what_is_worked_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All postings of the query come, each term in one piece, and memory does not grow with the query."""
    monkeypatch.setattr(bm25, "HANDFUL", 4)
    reach = survey([(build(["sea sand wave otter"] * 3), None)], terms("sea sand wave otter"))
    pieces = [some.owners.tolist() for some in reach.fields[0].postings()]
    assert sorted(term for piece in pieces for term in piece) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert max(map(len, pieces)) <= 6


@given(TEXTS, QUERY)
def test_coverage_is_a_share(texts: list[str], query: str) -> None:
    """In [0, 1]; 1 for a passage that holds every word, 0 for one that holds none."""
    for text, view in zip(texts, views(texts, query), strict=True):
        shared = set(query.split()) & set(text.split())
        assert 0 <= view.coverage <= 1 + 1e-9
        assert (view.coverage > 1 - 1e-9) == (shared == set(query.split()))
        assert (view.coverage == 0) == (not shared)


def test_a_word_that_stands_nowhere_weighs_most() -> None:
    """A passage that lacks the query's unknown words covers little of it."""
    [view, *_] = views(["sea", "sand", "sand"], "sea absent")
    assert view.coverage < 0.5


FEW = ["this is the code of zyxel", *(f"what is the sea of sand {n}" for n in range(40))]


@pytest.mark.parametrize(
    ("query", "rare"),
    [
        pytest.param("what is the code of zyxel", True, id="its name"),
        pytest.param("the sea of sand", False, id="common words alone"),
        pytest.param("the zyxel of otters and hedgehogs in lakes", False, id="one rare word of many unknown"),
        pytest.param("otters", False, id="nothing of it"),
    ],
)
def test_rare_words_are_those_that_few_hold(query: str, rare: bool) -> None:
    """A passage holds the query's rare words if it holds half of their mass, unknown ones counted."""
    assert views(FEW, query)[0].rare is rare


def test_in_a_reach_of_one_nothing_is_rare() -> None:
    """One passage holds all words there are: rarity says nothing."""
    assert not views(["the code of zyxel"], "zyxel")[0].rare


def test_an_empty_query_finds_nothing() -> None:
    """No terms: no scores, no coverage, no error."""
    assert views(["sea"], "?!") == [Held(0.0, False)]


def test_an_empty_reach_is_no_error() -> None:
    """No segments, or one without passages."""
    assert seen(survey([], terms("sea"))) == []
    assert seen(survey([(build([]), None)], terms("sea")))[0].scores.tolist() == []
