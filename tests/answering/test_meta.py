"""An answer, and what a reply shows of it."""

import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Finish, new_id
from app.answering.meta import (
    Used,
    build_meta_explanation,
    consistency,
    recalled,
)
from app.db.memories import Moment, Tally
from app.retrieval.tags import Gravity
from app.types import Entry, Verdict
from tests.fakes.remembering import memory

LIST, PROSE = ("format:skeleton",), ("format:prose", "vb:rest")


def test_the_facts_of_an_answer() -> None:
    far = Gravity(0.5, "drifting")
    moment = Moment("days", datetime(2026, 1, 2, tzinfo=UTC), 90_000.0)
    used = [Used(LIST, Tally(2, 1)), Used((), Tally(0, 3))]
    found = build_meta_explanation(("vb:rest",), used, {"vb:rest": 1.0, "format:skeleton": 0.4}, far, moment)
    assert found.query_tags == ("vb:rest",)
    assert (found.feedback, found.feedback.net) == (Tally(2, 4), -2)
    assert found.format_consistency == 1.0
    assert found.gravity is far
    assert found.temporal is moment


def test_nothing_is_known() -> None:
    found = build_meta_explanation((), (), {}, Gravity(), None)
    assert (found.feedback, found.format_consistency, found.temporal) == (Tally(), None, None)
    assert found.gravity == Gravity(0.0, "unknown")


@pytest.mark.parametrize(
    ("tags", "forms", "weights", "expected"),
    [
        pytest.param(LIST, [LIST, PROSE], {}, 0.5, id="the form asked for"),
        pytest.param(LIST, [LIST, PROSE, ()], {}, 0.5, id="memories without a form do not count"),
        pytest.param((), [PROSE], {"format:prose": 0.2, "format:skeleton": 0.1}, 1.0, id="the usual form"),
        pytest.param((), [LIST], {"format:prose": 0.2, "format:skeleton": 0.1}, 0.0, id="not the usual form"),
        pytest.param(LIST, [PROSE], {"format:prose": 1.0}, 0.0, id="what is asked goes before what is usual"),
        pytest.param((), [PROSE], {"format:prose": 0.2, "format:skeleton": 0.2}, 1.0, id="both are usual"),
        pytest.param((), [PROSE], {}, None, id="no form expected"),
        pytest.param(LIST, [()], {}, None, id="no memory has one"),
        pytest.param(LIST, [], {}, None, id="no memory"),
    ],
)
def test_format_consistency(
    tags: tuple[str, ...],
    forms: list[tuple[str, ...]],
    weights: dict[str, float],
    expected: float | None,
) -> None:
    """The share of the used memories with a form that have the one expected."""
    assert consistency(tags, [Used(form) for form in forms], weights) == expected


def test_a_memory_used_is_shown_with_all_that_made_its_score() -> None:
    entry = Entry("memories", "m", "memory#m", 0.5, 0.66, Verdict.PACKED, {"feedback": 1.1}, relevance=0.6)
    assert recalled(memory("m", "I walk", 0.5), entry) == {
        "id": "m",
        "source": "memories",
        "collection": "memory_raw",
        "kind": "note",
        "origin": "api",
        "title": "",
        "metadata": {},
        "text": "I walk",
        "label": "memory#m",
        "similarity": 0.5,
        "relevance": 0.6,
        "score": 0.66,
        "boosts": {"feedback": 1.1},
    }


FORKED = """
import os
from app.answer import new_id
new_id(0)
child = os.fork()
os.write(1, new_id(0).encode() + b"\\n")
if child:
    os.waitpid(child, 0)
os._exit(0)
"""


def test_an_id_is_a_uuid_of_version_seven() -> None:
    made = uuid.UUID(new_id())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)


def test_an_id_holds_the_time_it_was_made() -> None:
    before = time.time_ns() // 1_000_000
    stamp = uuid.UUID(new_id()).int >> 80
    assert before <= stamp <= time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    ("nanoseconds", "step"), [(0, 0), (244, 0), (245, 1), (500_000, 2_048), (999_999, 4_095)]
)
def test_twelve_bits_tell_times_within_a_millisecond(nanoseconds: int, step: int) -> None:
    """RFC 9562 §6.2, method 3: half a millisecond is half of 4096 steps."""
    made = uuid.UUID(new_id(7_000_000 + nanoseconds)).int
    assert (made >> 80, made >> 64 & 0xFFF) == (7, step)


@given(st.integers(0, 2**70), st.integers(0, 2**70))
def test_a_later_id_is_never_the_lesser(one: int, other: int) -> None:
    """Times at least a step apart sort as times do, to the end of the 48 bits."""
    earlier, later = sorted((one % (2**48 * 10**6), other % (2**48 * 10**6)))
    assert later - earlier < 245 or new_id(earlier) < new_id(later)


def test_ids_sort_as_they_were_made() -> None:
    """Also within a millisecond: pages by id show things in their order."""
    made = []
    for _ in range(1_000):
        made.append(new_id())
        time.sleep(1e-6)  # more than a step of the clock's twelve bits
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_of_one_instant_differ() -> None:
    assert len({new_id()[19:] for _ in range(5_000)}) == 5_000


def test_threads_draw_ids_of_their_own() -> None:
    """Chance is drawn for many ids at once, and nobody finds it gone."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as pool:
            made = list(pool.map(lambda _: [new_id(0) for _ in range(3_000)], range(6)))
    finally:
        sys.setswitchinterval(before)
    assert len({one for some in made for one in some}) == 18_000


def test_a_child_draws_none_of_its_parents_ids() -> None:
    told = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    parent, child = told.stdout.split()
    assert parent != child


def test_finish_reasons_are_the_contracts() -> None:
    assert [str(finish) for finish in Finish] == ["stop", "length", "cancelled"]
