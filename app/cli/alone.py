"""A service of one's own, where none holds the data folder: the same app on a free port of 127.0.0.1.

Imported when it is needed: all of a service comes with it. Raises `StartError`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from app.cli.server import bind, serving, url
from app.cli.session import client
from app.main import create_app
from app.settings import Settings
from app.wiring import open_services

if TYPE_CHECKING:
    import httpx

LOCAL = "127.0.0.1"


@asynccontextmanager
async def own(settings: Settings) -> AsyncIterator["httpx.AsyncClient"]:
    """The stores opened here, behind the same HTTP as ever; what is uploaded is also read here."""
    ibid = settings.ibid.model_copy(update={"workers": max(1, settings.ibid.workers)})
    settings = settings.model_copy(update={"ibid": ibid})
    async with open_services(settings) as services:
        bound = bind(LOCAL, 0)
        async with (
            serving(create_app(settings, services), bound),
            client(url(bound, LOCAL), services.token) as opened,
        ):
            yield opened
