"""The examples of docs/guide/search.md and mcp.md, and a LangChain retriever, against the service."""

import json
import shutil
from pathlib import Path

import httpx
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from tests.clients.examples import blocks, run_examples
from tests.fakes.pdfs import text_pdf
from tests.integration.conftest import Host

REPORT = "The main findings of the report are that bees prefer blue flowers over red ones."
MOST_LINES = 15

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="some examples are for curl")


def test_the_examples_of_a_search_find_the_report(host: Host, tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(text_pdf(REPORT))
    with host() as running:
        uploaded, found, *others = run_examples("search.md", running.lock.url, tmp_path)
    assert json.loads(uploaded)["state"] == "ready"
    assert [each["label"] for each in json.loads(found)["results"]] == ["report.pdf#1"]
    assert len(others) == 3
    assert all("report.pdf#1" in said and REPORT in said for said in others)


def test_the_examples_of_mcp_remember_and_find(host: Host, tmp_path: Path) -> None:
    with host() as running:
        kept, read = run_examples("mcp.md", running.lock.url, tmp_path)
    assert json.loads(kept)["result"]["structuredContent"]["outcome"] == "created"
    assert read == "My dentist is Dr. Okafor in Harlow Street.\n"


def test_a_retriever_is_short() -> None:
    """Without blank lines and the line that uses it."""
    written = [text.splitlines() for language, text in blocks("search.md") if language == "python"]
    assert max(len([line for line in lines if line]) for lines in written) <= MOST_LINES


class Retriever(BaseRetriever):
    """As a chain would use it."""

    url: str
    session: str

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        body = {"query": query, "session_id": self.session}
        found = httpx.post(f"{self.url}/v1/search", json=body, trust_env=False).json()["results"]
        return [Document(each.pop("text"), id=each["id"], metadata=each) for each in found]


async def test_langchain_retrieves_passages_with_their_sources(host: Host) -> None:
    """Called directly, in a batch and without waiting."""
    with host() as running:
        running.upload("report.pdf", text_pdf(REPORT), session_id="chain")
        retriever = Retriever(url=running.lock.url, session="chain")
        [one] = await retriever.ainvoke("Which flowers do bees prefer?")
        assert (one.page_content, one.metadata["label"], one.metadata["page"]) == (REPORT, "report.pdf#1", 1)
        assert [len(found) for found in retriever.batch(["Which flowers do bees prefer?", "Thanks!"])] == [
            1,
            0,
        ]
