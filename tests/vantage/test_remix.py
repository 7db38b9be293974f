"""An answer's candidates under another mix."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.boost import BOUND, Wants
from app.domain.budget import Budget, Meter
from app.domain.memory import Tally
from app.domain.passage import Candidate, Hit, Passage
from app.domain.prompt import MEMORIES as FORM
from app.domain.ranking import dedupe
from app.domain.recall import CORPUS, MEMORIES, pack, retrieve_personal_memory
from app.domain.tags import infer_query_tags
from app.domain.trace import Entry, Verdict
from app.vantage.mix import RECENCY, Split, Weighing, recency, told, weighed
from app.vantage.remix import remix
from app.vantage.terms import Mix

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
QUESTION = "Explain why I sleep badly"
TEXTS = ("tea at night", "Explain light: because", "a list of herbs", "rest and order", "x " * 90)
AGES = st.none() | st.integers(0, 400)


@st.composite
def found(draw: st.DrawFn) -> list[Candidate]:
    """What a search may give: memories and texts, some alike, some vouched for, each of its own relevance."""
    count = draw(st.integers(0, 24))
    scores = draw(st.lists(st.integers(1, 999), min_size=count, max_size=count, unique=True))
    rows = [
        Candidate(
            Passage(
                source=draw(st.sampled_from([MEMORIES, CORPUS])),
                id=f"p{n}",
                text=f"{draw(st.sampled_from(TEXTS))} {draw(st.integers(0, 9))}",
                tokens=5,
                label=f"m#{n}",
                similarity=draw(st.none() | st.integers(0, 100).map(lambda share: share / 100)),
                score=score / 1000,
                created_at=at(draw(AGES)),
            ),
            Hit(f"p{n}", 1.0, rare=True) if draw(st.booleans()) else None,
        )
        for n, score in enumerate(scores)
    ]
    return sorted(rows, key=lambda item: -item.passage.score)


MIXES = st.builds(
    Mix,
    memory_cards=st.floats(0, 1),
    corpus=st.floats(0, 1),
    similarity_threshold=st.none() | st.floats(-1, 1),
    recency_bias=st.floats(0, 1),
)
TALLIES = st.dictionaries(
    st.integers(0, 24).map("p{}".format), st.builds(Tally, st.integers(0, 9), st.integers(0, 9))
)


def at(days: int | None) -> datetime | None:
    """So many days ago."""
    return None if days is None else NOW - timedelta(days=days)


def by(mix: Mix = Mix(), top_k: int = 8) -> Weighing:  # noqa: B008 - a frozen value
    """As an answer is weighed."""
    return weighed(mix, top_k, threshold=0.3, at=NOW)


def ledger(
    candidates: Sequence[Candidate], weighing: Weighing, tallies: dict[str, Tally], tokens: int = 10_000
) -> tuple[Entry, ...]:
    """As an answer leaves it: the road of /vantage/query from what was found to the trace."""
    kept, copies = dedupe(candidates, across=False)
    split = weighing.split
    own = retrieve_personal_memory(kept, QUESTION, top_k=split.personal, threshold=weighing.threshold)
    parts = told(own, kept, tallies, Wants(infer_query_tags(QUESTION)), weighing)
    meter = Meter(lambda text: len(text.split()), form=FORM)
    return pack(parts, copies, budget=Budget(tokens, 100), meter=meter).entries


@settings(max_examples=50)
@given(found(), MIXES, st.integers(1, 12), TALLIES, st.sampled_from([20, 60, 10_000]))
def test_under_its_own_mix_nothing_changes(
    candidates: list[Candidate], mix: Mix, top_k: int, tallies: dict[str, Tally], tokens: int
) -> None:
    """Every verdict and every place is as the ledger has it, whatever was voted, however little room there
    was; the scores of what was packed too."""
    weighing = by(mix, top_k)
    entries = ledger(candidates, weighing, tallies, tokens)
    for each in remix(entries, was=weighing, now=weighing):
        assert (each.verdict, each.place) == (each.entry.verdict, each.was)
        assert each.verdict is not Verdict.PACKED or each.score == pytest.approx(each.entry.score)


@settings(max_examples=50)
@given(found(), MIXES, MIXES, st.integers(1, 12), TALLIES)
def test_another_mix_keeps_its_promises(
    candidates: list[Candidate], before: Mix, after: Mix, top_k: int, tallies: dict[str, Tally]
) -> None:
    """Each candidate once; k and threshold hold; places count from 1; factors stay within their bounds."""
    was, now = by(before, top_k), by(after, top_k)
    entries = ledger(candidates, was, tallies)
    standings = remix(entries, was=was, now=now)
    packed = [each for each in standings if each.verdict is Verdict.PACKED]
    assert sorted(each.entry.id for each in standings) == sorted(entry.id for entry in entries)
    assert [each.place for each in standings] == [*range(1, len(packed) + 1)] + [None] * (
        len(standings) - len(packed)
    )
    assert sum(each.entry.source == MEMORIES for each in packed) <= min(3, now.split.personal)
    assert sum(each.entry.source == CORPUS for each in packed) <= now.split.corpus
    for each in packed:
        assert each.entry.vouched or (each.entry.similarity or 0) > now.threshold
        assert 1 <= each.recency <= 1 + BOUND * after.recency_bias
    texts = [each.entry.sha256 for each in packed]
    assert len(texts) == len(set(texts))


@settings(max_examples=50)
@given(found(), MIXES, st.integers(1, 12))
def test_a_remix_is_what_the_mix_would_have_told(candidates: list[Candidate], mix: Mix, top_k: int) -> None:
    """Of the same search, where the ledger holds all that is needed: boosts are 1, nothing was a probe."""
    wide = by(Mix(similarity_threshold=-1.0, recency_bias=1.0), 50)
    other = by(mix, top_k)
    plain = [
        replace(item, passage=replace(item.passage, text=f"tea {item.passage.text[-1]}"))
        for item in candidates
    ]
    seen = remix(ledger(plain, wide, {}), was=wide, now=other)
    asked = ledger(plain, other, {})
    assert [each.entry.id for each in seen if each.place] == [
        entry.id for entry in asked if entry.verdict is Verdict.PACKED
    ]


def entry(
    name: str, score: float, verdict: Verdict = Verdict.PACKED, source: str = CORPUS, **more: object
) -> Entry:
    """A candidate's line."""
    facts: dict[str, object] = {"similarity": 0.5, "relevance": score, "sha256": name}
    return Entry(source, name, f"m#{name}", score=score, verdict=verdict, **(facts | more))  # type: ignore[arg-type]


