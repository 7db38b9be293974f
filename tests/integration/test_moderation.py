"""VANTAGE_RISK_URL against the running service: what the outside judge adds, is kept, and costs when ill."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from app.vantage.checks import HELP
from tests.fakes.judges import Ill, ModerationServer, moderation_server
from tests.fakes.model import ModelServer, model_server
from tests.fakes.process import Service
from tests.integration.conftest import Host

PLAIN = "How long does bread take to rise?"


@dataclass
class World:
    """A service and both servers."""

    service: Service
    model: ModelServer
    moderation: ModerationServer

    def ask(self, message: str = PLAIN, **fields: Any) -> dict[str, Any]:
        reply = self.service.client.post(
            "/vantage/query", json={"user_id": "ada", "message": message, **fields}
        )
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    @contextmanager
    def scoring(self, **scores: float) -> Iterator[None]:
        """The judge says this of whatever it is asked; `selfharm` stands for `self-harm/intent`."""
        self.moderation.scores = {
            {"selfharm": "self-harm/intent"}.get(name, name): score for name, score in scores.items()
        }
        yield
        self.moderation.scores = {"violence": 0.01}

    @contextmanager
    def ill(self, ill: Ill) -> Iterator[None]:
        """The judge is not well."""
        self.moderation.ill = ill
        yield
        self.moderation.ill = Ill()


@pytest.fixture(scope="module")
def world(host: Host) -> Iterator[World]:
    """With the judge's key and model set."""
    with (
        host.beside(model_server("It is calm.")) as model,
        host.beside(moderation_server()) as moderation,
        host(
            CHAT_BASE_URL=model.url,
            ENABLE_VANTAGE_ENDPOINTS="1",
            VANTAGE_DEBUG="1",
            VANTAGE_RISK_URL=f"{moderation.url}/v1",
        ) as running,
    ):
        yield World(running, model, moderation)


def test_what_it_flags_is_negotiated(world: World) -> None:
    """And nothing else is; the scores are told where VANTAGE_DEBUG is on."""
    calm = world.ask()
    assert (calm["response_class"], calm["meta"]["evidence"]) == ("COMPLY", {"violence": 0.01})
    with world.scoring(violence=0.5, hate=0.1):
        flagged = world.ask()
    assert (flagged["response_class"], flagged["decision"]["rules"]) == ("NEGOTIATE", ["outside"])
    assert world.moderation.requests[-1].body["input"] == PLAIN


def test_who_may_not_want_to_live_is_told_where_help_is(world: World) -> None:
    """By its category of self-harm, which is no harm to others."""
    with world.scoring(selfharm=0.9):
        reply = world.ask()
    assert (reply["response_class"], HELP in reply["answer"]) == ("REDIRECT", True)


def test_a_replay_decides_on_what_was_recorded(world: World) -> None:
    """Whatever it says by then; it is not asked again."""
    with world.scoring(violence=0.9):
        answer = world.ask()["answer_id"]
    asked = len(world.moderation.requests)
    again = world.service.client.post(f"/answers/{answer}/replay").json()
    assert (again["identical"], again["changes"]) == (True, [])
    assert len(world.moderation.requests) == asked
    kept = world.service.client.get(f"/answers/{answer}").json()
    assert "outside" in str(kept)


@pytest.mark.parametrize(
    ("ill", "reason"),
    [(Ill(status=503), "unavailable"), (Ill(body=b"?"), "moderation"), (Ill(delay=30), "timeout")],
    ids=["down", "wrong", "silent"],
)
def test_an_ill_one_costs_its_evidence_alone(world: World, ill: Ill, reason: str) -> None:
    """The decision is the text's, and the reply says what it lacked."""
    with world.ill(ill):
        reply = world.ask()
    assert reply["response_class"] == "COMPLY"
    assert {"source": "moderation", "reason": reason} in reply["degraded"]
    assert reply["meta"]["evidence"] is None
