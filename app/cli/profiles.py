"""`ibid profiles`: the cards that answers are ranked and written by, computed anew from what people said.

Through the service that holds the data folder, else on the stores themselves. A page a request, so that the
bar moves and an interruption costs little: what is done is written.
"""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

import typer

from app.cli.progress import shown
from app.cli.session import connect, patient
from app.cli.terminal import DataDir, Json, as_json, configured, counted, name, run, tell
from app.settings import Settings
from app.types import DEFAULT_TENANT


def profiles(
    user: Annotated[
        str | None, typer.Option(callback=name, help="Of this user alone. [default: all of the tenant]")
    ] = None,
    tenant: Annotated[str, typer.Option(callback=name, help="Whose users.")] = DEFAULT_TENANT,
    *,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Compute profile, style and persona cards from people's own messages."""
    run(computed(configured(data_dir), user, tenant, json=json))


async def computed(config: Settings, user: str | None, tenant: str, *, json: bool) -> None:
    """A line a person, or for machines a JSON object."""
    people = messages = 0
    async for item in items(config, user, tenant):
        people, messages = people + 1, messages + item["messages"]
        if json:
            as_json(item)
        else:
            cards = ", ".join(item["kinds"]) or "no cards: nothing said"
            tell(f"{item['user_id']}: {counted(item['messages'], 'message')}; {cards}")
    if not json:
        tell(f"{counted(people, 'user')}, {counted(messages, 'message')}.")


async def items(config: Settings, user: str | None, tenant: str) -> AsyncIterator[dict[str, Any]]:
    """What was done, person by person."""
    body: dict[str, Any] = {"tenant": tenant} | ({"user_id": user} if user else {})
    async with connect(config) as client:
        page = await patient(lambda: client.post("/profiles", json=body))
        with shown("Reading", page["users"]) as progress:
            while True:
                for item in page["items"]:
                    progress.add(1, item["user_id"])
                    yield item
                if page["next"] is None:
                    return
                more = body | {"cursor": page["next"]}
                page = await patient(partial(client.post, "/profiles", json=more))