def verdicts(entries: Sequence[Entry], mix: Mix, was: Mix = Mix(), top_k: int = 8) -> dict[str, str]:  # noqa: B008
    """By id."""
    found = remix(entries, was=by(was, top_k), now=by(mix, top_k))
    return {each.entry.id: str(each.verdict) for each in found}


@pytest.mark.parametrize(
    ("threshold", "told_of"),
    [(0.3, "pvb"), (0.5, "pvb"), (0.6, "v"), (1.0, "v"), (-1.0, "pvbn"), (0.0, "pvb")],
)
def test_words_vouch_at_any_threshold(threshold: float, told_of: str) -> None:
    """What is similar enough, or vouched for; a similarity that is not known is none."""
    entries = [
        entry("p", 0.9, similarity=0.55),
        entry("v", 0.8, similarity=None, vouched=True),
        entry("b", 0.7, Verdict.BELOW_THRESHOLD, similarity=0.501),
        entry("n", 0.6, Verdict.BELOW_THRESHOLD, similarity=-0.2),
        entry("u", 0.5, Verdict.BELOW_THRESHOLD, similarity=None),
    ]
    found = verdicts(entries, Mix(similarity_threshold=threshold))
    assert "".join(name for name, verdict in found.items() if verdict == "packed") == told_of


