"""Intervals and tests of differences: what is known of them without resampling, and that they repeat."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cli import resample
from app.cli.resample import TIMES, interval, paired, portions

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@settings(max_examples=20)
@given(SHARES)
def test_an_interval_lies_within_the_figures(values: list[float]) -> None:
    """And is the same every time, to the last bit."""
    low, high = interval(values)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert interval(values) == (low, high)


def test_an_interval_is_as_wide_as_theory_says() -> None:
    """Of 400 coin throws: 1.96 standard errors to either side, within a tenth."""
    low, high = interval([0.0, 1.0] * 200)
    assert (high - low) / 2 == pytest.approx(1.96 * 0.5 / sqrt(400), rel=0.1)
    assert (high + low) / 2 == pytest.approx(0.5, abs=0.01)


def test_of_nothing_nothing_is_known() -> None:
    """No question, no interval."""
    assert interval([]) == (0.0, 0.0)


def test_what_fits_into_memory_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws come in one stream, however many are held at a time."""
    values = list(np.linspace(0, 1, 30))
    whole = interval(values)
    monkeypatch.setattr(resample, "AT_ONCE", 1_000)
    assert interval(values) == whole
    assert sum(portions(30)) == TIMES


def test_wins_losses_and_ties_are_counted() -> None:
    """A difference in the last bit is none."""
    found = paired([0.1, 0.5, 0.5, 0.2], [0.3, 0.4, 0.5 + 1e-12, 0.9])
    assert (found.wins, found.losses, found.ties) == (2, 1, 1)
    assert found.difference == pytest.approx(0.2)
    assert found.low <= found.difference <= found.high


def test_a_difference_that_chance_does_not_make_has_a_small_p() -> None:
    """Twenty gains in a row: 2 in 2^20 ways of signs. Ten gains and ten losses as large: any is as large."""
    assert paired([0.0] * 20, [0.1] * 20).p == pytest.approx(1 / (TIMES + 1))
    assert paired([0.0] * 20, [0.1, -0.1] * 10).p == 1


@pytest.mark.parametrize("size", [1, 3, 6])
def test_p_is_the_share_of_signs_that_do_as_much(size: int) -> None:
    """Of so few questions it can be counted: two of 2^n."""
    assert paired([0.0] * size, [0.1] * size).p == pytest.approx(2 / 2**size, abs=0.03)


def test_without_a_difference_there_is_nothing_to_test() -> None:
    """The same run twice, and no run."""
    assert paired([0.3, 0.4], [0.3, 0.4]).p == paired([], []).p == 1
