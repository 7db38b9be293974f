"""The embedding and chat models as /readyz asks them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.errors import IbidError
from app.models.probes import open_probes
from app.models.spaces import open_embedder
from app.settings import Chat, Embed, Settings
from app.types import Probe, Space
from tests.fakes.model import Fault, ModelServer, model_server

SPACE = Space("fake-embedder@64", "fake-embedder", 64, 0.0)


@asynccontextmanager
async def probing(server: ModelServer) -> AsyncIterator[tuple[Probe, Probe]]:
    """Probes of a server that has both models."""
    settings = Settings(
        _env_file=None,
        chat=Chat(base_url=server.url, api_key="a-secret-of-ours", model="fake-model"),
        embed=Embed(base_url=server.url, model="fake-embedder"),
    )
    async with (
        open_embedder(settings, SPACE) as (embedder, space),
        open_probes(settings, embedder, space) as probes,
    ):
        yield probes


async def test_servers_are_asked_for_their_lists_alone() -> None:
    """Which costs nothing; once for however many ask within some seconds; the key goes to nobody else."""
    async with model_server() as server, probing(server) as (chat, embedding):
        found = await asyncio.gather(*(probe.check() for _ in range(5) for probe in (chat, embedding)))

        assert {request.path for request in server.requests} == {"/v1/models"}
        assert len(server.requests) == 2
        assert {fact["model"] for fact in found} == {"fake-model", "fake-embedder"}
        assert {fact["kind"] for fact in found} == {"server"}
        assert "secret" not in str(found)
        assert server.url not in str(found)


@pytest.mark.parametrize(
    ("fault", "slug"),
    [
        (Fault(status=500), "model-failed"),
        (Fault(status=401), "model-refused"),
        (Fault(status=302), "model-failed"),
        (Fault(head_delay=60), "model-timeout"),
        (Fault(status=403), ""),
        (Fault(status=404), ""),
        (Fault(status=429), ""),
        (Fault(garbage=True), ""),
    ],
    ids=lambda value: "" if isinstance(value, str) else f"{value.status} {value.head_delay} {value.garbage}",
)
async def test_what_a_server_says_to_it(fault: Fault, slug: str) -> None:
    """One that lists no models, or not for this key, answers; one that fails or refuses the key does not."""
    async with model_server() as server, probing(server) as (chat, _):
        server.fault = fault
        try:
            await chat.check()
            told = ""
        except IbidError as error:
            told = error.slug

        assert told == slug


async def test_nobody_there_is_told_again_and_again() -> None:
    """Without asking each time."""
    async with model_server() as server, probing(server) as (chat, _):
        server.fault = Fault(status=503)
        for _ in range(3):
            with pytest.raises(IbidError):
                await chat.check()
        assert len(server.requests) == 1


async def test_bundled_models_are_told_as_such() -> None:
    """They are asked, too: the embedder for a word."""
    settings = Settings(_env_file=None)
    async with (
        open_embedder(settings, None) as (embedder, space),
        open_probes(settings, embedder, space) as probes,
    ):
        chat, embedding = [await probe.check() for probe in probes]

    assert (chat["kind"], embedding["kind"]) == ("bundled", "bundled")
    assert embedding["model"] == space.model
