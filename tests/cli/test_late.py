"""What is imported late, and that the collector rests meanwhile."""

import gc
import subprocess
import sys

import pytest

from app.cli.late import resting

SERVICE = ("app.main", "app.wiring", "app.vantage", "fastapi", "numpy", "asyncpg", "uvicorn", "tiktoken")
"""What a service is made of, and a second of a processor."""


def loaded(code: str) -> list[str]:
    """Which of SERVICE a process has after this code."""
    ending = f"; print(*sorted(set({SERVICE!r}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}{ending}"], check=True, capture_output=True, text=True
    )
    return done.stdout.split()


def broken() -> None:
    """An import that fails."""
    with resting():
        assert not gc.isenabled()
        raise ImportError("broken")


def test_the_collector_rests_and_works_again() -> None:
    """Within the block alone, also where that ends in an error."""
    with pytest.raises(ImportError, match="broken"):
        broken()
    assert gc.isenabled()


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import app.cli.program", id="help and version"),
        pytest.param("from app.cli import ask, ingest, profiles, erase, knowledge, index", id="over HTTP"),
    ],
)
def test_what_only_asks_a_service_is_none(code: str) -> None:
    """Its modules wait until a command finds that nobody holds the folder."""
    assert loaded(code) == []
