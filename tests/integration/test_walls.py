"""Nothing is seen across sessions, users or tenants: by no id, label, answer or error text. And what an asker
is answered, from documents or from memory, does not depend on what anybody out of her reach keeps, says or
votes.

The suite asks some questions; as many as are wanted:
`REQUESTS=300 python -m pytest -n 0 tests/integration/test_walls.py`."""

import os
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.fakes.model import model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service
from tests.fakes.wire import Json
from tests.integration.conftest import Host

SECRET = text_pdf("The vault code of the northern office is 7731 octopus.", title="Vault papers")
QUESTION = "What is the vault code of the northern office?"


@dataclass
class Keys:
    """One key of each kind."""

    acme: str
    ada: str
    bob: str
    beta: str


@pytest.fixture(scope="module")
def closed(host: Host) -> Iterator[Service]:
    """A service that only keys open, and shows what it does."""
    settings = {
        "RAG_DEBUG_MODE": "1",
        "RAG_CACHE_TTL_SECONDS": str(CACHE_SECONDS),
        "IBID_BOOTSTRAP_KEY": KEY,
    }
    with (
        host.beside(model_server(citing)) as model,
        host(CHAT_BASE_URL=model.url, **settings) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def walls(closed: Service) -> tuple[Service, Keys]:
    """Keys of two tenants and two users."""
    key = closed.key
    return closed, Keys(key("acme"), key("acme", "ada"), key("acme", "bob"), key("beta"))


def client(running: Service, key: str) -> httpx.Client:
    """A client with a key."""
    return httpx.Client(base_url=running.lock.url, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def upload(who: httpx.Client, **form: str) -> dict[str, Any]:
    response = who.post("/api/documents", files={"file": ("vault.pdf", SECRET)}, data=form)
    assert response.status_code in (200, 201), response.text
    return dict(response.json())


@pytest.mark.parametrize("other", ["acme", "bob", "beta"])
def test_a_users_session_is_hers_alone(walls: tuple[Service, Keys], other: str) -> None:
    """Ada's document in session `s` is found by nobody else, under the same session id or by its ids."""
    running, keys = walls
    with client(running, keys.ada) as ada, client(running, getattr(keys, other)) as stranger:
        document = upload(ada, session_id="s")
        path = f"/api/documents/{document['id']}"
        answers = [
            stranger.get(path),
            stranger.get(f"{path}/chunks/1"),
            stranger.get(f"{path}/file"),
            stranger.delete(path),
        ]
        assert [answer.status_code for answer in answers] == [404] * 4
        unknown = stranger.get("/api/documents/0192f0c0-0000-7000-8000-000000000000").json()
        assert {**answers[0].json(), "instance": ""} == {**unknown, "instance": ""}
        body = {"message": QUESTION, "session_id": "s", "stream": False}
        said = stranger.post("/api/chat", json=body)
        assert said.json()["rag"]["reason"] == "empty"
        assert "octopus" not in said.text
        assert "vault.pdf" not in stranger.get("/api/documents?session_id=s").text
        assert ada.post("/api/chat", json=body).json()["rag"]["reason"] == "ok"


def test_global_documents_are_the_tenants_and_written_with_its_key(walls: tuple[Service, Keys]) -> None:
    """A user key may not write them (403) but finds them; another tenant does not."""
    running, keys = walls
    with (
        client(running, keys.acme) as acme,
        client(running, keys.bob) as bob,
        client(running, keys.beta) as beta,
    ):
        refused = bob.post("/api/documents", files={"file": ("vault.pdf", SECRET)}, data={"scope": "global"})
        assert (refused.status_code, refused.json()["type"]) == (403, "urn:ibid:problem:forbidden")
        document = upload(acme, scope="global")
        body = {"message": QUESTION, "session_id": "fresh", "stream": False}
        assert bob.post("/api/chat", json=body).json()["rag"]["reason"] == "ok"
        assert beta.post("/api/chat", json=body).json()["rag"]["reason"] == "empty"
        assert bob.delete(f"/api/documents/{document['id']}").status_code == 403
        assert acme.delete(f"/api/documents/{document['id']}").status_code == 204


REQUESTS = int(os.environ.get("REQUESTS", "24"))
"""In each of two passes; every question is asked twice running, for the cache."""
CACHE_SECONDS = 2
"""Gone between the passes, so that both begin without."""
KEY = "bootstrap-9f3c71e0b28d46a5"
THINGS = ("ferry", "warden", "harbour", "lighthouse", "herring", "anchor", "bell", "rope", "tide", "ledger")
DOINGS = ("carries", "counts", "guards", "repairs", "sells", "paints", "rings", "stores")
FORMS = (
    "What {} the {}?",
    "Which {1} {0} it, and how often?",
    "Tell me about the {1} near the pier and who {0} it",
    "{1}",
)


def pages(chance: random.Random, count: int) -> bytes:
    """A document that speaks of the same few things as all the others."""

    def sentence() -> str:
        one, other = chance.sample(THINGS, 2)
        return f"The {one} {chance.choice(DOINGS)} the {other} of pier {chance.randrange(100)}."

    return text_pdf([" ".join(sentence() for _ in range(24)) for _ in range(count)])


def questions(chance: random.Random) -> list[str]:
    asked: dict[str, None] = {}
    while len(asked) < REQUESTS // 2:
        form = chance.choice(FORMS)
        asked[f"{form.format(chance.choice(DOINGS), chance.choice(THINGS))} {chance.randrange(100)}"] = None
    return list(asked)


def put(who: httpx.Client, name: str, content: bytes, **form: str) -> None:
    """Upload, and wait until it is found."""
    answer = who.post("/api/documents", files={"file": (name, content)}, data={"wait": "100"} | form)
    assert answer.status_code == 201, answer.text


def asked(who: httpx.Client, messages: list[str], attempt: str) -> list[dict[str, Any]]:
    """All that the answers say, but for what is another with every answer: its id and how long it took."""
    said = []
    for n, message in enumerate(message for message in messages for _ in range(2)):
        thread = f"{attempt}-{n}"
        body = {"message": message, "session_id": "s", "thread_id": thread, "history": [], "stream": False}
        answer = who.post("/api/chat", json=body)
        assert answer.status_code == 200, answer.text
        reply = answer.json()
        del reply["answer_id"], reply["rag"]["took_ms"]
        reply.pop("took_ms", None)
        said.append(reply)
    return said


def citing(body: Json) -> str:
    """A model that cites whatever it is shown first and last, and its own guess."""
    labels = re.findall(r"\[?((?:memory|harbour)#\w+|[\w-]+\.pdf#\d+)", str(body["messages"]))
    if not labels:
        return "Nobody knows."
    guess = "guess.pdf#9" if ".pdf" in labels[0] else "memory#guess"
    return f"It does [{labels[0]}][{labels[-1]}] [{guess}]."


@pytest.fixture(scope="module")
def passes(closed: Service) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Answers of a tenant's key before and after another tenant, a user, and other sessions have filed."""
    chance = random.Random(3)  # noqa: S311 - a dice
    keys = (KEY, closed.key(user="bob"), closed.key("zeta"))
    mine, bob, zeta = (client(closed, key) for key in keys)
    with mine, bob, zeta:
        messages = questions(chance)
        put(mine, "harbour.pdf", pages(chance, 2), scope="global")
        put(mine, "notes.pdf", pages(chance, 3), session_id="s")
        before = asked(mine, messages, "before")
        put(zeta, "harbour.pdf", pages(chance, 3), scope="global")
        put(zeta, "notes.pdf", pages(chance, 3), session_id="s")
        put(bob, "notes.pdf", pages(chance, 3), session_id="s")
        put(mine, "notes.pdf", pages(chance, 3), session_id="other")
        time.sleep(CACHE_SECONDS)
        return before, asked(mine, messages, "after")


def test_answers_are_the_same_with_and_without_the_others(
    passes: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    """Ids, order, scores, labels, prompts, cache hits, texts and citations: byte for byte."""
    before, after = passes
    assert len(before) == REQUESTS // 2 * 2
    assert before == after


def test_the_questions_were_answered_from_documents(
    passes: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    """Else there would be nothing to disturb: passages of both files, scores, citations, cache hits."""
    before, _ = passes
    found = [reply for reply in before if reply["rag"]["reason"] == "ok"]
    assert len(found) > len(before) / 2
    names = {item["label"].split("#")[0] for reply in found for item in reply["citations"]}
    assert names == {"harbour.pdf", "notes.pdf"}
    assert {reply["rag"]["cached"] for reply in found} == {False, True}
    assert all(reply["debug"]["chunks"] and reply["cited"] and reply["unknown"] for reply in found)


Replies = list[dict[str, Any]]


def sayings(chance: random.Random, count: int) -> list[str]:
    """What people say about the same few things; no two alike."""
    said: dict[str, None] = {}
    while len(said) < count:
        one, other = chance.sample(THINGS, 2)
        pier, doing = chance.randrange(400), chance.choice(DOINGS)
        said[f"I saw how the {one} {doing} the {other} of pier {pier}."] = None
    return list(said)


def keep(who: httpx.Client, user: str, texts: Sequence[str], **fields: object) -> list[str]:
    """Memories of one user; their ids."""
    body = [{"user_id": user, "text": text} | fields for text in texts]
    answer = who.post("/memories", json=body)
    assert answer.status_code == 201, answer.text
    return [item["memory"]["id"] for item in answer.json()["items"]]


def shelve(who: httpx.Client, texts: Sequence[str]) -> None:
    """Reference texts of a tenant."""
    answer = who.post("/corpus/harbour", json={"texts": list(texts)})
    assert answer.status_code == 201, answer.text


def vote(who: httpx.Client, user: str, ids: Sequence[str], signal: int) -> None:
    for memory_id in ids:
        body = {"user_id": user, "memory_id": memory_id, "signal": signal}
        assert who.post("/memory_feedback", json=body).is_success


def profile(who: httpx.Client, user: str) -> None:
    """Their cards, from what they said."""
    answer = who.post("/profiles", json={"user_id": user})
    assert answer.status_code == 200, answer.text
    assert answer.json()["items"][0]["kinds"]


def asked_of_memory(who: httpx.Client, messages: Sequence[str], attempt: str) -> Replies:
    """All that the answers to ada say, but for what is another with every answer: its id, how long it took,
    and how long ago the one before was."""
    said = []
    for n, message in enumerate(message for message in messages for _ in range(2)):
        body = {"user_id": "ada", "message": message, "thread_id": f"{attempt}-{n}", "top_k": 6}
        answer = who.post("/rag/query", json=body)
        assert answer.status_code == 200, answer.text
        reply = answer.json()
        del reply["answer_id"], reply["rag"]["took_ms"], reply["took_ms"]
        del reply["meta_explanation"]["temporal"]
        said.append(reply)
    return said


def crowd(mine: httpx.Client, zeta: httpx.Client, chance: random.Random) -> None:
    """What the others do meanwhile: they keep the same words, cards, votes and texts, and ask the same."""
    words = sayings(chance, 40)
    theirs = keep(mine, "bob", words)
    vote(mine, "bob", theirs[:5], -1)
    keep(zeta, "ada", words)
    shelve(zeta, sayings(chance, 30))
    for message in questions(chance)[:3]:
        for who, user in ((mine, "bob"), (zeta, "ada")):
            body = {"user_id": user, "message": message, "remember": True}
            assert who.post("/rag/query", json=body).status_code == 200
    profile(mine, "bob")
    profile(zeta, "ada")


@pytest.fixture(scope="module")
def recalls(closed: Service) -> tuple[Replies, Replies]:
    """Answers to ada before and after another user and another tenant's ada have moved in."""
    chance = random.Random(5)  # noqa: S311 - a dice
    with client(closed, KEY) as mine, client(closed, closed.key("zeta")) as zeta:
        messages = questions(chance)
        hers = keep(mine, "ada", sayings(chance, 40))
        shelve(mine, sayings(chance, 20))
        vote(mine, "ada", hers[::5], 1)
        keep(mine, "ada", ["I practise knots to get better at them.", "I walk the harbour with friends."])
        profile(mine, "ada")
        before = asked_of_memory(mine, messages, "before")
        crowd(mine, zeta, chance)
        time.sleep(CACHE_SECONDS)
        return before, asked_of_memory(mine, messages, "after")


def test_answers_from_memory_are_the_same_with_and_without_the_others(
    recalls: tuple[Replies, Replies],
) -> None:
    """Ids, order, scores, boosts, labels, prompts and their hashes, cache hits, texts: byte for byte."""
    before, after = recalls
    assert len(before) == REQUESTS // 2 * 2
    assert before == after


def test_the_questions_were_answered_from_memories_and_corpus(recalls: tuple[Replies, Replies]) -> None:
    """Else there would be nothing to disturb: both sources, votes, citations, cache hits."""
    before, _ = recalls
    found = [reply for reply in before if reply["rag"]["reason"] == "ok"]
    assert len(found) > len(before) / 2
    used = [item for reply in found for item in reply["memory_used"]]
    assert {item["source"] for item in used} == {"memories", "corpus"}
    assert {item["boosts"].get("feedback") for item in used} >= {1.0, 1.05}
    assert any("[Persona]" in reply["system_prompt"] for reply in found)
    assert {reply["rag"]["cached"] for reply in found} == {False, True}
    assert all(reply["debug"]["prompt_sha256"] and reply["cited"] and reply["unknown"] for reply in found)
