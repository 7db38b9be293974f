"""Points at hand: as they were read, never more than there is room for, never what somebody has changed."""

import threading
from array import array
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients.hand import COPIES, LARGEST, Hand, Kept, kept, weight
from app.clients.points import Point, Sparse
from app.domain.text import Text

ROOM = LARGEST * 8_000
KEYS = [UUID(int=number) for number in range(60)]


def one(number: int = 0, letters: int = 0) -> Kept:
    """A point at hand: half of the largest without letters."""
    return kept(Point(str(KEYS[number]), {"title": "x" * 3_800, "text": "x" * letters}))


def test_a_point_is_kept_whole() -> None:
    """Its weights are float32 and stay what they are to the last bit."""
    weights = array("f", [0.1, 2.7, 1.3]).tolist()
    point = Point("a", {"text": "b", "tags": ["c"]}, None, Sparse((1, 7, (1 << 32) - 1), tuple(weights)))

    told = kept(point)

    assert told.words
    assert (told.id, told.payload) == (point.id, point.payload)
    assert (tuple(told.words.indices), list(told.words.values)) == ((1, 7, (1 << 32) - 1), weights)


def test_its_text_remembers() -> None:
    """What is worked out from it for one question is there for the next; names are plain."""
    held = kept(Point("a", {"text": "said", "kind": "note"})).payload
    assert isinstance(held["text"], Text)
    assert type(held["kind"]) is str


def test_a_point_without_words_has_none() -> None:
    """None is not the same as no words."""
    assert kept(Point("a")).words is None


def test_what_is_kept_is_known_to_its_collection_alone() -> None:
    """Two collections may have one id."""
    hand, ours, theirs = Hand(), object(), object()
    hand.keep(ours, {KEYS[0]: one()}, lambda: True)
    assert hand.known(ours, KEYS) == {KEYS[0]: one()}
    assert hand.known(theirs, KEYS) == {}


def test_what_was_read_while_somebody_wrote_is_not_kept() -> None:
    """It may be what stood there before."""
    hand, ours = Hand(), object()
    hand.keep(ours, {KEYS[0]: one()}, lambda: False)
    assert hand.known(ours, KEYS) == {}


@pytest.mark.parametrize(("gone", "left"), [([KEYS[1]], [KEYS[0]]), (None, [])], ids=["some", "all"])
def test_what_has_changed_is_forgotten(gone: list[UUID] | None, left: list[UUID]) -> None:
    """Those that are named; where nobody knows which, all of the collection's, and of no other's."""
    hand, ours, theirs = Hand(), object(), object()
    for whose in (ours, theirs):
        hand.keep(whose, {key: one() for key in KEYS[:2]}, lambda: True)

    hand.forget(ours, gone)

    assert list(hand.known(ours, KEYS)) == left
    assert list(hand.known(theirs, KEYS)) == KEYS[:2]


def test_the_longest_unread_go_first() -> None:
    """What is read stays."""
    hand, ours = Hand(ROOM), object()
    most = ROOM // one().size
    for number in range(most):
        hand.keep(ours, {KEYS[number]: one(number)}, lambda: True)
    hand.known(ours, [KEYS[0]])

    hand.keep(ours, {KEYS[most]: one(most)}, lambda: True)

    assert set(hand.known(ours, KEYS)) == {KEYS[0], *KEYS[2 : most + 1]}


def test_what_is_large_is_not_kept() -> None:
    """It would push out all the others; an older state of it goes."""
    hand, ours = Hand(ROOM), object()
    hand.keep(ours, {KEYS[0]: one(), KEYS[1]: one(1)}, lambda: True)
    hand.keep(ours, {KEYS[1]: one(1, ROOM // LARGEST)}, lambda: True)
    assert (hand.known(ours, KEYS), hand.used) == ({KEYS[0]: one()}, one().size)


@pytest.mark.parametrize(
    ("payload", "least"),
    [
        pytest.param({"text": "x" * 10_000}, COPIES * 10_000, id="a text and what is worked out from it"),
        pytest.param({"text": "\N{GRINNING FACE}" * 10_000}, COPIES * 40_000, id="four bytes a letter"),
        pytest.param({"metadata": {"a": {"b": ["x" * 10_000]}}}, 10_000, id="nested"),
        pytest.param({"tags": ["x"] * 1_000}, 40_000, id="many small ones"),
        pytest.param({"x" * 10_000: 1}, 10_000, id="a long name"),
    ],
)
def test_all_of_a_payload_counts(payload: dict[str, object], least: int) -> None:
    """Wherever it lies: the room is the process's memory."""
    assert least <= kept(Point("a", payload)).size <= 3 * least


def test_no_depth_is_too_deep() -> None:
    """A payload of another tool may be nested as it likes."""
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    assert weight(deep) > 100_000


@given(st.lists(st.tuples(st.integers(0, 59), st.integers(0, 2_000), st.booleans())))
def test_the_room_is_never_exceeded(steps: list[tuple[int, int, bool]]) -> None:
    """Whatever is kept and forgotten in whatever order; what is used is what is there."""
    hand, ours = Hand(ROOM), object()
    for number, letters, gone in steps:
        if gone:
            hand.forget(ours, [KEYS[number]])
        else:
            hand.keep(ours, {KEYS[number]: one(number, letters)}, lambda: True)
        assert hand.used == sum(each.size for each in hand.known(ours, KEYS).values()) <= ROOM


def test_threads_do_not_disturb_each_other() -> None:
    """What is used is right after many at once."""
    hand, ours = Hand(ROOM), object()

    def work(first: int) -> None:
        for turn in range(300):
            number = (first + turn) % 60
            hand.keep(ours, {KEYS[number]: one(number, turn)}, lambda: True)
            hand.known(ours, KEYS)
            hand.forget(ours, [KEYS[(number + 5) % 60]])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hand.used == sum(each.size for each in hand.known(ours, KEYS).values()) <= ROOM
