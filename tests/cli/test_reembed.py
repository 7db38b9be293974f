"""`ibid reembed`: from the bundled model's space to a server's, and searched there."""

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal

from tests.cli.conftest import HARBOUR, Ibid
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
