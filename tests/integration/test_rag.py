"""/rag/query against the running service: the person's memories, the corpus, a scripted model, and a Qdrant
server that fails on demand.

Every question is another one, so that no answer comes out of the cache.
"""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from app.models.encoder import DIM
from tests.fakes.model import ModelServer, model_server
from tests.fakes.process import Service, wait_for
from tests.fakes.qdrant import Fault, QdrantServer, qdrant_server
from tests.fakes.server import events, told
from tests.fakes.wire import Json
from tests.integration.conftest import Host
from tests.integration.test_outbox import settled

DEADLINE = 1.5
"""RAG_TIMEOUT_SECONDS."""
MODEL = "a-model-of-its-own"
SAID = (
    "Reading a novel on paper helped me fall asleep in January.",
    "The harbour ferry to Skomer leaves at nine.",
    "My sister Ana is allergic to peanuts and to walnuts.",
    "I moved from Leeds to Lisbon in May.",
    "Reading in bed with the lamp on kept me awake and did not help me sleep.",
)
BOOK = (
    "Reading in bed helped four of ten people in a study to fall asleep sooner.",
    "Peanuts are legumes, walnuts are not, and many people are allergic to both.",
)
FLEETING = "The tide of Morecambe Bay is fleeting."
serial = count()


@dataclass
class World:
    """A service, its model and its Qdrant."""

    service: Service
    model: ModelServer
    qdrant: QdrantServer
    empty: Json = field(default_factory=dict)
    """The answer before anything was kept."""

    def ask(self, message: str = "", **fields: Any) -> Json:
        """The whole answer to a message of ada's; none given: one about sleep."""
        message = message or f"How has reading in bed helped me sleep, number {next(serial)}?"
        answer = self.service.client.post("/rag/query", json={"user_id": "ada", "message": message} | fields)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def keep(self, user: str, *texts: str) -> None:
        body = [{"user_id": user, "text": text} for text in texts]
        answer = self.service.client.post("/memories", json=body)
        assert answer.status_code == 201, answer.text

    def well(self) -> None:
        """Wait until the memories are found again."""
        self.qdrant.fault = Fault()
        wait_for(lambda: sources(self.ask()) >= {"memories", "corpus"}, seconds=12)

    @contextmanager
    def broken(self, fault: Fault) -> Iterator[None]:
        """A fault of Qdrant; afterwards all is well."""
        self.qdrant.fault = fault
        try:
            yield
        finally:
            self.well()


def sources(reply: Json) -> set[str]:
    """Of what the model saw."""
    return {item["source"] for item in reply["memory_used"]}


def citing(body: Json) -> str:
    """A model that cites what it is shown first and last, and its own guess."""
    labels = re.findall(r"\[((?:memory|sleep)#\w+)\]", str(body["messages"]))
    return f"It did [{labels[0]}][{labels[-1]}] [memory#guess]." if labels else "Nobody knows."


def plant(qdrant: QdrantServer, name: str, dim: int, *payloads: Json) -> None:
    """A collection as an older tool wrote it: an unnamed vector, no tenant."""
    qdrant.create(name, {"vectors": {"size": dim, "distance": "Cosine"}})
    points = [
        {"id": n, "vector": [0.01 * (n + at) for at in range(1, dim + 1)], "payload": payload}
        for n, payload in enumerate(payloads, 1)
    ]
    qdrant.plant(name, points)


