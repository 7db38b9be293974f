"""GET /answers/{answer_id} as a client sees it."""

from dataclasses import asdict, fields, replace

import httpx
import pytest

from app.answering.replay import Change, Replayed
from app.api import traced
from app.api.answers import rag, shape
from app.api.replies import AnswerReply, CandidateReply, PendingReply, Rag
from app.api.traced import ReplayReply
from app.db.keys import Caller
from app.errors import Missing, Unavailable
from app.types import Entry, Pending, Scope, Verdict
from tests.fakes.checks import told
from tests.fakes.services import Fakes
from tests.stores.test_answers import ANSWER, RULED


async def test_the_trace_is_shown_whole(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Every candidate with its figures and its verdict, and how the answer ended."""
    fakes.answers.answer = ANSWER
    response = await client.get(f"/answers/{ANSWER.id}")
    shown = response.json()
    assert response.status_code == 200
    AnswerReply.model_validate(shown)
    entries = [asdict(entry) for entry in ANSWER.trace.entries]
    times = ["2026-11-01T09:30:00.000125Z", None]
    assert shown["candidates"] == [
        entry | {"created_at": at} for entry, at in zip(entries, times, strict=True)
    ]
    assert shown["recipe"] == traced.recipe(ANSWER.recipe)
    assert shown["ruling"] is None
    assert (shown["answer"], shown["finish_reason"]) == (ANSWER.text, "stop")
    assert shown["created_at"] == "2026-11-21T12:00:00Z"
    assert shown["rag"] == {
        "used": True,
        "reason": "ok",
        "cached": True,
        "passages": 1,
        "tokens": 42,
        "budget": 50_000,
        "took_ms": 12,
    }
    assert shown["degraded"] == [{"source": "memories", "reason": "timeout"}]
    assert set(shown) == set(AnswerReply.model_fields)


def test_what_was_searched_is_told() -> None:
    """A follow-up's own text, else the question."""
    follow = replace(ANSWER, trace=replace(ANSWER.trace, searched="the pump why?"))
    assert (shape(ANSWER)["searched"], shape(follow)["searched"]) == ("why?", "the pump why?")
    assert 'Searched with "the pump why?"' in shape(follow)["notes"]


def test_an_answer_that_ended_in_an_error_has_no_finish() -> None:
    """Null, which is not `cancelled`."""
    assert shape(replace(ANSWER, finish=None))["finish_reason"] is None


def test_schemas_have_the_fields_of_the_words_they_show() -> None:
    """They are sent as they are in the domain."""
    assert set(CandidateReply.model_fields) == {item.name for item in fields(Entry)}
    meanwhile = replace(ANSWER.trace, pending=(Pending("d1", "report.pdf"),))
    assert set(rag(meanwhile)) == set(Rag.model_fields)
    assert set(rag(ANSWER.trace)) == set(Rag.model_fields) - {"pending"}
    assert set(PendingReply.model_fields) == {item.name for item in fields(Pending)}
    verdicts = CandidateReply.model_json_schema()["properties"]["verdict"]["enum"]
    assert set(verdicts) == {str(verdict) for verdict in Verdict}


@pytest.mark.parametrize(
    "key",
    [ANSWER.id, "nonsense", "%00", "%ED%A0%80", "a%20b", "é"],
    ids=lambda key: key if len(key) < 20 else "id",
)
async def test_what_is_not_there_is_told(client: httpx.AsyncClient, key: str) -> None:
    """Whatever stands in the path: another's, or no id at all."""
    told(await client.get(f"/answers/{key}"), 404, "not-found")


async def test_it_is_looked_up_for_who_asks(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """By tenant and user of the key."""
    fakes.answers.answer = ANSWER
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    await client.get(f"/answers/{ANSWER.id}", headers={"Authorization": "Bearer ada-key"})
    assert fakes.answers.scopes == [Scope("acme", "ada", "ada")]


async def test_a_ruling_is_shown_with_its_answer(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """What was decided, by which policy, under which mix, and whether it held; the descriptors are debug."""
    fakes.answers.answer = RULED
    shown = (await client.get(f"/answers/{RULED.id}")).json()
    AnswerReply.model_validate(shown)
    told_of = {"response_class", "policy_version", "policy_sha256", "params", "mix", "class_check"}
    assert told_of | {"inspect_only", "rules"} <= set(shown["ruling"])
    assert "sd" not in shown["ruling"]


async def test_a_replay_is_told(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """For who asks: whether it is the same, what is not, and both hashes."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    fakes.replays.found = Replayed("ab", "cd", (Change("source a.pdf#1", "ab", None),))
    headers = {"Authorization": "Bearer ada-key"}
    response = await client.post(f"/answers/{ANSWER.id}/replay", headers=headers)
    assert response.status_code == 200
    ReplayReply.model_validate(response.json())
    assert response.json() == {
        "answer_id": ANSWER.id,
        "identical": False,
        "changes": [{"what": "source a.pdf#1", "before": "ab", "after": None}],
        "prompt_sha256": {"before": "ab", "after": "cd"},
    }
    assert fakes.replays.asked == [(Scope("acme", "ada", "ada"), ANSWER.id)]


async def test_a_replay_that_cannot_be_made_is_a_problem(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Another's answer is not there; a store that is away says nothing of any source."""
    for error, status, slug in ((Missing(), 404, "not-found"), (Unavailable(), 503, "unavailable")):
        fakes.replays.error = error
        told(await client.post(f"/answers/{ANSWER.id}/replay"), status, slug)
