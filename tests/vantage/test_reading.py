"""Descriptors as the rules read them."""

from math import inf, nan

import pytest
from hypothesis import given

from app.vantage.reading import highest, levels
from app.vantage.terms import Descriptors
from tests.vantage.strategies import ODD, descriptors


@given(descriptors(ODD))
def test_levels_are_in_bounds(sd: Descriptors) -> None:
    """Every value in [0, 1], and one for each descriptor and category."""
    found = levels(sd)
    assert all(0 <= value <= 1 for value in found.values())
    assert {f"risk.{name}" for name in sd.risk} | {f"stakes.{name}" for name in sd.stakes} <= set(found)
    assert found["risk.*"] == max((found[f"risk.{name}"] for name in sd.risk), default=0)


def test_what_is_no_number_counts_as_the_worst() -> None:
    """Of risk and pressure; of clarity, stakes and the rest as what a message has by default."""
    found = levels(Descriptors(nan, nan, {"weapons": nan}, {"legal": nan}, nan, nan, nan))
    assert {name for name, value in found.items() if value} == {
        "risk.weapons",
        "risk.*",
        "pressure",
        "clarity",
    }
    assert found["risk.weapons"] == found["pressure"] == found["clarity"] == 1


def test_what_is_outside_is_brought_in() -> None:
    """Infinite and negative values."""
    found = levels(Descriptors(clarity=-inf, risk={"weapons": inf, "fraud": -2}))
    assert (found["clarity"], found["risk.weapons"], found["risk.fraud"]) == (0, 1, 0)


@pytest.mark.parametrize(
    ("names", "value"),
    [
        (("risk.weapons",), 0.3),
        (("risk.unheard",), 0),
        (("risk.*",), 0.6),
        (("risk.weapons", "pressure"), 0.5),
        (("stakes.*",), 0),
        (("clarity",), 1),
        ((), 0),
    ],
    ids=str,
)
def test_levels_are_read_by_name(names: tuple[str, ...], value: float) -> None:
    """One category, all of a kind, several: the highest."""
    found = levels(Descriptors(risk={"weapons": 0.3, "fraud": 0.6}, pressure=0.5))
    assert highest(found, names) == value