def test_a_copy_is_told_where_the_memory_is_not() -> None:
    """And the memory's alone; a copy of a text stays one."""
    entries = [
        entry("m", 0.9, source=MEMORIES, sha256="same"),
        entry("c", 0.8, Verdict.DUPLICATE, sha256="same"),
        entry("t", 0.7, sha256="other"),
        entry("d", 0.6, Verdict.DUPLICATE, sha256="other"),
        entry("e", 0.5, Verdict.DUPLICATE, sha256="in capitals"),
    ]
    assert verdicts(entries, Mix()) == {
        "m": "packed",
        "t": "packed",
        "c": "duplicate",
        "d": "duplicate",
        "e": "duplicate",
    }
    without = verdicts(entries, Mix(memory_cards=0))
    assert without == {
        "c": "packed",
        "t": "packed",
        "m": "over_limit",
        "d": "duplicate",
        "e": "duplicate",
    }


def test_a_probe_stays_out_and_no_threshold_lets_it_in() -> None:
    """It was left out for its text, which nobody looks at now."""
    entries = [entry("s", 0.9, Verdict.SKIPPED, MEMORIES), entry("m", 0.5, source=MEMORIES)]
    assert verdicts(entries, Mix(similarity_threshold=-1.0)) == {"m": "packed", "s": "skipped"}


def test_what_had_no_room_has_none_now() -> None:
    """How many tokens it takes, the ledger does not say."""
    entries = [entry("a", 0.9, Verdict.OVER_BUDGET), entry("b", 0.8), entry("c", 0.7, Verdict.OVER_BUDGET)]
    assert verdicts(entries, Mix(corpus=1.0), Mix(corpus=0.25)) == {
        "b": "packed",
        "c": "packed",
        "a": "over_budget",
    }


def test_recency_is_reckoned_anew() -> None:
    """In place of the one of then; the other boosts stay."""
    boosts = {"feedback": 1.05, RECENCY: 1.1}
    old = entry("a", 0.924, source=MEMORIES, relevance=0.8, boosts=boosts, created_at=NOW)
    (each,) = remix([old], was=by(Mix(recency_bias=1.0)), now=by(Mix(recency_bias=0.5)))
    assert each.recency == recency(NOW, NOW, 0.5) == 1.05
    assert each.score == 0.8 * 1.05 * 1.05


def test_a_ledger_of_an_older_version_is_read() -> None:
    """Neither dates nor relevances: the score stands, and nothing is recent."""
    old = Entry(MEMORIES, "a", "m#a", 0.5, 0.7, Verdict.PACKED)
    (each,) = remix([old], was=by(), now=by(Mix(recency_bias=1.0)))
    assert (each.score, each.recency, each.place, each.was) == (0.7, 1.0, 1, 1)


def test_nothing_comes_of_nothing() -> None:
    """And candidates of other sources have no mix."""
    assert remix([], was=by(), now=by()) == []
    assert remix([entry("d", 0.5, source="documents")], was=by(), now=by()) == []


def test_places_tell_what_moved() -> None:
    """Before and now, from 1 in the order of the prompt."""
    entries = [
        entry("m1", 0.9, source=MEMORIES),
        entry("m2", 0.8, source=MEMORIES, created_at=NOW),
        entry("c1", 0.7),
        entry("c2", 0.65, Verdict.OVER_BUDGET, created_at=NOW),
    ]
    was, now = by(Mix(corpus=0.125)), by(Mix(corpus=0.125, recency_bias=1.0))
    found = remix(entries, was=was, now=now)
    assert [(each.entry.id, each.was, each.place) for each in found] == [
        ("m1", 1, 1),
        ("m2", 2, 2),
        ("c2", None, 3),
        ("c1", 3, None),
    ]
    assert Split(8, 1) == was.split


def test_eight_memories_are_looked_at() -> None:
    """By relevance: a ninth is not told, however recent it is."""
    entries = [
        entry(f"m{n}", 0.9 - n / 1000, Verdict.OVER_BUDGET, MEMORIES, created_at=at(20 - n))
        for n in range(10)
    ]
    was, now = by(Mix(memory_cards=0.0), 12), by(Mix(recency_bias=1.0), 12)
    told_now = [each.entry.id for each in remix(entries, was=was, now=now) if each.place]
    assert told_now == ["m7", "m6", "m5"]
