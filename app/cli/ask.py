"""`ibid ask`: the answer as it streams, then its sources with file and page.

Without --session only global documents are searched and each question stands alone; with it, the session's
documents and its earlier turns are used too.
"""

from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.client import Answered, connect, events, taken
from app.cli.terminal import DataDir, Json, as_json, configured, remark, run, session_id, tell
from app.errors import Unavailable
from app.settings import Settings

if TYPE_CHECKING:
    import httpx

DEFAULT_SESSION = "ibid-ask"
"""The session in which questions without one are logged."""

REASONS = {
    "empty": "nothing is stored in reach; add PDFs with: ibid ingest PATH",
    "processing": "a document is still being read; ask again in a moment",
    "no_match": "nothing stored matches the question",
    "skipped_short_query": "the question is too short to be searched",
    "timeout": "the search took too long",
    "unavailable": "the documents could not be searched",
}


def ask(
    text: Annotated[str, typer.Argument(help="The question.")],
    session: Annotated[
        str | None,
        typer.Option(callback=session_id, help="Search its documents too, and continue its conversation."),
    ] = None,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Ask a question and read the answer with its sources."""
    body = {"message": text, "session_id": session or DEFAULT_SESSION, "stream": not json}
    if session is None:
        body["history"] = []
    run(answer(configured(data_dir), body))


async def answer(config: Settings, body: Mapping[str, Any]) -> None:
    async with connect(config) as client:
        if body["stream"]:
            await streamed(client, body)
        else:
            as_json(taken(await client.post("/api/chat", json=body)))


async def streamed(client: "httpx.AsyncClient", body: Mapping[str, Any]) -> None:
    meta: Mapping[str, Any] = {}
    ended = False
    async with client.stream("POST", "/api/chat", json=body) as response:
        if not response.is_success:
            await response.aread()
            taken(response)
        async with aclosing(events(response.aiter_bytes())) as received:
            async for event, data in received:
                meta = data if event == "meta" else meta
                show(event, data, meta)
                ended = ended or event == "done"
    if not ended:
        raise Unavailable("the answer broke off: the connection to the service was lost")


def show(event: str, data: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
    if event == "token":
        tell(data["text"], end="")
    elif event == "citations":
        sources(meta, data["cited"])
    elif event == "error":
        tell()
        raise Answered(data)


def sources(meta: Mapping[str, Any], cited: list[str]) -> None:
    tell("\n")
    for citation in meta["citations"]:
        if citation["label"] in cited:
            tell(f"  [{citation['label']}] {place(citation)}")
    if not meta["rag"]["used"]:
        remark(f"Answered without sources: {REASONS.get(meta['rag']['reason'], meta['rag']['reason'])}.")
    for lost in meta["degraded"]:
        remark(f"Incomplete: {lost['source']} did not answer ({lost['reason']}).")


def place(citation: Mapping[str, Any]) -> str:
    """`Annual report, pages 3–4`."""
    first, last = citation["page"], citation["page_end"]
    pages = "" if first is None else f"page {first}" if last in (None, first) else f"pages {first}–{last}"
    return ", ".join(part for part in (citation["title"], pages) if part)
