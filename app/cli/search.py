"""`ibid search`: the passages that an answer would rest on, without an answer.

Global documents and reference texts; with options also a session's documents, a user's memories and a
project's conversations, code and dreams.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.answer import cited_of, named
from app.cli.ask import REASONS, Project, User, known_sources
from app.cli.client import connect, taken
from app.cli.terminal import (
    DataDir,
    Json,
    as_json,
    configured,
    input_text,
    remark,
    run,
    session_id,
    tell,
)

if TYPE_CHECKING:
    from app.settings import Settings

SHOWN = 300
"""Characters of a passage that are printed; `--json` has all of it."""


def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="A question or words; `-` or nothing: from stdin."),
    ] = None,
    *,
    session: Annotated[
        str | None, typer.Option(callback=session_id, help="Search its documents too.")
    ] = None,
    user: User = None,
    project: Project = None,
    source: Annotated[
        list[str] | None,
        typer.Option(help="Search this source alone; may be repeated.", show_default="all in reach"),
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Results, at most.", show_default="10")] = None,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Find passages without asking a model for an answer."""
    asked = {
        "query": input_text(words),
        "session_id": session,
        "user_id": user,
        "project": project,
        "sources": known_sources(source) or None,
        "top_k": top_k,
    }
    body = {field: value for field, value in asked.items() if value is not None}
    found = run(searched(configured(data_dir), body))
    as_json(found) if json else show(found)


async def searched(config: "Settings", body: Mapping[str, Any]) -> dict[str, Any]:
    async with connect(config) as client:
        return taken(await client.post("/v1/search", json=body))


def show(found: Mapping[str, Any]) -> None:
    for result in found["results"]:
        tell(f"[{result['label']}] {named(cited_of(result))}".rstrip())
        words = " ".join(result["text"].split())
        tell(f"  {words if len(words) <= SHOWN else words[: SHOWN - 1] + '…'}\n")
    reason = found["rag"]["reason"]
    if not found["results"]:
        remark(f"Nothing found: {REASONS.get(reason, reason)}.")
    for lost in found["degraded"]:
        remark(f"Incomplete: {lost['source']} did not answer ({lost['reason']}).")
