"""POST /v1/search against the whole service: what chat would show its model, bounded by filters that the
sources apply; and the addresses, titles and scores of citations. With indexes in memory, and by engines."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.fakes.model import model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service
from tests.fakes.wire import Json
from tests.integration.conftest import Host, Talk
from tests.integration.test_outbox import settled

PUBLIC = "https://ibid.example.org/base"
FERRIES = [
    " ".join(f"In summer the ferry to Skomer leaves pier {n} at {hour} past {n}." for hour in range(4, 24))
    for n in range(12)
]
MOST = 5
"""RAG_TOP_K_MAX: of each kind of retrieval no more candidates are drawn."""
WINTER = "In winter a mail boat takes the place of the ferry to Skomer."
QUESTION = "When does the ferry to Skomer leave in summer?"


@pytest.fixture(scope="module", params=["exact", "engine"])
def port(host: Host, request: pytest.FixtureRequest) -> Iterator[Talk]:
    """A service with a public address and a model of ours, which nothing here may ask without need."""
    settings = {"RAG_TOP_K_MAX": str(MOST), "CORPUS_COLLECTIONS": "birds,fish,tides"}
    settings |= {"EXACT_MAX_MB": "0"} if request.param == "engine" else {}
    with (
        host.beside(model_server()) as model,
        host(CHAT_BASE_URL=model.url, IBID_PUBLIC_URL=f"{PUBLIC}/", **settings) as running,
    ):
        running.upload("ferries.pdf", text_pdf(FERRIES), session_id="port")
        running.upload("winter.pdf", text_pdf([WINTER, "Nobody rows there."]), session_id="port")
        settled(running)  # an engine that is late is degraded
        yield Talk(running, model)


def search(service: Service, query: str = QUESTION, **fields: Any) -> Json:
    response = service.client.post("/v1/search", json={"query": query} | fields)
    assert response.status_code == 200, response.text
    return dict(response.json())


def kept(service: Service, path: str, body: Any) -> None:
    response = service.client.post(path, json=body)
    assert response.status_code in (200, 201), response.text


def labels(found: Json) -> list[str]:
    return [result["label"] for result in found["results"]]


def test_it_finds_what_a_chat_would_show_its_model(port: Talk) -> None:
    """The same passages, labels and order, without a model, a turn or an answer."""
    said = port.service.chat(QUESTION, session_id="port", top_k=3, include=["text", "scores"])
    before = len(port.model.requests)
    found = search(port.service, session_id="port", sources=["documents"], top_k=3)
    assert len(found["results"]) == 3
    own = {"web_url"}
    assert [{**each, "web_url": None} for each in found["results"]] == [
        {**each, "web_url": None} for each in said["citations"]
    ]
    assert all(each["text"] and each["score"] > 0 and not own - each.keys() for each in found["results"])
    assert (found["rag"]["reason"], found["rag"]["passages"], found["degraded"]) == ("ok", 3, [])
    assert len(port.model.requests) == before
    turns = port.service.client.get("/api/sessions/port/turns").json()["items"]
    assert [turn["content"] for turn in turns].count(QUESTION) == 1


@pytest.mark.parametrize(
    ("query", "reason"),
    [("Thank you!", "small_talk"), ("How do I change a bicycle tyre?", "no_match")],
)
def test_it_says_why_there_is_nothing(port: Talk, query: str, reason: str) -> None:
    found = search(port.service, query, session_id="port")
    assert (found["results"], found["rag"]["reason"], found["rag"]["used"]) == ([], reason, False)


def test_a_filtered_search_still_fills_its_results(port: Talk) -> None:
    """More passages of others are better than the search would ever look at."""
    listed = port.service.client.get("/api/documents?session_id=port").json()["items"]
    winter = next(each["id"] for each in listed if each["filename"] == "winter.pdf")
    found = search(port.service, session_id="port", filter={"document_ids": [winter]}, top_k=1)
    assert labels(found) == ["winter.pdf#1"]
    both = search(port.service, session_id="port", top_k=MOST)
    assert "winter.pdf#1" not in labels(both)
    nothing = search(port.service, session_id="port", filter={"document_ids": ["0192f0c0-0000"]})
    assert (nothing["results"], nothing["rag"]["reason"]) == ([], "empty")


def test_a_question_can_be_about_one_document(port: Talk) -> None:
    """/api/chat takes the same filter; without it the model sees passages of others first."""
    listed = port.service.client.get("/api/documents?session_id=port").json()["items"]
    winter = next(each["id"] for each in listed if each["filename"] == "winter.pdf")
    body = {"message": QUESTION, "session_id": "port", "history": [], "stream": False, "top_k": 2}
    for chosen, files in (({"filter": {"document_ids": [winter]}}, {"winter.pdf"}), ({}, {"ferries.pdf"})):
        found = port.service.client.post("/api/chat", json=body | chosen).json()
        assert {each["label"].rpartition("#")[0] for each in found["citations"]} == files


def test_the_sources_in_reach_are_the_default(port: Talk) -> None:
    """Memories with a user, rows with a project; collections bound reference texts."""
    service = port.service
    kept(service, "/memories", {"user_id": "reach", "text": "The osprey nest is on the north tower."})
    for name, text in (
        ("birds", "The osprey builds its nest on a tower."),
        ("fish", "The osprey eats fish."),
    ):
        kept(service, f"/corpus/{name}", {"texts": [{"id": f"{name}-1", "text": text}]})
    row = {"title": "The osprey nest", "summary_short": "Where the osprey built its nest."}
    kept(service, "/projects/nests/conversations", row)
    query = "Where is the nest of the osprey?"

    def sources(**fields: Any) -> set[str]:
        return {each["source"] for each in search(service, query, **fields)["results"]}

    assert sources() == {"corpus"}
    assert sources(user_id="reach") == {"corpus", "memories"}
    assert sources(project="nests") == {"corpus", "conversations"}
    assert sources(user_id="other", sources=["memories"]) == set()
    [only] = search(service, query, user_id="reach", filter={"collections": ["birds"]})["results"]
    assert (only["id"], only["source"], only["url"], only["web_url"]) == ("birds-1", "corpus", None, None)
    assert search(service, query, filter={"collections": ["mammals"]})["results"] == []


def test_since_bounds_every_source(port: Talk) -> None:
    """By upload, and by the time of a memory or a row."""
    service, session = port.service, "tide"
    project = "tides"

    def write(word: str, at: str) -> None:
        text = f"The tide table of the {word} harbour says high water."
        service.upload(f"{word}.pdf", text_pdf(text), session_id=session)
        kept(service, "/memories", {"user_id": "tidal", "text": text, "created_at": at})
        kept(service, "/corpus/tides", {"texts": [{"id": word, "text": text}]})
        kept(service, f"/projects/{project}/conversations", {"title": text, "indexed_at": at})
        kept(service, f"/projects/{project}/code", {"file_path": f"{word}.py", "chunk_text": f"# {text}"})

    write("old", "2020-01-01T00:00:00Z")
    time.sleep(0.01)
    between = datetime.now(UTC).isoformat()
    write("new", between)
    asked = {"session_id": session, "user_id": "tidal", "project": project, "top_k": MOST}
    query = "What does the tide table of the harbour say?"

    def old(source: str, **fields: Any) -> set[bool]:
        found = search(service, query, sources=[source], **asked, **fields)["results"]
        return {"old" in each["text"] for each in found}

    for source in ("documents", "memories", "corpus", "conversations", "code"):
        assert old(source) == {True, False}, source
        assert old(source, filter={"since": between}) == {False}, source


def test_addresses_lead_to_the_source(port: Talk) -> None:
    """From IBID_PUBLIC_URL, whatever the Host header says: in an answer its place there, elsewhere the file
    at its page."""
    service = port.service
    said = service.chat(QUESTION, session_id="port", top_k=2)
    page = f"{PUBLIC}/#/c/port/{said['answer_id']}"
    assert [each["web_url"] for each in said["citations"]] == [f"{page}/1", f"{page}/2"]
    assert "text" not in said["citations"][0]
    foreign = {"Host": "localhost:1"}
    found = service.client.post(
        "/v1/search", json={"query": QUESTION, "session_id": "port", "top_k": 1}, headers=foreign
    ).json()["results"][0]
    file = found["url"].partition("/chunks/")[0] + "/file"
    assert found["web_url"] == f"{PUBLIC}{file}#page={found['page']}"
    assert service.client.get(file).content.startswith(b"%PDF")
    trace = service.client.get(f"/answers/{said['answer_id']}").json()
    assert trace["citations"][0]["web_url"] == said["citations"][0]["web_url"]


def test_a_memory_has_a_title_and_an_address(port: Talk) -> None:
    """In answers and searches; read by its owner alone."""
    service = port.service
    text, at = "My locker at the pool is number 88.", "2026-05-07T23:30:00+02:00"
    kept(service, "/memories", {"user_id": "swim", "text": text, "created_at": at})
    [found] = search(service, "Which locker is mine at the pool?", user_id="swim")["results"]
    assert (found["title"], found["text"]) == ("Memory of 7 May 2026", text)
    assert found["url"] == f"/memories/{found['id']}"
    assert found["web_url"] == f"{PUBLIC}{found['url']}"
    listed = service.client.get("/memories?user_id=swim").json()["items"]
    assert service.client.get(found["url"]).json() == listed[0]
    assert service.client.get("/memories/0192f0c0-0000-7000-8000-000000000000").status_code == 404
    said = service.client.post(
        "/rag/query",
        json={"user_id": "swim", "message": "Which locker is mine at the pool?", "include": ["scores"]},
    ).json()
    [cited], [used] = said["citations"], said["memory_used"]
    assert (cited["title"], cited["url"]) == (found["title"], found["url"])
    assert (cited["score"], cited["similarity"]) == (used["score"], used["similarity"])
    assert cited["web_url"] == found["web_url"]


def test_a_memory_is_changed_and_stays_itself(port: Talk) -> None:
    """Id and day stay; its old words are nobody's, its new ones are known."""
    service = port.service

    def keep(text: str) -> tuple[str, Json]:
        written = service.client.post("/memories", json={"user_id": "edit", "text": text}).json()
        return written["outcome"], written["memory"]

    def change(memory: Json, **fields: Any) -> httpx.Response:
        return service.client.patch(f"/memories/{memory['id']}", json=fields)

    _, first = keep("My berth is in the old harbour of Solva.")
    _, second = keep("My dinghy is painted green.")
    moved = change(first, text="My berth is at the marina of Neyland.", tags=["boat"])
    assert moved.status_code == 200, moved.text
    same = {"id", "created_at", "kind", "user_id"}
    assert {name: moved.json()[name] for name in same} == {name: first[name] for name in same}
    assert service.client.get(f"/memories/{first['id']}").json() == moved.json()
    [found] = search(service, "Which marina is my berth at?", user_id="edit", top_k=1)["results"]
    assert (found["id"], found["text"]) == (first["id"], moved.json()["text"])

    assert keep(" my berth is at the MARINA of Neyland.")[1]["id"] == first["id"]
    outcome, again = keep(first["text"])
    assert (outcome, again["id"] == first["id"]) == ("created", False)
    assert keep(first["text"])[0] == "repeated"
    taken = change(second, text=moved.json()["text"])
    assert (taken.status_code, taken.json()["type"]) == (409, "urn:ibid:problem:same-text")
    assert change(again, text=second["text"]).status_code == 409
    assert change(first, kind="preference").json()["kind"] == "preference"
    assert change(first, tags=[]).json()["tags"] == []
    for wrong in ({}, {"text": " "}, {"kind": "gravity_profile"}, {"user_id": "ben"}):
        assert change(first, **wrong).status_code == 422
    assert change({"id": "0192f0c0-0000-7000-8000-000000000000"}, tags=[]).status_code == 404
    assert len(service.client.get("/memories?user_id=edit").json()["items"]) == 3


