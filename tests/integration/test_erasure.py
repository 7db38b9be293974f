"""A person erased: found by no endpoint at once, and in no file of the data folder after compaction."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from tests.fakes.model import Fault, ModelServer, model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service, service

CANARY = "the canary of Sankt Andreasberg sings at dawn"
OTHERS = "the cormorant of Ukai fishes by torchlight"
COMPACT_SECONDS = 60.0
TICKING = re.compile(r'"(exported_at|seconds_since)":[^,}]+')
"""What an unchanged user's endpoints tell anew each time."""


@dataclass
class Home:
    """A service, its model, and how the tenant, Ada and Bob speak to it."""

    service: Service
    model: ModelServer
    tenant: httpx.Client
    ada: httpx.Client
    bob: httpx.Client


def client(running: Service, key: str) -> httpx.Client:
    head = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=running.lock.url, headers=head, timeout=120, trust_env=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Both models are a server of ours; the keys close the service."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(model_server(dim=64)) as model,
        service(
            tmp_path_factory.mktemp("erasure") / "data",
            CHAT_BASE_URL=model.url,
            EMBED_BASE_URL=model.url,
            EMBED_MODEL="fake-embedder",
        ) as running,
        client(running, running.lock.token) as tenant,
        client(running, running.key(user="ada")) as hers,
        client(running, running.key(user="bob")) as his,
    ):
        yield Home(running, model, tenant, hers, his)


def taken(response: httpx.Response) -> Any:
    assert response.is_success, response.text
    return response.json()


def live(who: httpx.Client, user: str, words: str) -> dict[str, str]:
    """Leave the words wherever a person can; the ids of what tells of them."""
    memory = taken(who.post("/memories", json={"user_id": user, "text": f"I know that {words}."}))
    said = {"user_id": user, "message": f"Do you know that {words}?", "thread_id": "t"}
    recalled = taken(who.post("/rag/query", json={**said, "remember": True}))
    liked = {"user_id": user, "message": f"great, {words}", "thread_id": "t", "rating": "up"}
    taken(who.post("/rag/feedback", json={**liked, "answer_id": recalled["answer_id"]}))
    document = taken(
        who.post(
            "/api/documents",
            files={"file": ("birds.pdf", text_pdf(f"In the mountains {words}."))},
            data={"session_id": "birds", "wait": "60"},
        )
    )
    asked = {"message": f"Where is it that {words}?", "session_id": "birds", "stream": False}
    chat = taken(who.post("/api/chat", json={**asked, "user_id": user, "sources": ["documents", "memories"]}))
    ids = {"rag": recalled["answer_id"], "chat": chat["answer_id"]}
    return ids | {"memory": memory["memory"]["id"], "document": document["id"]}


def told(who: httpx.Client, user: str, ids: dict[str, str]) -> dict[str, str]:
    """All that the endpoints say of a user, as text; asked with words of one's own."""
    look = {
        "memories": who.get("/memories", params={"user_id": user}),
        "export": who.get(f"/users/{user}/export"),
        "turns": who.get("/api/sessions/birds/turns"),
        "sessions": who.get("/api/sessions"),
        "documents": who.get("/api/documents", params={"session_id": "birds"}),
        "document": who.get(f"/api/documents/{ids['document']}"),
        "file": who.get(f"/api/documents/{ids['document']}/file"),
        "chunk": who.get(f"/api/documents/{ids['document']}/chunks/1"),
        **{f"answer {name}": who.get(f"/answers/{ids[name]}") for name in ("rag", "chat")},
        "votes": who.get("/memory_feedback", params={"user_id": user, "ids": ids["memory"]}),
        "temporal": who.get(f"/temporal/{user}"),
    }
    return {name: TICKING.sub("", response.text) for name, response in look.items()}


