"""`ibid migrate`, `ibid reembed` and `ibid adopt`, and the record as commands reach it."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from app.cli import maintenance
from app.cli.store import open_store
from app.db.embedded import Cluster
from app.db.folder import hold
from app.db.keys import KeyStore
from app.errors import RetrievalError
from app.services.adopt import AdoptReport, Older, Taken
from app.settings import Ibid as Place
from app.settings import Settings
from tests.cli.conftest import HARBOUR, Ibid, Running
from tests.fakes.model import ModelServer, model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import service

RABBITS = "I keep two rabbits in Odense, and they are called Juno and Bramble."
TIDES = "Spring tides follow the new moon and the full moon."


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """An embedding server on a loop of its own: commands block this thread."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(model_server()) as server:
        yield server


def test_what_was_stored_is_found_in_the_new_space(
    ibid: Ibid, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused before with the command's name; afterwards the same questions find the same passages: chunks,
    memories, texts of the corpus."""
    with service(ibid.data) as running:
        assert running.upload("harbour.pdf", text_pdf(HARBOUR), scope="global").status_code == 201
        running.client.post("/memories", json={"user_id": "ada", "text": RABBITS})
        running.client.post("/corpus/tides", json={"texts": [TIDES]})
    space = {"EMBED_BASE_URL": model.url, "EMBED_MODEL": "fake-model"}
    for name, value in space.items():
        monkeypatch.setenv(name, value)

    before, moved = ibid("ask", HARBOUR), ibid("reembed")

    assert before.code == 1
    assert "ibid reembed" in before.err
    assert (moved.code, moved.out) == (0, "3 passages embedded anew.\n")
    with service(ibid.data, **space) as running:
        for text, source in ((HARBOUR, "documents"), (RABBITS, "memories"), (TIDES, "corpus")):
            (found,) = running.chat(text, user_id="ada", sources=[source])["debug"]["chunks"]
            assert found["verdict"] == "packed"
            assert source == "documents" or round(found["similarity"], 2) == 1.0


REPORT = AdoptReport(
    "model@8",
    [Taken("public.code_index", 1_200, 30, 2, 1), Taken("public.conversation_index")],
    [Taken("memory_raw", embedded=3, home="memory_raw_ibid")],
    Older(2, 1),
)


def test_what_was_written_all_the_while_is_told(ibid: Ibid, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1, with what to do."""

    async def adopted(*_arguments: object, dry: bool) -> AdoptReport:
        return REPORT

    monkeypatch.setattr(maintenance, "adopted", adopted)
    done = ibid("adopt", "--json")
    assert (done.code, done.err) == (1, "1 row changed meanwhile, by another tool: run ibid adopt again.\n")
    assert json.loads(done.out)["collections"][0]["home"] == "memory_raw_ibid"


@pytest.mark.parametrize(
    ("reason", "said"),
    [("embedding", "the embedding model does not answer"), ("timeout", "Qdrant does not answer")],
)
def test_a_run_that_breaks_off_says_why(
    ibid: Ibid, monkeypatch: pytest.MonkeyPatch, reason: str, said: str
) -> None:
    """And that nothing was lost."""

    @asynccontextmanager
    async def opened(_settings: object) -> AsyncIterator[None]:
        raise RetrievalError(reason)
        yield

    monkeypatch.setattr(maintenance, "open_adopt", opened)
    done = ibid("adopt")
    assert (done.code, done.err) == (1, f"ibid: {said}; run it again: what is done is kept\n")


def test_a_service_on_the_folder_is_in_the_way(held: Ibid, service: Running) -> None:
    """Refused plainly, with who it is."""
    done = held("adopt")
    assert done.code == 1
    assert f"in use by process {service.process.pid}" in done.err


async def test_the_record_of_a_held_folder_is_reached_over_its_socket(
    cluster: Cluster, tmp_path: Path
) -> None:
    """While another process runs the embedded server, its keys can be read."""
    (tmp_path / "postgres").symlink_to(cluster.places.home)

    async with hold(tmp_path), open_store(Settings(ibid=Place(data_dir=tmp_path))) as pool:
        assert await KeyStore(pool).list() == []
