"""The parts that `ibid doctor` looks at: each says what to do when it is not well."""

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from pydantic import SecretStr

from app.cli import checks
from app.cli.checks import Ailment, unmet
from app.db.pool import open_pool
from app.db.postgres import recorded
from app.errors import IbidError
from app.settings import Cache, Chat, Embed, Ibid, Memory, Postgres, Rerank, Settings
from tests.fakes.model import Fault, model_server
from tests.fakes.outside import Ill, outside_server
from tests.fakes.redis import RedisServer, free_port
from tests.fakes.rerank import Ill as Sick
from tests.fakes.rerank import rerank_server


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


async def test_an_embedding_server_that_fails_is_told_with_its_settings(dsn: str) -> None:
    """Whether it fails when the space is measured or later."""
    async with model_server() as server:
        server.fault = Fault(status=500)
        embed, record = Embed(base_url=server.url, model="fake-model"), Postgres(dsn=SecretStr(dsn))
        config = Settings(embed=embed, postgres=record)

        with pytest.raises(IbidError, match="EMBED_BASE_URL"):
            await checks.embedder(config)


async def test_an_older_schema_is_told_and_left(dsn: str) -> None:
    """A running service of that version could not start again."""
    async with open_pool(dsn) as pool:
        await pool.execute("UPDATE ibid.alembic_version SET version_num = '0001'")
    config = Settings(postgres=Postgres(dsn=SecretStr(dsn)))

    with pytest.raises(Ailment, match="the schema 0001") as raised:
        await checks.postgres(config)
    assert await checks.recorded_space(config) == (None, False)

    assert raised.value.advice.startswith("ibid migrate")
    assert await recorded(dsn) == ["0001"]


async def test_the_shared_cache_is_asked_what_it_is(redis: RedisServer) -> None:
    """Kind and version; without an address the process keeps its own."""
    assert await checks.cache(Settings()) == "in this process"
    told = await checks.cache(Settings(cache=Cache(url=SecretStr(redis.url))))
    assert told.endswith("(CACHE_URL)")
    assert told.split()[0] in {"redis", "valkey"}


async def test_a_cache_that_does_not_answer_is_told_without_its_password() -> None:
    """Only the name of its setting."""
    url = SecretStr(f"redis://:hunter2@127.0.0.1:{free_port()}/0")

    with pytest.raises(Ailment) as raised:
        await checks.cache(Settings(cache=Cache(url=url)))

    assert "CACHE_URL" in raised.value.advice
    assert "hunter2" not in raised.value.detail + raised.value.advice


async def test_an_outside_memory_service_is_asked_whether_it_is_there() -> None:
    """By its setting's name, if it is not; without one the built-in stores are all there is."""
    assert await checks.memory(Settings()) == "built in"
    async with outside_server() as server:
        config = Settings(memory=Memory(service_url=server.url))
        server.ill = Ill(404)
        assert await checks.memory(config) == f"{server.url} answers"
        server.ill = Ill(500)
        with pytest.raises(Ailment, match="does not answer") as raised:
            await checks.memory(config)
    assert raised.value.advice == "check MEMORY_SERVICE_URL"


async def test_a_reranker_is_asked_for_two_scores() -> None:
    """Whoever gives none is told by its settings; without one there is nothing to look at."""
    assert await checks.rerank(Settings()) == "none: candidates stay in the first stage's order"
    async with rerank_server() as server:
        config = Settings(rerank=Rerank(url=server.url, model="reader"))
        assert await checks.rerank(config) == f"{server.url}/rerank reader answers"
        server.ill = Sick(401)
        with pytest.raises(Ailment, match="gives no scores") as raised:
            await checks.rerank(config)
    assert raised.value.advice == "check RERANK_URL, RERANK_MODEL and RERANK_API_KEY"
