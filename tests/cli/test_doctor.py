"""`ibid doctor`: all well on a fresh folder, and each part told with what to do when it is not."""

import asyncio
import json
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from app.cli import checks
from app.cli.checks import Ailment, unmet
from app.cli.doctor import PARTS, Finding, finding
from app.config import Chat, Ibid, Qdrant, Settings
from app.domain.errors import Unavailable
from tests.cli.conftest import Ibid as Command
from tests.cli.conftest import Running
from tests.fakes.model import Fault, model_server


def parts(output: str) -> dict[str, dict[str, Any]]:
    """Findings by part."""
    return {line["part"]: line for line in map(json.loads, output.splitlines())}


def test_all_is_well_on_a_fresh_folder(ibid: Command) -> None:
    """Every part is looked at, none fails, and the exit code is 0."""
    done = ibid("doctor", "--json")

    found = parts(done.out)
    assert [part for part, line in found.items() if not line["ok"]] == []
    assert list(found) == ["settings", *PARTS]
    assert "pgvector" in found["postgres"]["found"]
    assert "384 dimensions" in found["embeddings"]["found"]
    assert done.code == 0


def test_a_running_service_is_looked_at_through_itself(held: Command, service: Running) -> None:
    """Its folder is not opened a second time."""
    done = held("doctor")

    assert f"held by process {service.process.pid} {service.url}" in done.out
    assert "embedded, open in the running service" in done.out
    assert done.code == 0, done.out


def test_settings_that_cannot_be_read_are_the_one_finding(
    ibid: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor itself does not fall over them."""
    monkeypatch.setenv("RAG_TIMEOUT", "6")

    done = ibid("doctor")

    assert done.code == 1
    assert done.out.startswith("FAILED  settings     unknown setting: RAG_TIMEOUT")


def test_a_finding_names_its_part_and_what_to_do() -> None:
    """Aligned, the advice below."""
    line = Finding("qdrant", ok=False, found="no answer", advice="check QDRANT_URL").line()

    assert line == "FAILED  qdrant       no answer\n                     -> check QDRANT_URL"


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


async def test_an_old_python_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the way to another."""
    monkeypatch.setattr(checks, "PYTHON", (sys.version_info[0] + 1, 0))

    with pytest.raises(Ailment) as raised:
        await checks.python(Settings())

    assert "make install PYTHON=" in raised.value.advice


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        pytest.param("typer>=0.29", None, id="as wanted"),
        pytest.param("typer>=999", "is not >=999", id="too old"),
        pytest.param("no-such-package", "no-such-package is missing", id="missing"),
    ],
)
def test_packages_are_held_against_what_is_wanted(wanted: str, said: str | None) -> None:
    """Name and version of each that does not fit."""
    told = unmet(Requirement(wanted))

    assert (told is None) if said is None else said in str(told)


async def test_packages_that_do_not_fit_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, not the first alone."""

    def none(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(checks, "version", none)

    with pytest.raises(Ailment, match=r"fastapi is missing.*uvicorn is missing"):
        await checks.packages(Settings())


async def test_a_folder_below_a_file_cannot_be_used(tmp_path: Path) -> None:
    """The path that is in the way is named."""
    (tmp_path / "file").touch()

    with pytest.raises(Ailment, match="file cannot be written"):
        await checks.folder(Settings(ibid=Ibid(data_dir=tmp_path / "file" / "data")))


async def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before an ingest finds out."""
    monkeypatch.setattr(checks, "DISK", 1 << 62)

    with pytest.raises(Ailment, match="MiB free"):
        await checks.folder(Settings(ibid=Ibid(data_dir=tmp_path)))


async def test_another_vocabulary_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets would be counted wrong."""
    monkeypatch.setattr(checks, "TOKENS", 8)

    with pytest.raises(Ailment, match="counts 7 tokens where o200k has 8"):
        await checks.tokenizer(Settings())


class TestChat:
    """The chat model's server."""

    async def test_without_a_server_the_answerer_is_named(self) -> None:
        """Nothing is wrong with having no model."""
        assert "none configured" in await checks.chat(Settings())

    async def test_a_server_that_knows_the_model_is_well(self) -> None:
        """Asked for its list only."""
        async with model_server() as server:
            found = await checks.chat(Settings(chat=Chat(base_url=server.url, model="fake-model")))

            assert found == f"fake-model at {server.url}"
            assert [request.path for request in server.requests] == ["/v1/models"]

    async def test_a_model_that_is_not_listed_is_remarked(self) -> None:
        """No failure: some servers take names that they do not list."""
        async with model_server() as server:
            found = await checks.chat(Settings(chat=Chat(base_url=server.url, model="other")))

        assert "its list has only fake-model: see CHAT_MODEL" in found

    async def test_a_refused_key_is_told(self) -> None:
        """With the settings to look at."""
        async with model_server() as server:
            server.fault = Fault(status=401)

            with pytest.raises(Ailment, match="401") as raised:
                await checks.chat(Settings(chat=Chat(base_url=server.url)))

        assert "CHAT_API_KEY" in raised.value.advice

    async def test_a_server_without_a_list_is_well(self) -> None:
        """A 404 is an answer."""
        async with model_server() as server:
            server.fault = Fault(status=404)

            assert "does not list" in await checks.chat(Settings(chat=Chat(base_url=server.url)))


async def test_qdrant_is_not_needed() -> None:
    """Unset is well."""
    assert await checks.qdrant(Settings()) == "not configured, and not used yet"


async def test_a_qdrant_that_does_not_answer_is_told() -> None:
    """With its address and its setting."""
    with pytest.raises(Ailment, match=r"http://127\.0\.0\.1:9 does not answer") as raised:
        await checks.qdrant(Settings(qdrant=Qdrant(url="http://127.0.0.1:9")))

    assert raised.value.advice == "check QDRANT_URL"
