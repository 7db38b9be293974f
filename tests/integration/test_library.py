"""What a page lists and restores, over HTTP: titles of sessions, turns with their answers, ratings, projects,
totals, and what an erasure leaves of them."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fakes.model import Fault
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service
from tests.fakes.server import told
from tests.integration.conftest import Host, Talk
from tests.integration.test_walls import client

SLOOP = text_pdf("The sloop Marie carries four people and costs 90 pounds a day.")


@pytest.fixture(autouse=True)
def calm(talk: Talk) -> Iterator[None]:
    """No fault and no reply is left to the next test."""
    reply = talk.model.reply
    yield
    talk.model.reply, talk.model.fault = reply, Fault()


@pytest.fixture(scope="module")
def keyed(host: Host) -> Iterator[Service]:
    with host() as running:
        yield running


def sessions(http: httpx.Client, **query: str) -> dict[str, dict[str, Any]]:
    return {item["session_id"]: item for item in http.get("/api/sessions", params=query).json()["items"]}


def rename(http: httpx.Client, session: str, title: object) -> httpx.Response:
    return http.patch(f"/api/sessions/{session}", json={"title": title})


def restored(http: httpx.Client, session: str) -> list[dict[str, Any]]:
    return list(http.get(f"/api/sessions/{session}/turns?citations=1").json()["items"])


def test_a_session_is_renamed_found_by_its_title_and_gets_its_own_back(talk: Talk) -> None:
    http = talk.service.client
    talk.service.chat("What does the sloop cost?", session_id="titled")
    assert sessions(http)["titled"]["renamed"] is False
    changed = rename(http, "titled", "  Boats 🚤 of Ærø  ")
    assert changed.json() == sessions(http)["titled"]
    assert (changed.json()["title"], changed.json()["renamed"]) == ("Boats 🚤 of Ærø", True)
    assert "titled" in sessions(http, q="boats 🚤")
    assert "titled" in sessions(http, q="the SLOOP cost")
    for blank in ("   ", None, ""):
        assert rename(http, "titled", "Boats").json()["title"] == "Boats"
        back = rename(http, "titled", blank).json()
        assert (back["title"], back["renamed"]) == ("What does the sloop cost?", False)
    assert "titled" not in sessions(http, q="boats")


@pytest.mark.parametrize(
    ("title", "phrase"),
    [
        ("x" * 201, "at most 200 characters"),
        ("two\nlines", "one line without control characters"),
        ("bell\u0007", "one line without control characters"),
        ("line\u2028end", "one line without control characters"),
        (7, "text"),
    ],
)
def test_a_title_that_does_not_fit_is_told_why(talk: Talk, title: object, phrase: str) -> None:
    talk.service.chat("Hello?", session_id="fitting")
    problem = told(rename(talk.service.client, "fitting", title), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == ["body.title"]
    assert phrase in problem["errors"][0]["message"]
    told(talk.service.client.patch("/api/sessions/fitting", json={}), 422, "validation")


def test_a_title_needs_a_session_and_goes_with_it(talk: Talk) -> None:
    http = talk.service.client
    told(rename(http, "nobody-there", "Mine"), 404, "not-found")
    talk.service.upload("sloop.pdf", SLOOP, session_id="filed")
    assert rename(http, "filed", "Only a file").json()["documents"] == 1
    assert http.delete("/api/sessions/filed").status_code == 204
    told(rename(http, "filed", "Again"), 404, "not-found")
    talk.service.chat("Anybody here?", session_id="filed")
    assert sessions(http)["filed"]["title"] == "Anybody here?"


def test_titles_are_each_users_own_exported_and_erased(keyed: Service) -> None:
    with (
        client(keyed, keyed.lock.token) as tenant,
        client(keyed, keyed.key(user="ada")) as ada,
        client(keyed, keyed.key(user="bob")) as bob,
    ):
        for http in (tenant, ada, bob):
            asked = {"message": "Who sails the sloop?", "session_id": "boats", "stream": False}
            assert http.post("/api/chat", json=asked).status_code == 200
        for user in ("ada", "bob"):
            asked = {"message": "For somebody.", "session_id": f"of-{user}", "stream": False}
            tenant.post("/api/chat", json=asked | {"user_id": user})
            rename(tenant, f"of-{user}", f"Of {user}")
        assert rename(ada, "boats", "Ada's boats").status_code == 200
        assert rename(bob, "boats", "Bob's boats").status_code == 200
        assert sessions(tenant)["boats"]["renamed"] is False
        told(rename(ada, "of-bob", "Mine now"), 404, "not-found")

        held = tenant.get("/users/ada/export").json()["holdings"]["session_titles"]
        assert [row["title"] for row in held] == ["Of ada", "Ada's boats"]
        erased = tenant.delete("/users/ada").json()
        assert erased["counts"]["session_titles"] == 2
        assert tenant.get("/users/ada/export").json()["holdings"]["session_titles"] == []
        assert sessions(bob)["boats"]["title"] == "Bob's boats"
        assert sessions(tenant)["of-bob"]["title"] == "Of bob"
        told(rename(ada, "boats", "Back again"), 404, "not-found")


def test_one_request_restores_answers_as_they_were_streamed(talk: Talk) -> None:
    """Citations with their numbers, what was cited and invented, retrieval, model, end, and ratings."""
    http = talk.service.client
    talk.service.upload("sloop.pdf", SLOOP, session_id="whole")
    talk.model.reply = "It costs 90 pounds [sloop.pdf#1], not 80 [invented.pdf#3]."
    said = talk.service.chat("What does the sloop Marie cost a day?", session_id="whole")
    talk.model.reply = "Hello."
    hello = talk.service.chat("hello", session_id="whole")
    http.put(f"/answers/{hello['answer_id']}/rating", json={"rating": "down"})

    first, cited, _, greeted = restored(http, "whole")
    assert "answer" not in first
    kept = cited.pop("answer")
    assert cited == http.get("/api/sessions/whole/turns").json()["items"][1]
    assert [each.pop("n") for each in kept["citations"]] == [1]
    same = ("citations", "cited", "unknown", "appended", "spans", "rag", "notes", "degraded", "model")
    assert {name: kept[name] for name in same} == {name: said[name] for name in same}
    assert kept["unknown"] == ["invented.pdf#3"]
    assert (kept["finish_reason"], kept["endpoint"], kept["rating"]) == ("stop", "/api/chat", None)
    assert kept["took_ms"] == said["took_ms"]
    assert greeted["answer"]["rating"] == "down"
    assert greeted["answer"]["rag"]["reason"] == "small_talk"


@pytest.mark.parametrize(("deltas", "role"), [(0, "user"), (1, "assistant")])
def test_an_answer_that_broke_off_is_restored_with_its_problem(talk: Talk, deltas: int, role: str) -> None:
    """Without a text it has no turn of its own."""
    http = talk.service.client
    talk.model.fault = Fault(error_after=deltas)
    body = {"message": "Will this one break off?", "session_id": f"broken-{deltas}"}
    sent = http.post("/api/chat", json=body).text
    assert "event: error" in sent
    turn = restored(http, body["session_id"])[-1]
    assert turn["role"] == role
    assert turn["answer"]["finish_reason"] is None
    assert turn["answer"]["problem"]["type"].startswith("urn:ibid:problem:model")


def test_a_rating_of_any_answer_is_kept_replaced_and_taken_back(talk: Talk) -> None:
    http = talk.service.client
    talk.service.upload("sloop.pdf", SLOOP, session_id="rated")
    said = talk.service.chat("What does the sloop Marie cost a day?", session_id="rated")
    address = f"/answers/{said['answer_id']}"
    assert http.get(address).json()["rating"] is None
    for rating, kept in (("up", "up"), ("up", "up"), ("down", "down"), ("none", None), ("none", None)):
        reply = http.put(f"{address}/rating", json={"rating": rating})
        assert reply.json() == {"answer_id": said["answer_id"], "rating": kept, "applied": 0}
        assert http.get(address).json()["rating"] == kept
        assert restored(http, "rated")[1]["answer"]["rating"] == kept
    told(http.put(f"{address}/rating", json={"rating": "great"}), 422, "validation")
    told(http.put("/answers/nobody/rating", json={"rating": "up"}), 404, "not-found")


def test_a_rating_votes_on_the_memories_and_its_undo_takes_them_back(talk: Talk) -> None:
    """By either endpoint, and beside votes of other answers."""
    http = talk.service.client
    memory = http.post("/memories", json={"user_id": "kim", "text": "I swim on Tuesdays."}).json()["memory"][
        "id"
    ]

    def asked() -> str:
        body = {"user_id": "kim", "message": "On which day do I swim?"}
        reply = http.post("/rag/query", json=body).json()
        assert [item["id"] for item in reply["memory_used"]] == [memory]
        return str(reply["answer_id"])

    def votes() -> tuple[int, int]:
        found = http.get("/memory_feedback", params={"user_id": "kim", "ids": memory}).json()[memory]
        return found["positive"], found["negative"]

    def rated(answer: str, rating: str) -> int:
        return int(http.put(f"/answers/{answer}/rating", json={"rating": rating}).json()["applied"])

    def said(answer: str, rating: str) -> dict[str, Any]:
        body = {"user_id": "kim", "message": "Hm.", "answer_id": answer, "rating": rating}
        return dict(http.post("/rag/feedback", json=body).json())

    one, two = asked(), asked()
    assert (rated(one, "up"), rated(one, "up"), votes()) == (1, 0, (1, 0))
    assert (said(two, "down")["applied"], votes()) == (1, (1, 1))
    assert http.get(f"/answers/{two}").json()["rating"] == "down"
    assert (rated(one, "none"), rated(one, "none"), votes()) == (1, 0, (0, 1))
    undone = said(two, "none")
    assert (undone["sentiment"], undone["decided_by"], undone["applied"]) == ("neutral", "rating", 1)
    assert (votes(), http.get(f"/answers/{two}").json()["rating"]) == ((0, 0), None)


def test_an_answer_is_rated_by_those_who_may_see_it(keyed: Service) -> None:
    with (
        client(keyed, keyed.lock.token) as tenant,
        client(keyed, keyed.key(user="eve")) as eve,
        client(keyed, keyed.key(user="fay")) as fay,
    ):
        asked = {"message": "Who sails the sloop?", "session_id": "rate", "stream": False}
        answer = eve.post("/api/chat", json=asked).json()["answer_id"]
        told(fay.put(f"/answers/{answer}/rating", json={"rating": "up"}), 404, "not-found")
        assert eve.put(f"/answers/{answer}/rating", json={"rating": "up"}).status_code == 200
        assert tenant.get(f"/answers/{answer}").json()["rating"] == "up"
        assert tenant.get("/users/eve/export").json()["holdings"]["answers"][0]["rating"] == "up"


def test_projects_are_listed_with_what_they_hold(keyed: Service) -> None:
    """One's own rows and the tenant's; a page at a time."""
    with client(keyed, keyed.lock.token) as tenant, client(keyed, keyed.key(user="gil")) as gil:
        assert tenant.get("/projects").json() == {"items": [], "next": None, "total": 0}
        talk = {"title": "VLANs", "summary_short": "Cameras have their own."}
        dream = {"title": "Flying", "summary_short": "Over the sea."}
        code = {"file_path": "a.py", "language": "python", "chunk_text": "def a(): ..."}
        assert tenant.post("/projects/THN/conversations", json=[talk]).status_code == 201
        assert (
            gil.post("/projects/DAAS/dreams", json=[dream, dream | {"title": "Falling"}]).status_code == 201
        )
        assert gil.post("/projects/THN/code", json=[code]).status_code == 201
        assert tenant.put("/projects/yard/knowledge", json={"overview": "Boats."}).status_code == 200
        listed = gil.get("/projects").json()
        figures = ("conversations", "dreams", "code", "knowledge")
        assert {each["project"]: tuple(map(each.get, figures)) for each in listed["items"]} == {
            "DAAS": (0, 2, 0, False),
            "THN": (1, 0, 1, False),
            "yard": (0, 0, 0, True),
        }
        assert (listed["total"], listed["next"]) == (3, None)
        assert [each["project"] for each in tenant.get("/projects").json()["items"]] == ["THN", "yard"]
        page = gil.get("/projects?limit=2").json()
        rest = gil.get(f"/projects?limit=2&cursor={page['next']}").json()
        assert [each["project"] for each in (*page["items"], *rest["items"])] == ["DAAS", "THN", "yard"]
        assert (page["total"], rest["next"]) == (3, None)
        assert "total" not in rest
        assert gil.delete("/projects/DAAS/dreams").status_code == 204
        assert gil.get("/projects").json()["total"] == 2


def test_lists_tell_their_length_within_reach(keyed: Service) -> None:
    with client(keyed, keyed.lock.token) as tenant, client(keyed, keyed.key(user="ida")) as ida:
        for n in range(3):
            assert ida.post("/memories", json={"text": f"Fact number {n}."}).status_code == 201
        pdfs = [text_pdf(f"The sloop number {n} sails at noon.") for n in range(3)]
        for n, (http, form) in enumerate(
            ((ida, {"session_id": "a"}), (ida, {"session_id": "b"}), (tenant, {"scope": "global"}))
        ):
            sent = http.post("/api/documents", files={"file": (f"{n}.pdf", pdfs[n])}, data=form)
            assert sent.status_code == 201
        tenant.post("/corpus/sleep", json={"texts": ["Keep the hours."]})
        for path in ("/memories", "/api/documents"):
            page = ida.get(f"{path}?limit=1").json()
            assert page["total"] == 3
            assert "total" not in ida.get(f"{path}?limit=1&cursor={page['next']}").json()
        assert ida.get("/api/documents?session_id=a").json()["total"] == 2
        assert tenant.get("/api/documents").json()["total"] == 1
        assert ida.get("/corpus").json()["total"] == 1
        assert "total" not in ida.get("/memories?since=2026-01-01T00:00:00Z").json()
