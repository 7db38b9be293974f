"""`ibid profiles` and `ibid erase`: computes users' profile cards, or deletes users. Both work through the
service.

`profiles` requests a page of users at a time, so that the bar moves and an interruption loses little. `erase`
waits until files are rewritten too, so that the folder can be copied or handed on; it exits with 1 if it
fails.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

import typer

from app.cli.client import connect, patient, taken
from app.cli.terminal import (
    DataDir,
    Json,
    as_json,
    configured,
    counted,
    name,
    progress,
    remark,
    rows,
    run,
    tell,
)
from app.settings import Settings
from app.types import DEFAULT_TENANT

PATIENCE_SECONDS = 600.0
"""Deadline of rewriting files: a large table takes minutes."""
LOOK_SECONDS = 0.5


def profiles(
    user: Annotated[
        str | None, typer.Option(callback=name, help="Only of this user.", show_default="all of the tenant")
    ] = None,
    tenant: Annotated[str, typer.Option(callback=name, help="Whose users.")] = DEFAULT_TENANT,
    *,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Compute profile, style and persona cards from people's own messages."""
    run(profiled(configured(data_dir), user, tenant, json=json))


async def profiled(config: Settings, user: str | None, tenant: str, *, json: bool) -> None:
    people = messages = 0
    async for item in profile_items(config, user, tenant):
        people, messages = people + 1, messages + item["messages"]
        if json:
            as_json(item)
        else:
            cards = ", ".join(item["kinds"]) or "no cards: nothing said"
            tell(f"{item['user_id']}: {counted(item['messages'], 'message')}; {cards}")
    if not json:
        tell(f"{counted(people, 'user')}, {counted(messages, 'message')}.")


async def profile_items(config: Settings, user: str | None, tenant: str) -> AsyncIterator[dict[str, Any]]:
    body: dict[str, Any] = {"tenant": tenant} | ({"user_id": user} if user else {})
    async with connect(config) as client:
        page = await patient(lambda: client.post("/profiles", json=body))
        with progress("Reading", page["users"]) as bar:
            while True:
                for item in page["items"]:
                    bar.add(1, item["user_id"])
                    yield item
                if page["next"] is None:
                    return
                more = body | {"cursor": page["next"]}
                page = await patient(partial(client.post, "/profiles", json=more))


def erase(
    user: Annotated[str, typer.Argument(callback=name, help="The user_id, as requests name it.")],
    tenant: Annotated[str, typer.Option(callback=name, help="Whose user.")] = DEFAULT_TENANT,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Erase a user for good: memories, turns, answers and their documents."""
    config = configured(data_dir)
    if not yes:
        typer.confirm(f"Erase everything of {user!r} in tenant {tenant!r} for good?", abort=True, err=True)
    receipt = run(erased(config, user, tenant))
    if json:
        as_json(receipt)
    else:
        tell(f"{receipt['user_id']} in tenant {receipt['tenant']}, {receipt['erased_at']}")
        counts = [(holding, f"{count:,}") for holding, count in receipt["counts"].items()]
        rows(("Erased", "Count"), counts, flexible="")
        for line in erased_remarks(receipt):
            remark(line)


async def erased(config: Settings, user: str, tenant: str) -> dict[str, Any]:
    async with connect(config) as client:
        address = f"/users/{quote(user, safe='')}?tenant={quote(tenant, safe='')}"
        receipt = {"tenant": tenant, **taken(await client.delete(address))}
        until = time.monotonic() + PATIENCE_SECONDS
        with progress("Rewriting files", 1) as bar:
            # The same request again finds nothing more to erase, and reports the state of the files.
            while (receipt["files"]["by"] or receipt["engines"]) and time.monotonic() < until:
                await asyncio.sleep(LOOK_SECONDS)
                now = taken(await client.delete(address))
                receipt |= {name: now[name] for name in ("files", "engines")}
            bar.add(1)
    return receipt


def erased_remarks(receipt: Mapping[str, Any]) -> Iterator[str]:
    """Data that is not erased yet, or is kept by others."""
    files = receipt["files"]
    if not any(receipt["counts"].values()):
        yield f"Nothing was kept of {receipt['user_id']} in tenant {receipt['tenant']}."
    if receipt["engines"]:
        engines = ", ".join(receipt["engines"])
        yield f"{engines}: what is held there is not found any more, and is deleted when the engine answers."
    if files["by"]:
        yield f"Files are rewritten by {files['by']}: ask again."
    if files["pending"]:
        yield f"Too large to be rewritten for now: {', '.join(files['pending'])} (numbers, no text)."
    if files["external"]:
        yield f"Files of {', '.join(files['external'])} are for those servers to rewrite."
    if receipt["cached_until"]:
        yield f"The shared cache holds results until {receipt['cached_until']}."
    yield from receipt["notes"]
