"""`ibid reembed`: from the bundled model's space to a server's, and searched there."""

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal

from tests.cli.conftest import HARBOUR, Ibid
from tests.fakes.model import ModelServer, model_server
from tests.fakes.pdfs import text_pdf


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """An embedding server on a loop of its own: commands block this thread."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(model_server()) as server:
        yield server


def test_what_was_stored_is_found_in_the_new_space(
    ibid: Ibid, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused before with the command's name; afterwards the same question finds the same passage."""
    path = ibid.place / "harbour.pdf"
    path.write_bytes(text_pdf(HARBOUR))
    ibid("ingest", path)
    monkeypatch.setenv("EMBED_BASE_URL", model.url)
    monkeypatch.setenv("EMBED_MODEL", "fake-model")
    question = "Why was the harbour of Esbjerg dredged?"

    before, moved, after = ibid("ask", question), ibid("reembed"), ibid("ask", question)

    assert before.code == 1
    assert "ibid reembed" in before.err
    assert (moved.code, moved.out) == (0, "1 passage embedded anew.\n")
    assert "[harbour.pdf#1]" in after.out