@pytest.mark.parametrize(
    "fields",
    [
        {"query": " "},
        {"top_k": MOST + 1},
        {"top_k": 0},
        {"sources": []},
        {"sources": ["web"]},
        {"filter": {"document_ids": []}},
        {"filter": {"since": "yesterday"}},
        {"filter": {"before": "2026-01-01T00:00:00Z"}},
        {"include": ["all"]},
        {"model": "gpt"},
    ],
)
def test_what_it_does_not_know_is_refused(port: Talk, fields: Json) -> None:
    response = port.service.client.post("/v1/search", json={"query": QUESTION} | fields)
    assert (response.status_code, response.json()["type"]) == (422, "urn:ibid:problem:validation"), fields


def test_a_key_finds_its_own(host: Host) -> None:
    """Another tenant nothing, a user key its user's; without a key nobody."""
    boot = "bootstrap-9f3c71e0b28d46a5"
    with host(IBID_BOOTSTRAP_KEY=boot) as running:
        keys = {
            "ann": running.key("acme", "ann"),
            "ben": running.key("acme", "ben"),
            "beta": running.key("b"),
        }

        def send(who: str, path: str, body: Json) -> httpx.Response:
            head = {"Authorization": f"Bearer {keys[who]}"}
            return running.client.post(path, json=body, headers=head)

        text = "The safe code of the north office is 7731."
        assert send("ann", "/memories", {"text": text}).status_code == 201
        body = {"query": "What is the safe code of the north office?"}
        assert [each["text"] for each in send("ann", "/v1/search", body).json()["results"]] == [text]
        memory = send("ann", "/v1/search", body).json()["results"][0]["url"]
        for who in ("ben", "beta"):
            assert "7731" not in send(who, "/v1/search", body).text
            head = {"Authorization": f"Bearer {keys[who]}"}
            assert running.client.get(memory, headers=head).status_code == 404
            assert running.client.patch(memory, headers=head, json={"text": "Mine."}).status_code == 404
        assert send("ben", "/v1/search", body | {"user_id": "ann"}).status_code == 403
        assert running.client.post("/v1/search", json=body).status_code == 401
