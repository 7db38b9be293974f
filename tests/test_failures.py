"""docs/failures.md is complete: each section names tests that exist, statuses and reasons that there are."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from app.errors import kinds

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "failures.md").read_text(encoding="utf-8")
ABOUT = ("test_faults.py", "test_outages.py")
"""Files in tests/integration of which every test verifies a section."""
REASONS = {"timeout", "unavailable", "overloaded", "embedding", "not_available"}


class Section(NamedTuple):
    """A fault of a dependency."""

    title: str
    outcomes: dict[str, str]
    tests: list[str]


def sections() -> Iterator[Section]:
    """Of the page, in its order."""
    for title, text in re.findall(r"^### (.+)\n((?:(?!##).*\n)*)", PAGE, re.MULTILINE):
        rows = re.findall(r"^\| (.+?) \| (.+) \|$", text, re.MULTILINE)
        tests = re.findall(r"`(test_\w+)`", text.partition("\nTests: ")[2])
        yield Section(title, dict(rows[1:]), tests)


SECTIONS = list(sections())
CASES = [pytest.param(section, id=section.title) for section in SECTIONS]


@cache
def defined(file: Path) -> set[str]:
    """Names of the tests in a file."""
    return set(re.findall(r"(?m)^(?:async )?def (test_\w+)", file.read_text(encoding="utf-8")))


def test_every_dependency_is_summed_up_and_has_its_faults() -> None:
    """The table at the top has the headings. Whatever is asked over a network can be down and silent."""
    headings = [name.partition(" (")[0] for name in re.findall(r"(?m)^## (.+)$", PAGE)]
    assert re.findall(r"(?m)^\| ([^|]+?) \|.+\|.+\|.+\|$", PAGE)[1:] == headings
    assert {section.title.partition(": ")[0] for section in SECTIONS} == set(headings)
    titles = {section.title for section in SECTIONS}
    remote = set(headings) - {"Disk of the data directory", "Client", "Ibid itself"}
    assert {f"{name}: {fault}" for name in remote for fault in ("down", "silent")} <= titles
    assert len(titles) == len(SECTIONS)


@pytest.mark.parametrize("section", CASES)
def test_every_section_is_verified(section: Section) -> None:
    """It declares an outcome and names tests; a test that is renamed or dropped is missed here."""
    assert section.outcomes
    assert section.tests
    assert set(section.tests) <= set[str]().union(*map(defined, TESTS.rglob("test_*.py")))


def test_no_test_of_a_fault_is_forgotten() -> None:
    """Each test of the files about faults is named."""
    named = {test for section in SECTIONS for test in section.tests}
    assert [test for file in ABOUT for test in defined(TESTS / "integration" / file) - named] == []


@pytest.mark.parametrize("section", CASES)
def test_statuses_and_reasons_exist(section: Section) -> None:
    """A status with its slug is in the tree of errors; a reason is one that `degraded` knows."""
    told = " ".join(section.outcomes.values())
    known = {(kind.slug, kind.status) for kind in kinds()}
    found = re.findall(r"\b([45]\d\d) ([a-z]+(?:-[a-z]+)+|unavailable)", told)
    assert [slug for status, slug in found if (slug, int(status)) not in known] == []
    assert set(re.findall(r"\b(?:embedding|documents|postgres)/([a-z_]+)", told)) <= REASONS
