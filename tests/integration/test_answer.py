"""A PDF in, a question, a cited answer: the main job against the whole service."""

import json
from typing import Any

import pytest

from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service
from tests.integration.conftest import Talk

GARDEN = text_pdf(
    [
        "# Beehives\n\nThe beehives stand behind the orchard. There are fourteen of them, painted yellow.",
        "# Harvest\n\nIn 2019 the orchard gave 412 crates of apples. The press made 3,100 litres of cider.",
    ]
)
QUESTION = "How many crates of apples did the orchard give in 2019?"


def events(service: Service, **body: Any) -> list[tuple[str, dict[str, Any], str]]:
    """(event, data, id) of a streamed answer."""
    with service.client.stream("POST", "/api/chat", json={"session_id": "s"} | body) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        blocks = response.read().decode().split("\n\n")
    lines = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks if block[:2] == "id"
    ]
    return [(item["event"], json.loads(item["data"]), item["id"]) for item in lines]


@pytest.fixture(scope="module", autouse=True)
def garden(house: Service, talk: Talk) -> None:
    """Both services hold the garden's PDF in session `s`."""
    assert house.upload("garden.pdf", GARDEN).status_code == 201
    assert talk.service.upload("garden.pdf", GARDEN).status_code == 201


def test_the_extractive_answer_quotes_and_cites_the_page(house: Service) -> None:
    """With no model at all: the sentence that answers, its citation, and the page it stands on."""
    said = house.chat(QUESTION)
    assert "412 crates" in said["answer"]
    [label] = said["cited"]
    assert f"[{label}]" in said["answer"]
    pages = {item["label"]: range(item["page"], item["page_end"] + 1) for item in said["citations"]}
    assert label.split("#")[0] == "garden.pdf"
    assert 2 in pages[label]


def test_the_stream_keeps_its_grammar(talk: Talk) -> None:
    """meta, tokens, citations, done; ids count from 1; the label is the packed one."""
    talk.model.reply = "It gave 412 crates [garden.pdf#1], they say [other.pdf#7]."
    told = events(talk.service, message=QUESTION)
    names = [name for name, _, _ in told]
    assert names == ["meta", *["token"] * (len(names) - 3), "citations", "done"]
    meta, text = told[0][1], "".join(data["text"] for name, data, _ in told if name == "token")
    assert [identity for *_, identity in told] == [
        f"{meta['answer_id']}:{n}" for n in range(1, len(told) + 1)
    ]
    assert (meta["rag"]["reason"], meta["session_id"]) == ("ok", "s")
    assert text == "It gave 412 crates [garden.pdf#1], they say."
    marks = told[-2][1]
    assert (marks["cited"], marks["unknown"], marks["appended"]) == (["garden.pdf#1"], ["other.pdf#7"], False)
    assert marks["spans"] == [
        {"start": 19, "end": 33, "label": "garden.pdf#1", "n": 1, "support": "unchecked"}
    ]
    kept = talk.service.client.get(f"/answers/{meta['answer_id']}").json()
    assert kept["spans"] == marks["spans"]
    assert told[-1][1]["finish_reason"] == "stop"


def test_the_model_is_shown_the_context_in_roles(talk: Talk) -> None:
    """System text, context, notes in one system message; earlier turns, message: in this order."""
    talk.model.reply = "Fine [garden.pdf#1]."
    history = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    talk.service.chat(QUESTION, history=history, notes=["Speak plainly."])
    messages = talk.model.asked("/chat/completions")[-1].body["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    _, context, notes = messages[0]["content"].rsplit("\n\n", 2)
    assert context.startswith('[Context]\n- From garden.pdf#1: "')
    assert notes == "Speak plainly."
    assert messages[-1]["content"] == QUESTION


def test_the_next_question_finds_the_thread(talk: Talk) -> None:
    """Turns are kept under their thread before `done`, and only under theirs."""
    talk.model.reply = "Remembered."
    talk.service.chat("my name is Ada, by the way", thread_id="ada")
    talk.service.chat("what is my name, please?", thread_id="ada")
    shown = [message["content"] for message in talk.model.asked("/chat/completions")[-1].body["messages"]]
    assert "my name is Ada, by the way" in shown
    talk.service.chat("what is my name, please?", thread_id="bob")
    shown = [message["content"] for message in talk.model.asked("/chat/completions")[-1].body["messages"]]
    assert "my name is Ada, by the way" not in shown


def test_a_quotation_is_told_with_its_place(house: Service) -> None:
    """The extractive answer quotes word for word."""
    said = house.chat(QUESTION)
    kept = house.client.get(f"/answers/{said['answer_id']}").json()
    assert kept["spans"] == said["spans"] != []
    for span in said["spans"]:
        assert said["answer"][span["start"] : span["end"]] == f"[{span['label']}]"
        assert said["answer"][: span["start"]].endswith(f"“{span['quote']}” ")
        assert span["support"] == "strong"


def test_context_that_was_not_cited_is_appended(talk: Talk) -> None:
    """The sources come as a last token."""
    talk.model.reply = "Many."
    said = talk.service.chat(QUESTION)
    assert said["answer"].startswith("Many. Sources: [garden.pdf#")
    assert said["appended"] is True


@pytest.mark.parametrize(
    ("message", "session", "reason"),
    [
        pytest.param("hi", "s", "small_talk", id="small talk"),
        pytest.param("Qwv?", "s", "skipped_short_query", id="short"),
        pytest.param("zyx qwv jkl brrt mmnop ggh", "s", "no_match", id="nonsense"),
        pytest.param(QUESTION, "another", "empty", id="nothing in reach"),
    ],
)
def test_reasons_for_no_context(house: Service, message: str, session: str, reason: str) -> None:
    """Each reason shows, `used` is false, and there is an answer all the same."""
    said = house.chat(message, session_id=session)
    assert (said["rag"]["reason"], said["rag"]["used"], said["citations"]) == (reason, False, [])
    assert said["answer"]


def test_the_budget_of_the_request_is_kept(house: Service) -> None:
    """top_k bounds the passages; above RAG_TOP_K_MAX it is refused."""
    assert house.chat(QUESTION, top_k=1)["rag"]["passages"] == 1
    body = {"message": QUESTION, "session_id": "s", "top_k": 41}
    response = house.client.post("/api/chat", json=body)
    assert (response.status_code, response.json()["type"]) == (422, "urn:ibid:problem:validation")


def test_a_greeting_is_greeted_back_without_a_model(house: Service) -> None:
    """In a sentence or two, with the garden's PDF in reach or nothing; nobody is sent to a shell."""
    for session in ("s", "empty"):
        said = house.chat("hi", session_id=session)["answer"]
        assert said.startswith("Hello!")
        assert "ibid " not in said
        assert "_" not in said
