"""`ibid keys`: creates, lists and revokes API keys. A key is shown once, and stored hashed.

The commands write to Postgres directly, so that the first key can be created before the service accepts calls
from elsewhere. A running service sees a new or revoked key within two seconds.
"""

from typing import Annotated, Any

import typer

from app.cli.store import open_store
from app.cli.terminal import DataDir, Json, as_json, configured, name, remark, rows, run, tell
from app.db.keys import ApiKey, KeyStore
from app.errors import Missing
from app.settings import Settings
from app.types import moment

keys = typer.Typer(no_args_is_help=True, help="Make, list and revoke API keys.")


@keys.command()
def create(
    tenant: Annotated[str, typer.Option(callback=name, help="The tenant whose data the key reaches.")],
    user: Annotated[
        str | None,
        typer.Option(
            callback=name, help="The only user that the key acts for.", show_default="any of the tenant"
        ),
    ] = None,
    label: Annotated[
        str, typer.Option("--name", help="A remark for the list, such as where it is used.")
    ] = "",
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Make a key and show it, this once. The first key closes the open service."""
    run(created(configured(data_dir), tenant, user, label, json=json))


@keys.command("list")
def listing(json: Json = False, data_dir: DataDir = None) -> None:
    """Show all keys, revoked ones too, without the keys themselves."""
    run(listed(configured(data_dir), json=json))


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The id that `ibid keys list` shows.")],
    *,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Revoke a key for good. The service then still needs a key, even if none is left."""
    run(revoked(configured(data_dir), key_id, json=json))


async def created(config: Settings, tenant: str, user: str | None, label: str, *, json: bool) -> None:
    """Only the key goes to stdout, for scripts."""
    async with open_store(config) as pool:
        made, key = await KeyStore(pool).create(tenant, user=user, name=label)
    if json:
        as_json({**row(made), "key": key})
        return
    tell(key)
    remark(f"Key {made.id} of tenant {tenant}, for {user or 'any user'}. It is not shown again.")


async def listed(config: Settings, *, json: bool) -> None:
    async with open_store(config, migrate=False) as pool:
        found = await KeyStore(pool).list()
    if json:
        for key in found:
            as_json(row(key))
        return
    if not found:
        tell("No keys: the service is open and serves this machine only.")
        return
    rows(("ID", "Tenant", "User", "Name", "Begins", "Made", "Revoked"), map(cells, found), flexible="Name")


def cells(key: ApiKey) -> list[str]:
    dates = [date.date().isoformat() if date else "" for date in (key.created_at, key.revoked_at)]
    return [key.id, key.tenant, key.user or "any", key.name, key.prefix, *dates]


async def revoked(config: Settings, key_id: str, *, json: bool) -> None:
    async with open_store(config) as pool:
        if not await KeyStore(pool).revoke(key_id):
            raise Missing(f"there is no live key {key_id}; see: ibid keys list")
    if json:
        as_json({"id": key_id, "revoked": True})
    else:
        tell(f"Revoked {key_id}.")


def row(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "tenant": key.tenant,
        "user": key.user,
        "name": key.name,
        "prefix": key.prefix,
        "created_at": moment(key.created_at),
        "revoked_at": moment(key.revoked_at) if key.revoked_at else None,
    }
