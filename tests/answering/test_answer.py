"""Answers: their ids."""

import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Finish, new_id

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
    """Version and variant are where RFC 9562 has them."""
    made = uuid.UUID(new_id())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)


def test_an_id_holds_the_time_it_was_made() -> None:
    """Its first 48 bits are milliseconds since 1970."""
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
    """62 random bits: replicas may make ids at the same time."""
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
    """What was drawn before the fork is the parent's."""
    told = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    parent, child = told.stdout.split()
    assert parent != child


def test_finish_reasons_are_the_contracts() -> None:
    """`stop`, `length`, `cancelled`."""
    assert [str(finish) for finish in Finish] == ["stop", "length", "cancelled"]
