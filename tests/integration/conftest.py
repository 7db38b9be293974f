"""Whole services: one that answers from the documents alone, one with a scripted model server.

Each once a worker: a start costs seconds. So a test keeps to sessions and users of its own, leaves nothing in
everybody's reach, and the model as it found it; one that needs more has a service of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from anyio.from_thread import start_blocking_portal

from tests.fakes.model import ModelServer, model_server
from tests.fakes.process import Service, service

EVERY = {"ENABLE_VANTAGE_ENDPOINTS": "1", "VANTAGE_PERSONAL_MEMORY": "1", "VANTAGE_DEBUG": "1"}
"""Settings with which every route is there."""


@dataclass
class Talk:
    """A service and the model server it asks."""

    service: Service
    model: ModelServer


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with every route and no model: embedded stores, bundled embedder, extractive answers."""
    with service(tmp_path_factory.mktemp("house") / "data", **EVERY) as running:
        yield running


@pytest.fixture(scope="session")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """A service whose chat model is a server of ours on loopback."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(model_server()) as model,
        service(tmp_path_factory.mktemp("talk") / "data", CHAT_BASE_URL=model.url) as running,
    ):
        yield Talk(running, model)
