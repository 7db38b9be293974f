"""The declared failure matrix: whole, true to its page, and every line of it held by tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from app.domain.failures import DECLARED, TABLE
from app.domain.outcome import SHOWN, Case, Dependency, Failing, page
from app.errors import kinds

ROOT = Path(__file__).parents[2]
HELD = ("tests/integration/test_faults.py", "tests/integration/test_outages.py")
"""Files that are all about this table."""
REASONS = {"timeout", "unavailable", "overloaded", "embedding", "not_available"}

CASES = [pytest.param(case, id=str(case)) for case in TABLE]


@cache
def names_in(file: str) -> frozenset[str]:
    """The names of a file's tests."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def test_every_dependency_has_its_faults() -> None:
    """Whatever is declared has exactly one case, and each dependency is there; what is asked over a network
    can be down, silent, and worse than that."""
    wanted = [(of, failing) for of, faults in DECLARED.items() for failing in faults]
    assert sorted((case.of, case.failing) for case in TABLE) == sorted(wanted)
    assert set(DECLARED) == set(Dependency)
    for of in (
        Dependency.MODEL,
        Dependency.EMBEDDING,
        Dependency.POSTGRES,
        Dependency.CHROMA,
        Dependency.QDRANT,
        Dependency.REDIS,
    ):
        assert {Failing.DOWN, Failing.SILENT} < set(DECLARED[of])


@pytest.mark.parametrize("case", CASES)
def test_every_cell_is_declared(case: Case) -> None:
    """No endpoint is left to chance, and somebody holds it."""
    assert all(getattr(case, name) for name in SHOWN)
    assert case.means
    assert case.tests


@pytest.mark.parametrize("case", CASES)
def test_the_tests_it_names_exist(case: Case) -> None:
    """A test that is renamed or dropped is missed here."""
    named = [test.partition("::") for test in case.tests]
    assert [test for test in named if test[2] not in names_in(test[0])] == []


def test_no_test_of_a_fault_is_forgotten() -> None:
    """Each test of the two files about faults holds a line of the table."""
    named = {test for case in TABLE for test in case.tests}
    assert [
        f"{file}::{name}" for file in HELD for name in names_in(file) if f"{file}::{name}" not in named
    ] == []


@pytest.mark.parametrize("case", CASES)
def test_problems_and_reasons_are_those_there_are(case: Case) -> None:
    """A status with its slug stands in the tree of errors as such; a reason is one that `degraded` knows."""
    told = " ".join(getattr(case, name) for name in SHOWN)
    known = {(kind.slug, kind.status) for kind in kinds()}
    found = re.findall(r"\b([45]\d\d) ([a-z]+(?:-[a-z]+)+|unavailable)", told)
    assert [slug for status, slug in found if (slug, int(status)) not in known] == []
    reasons = re.findall(r"\b(?:embedding|documents|postgres)/([a-z_]+)", told)
    assert set(reasons) <= REASONS


def test_the_page_is_of_today() -> None:
    """docs/failures.md is what `python -m app.domain.failures` prints."""
    assert (ROOT / "docs" / "failures.md").read_text(encoding="utf-8") == page(TABLE)
