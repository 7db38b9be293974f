"""A damaged PostgreSQL: a page, an index, a file. It is told which it is and what to do."""

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path

import asyncpg
import pytest

from app.cli.store import held_dsn
from tests.fakes.ledger import pdf, word
from tests.fakes.process import Service, ibid, service
from tests.fakes.server import told
from tests.integration.test_outbox import settled

PAGE = 8192
RELATIONS = ("ibid.memory", "ibid.memory_newest", "ibid.answer")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Path]]:
    """A stopped service's folder, and where in it some tables and indexes are."""
    folder = tmp_path_factory.mktemp("whole") / "data"
    with service(folder) as running:
        assert running.upload("ferry.pdf", pdf(word(1))).status_code == 201
        texts = [{"user_id": "u", "text": f"Ferry number {n} carries apples."} for n in range(200)]
        assert running.client.post("/memories", json=texts).status_code == 201
        assert running.chat("What does the ferry carry?")["rag"]["used"]
        found = asyncio.run(places(held_dsn(folder / "postgres")))
        settled(running)
    return folder, {name: Path("postgres", "data", path) for name, path in zip(RELATIONS, found, strict=True)}


async def places(dsn: str) -> Sequence[str]:
    """Where the files of RELATIONS are. Small as the tables are, lists are read from `memory_newest`."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("ALTER DATABASE ibid SET enable_seqscan = off")
        await connection.execute("ANALYZE ibid.memory")
        return [await connection.fetchval("SELECT pg_relation_filepath($1)", name) for name in RELATIONS]
    finally:
        await connection.close()


@pytest.fixture
def folder(whole: tuple[Path, dict[str, Path]], tmp_path: Path) -> Path:
    """A copy of it, to damage."""
    subprocess.run(["/bin/cp", "-a", whole[0], tmp_path / "data"], check=True)  # with their owners
    return tmp_path / "data"


@pytest.fixture
def files(whole: tuple[Path, dict[str, Path]], folder: Path) -> dict[str, Path]:
    """The copy's tables and indexes."""
    return {name: folder / path for name, path in whole[1].items()}


def flip(file: Path, page: int) -> None:
    """Some bytes of a page, so that its checksum is wrong."""
    with file.open("r+b") as opened:
        opened.seek(page * PAGE + PAGE // 2)
        found = opened.read(64)
        opened.seek(page * PAGE + PAGE // 2)
        opened.write(bytes(each ^ 0xFF for each in found))


def remembered(running: Service) -> int:
    """How many memories the record has."""
    found, cursor = 0, None
    while True:
        page = running.client.get(
            "/memories", params={"user_id": "u"} | ({"cursor": cursor} if cursor else {})
        )
        found, cursor = found + len(page.json()["items"]), page.json()["next"]
        if cursor is None:
            return found


def test_a_start_that_reads_what_is_damaged_says_so(folder: Path, files: dict[str, Path]) -> None:
    """In one line, which doctor says more of: the table's name and what to do."""
    flip(files["ibid.memory"], 0)

    started = ibid(folder, "serve", "--port=0")
    assert started.code == 1
    assert "Traceback" not in started.err
    assert started.err.splitlines()[-1].startswith("ibid: Postgres is damaged: ")
    looked = ibid(folder, "doctor")
    assert looked.code == 1
    assert "Traceback" not in looked.err
    assert "FAILED  postgres files   damaged: table ibid.memory (" in looked.out
    assert f"restore {folder} from a backup" in looked.out


def test_a_catalog_that_is_damaged_is_told_at_once(folder: Path, files: dict[str, Path]) -> None:
    """No connection can be made; nobody waits until one can."""
    flip(files["ibid.memory"].with_name("1259"), 0)  # pg_class, of which the first pages are always read

    done = ibid(folder, "serve", "--port=0")
    assert done.code == 1
    assert "Postgres is damaged: " in done.err
    assert "Traceback" not in done.err


def test_a_damaged_index_costs_what_needs_it_and_pages_may_be_given_up(
    folder: Path, files: dict[str, Path]
) -> None:
    """Answers go on, the store's problem is told and logged, the breaker stays closed. Where there
    is no backup, the rows of other pages are there afterwards, and engines that had taken the others are
    refilled."""
    flip(files["ibid.memory_newest"], 1)

    with service(folder) as running:
        told(running.client.get("/memories", params={"user_id": "u"}), 500, "damaged")
        said = running.client.post("/rag/query", json={"user_id": "u", "message": "What do ferries carry?"})
        assert said.json()["memory_used"]
        assert running.chat("What does the ferry carry?")["rag"]["used"]
        assert running.client.get("/readyz").status_code == 200
        looked = ibid(folder, "doctor")
    assert "damaged: index ibid.memory_newest of ibid.memory (" in looked.out
    assert '"event": "Postgres is damaged"' in (folder.parent / "data.log").read_text()

    flip(files["ibid.memory"], 2)
    mended = ibid(folder, "doctor", "--give-up-pages", "--rebuild-indexes")
    assert mended.code == 0, mended.out
    with service(folder) as running:
        assert 150 < remembered(running) <= 200
        assert running.client.post("/memories", json={"user_id": "u", "text": "New."}).status_code == 201
        settled(running)
    assert ibid(folder, "doctor").code == 0


def test_an_answer_log_that_is_damaged_costs_no_answer(folder: Path, files: dict[str, Path]) -> None:
    """What cannot be written is dropped after some tries, and counted."""
    files["ibid.answer"].unlink()

    with service(folder) as running:
        for _ in range(2):
            assert running.chat("What does the ferry carry?")["rag"]["used"]
        assert running.upload("other.pdf", pdf(word(2))).status_code == 201