def recalled(home: Home, who: httpx.Client, user: str) -> str:
    """What the model is shown when the user asks for birds, in both ways."""
    home.model.requests.clear()
    ask = {"user_id": user, "message": "Which birds sing at dawn, or fish by torchlight?"}
    taken(who.post("/rag/query", json={**ask, "thread_id": "t", "top_k": 8}))
    chat = {**ask, "session_id": "birds", "stream": False, "sources": ["documents", "memories", "corpus"]}
    taken(who.post("/api/chat", json=chat))
    return str([request.body for request in home.model.asked("/chat/completions")])


def holding(folder: Path, words: str) -> list[str]:
    """Files with the words in them; what is being removed just now is not there."""
    found = []
    for path in sorted(folder.rglob("*")):
        with suppress(FileNotFoundError):
            if path.is_file() and words.encode() in path.read_bytes():
                found.append(str(path.relative_to(folder)))
    return found


def compacted(who: httpx.Client, user: str) -> dict[str, Any]:
    """The receipt once the files are rewritten: asked again, it tells how they stand."""
    patience = time.monotonic() + COMPACT_SECONDS
    while time.monotonic() < patience:
        receipt = dict(taken(who.delete(f"/users/{user}")))
        if receipt["files"]["compacted"]:
            return receipt
        time.sleep(0.2)
    raise AssertionError(receipt)


def test_an_erased_user_is_found_nowhere(home: Home) -> None:
    """By no endpoint as soon as the receipt is out; in no file, once it says so. Others lose nothing."""
    ids, others = live(home.ada, "ada", CANARY), live(home.bob, "bob", OTHERS)
    before, bobs = told(home.ada, "ada", ids), told(home.bob, "bob", others)
    in_files = holding(home.service.folder, CANARY)

    receipt = taken(home.ada.delete("/users/ada"))
    after = told(home.ada, "ada", ids)
    shown = recalled(home, home.ada, "ada")
    done = compacted(home.tenant, "ada")

    assert all(receipt["counts"][name] for name in ("memories", "votes", "chat_log", "answers", "documents"))
    assert [name for name, text in before.items() if CANARY in text] != []
    assert [name for name, text in after.items() if CANARY in text] == []
    assert (CANARY in shown, OTHERS in shown) == (False, False)
    assert (in_files != [], holding(home.service.folder, CANARY)) == (True, [])
    assert (done["files"]["by"], done["files"]["external"]) == (None, [])
    assert told(home.bob, "bob", others) == bobs
    assert OTHERS in recalled(home, home.bob, "bob")


def test_an_answer_under_way_does_not_bring_a_user_back(home: Home) -> None:
    """Asked before the erasure and ended after it: neither the answer, its turns nor the words it was to
    remember are kept."""
    home.model.fault = Fault(only="chat", pace=0.3)
    home.model.reply = "one two three four five six seven eight"
    body = {"user_id": "eve", "message": f"Say that {CANARY}.", "remember": True, "thread_id": "t"}
    done: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: done.append(home.tenant.post("/rag/query", json=body)))
    home.model.requests.clear()
    asking.start()
    try:
        while not home.model.asked("/chat/completions"):
            time.sleep(0.02)
        taken(home.tenant.delete("/users/eve"))
    finally:
        asking.join(60)
        home.model.fault = Fault()
        home.model.reply = "A reply."

    assert done[0].status_code == 200
    assert home.tenant.get(f"/answers/{done[0].json()['answer_id']}").status_code == 404
    exported = taken(home.tenant.get("/users/eve/export"))
    assert {name: rows for name, rows in exported["holdings"].items() if rows} == {}


def sent(who: httpx.Client, words: str, **fields: str) -> httpx.Response:
    """Upload a PDF of these words."""
    files = {"file": (f"{words.split()[1]}.pdf", text_pdf(f"In the mountains {words}."))}
    return who.post("/api/documents", files=files, data={"wait": "60", **fields})


