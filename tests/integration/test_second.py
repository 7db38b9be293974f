"""RERANK_URL and RAG_REWRITE=on, against the running service: both stages, and the first without the second.

Each test leaves both servers as it found them.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from app.retrieval.rewrite import ASKED
from tests.fakes.judges import Ill, RerankServer, rerank_server, shared
from tests.fakes.model import Fault, ModelServer, model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service
from tests.fakes.wire import Json
from tests.integration.conftest import Host

DEADLINE = 3.0
PAGES = {
    "Ferry": "The ferry carries barrels of herring to the island, in every season but winter.",
    "Orchard": "Four hundred crates of apples came from the orchard behind the chapel that year.",
    "Bakery": "Rye loaves leave the oven before sunrise, and nothing is sold after noon.",
}
FERRY, ORCHARD, BAKERY = (f"town.pdf#{n}" for n in (1, 2, 3))

serial = count()


def fresh(text: str) -> str:
    """A question that nobody has asked before."""
    return f"{text} ({next(serial)})"


def said(body: Json) -> str:
    """The model's reply: to the one question a rewording, to all others an answer."""
    if body["messages"][0]["content"] != ASKED:
        return "They say so."
    return json.dumps({"search": "when do rye loaves leave the oven", "questions": []})


@dataclass
class World:
    """A service and the two servers."""

    service: Service
    model: ModelServer
    reranker: RerankServer

    @contextmanager
    def preferring(self, word: str) -> Iterator[None]:
        """A reranker that puts texts with a word first."""
        self.reranker.score = lambda _query, text: 0.9 if word in text else 0.1
        yield
        self.reranker.score = shared

    @contextmanager
    def ill(self, ill: Ill) -> Iterator[None]:
        """A reranker that is not well."""
        self.reranker.ill = ill
        yield
        self.reranker.ill = Ill()


@pytest.fixture(scope="module")
def world(host: Host) -> Iterator[World]:
    """With a document for everybody."""
    with (
        host.beside(model_server(said)) as model,
        host.beside(rerank_server("texts")) as reranker,
        host(
            CHAT_BASE_URL=model.url,
            RERANK_URL=reranker.url,
            RAG_REWRITE="on",
            RAG_TIMEOUT_SECONDS=str(DEADLINE),
            RAG_SIMILARITY_THRESHOLD="-1",
            RETRIEVE_THRESHOLD="-1",
        ) as running,
    ):
        town = text_pdf([f"# {topic}\n\n{' '.join([text] * 12)}" for topic, text in PAGES.items()])
        assert running.upload("town.pdf", town, scope="global").status_code == 201
        yield World(running, model, reranker)


def packed(reply: dict[str, Any]) -> list[str]:
    """The labels in the order of the prompt."""
    return [citation["label"] for citation in reply["citations"]]


def test_the_reranker_decides_the_order(world: World) -> None:
    """Within a whole answer, kept as it is; scores are its own, similarities the embedder's."""
    question = fresh("What does the ferry carry to the island?")
    with world.preferring("apples"):
        reply = world.service.chat(question)
    again = world.service.chat(question)
    assert packed(reply)[0] == packed(again)[0] == ORCHARD
    assert (reply["degraded"], again["rag"]["cached"]) == ([], True)
    chunk = reply["debug"]["chunks"][0]
    assert (chunk["label"], chunk["score"]) == (ORCHARD, 0.9)
    assert chunk["similarity"] < max(each["similarity"] for each in reply["debug"]["chunks"])
    assert "Reranked 3 candidates" in reply["notes"]
    assert [check["ok"] for check in ready(world) if check["name"] == "rerank"] == [True]


def similarity(reply: dict[str, Any], label: str) -> float:
    """A passage's, in the ledger."""
    return float(next(chunk["similarity"] for chunk in reply["debug"]["chunks"] if chunk["label"] == label))


def ready(world: World) -> list[dict[str, Any]]:
    return list(world.service.client.get("/readyz").json()["checks"])


@pytest.mark.parametrize(
    ("ill", "reason", "least"),
    [
        pytest.param(Ill(500), "unavailable", 0, id="down"),
        pytest.param(Ill(delay=30), "timeout", DEADLINE / 3, id="hung"),
        pytest.param(Ill(body=b"[]"), "rerank", 0, id="wrong"),
    ],
)
def test_an_ill_reranker_costs_its_order_alone(world: World, ill: Ill, reason: str, least: float) -> None:
    """And its part of the time. Nothing is kept: as soon as it is well, the same question is ranked."""
    question = fresh("What does the ferry carry to the island?")
    with world.ill(ill):
        reply = world.service.chat(question)
    with world.preferring("apples"):
        again = world.service.chat(question)
    assert (packed(reply)[0], reply["rag"]["reason"]) == (FERRY, "ok")
    assert reply["degraded"] == [{"source": "rerank", "reason": reason}]
    assert least * 1_000 <= reply["rag"]["took_ms"]
    assert (packed(again)[0], again["degraded"]) == (ORCHARD, [])


def test_a_rewording_is_searched_beside_the_message(world: World) -> None:
    """What it finds counts as it fits the rewording, and the notes say which that was; the model that answers
    is asked the message as it was sent."""
    question = fresh("At which hour is breakfast made over there?")
    world.model.reply = "They say so."
    plain = world.service.chat(question)
    world.model.reply = said
    before = len(world.model.asked("/chat/completions"))
    reply = world.service.chat(question)
    asked, answered = (request.body for request in world.model.asked("/chat/completions")[before:])
    assert 'Searched also with "when do rye loaves leave the oven"' in reply["notes"]
    assert similarity(reply, BAKERY) > similarity(plain, BAKERY) + 0.1
    assert asked["messages"][0]["content"] == ASKED
    assert "herring" not in json.dumps(asked)
    assert answered["messages"][-1]["content"] == question


def test_a_model_that_hangs_costs_the_rewording_its_part(world: World) -> None:
    """The search is over well before its deadline, and the answer is asked for as ever."""
    world.model.fault = Fault(head_delay=DEADLINE * 0.5)
    reply = world.service.chat(fresh("What does the ferry carry to the island?"))
    world.model.fault = Fault()
    assert packed(reply)[0] == FERRY
    assert reply["degraded"] == [{"source": "rewrite", "reason": "timeout"}]
