"""`ibid doctor`: all well on a fresh folder, each part told when it is not; the parts: test_checks.py."""

import asyncio
import json
from typing import Any

import pytest

from app.cli.doctor import PARTS, Finding, finding
from app.errors import Unavailable
from app.settings import Settings
from tests.cli.conftest import Ibid, Running


def parts(output: str) -> dict[str, dict[str, Any]]:
    """Findings by part."""
    return {line["part"]: line for line in map(json.loads, output.splitlines())}


def test_all_is_well_on_a_fresh_folder(ibid: Ibid) -> None:
    """Every part is looked at, none fails, and the exit code is 0."""
    done = ibid("doctor", "--json")

    found = parts(done.out)
    assert [part for part, line in found.items() if not line["ok"]] == []
    assert list(found) == ["settings", *PARTS]
    assert "pgvector" in found["postgres"]["found"]
    assert "384 dimensions" in found["embeddings"]["found"]
    assert done.code == 0


def test_a_running_service_is_looked_at_through_itself(held: Ibid, service: Running) -> None:
    """Its folder is not opened a second time."""
    done = held("doctor")

    assert f"held by process {service.process.pid} {service.url}" in done.out
    assert "embedded, open in the running service" in done.out
    assert done.code == 0, done.out


def test_settings_that_cannot_be_read_are_the_one_finding(
    ibid: Ibid, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor itself does not fall over them."""
    monkeypatch.setenv("RAG_TIMEOUT", "6")

    done = ibid("doctor")

    assert done.code == 1
    assert done.out.startswith("FAILED  settings         unknown setting: RAG_TIMEOUT")


def test_a_finding_names_its_part_and_what_to_do() -> None:
    """Aligned, the advice below."""
    line = Finding("qdrant", ok=False, found="no answer", advice="check QDRANT_URL").line()

    assert line == "FAILED  qdrant           no answer\n                         -> check QDRANT_URL"


def test_what_was_found_stands_in_one_column() -> None:
    """Also beside the longest name."""
    assert {Finding(part, ok=True, found="#").line().index("#") for part in PARTS} == {25}


async def test_a_part_that_hangs_is_told() -> None:
    """The doctor always ends."""

    async def hangs(_settings: Settings) -> str:
        await asyncio.sleep(60)
        return ""

    assert not (await finding("x", hangs, Settings(), patience=0.01)).ok


async def test_any_problem_of_a_part_is_a_finding() -> None:
    """Its words are what was found."""

    async def fails(_settings: Settings) -> str:
        raise Unavailable("it is asleep")

    assert await finding("x", fails, Settings()) == Finding("x", ok=False, found="it is asleep")
