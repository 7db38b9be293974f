"""Non-interference of /rag/query: what a person is answered from memory does not depend on what anybody out
of her reach says, keeps or votes.

The suite asks some questions; as many as are wanted: `REQUESTS=1000 python -m pytest -n 0 --timeout 0
tests/integration/test_strangers.py`.
"""

import random
import re
import time
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from tests.fakes.model import model_server
from tests.fakes.process import service
from tests.fakes.wire import Json
from tests.integration.test_interference import CACHE_SECONDS, DOINGS, KEY, REQUESTS, THINGS, questions
from tests.integration.test_walls import client, created

Replies = list[dict[str, Any]]


def sayings(chance: random.Random, count: int) -> list[str]:
    """What people say about the same few things; no two alike."""
    said: dict[str, None] = {}
    while len(said) < count:
        one, other = chance.sample(THINGS, 2)
        pier, doing = chance.randrange(400), chance.choice(DOINGS)
        said[f"I saw how the {one} {doing} the {other} of pier {pier}."] = None
    return list(said)


def citing(body: Json) -> str:
    """A model that cites whatever it is shown first and last, and its own guess."""
    labels = re.findall(r"\[((?:memory|harbour)#\w+)\]", str(body["messages"]))
    return f"It does [{labels[0]}][{labels[-1]}] [memory#guess]." if labels else "Nobody knows."


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
    """On each."""
    for memory_id in ids:
        body = {"user_id": user, "memory_id": memory_id, "signal": signal}
        assert who.post("/memory_feedback", json=body).is_success


def profile(who: httpx.Client, user: str) -> None:
    """Their cards, from what they said."""
    answer = who.post("/profiles", json={"user_id": user})
    assert answer.status_code == 200, answer.text
    assert answer.json()["items"][0]["kinds"]


def asked(who: httpx.Client, messages: Sequence[str], attempt: str) -> Replies:
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
def passes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Replies, Replies]:
    """Answers to ada before and after another user and another tenant's ada have moved in."""
    folder, chance = tmp_path_factory.mktemp("strangers") / "data", random.Random(5)  # noqa: S311 - a dice
    settings = {
        "RAG_DEBUG_MODE": "1",
        "RAG_CACHE_TTL_SECONDS": str(CACHE_SECONDS),
        "IBID_BOOTSTRAP_KEY": KEY,
    }
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(model_server(citing)) as model,
        service(folder, CHAT_BASE_URL=model.url, **settings) as running,
    ):
        mine, zeta = client(running, KEY), client(running, created(folder, "--tenant=zeta"))
        with mine, zeta:
            messages = questions(chance)
            hers = keep(mine, "ada", sayings(chance, 40))
            shelve(mine, sayings(chance, 20))
            vote(mine, "ada", hers[::5], 1)
            keep(mine, "ada", ["I practise knots to get better at them.", "I walk the harbour with friends."])
            profile(mine, "ada")
            before = asked(mine, messages, "before")
            crowd(mine, zeta, chance)
            time.sleep(CACHE_SECONDS)
            return before, asked(mine, messages, "after")


def test_answers_from_memory_are_the_same_with_and_without_the_others(
    passes: tuple[Replies, Replies],
) -> None:
    """Ids, order, scores, boosts, labels, prompts and their hashes, cache hits, texts: byte for byte."""
    before, after = passes
    assert len(before) == REQUESTS // 2 * 2
    assert before == after


def test_the_questions_were_answered_from_memories_and_corpus(passes: tuple[Replies, Replies]) -> None:
    """Else there would be nothing to disturb: both sources, votes, citations, cache hits."""
    before, _ = passes
    found = [reply for reply in before if reply["rag"]["reason"] == "ok"]
    assert len(found) > len(before) / 2
    used = [item for reply in found for item in reply["memory_used"]]
    assert {item["source"] for item in used} == {"memories", "corpus"}
    assert {item["boosts"].get("feedback") for item in used} >= {1.0, 1.05}
    assert any("[Persona]" in reply["system_prompt"] for reply in found)
    assert {reply["rag"]["cached"] for reply in found} == {False, True}
    assert all(reply["debug"]["prompt_sha256"] and reply["cited"] and reply["unknown"] for reply in found)