def test_documents_uploaded_in_a_users_name_are_that_users(home: Home) -> None:
    """Exported and erased with the user, in a session and global alike, and out of the files afterwards."""
    words = ["the heron of Rügen waits", "the plover of Amrum runs"]
    places: list[dict[str, str]] = [{"session_id": "named"}, {"scope": "global"}]
    kept = [
        taken(sent(home.tenant, said, user_id="carol", **place))
        for said, place in zip(words, places, strict=True)
    ]
    listed = taken(home.tenant.get("/api/documents", params={"session_id": "named"}))["items"]
    exported = taken(home.tenant.get("/users/carol/export"))["holdings"]["documents"]

    receipt = taken(home.tenant.delete("/users/carol"))
    left = [home.tenant.get(f"/api/documents/{each['id']}").status_code for each in kept]
    compacted(home.tenant, "carol")

    assert {each["user_id"] for each in (*kept, *listed)} == {"carol"}
    assert sorted(row["id"] for row in exported) == sorted(each["id"] for each in kept)
    assert home.tenant.get(exported[0]["file"]).status_code == 404
    assert (receipt["counts"]["documents"], left) == (2, [404, 404])
    assert [holding(home.service.folder, said) for said in words] == [[], []]


def test_a_document_that_two_users_sent_stays_until_both_are_erased(home: Home) -> None:
    """The same document for both; neither's export names the other. Who sent it for nobody keeps it, too."""
    first, second, third = (
        "the ibis of Nile wades",
        "the stork of Jutland nests",
        "the crane of Oland calls",
    )
    for users in (("dora", "emil"), ("emil", "dora")):
        answers = [sent(home.tenant, first, session_id="shared", user_id=user) for user in users]
        assert len({taken(each)["id"] for each in answers}) == 1
    answers = [sent(home.tenant, second, session_id="shared", **who) for who in ({}, {"user_id": "dora"})]
    taken(sent(home.tenant, third, session_id="shared", user_id="emil"))
    exported = home.tenant.get("/users/emil/export").text

    receipt = taken(home.tenant.delete("/users/dora"))
    again = taken(home.tenant.delete("/users/dora"))
    stay = taken(home.tenant.get("/api/documents", params={"session_id": "shared"}))["items"]
    last = taken(home.tenant.delete("/users/emil"))
    left = taken(home.tenant.get("/api/documents", params={"session_id": "shared"}))["items"]

    assert [each.status_code for each in answers] == [201, 200]
    assert "emil" in exported
    assert "dora" not in exported
    assert (receipt["counts"]["documents"], again["counts"]["documents"]) == (2, 0)
    assert {each["filename"]: each["user_id"] for each in stay if each["session_id"]} == {
        "ibis.pdf": "emil",
        "stork.pdf": None,
        "crane.pdf": "emil",
    }
    assert last["counts"]["documents"] == 2
    assert [each["filename"] for each in left if each["session_id"]] == ["stork.pdf"]
    home.tenant.delete("/api/sessions/shared")


def test_a_user_key_uploads_for_its_own_user(home: Home) -> None:
    """Without naming it; naming another is refused. What the tenant sent in his name he can see and fetch,
    and of a document for everybody he does not learn whose else it is."""
    words = "the dipper of Harz bobs"
    refused = sent(home.bob, words, session_id="own", user_id="ada")
    own = taken(sent(home.bob, words, session_id="own"))
    named = taken(sent(home.tenant, "the wren of Uist sings", session_id="elsewhere", user_id="bob"))
    shared = taken(sent(home.tenant, "the gull of Sylt cries", scope="global", user_id="fred"))

    assert (refused.status_code, own["user_id"]) == (403, "bob")
    assert home.bob.get(f"/api/documents/{named['id']}/file").status_code == 200
    assert home.ada.get(f"/api/documents/{named['id']}/file").status_code == 404
    assert taken(home.bob.get(f"/api/documents/{shared['id']}"))["user_id"] is None
    for each in (named, shared):
        home.tenant.delete(f"/api/documents/{each['id']}")
    home.bob.delete(f"/api/documents/{own['id']}")