@pytest.fixture(scope="module")
def world(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service with ada's memories, bob's, and a book on sleep."""
    with (
        host.beside(model_server(citing)) as model,
        qdrant_server(tmp_path_factory.mktemp("rag") / "qdrant") as qdrant,
        host(
            CHAT_BASE_URL=model.url,
            CHAT_MODEL="another-model",
            CHAT_TIMEOUT_SECONDS="1",
            RAG_MODEL=MODEL,
            RAG_DEBUG_MODE="1",
            RAG_TIMEOUT_SECONDS=str(DEADLINE),
            QDRANT_URL=qdrant.url,
        ) as running,
    ):
        world = World(running, model, qdrant)
        world.empty = world.ask()
        plant(qdrant, "strange", 8, {"text": "Sleep on it."})
        plant(qdrant, "mute", DIM, {"title": "no text"}, {"text": "   "})
        plant(qdrant, "fleeting", DIM, {"text": FLEETING})
        world.keep("ada", *SAID)
        world.keep("bob", "Bob sleeps in a hammock and reads in bed, which helped him.")
        book = running.client.post("/corpus/sleep", json={"texts": list(BOOK)})
        assert book.status_code == 201, book.text
        yield world


def test_an_answer_comes_from_memories_and_corpus_with_citations(world: World) -> None:
    """Memories first; what was cited and seen is told, what was made up is taken out."""
    said = world.ask("How has reading in bed helped me sleep?")
    used = said["memory_used"]
    assert next(item["text"] for item in used if item["source"] == "memories") in (SAID[0], SAID[4])
    assert [item["text"] for item in used if item["source"] == "corpus"] == [BOOK[0]]
    labels = [item["label"] for item in used]
    assert [item["label"] for item in said["citations"]] == labels
    assert said["cited"] == [labels[0], labels[-1]]
    assert said["unknown"] == ["memory#guess"]
    assert said["answer"] == f"It did [{labels[0]}][{labels[-1]}]."
    assert (said["bypass"], said["degraded"], said["rag"]["reason"]) == (None, [], "ok")


def test_the_model_of_rag_is_asked_once_with_one_system_text(world: World) -> None:
    """RAG_MODEL, whatever CHAT_MODEL says; the system prompt of the reply is what was sent."""
    before = len(world.model.asked("/chat/completions"))
    said = world.ask(overlay={"role": "a coach", "tone": "warm"})
    (request,) = world.model.asked("/chat/completions")[before:]
    system, *_, user = request.body["messages"]
    assert (request.body["model"], system["role"], user["role"]) == (MODEL, "system", "user")
    assert said["system_prompt"] == system["content"]
    assert "Role: a coach\nTone: warm" in system["content"]
    assert f"- [memory_raw][note] [{said['memory_used'][0]['label']}] Reading" in system["content"]


def test_a_stream_tells_the_same(world: World) -> None:
    """Chat's events; `meta` has the memories and why."""
    body = {"user_id": "ada", "message": "How have novels helped me sleep?", "stream": True}
    found = events(world.service.client.post("/rag/query", json=body).text)
    assert [event.name for event in found if event.name != "token"] == ["meta", "citations", "done"]
    meta, marks = found[0].data, found[-2].data
    assert meta["memory_used"][0]["label"] == marks["cited"][0]
    assert meta["meta_explanation"]["query_tags"] == ["vb:rest"]
    text = "".join(event.data["text"] for event in found if event.name == "token")
    assert "[memory#guess]" not in text
    assert f"[{marks['cited'][0]}]" in text


def test_a_kept_answer_tells_how_it_came_to_be(world: World) -> None:
    """With relevance and boosts of every memory told; its score can be computed again."""
    said = world.ask()
    kept = world.service.client.get(f"/answers/{said['answer_id']}").json()
    assert kept["endpoint"] == "/rag/query"
    assert kept["citations"] == said["citations"]
    packed = [entry for entry in kept["candidates"] if entry["verdict"] == "packed"]
    assert [(entry["label"], entry["score"], entry["boosts"]) for entry in packed] == [
        (item["label"], item["score"], item["boosts"]) for item in said["memory_used"]
    ]
    for entry in kept["candidates"]:
        product = entry["relevance"] * math.prod(entry["boosts"].values())
        assert abs(product - entry["score"]) <= 1e-9


def test_a_greeting_is_greeted(world: World) -> None:
    """One model call, no retrieval, and how long its sender was away."""
    world.ask()

    def searched() -> int:  # a count that was late, or a comparison, may come at any time
        return sum(path.endswith("/points/query") for _, path in world.qdrant.requests)

    before = len(world.model.requests), searched()
    said = world.ask("hey again!")
    assert (said["bypass"], said["memory_used"], said["answer"]) == ("greeting", [], "Nobody knows.")
    assert (len(world.model.requests) - before[0], searched() - before[1]) == (1, 0)
    assert "within the last hour" in said["system_prompt"]


def test_votes_of_one_never_move_another(world: World) -> None:
    """Ten votes of ada's reorder hers; bob's answer is the same to the last bit, score by score."""
    question = "Did reading in bed help with sleep?"
    settled(world.service)  # on a busy machine Qdrant is late, and meanwhile nothing is cached
    wait_for(lambda: world.ask(question, user_id="bob")["rag"]["cached"], 30)
    wait_for(lambda: world.ask(question)["rag"]["cached"], 30)
    bob = world.ask(question, user_id="bob")["memory_used"]
    first = world.ask(question)["memory_used"]
    second = first[1]["id"]
    for n in range(10):
        vote = {"user_id": "ada", "memory_id": second, "signal": 1, "answer_id": f"answer {n}"}
        assert world.service.client.post("/memory_feedback", json=vote).is_success
    after = world.ask(question)
    for n in range(10, 20):
        if after["rag"]["cached"]:
            break
        world.ask(question)
        vote = {"user_id": "ada", "memory_id": second, "signal": n % 2 or -1, "answer_id": f"answer {n}"}
        assert world.service.client.post("/memory_feedback", json=vote).is_success
        after = world.ask(question)
    else:
        pytest.fail("a vote emptied the cache")
    lifted = next(item for item in after["memory_used"] if item["id"] == second)
    assert 1 < lifted["boosts"]["feedback"] <= 1.1
    assert lifted["score"] == pytest.approx(
        lifted["relevance"] * math.prod(lifted["boosts"].values()), abs=1e-9
    )
    assert lifted["relevance"] == first[1]["relevance"]
    assert after["meta_explanation"]["feedback"]["net"] in (9, 10)
    assert world.ask(question, user_id="bob")["memory_used"] == bob


@pytest.mark.parametrize(
    ("fault", "reasons"),
    [
        pytest.param(Fault(status=500), {"unavailable"}, id="it fails"),
        pytest.param(Fault(garbage=True), {"unavailable"}, id="it answers wrongly"),
        pytest.param(Fault(delay=60), {"timeout", "unavailable"}, id="it is silent"),
        pytest.param(Fault(cut=True), {"unavailable"}, id="it breaks off"),
    ],
)
def test_a_qdrant_that_fails_costs_what_other_tools_wrote(
    world: World, fault: Fault, reasons: set[str]
) -> None:
    """What the record has is found within the deadline; `degraded` names memories and corpus, and why."""
    with world.broken(fault):
        said = world.ask()
        lost = {item["source"]: item["reason"] for item in said["degraded"]}
        assert {"memories", "corpus"} <= set(lost)
        assert set(lost.values()) <= reasons
        assert (sources(said), said["rag"]["reason"]) == ({"memories", "corpus"}, "ok")


def test_a_qdrant_that_is_down_costs_the_same(world: World) -> None:
    """And when it is back, nothing is missing."""
    world.qdrant.stop()
    try:
        said = world.ask()
    finally:
        world.qdrant.start()
    assert {"memories", "corpus"} <= {item["source"] for item in said["degraded"]}
    assert sources(said) == {"memories", "corpus"}
    world.well()


def test_a_slow_qdrant_within_the_deadline_is_no_fault(world: World) -> None:
    """The answer comes as ever, later."""
    with world.broken(Fault(delay=0.1)):
        said = world.ask()
        assert (sources(said), said["degraded"]) == ({"memories", "corpus"}, [])


def test_vectors_of_another_size_are_passed_over_with_a_note(world: World) -> None:
    """The collection is named in `notes`; the others are searched as ever."""
    said = world.ask()
    assert [note for note in said["notes"] if "strange" in note]
    assert (sources(said), said["degraded"]) == ({"memories", "corpus"}, [])


def test_points_without_text_are_passed_over_with_a_note(world: World) -> None:
    """They are nothing to answer from."""
    said = world.ask()
    assert [note for note in said["notes"] if "mute" in note]
    assert all(item["text"].strip() for item in said["memory_used"])


def test_an_empty_qdrant_is_no_fault(world: World) -> None:
    """Nothing stored: `empty`, nothing degraded, an answer."""
    said = world.empty
    assert (said["rag"]["reason"], said["degraded"], said["answer"]) == ("empty", [], "Nobody knows.")
    assert said["memory_used"] == []


def test_a_collection_deleted_meanwhile_is_no_fault_of_the_others(world: World) -> None:
    """Between the list and the search: an answer, from what is still there."""
    seen = world.service.client.get(f"/answers/{world.ask(FLEETING)['answer_id']}").json()["candidates"]
    assert any(entry["id"].startswith("fleeting/") for entry in seen)
    with world.broken(Fault(only="/fleeting", vanishing=True)):
        said = world.ask()
        assert "fleeting" not in world.qdrant.collections
    assert sources(said) == {"memories", "corpus"}


def test_a_collection_of_ours_that_is_deleted_costs_nothing(world: World) -> None:
    """The last test here: the record has all that was in it."""
    del world.qdrant.collections["memory_raw"]
    said = world.ask()
    assert (sources(said), said["degraded"]) == ({"memories", "corpus"}, [])


def test_a_reference_text_comes_back_under_its_writers_id(world: World) -> None:
    """With its title and metadata: in the list, in what the model was shown, in citations, in the record of
    the answer, and after it was replaced."""
    client, title = world.service.client, "On the " + "very " * 60 + "long swing bridge"
    texts: list[Json | str] = [
        {
            "id": f"bridge-{n}",
            "title": title,
            "text": f"The swing bridge of Harlingen opens at {n} in the morning.",
            "metadata": {"shelf": "B2", "year": 1987, "tags": ["bridges"], "draft": False, "note": None},
        }
        for n in range(3)
    ]
    assert client.post("/corpus/bridges", json={"texts": [*texts, "A text without a name."]}).is_success
    pages = [client.get("/corpus/bridges", params={"limit": 3}).json()]
    pages.append(client.get("/corpus/bridges", params={"limit": 3, "cursor": pages[0]["next"]}).json())
    listed = {item["id"]: item for page in pages for item in page["items"]}
    try:
        replies = [world.ask("When does the swing bridge of Harlingen open?", top_k=3)]
        chat = {"message": "When does the bridge of Harlingen open?", "session_id": "s", "stream": False}
        replies.append(client.post("/api/chat", json=chat | {"sources": ["corpus"]}).json())
        replies.append(client.get(f"/answers/{replies[0]['answer_id']}").json())
        changed = {**texts[0], "title": "Anew", "metadata": {}} if isinstance(texts[0], dict) else {}
        again = client.post("/corpus/bridges", json={"texts": [changed]})
        anew = world.ask("When does Harlingen's swing bridge open?", top_k=3)
        left = client.get("/corpus/bridges").json()["items"]
    finally:
        client.delete("/corpus/bridges")

    assert (len(listed), pages[1]["next"], again.status_code) == (4, None, 200)
    for given in texts:
        assert isinstance(given, dict)
        kept = listed[given["id"]]
        assert {name: kept[name] for name in given} == given
        for reply in replies:
            [citation] = [item for item in reply["citations"] if item["id"] == given["id"]]
            assert (citation["title"], citation["metadata"]) == (given["title"], given["metadata"])
        [used] = [item for item in replies[0]["memory_used"] if item["id"] == given["id"]]
        assert {name: used[name] for name in given} == given
    assert next(item["title"] for item in anew["memory_used"] if item["id"] == "bridge-0") == "Anew"
    assert len(left) == 4
    told(client.get("/corpus/bridges"), 404, "not-found")
