"""From samples to the page: medians, ratios within a round, tables, verdicts and pictures."""

import itertools
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench.figures import percentile
from bench.memory import verdict
from bench.meter import parse
from bench.page import memories, speed
from bench.picture import memory
from bench.picture import speed as drawn
from bench.promise import promised
from bench.sample import LEGS, Sample, ratio, ratios, summary
from bench.table import table

RATES = dict(zip(LEGS, (170.0, 160.0, 40.0, 80.0, 40.0, 120.0), strict=True))
"""Requests a second of each leg in a quiet round; round 1 is twice as slow for everybody."""


def sample(leg: str, clients: int, turn: int) -> Sample:
    """One that is slow when the machine is."""
    rate, slow = RATES[leg], 1 + turn % 2
    first = 10_000 / rate * slow
    return Sample(leg, clients, turn, rate / slow, first, 2 * first, 3 * first, 5.0, 1.0, 40_000.0)


SAMPLES = [sample(*cell) for cell in itertools.product(LEGS, (1, 64), range(3))]
FOUND: dict[str, Any] = {
    "machine": {"date": "2026-11-22", "cores": 2, "system": "Linux", "python": "3.11", "load": 0.1},
    "plan": {"rows": 10_000},
    "figures": summary(SAMPLES),
    "ratios": ratios(SAMPLES),
    "megabytes": {"ibid": {"service": 400, "postgres": 60}},
}
PARTS: dict[str, Any] = {
    "stages": {"ibid/64": {"total": {"p50": 9, "p95": 12}}, "ibid/1": {"total": {"p50": 5, "p95": 6}}},
    "alone": {"embedding": {"p50": 3.0, "p95": 4.0}, "search": {"p50": 2.0, "p95": 3.0}},
}


def test_ratios_are_taken_within_a_round() -> None:
    """A round that is slow for all changes no ratio."""
    assert ratio(SAMPLES, 64, "requests_s", "ibid", "by hand") == 2.0
    assert ratio(SAMPLES, 64, "first_p95", "ibid", "by hand") == 0.5


@pytest.mark.parametrize(
    ("values", "share", "found"),
    [([], 0.5, 0.0), ([3.0], 0.95, 3.0), ([float(n) for n in range(100)], 0.95, 95.0)],
    ids=["none", "one", "a hundred"],
)
def test_percentiles(values: list[float], share: float, found: float) -> None:
    """The nearest rank, whatever the order."""
    assert percentile(reversed(values), share) == found


def test_promises_are_judged_by_their_measure() -> None:
    """Twice the by-hand app is kept, a p95 of exactly half of it is not, 125 - 58.8 - 5 ms is too much."""
    found = {str(name): (value, kept) for name, _, value, kept in promised(FOUND, PARTS)}
    assert found["64 clients: requests/s ÷ by hand"] == (2.0, "yes")
    assert found["64 clients: first byte p95 ÷ by hand"] == (0.5, "no")
    assert found["1 client: meta beyond its parts, ms"] == (61.2, "no")


def test_the_page_shows_every_leg() -> None:
    """At every load, with the stages in the order of clients."""
    page = speed(FOUND, PARTS)
    assert all(page.count(f"| {leg} ") >= 2 for leg in LEGS)
    assert page.index("ibid, 1 ") < page.index("ibid, 64 ")


def test_the_page_shows_the_memory_search_by_size() -> None:
    """Both searches of each size, and what was wanted of them."""
    told = {"p50": 1.5, "p95": 2.25, "cpu": 1.0}
    sizes = [{"rows": rows, "engine": told, "source": told} for rows in (10_000, 100_000)]
    page = memories({"machine": FOUND["machine"], "users": 1_000, "wanted": 25.0, "sizes": sizes})
    assert page.count("| 100,000 ") == 2
    assert "p95 < 25 ms" in page


def test_tables_are_aligned() -> None:
    """Every line is as long as the others."""
    lines = table(("a", "figure"), [("long name", 1.234), ("x", 12_345)]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "1.23 |" in lines[2]
    assert "12,345 |" in lines[3]


def test_pictures_are_well_formed_and_inside_their_frame() -> None:
    """XML whose every x is on the page."""
    for picture in (drawn(FOUND), memory([(0, 300, 90), (20_000, 310, 95)], 20_000)):
        root = ET.fromstring(picture)  # noqa: S314 - our own
        width = float(root.attrib["width"])
        places = [
            float(node.attrib[name]) for node in root for name in ("x", "x2", "cx") if name in node.attrib
        ]
        assert places
        assert all(0 <= place <= width for place in places)


@pytest.mark.parametrize(("last", "flat"), [(312.0, True), (330.0, False)], ids=["flat", "growing"])
def test_memory_is_judged_after_it_has_settled(last: float, flat: bool) -> None:
    """The climb of the first fifth does not count; five per cent later does."""
    sizes = [150.0] * 5 + [300.0] * 15 + [last] * 10
    series = [(n * 690, size, 90.0) for n, size in enumerate(sizes)]
    assert verdict(series, 20_000)["flat"] is flat


def test_a_process_may_have_any_name() -> None:
    """The line of /proc is read from its last bracket."""
    rest = " ".join(["S", "41", *"0" * 9, "100", "50", "30", "20", *"0" * 6, "1000"])
    stat = parse(f"42 (a) b (c) {rest}")
    assert (stat.pid, stat.name, stat.parent) == (42, "a) b (c", 41)
    assert (stat.own, stat.reaped) == (1.5, 0.5)
