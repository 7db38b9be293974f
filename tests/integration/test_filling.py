"""Projects filled and asked through the running service: written, and found by the very next request."""

from collections.abc import Iterator

import pytest

from tests.fakes.process import Service

PATH = "/projects/Filling/conversations"
TALK = {
    "session_id": "printer",
    "turns": [
        {"role": "user", "content": "Which VLAN is the label printer on?"},
        {"role": "assistant", "content": "The label printer is on VLAN 30, behind the laminating press."},
    ],
}
QUESTION = "Where does the label printer stand?"


@pytest.fixture
def filled(house: Service) -> Iterator[Service]:
    """The house with a conversation, which is gone afterwards."""
    reply = house.client.post(PATH, json=TALK)
    assert reply.status_code == 201, reply.text
    yield house
    house.client.delete(PATH)


def test_a_conversation_is_found_and_cited_at_once(filled: Service) -> None:
    """By its summary, which is its own sentences; removed, it is gone from the next answer on."""
    asked = {"sources": ["conversations"], "project": "Filling"}
    found = filled.chat(QUESTION, **asked)
    row = filled.client.get(f"{PATH}/printer").json()

    assert [citation["id"] for citation in found["citations"]] == [row["session_id"]]
    assert row["summary_short"] == TALK["turns"][1]["content"]  # type: ignore[index] # a turn
    assert filled.client.delete(f"{PATH}/printer").status_code == 204
    assert filled.chat(QUESTION, **asked)["citations"] == []


def test_what_replaces_it_is_found_in_its_place(filled: Service) -> None:
    """Its old words find it no more."""
    asked = {"sources": ["conversations"], "project": "Filling"}
    filled.chat(QUESTION, **asked)  # so that its words are in memory
    filled.client.post(
        PATH, json={"session_id": "printer", "title": "Beekeeping", "summary_short": "Of hives."}
    )

    assert filled.chat("label printer laminating press", **asked)["citations"] == []
    assert [each["title"] for each in filled.chat("beekeeping hives", **asked)["citations"]] == ["Beekeeping"]


def test_knowledge_is_in_the_very_next_prompt(house: Service) -> None:
    """And gone from it once it is removed."""
    path = "/projects/Known/knowledge"
    house.client.put(path, json={"rules": "Speak of the quokka."})
    told = house.chat("Hello there, who are you?", project="Known")["debug"]["prompt"]
    house.client.delete(path)

    assert "Speak of the quokka." in told
    assert "quokka" not in house.chat("Hello there, who are you?", project="Known")["debug"]["prompt"]
