"""Liveness and ready."""

from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from app.api import health
from app.api.health import Readiness
from app.errors import IbidError, RetrievalError, Unavailable
from tests.fakes.server import browsing
from tests.fakes.services import FakeProbe, Fakes


async def ready(app: FastAPI, *probes: FakeProbe) -> httpx.Response:
    """The answer for these dependencies."""
    app.state.services = Fakes(probes=probes).services()
    async with browsing(app) as client:
        return await client.get("/readyz")


async def test_being_alive_asks_nobody(app: FastAPI) -> None:
    """A store that is down must not get the process restarted; not even the services are needed."""
    app.state.services = None
    async with browsing(app) as client:
        assert (await client.get("/healthz")).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_a_probe_may_ask_for_the_head_alone(address: str, path: str) -> None:
    """Many load balancers do; status and headers are those of GET, the body is left out."""
    async with httpx.AsyncClient(base_url=address) as client:
        response, whole = await client.head(path), await client.get(path)

    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"] == whole.headers["content-type"]


async def test_every_dependency_is_told_with_its_time(app: FastAPI) -> None:
    """In the order of wiring."""
    response = await ready(app, FakeProbe("postgres"), FakeProbe("chroma", delay=0.02))

    assert response.status_code == 200
    found = Readiness.model_validate(response.json())
    assert [(check.name, check.ok) for check in found.checks] == [("postgres", True), ("chroma", True)]
    assert found.checks[1].ms >= 20
    assert found.checks[0].facts == {"version": "18.6"}


FAULTS: dict[str, tuple[IbidError, str]] = {
    "down": (Unavailable(), "unavailable"),
    "embedding": (RetrievalError("embedding"), "embedding"),
}


@pytest.mark.parametrize(("error", "reason"), FAULTS.values(), ids=FAULTS.keys())
async def test_one_that_is_down_makes_it_a_503(app: FastAPI, error: IbidError, reason: str) -> None:
    """Which one and why, in a word; the others are told as they are."""
    response = await ready(app, FakeProbe("postgres"), FakeProbe("chroma", error=error))

    assert response.status_code == 503
    assert response.json()["ready"] is False
    good, bad = response.json()["checks"]
    assert (good["ok"], bad["ok"], bad["reason"]) == (True, False, reason)


async def test_one_that_answers_can_do_without_is_told_and_no_more(app: FastAPI) -> None:
    """A cache that is gone takes no replica out of service."""
    needed, spare = FakeProbe("postgres"), FakeProbe("cache", error=Unavailable())
    app.state.services = replace(Fakes(probes=(needed,)).services(), optional=(spare,))
    async with browsing(app) as client:
        response = await client.get("/readyz")

    assert response.status_code == 200
    found = Readiness.model_validate(response.json())
    assert [(check.name, check.ok, check.needed) for check in found.checks] == [
        ("postgres", True, True),
        ("cache", False, False),
    ]


async def test_one_that_hangs_has_a_deadline(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """A load balancer does not wait."""
    monkeypatch.setattr(health, "PROBE_SECONDS", 0.05)

    response = await ready(app, FakeProbe("postgres", delay=30))

    assert response.status_code == 503
    assert response.json()["checks"][0]["reason"] == "timeout"
