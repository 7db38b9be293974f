"""`ibid erase`: all that is kept of a user of a tenant, gone, and the receipt.

Waits until files are rewritten too, so that what it leaves behind can be copied or handed on. Through the
running service, else on the stores themselves. Exit 1 where the user is not erased.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table

from app.cli.progress import shown
from app.cli.session import connect, taken
from app.cli.terminal import DataDir, Json, as_json, configured, name, remark, run, tell
from app.settings import Settings
from app.types import DEFAULT_TENANT

PATIENCE_SECONDS = 600.0
"""For the files: a large table takes minutes."""
LOOK_SECONDS = 0.5


def erase(
    user: Annotated[str, typer.Argument(callback=name, help="The user_id, as requests name it.")],
    tenant: Annotated[str, typer.Option(callback=name, help="Whose user.")] = DEFAULT_TENANT,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Erase a user for good: memories, turns, answers, documents that are theirs."""
    config = configured(data_dir)
    if not yes:
        typer.confirm(f"Erase everything of {user!r} in tenant {tenant!r} for good?", abort=True, err=True)
    receipt = run(erased(config, user, tenant))
    if json:
        as_json(receipt)
    else:
        tell(f"{receipt['user_id']} in tenant {receipt['tenant']}, {receipt['erased_at']}")
        Console(markup=False).print(table(receipt))
        for line in remarks(receipt):
            remark(line)


async def erased(config: Settings, user: str, tenant: str) -> dict[str, Any]:
    """The receipt, with the tenant and how the files stand in the end."""
    async with connect(config) as client:
        address = f"/users/{quote(user, safe='')}?tenant={quote(tenant, safe='')}"
        receipt = {"tenant": tenant, **taken(await client.delete(address))}
        until = time.monotonic() + PATIENCE_SECONDS
        with shown("Rewriting files", 1) as progress:
            # Asked again, it tells how the files stand, and finds nothing more to erase.
            while (receipt["files"]["by"] or receipt["engines"]) and time.monotonic() < until:
                await asyncio.sleep(LOOK_SECONDS)
                now = taken(await client.delete(address))
                receipt |= {name: now[name] for name in ("files", "engines")}
            progress.add(1)
    return receipt


def table(receipt: Mapping[str, Any]) -> Table:
    """A line a holding."""
    rows = Table("Erased", box=None)
    rows.add_column("Count", justify="right")
    for holding, count in receipt["counts"].items():
        rows.add_row(holding, f"{count:,}")
    return rows


def remarks(receipt: Mapping[str, Any]) -> list[str]:
    """What is not yet, or not ours to do."""
    files, told = receipt["files"], []
    if not any(receipt["counts"].values()):
        told.append(f"Nothing was kept of {receipt['user_id']} in tenant {receipt['tenant']}.")
    if receipt["engines"]:
        engines = ", ".join(receipt["engines"])
        told.append(f"{engines}: what is held there is found no more, and deleted when the engine answers.")
    if files["by"]:
        told.append(f"Files are rewritten by {files['by']}: ask again.")
    if files["pending"]:
        told.append(f"Too large to be rewritten for now: {', '.join(files['pending'])} (numbers, no text).")
    if files["external"]:
        told.append(f"Files of {', '.join(files['external'])} are those servers' own to rewrite.")
    if receipt["cached_until"]:
        told.append(f"The shared cache holds results until {receipt['cached_until']}.")
    return [*told, *receipt["notes"]]
