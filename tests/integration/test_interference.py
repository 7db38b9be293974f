"""Non-interference: what an asker is answered does not depend on what anybody out of her reach keeps.

The suite asks some questions; as many as are wanted: `REQUESTS=300 python -m pytest -n 0
tests/integration/test_interference.py`.
"""

import os
import random
import re
import time
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from tests.fakes.model import model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import service
from tests.fakes.wire import Json
from tests.integration.test_walls import client, created

REQUESTS = int(os.environ.get("REQUESTS", "40"))
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
    """No two alike."""
    asked: dict[str, None] = {}
    while len(asked) < REQUESTS // 2:
        form = chance.choice(FORMS)
        asked[f"{form.format(chance.choice(DOINGS), chance.choice(THINGS))} {chance.randrange(100)}"] = None
    return list(asked)


def quoting(body: Json) -> str:
    """A model that cites whatever it is shown first and last, and its own guess."""
    labels = re.findall(r"\[?([\w-]+\.pdf#\d+)", str(body["messages"]))
    return f"It does [{labels[0]}][{labels[-1]}] [guess.pdf#9]." if labels else "Nobody knows."


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


@pytest.fixture(scope="module")
def passes(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Answers of a tenant's key before and after another tenant, a user, and other sessions have filed."""
    folder, chance = tmp_path_factory.mktemp("apart") / "data", random.Random(3)  # noqa: S311 - a dice
    settings = {
        "RAG_DEBUG_MODE": "1",
        "RAG_CACHE_TTL_SECONDS": str(CACHE_SECONDS),
        "IBID_BOOTSTRAP_KEY": KEY,
    }
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(model_server(quoting)) as model,
        service(folder, CHAT_BASE_URL=model.url, **settings) as running,
    ):
        keys = (KEY, created(folder, "--tenant=default", "--user=bob"), created(folder, "--tenant=zeta"))
        mine, bob, zeta = (client(running, key) for key in keys)
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
