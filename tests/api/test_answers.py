"""Answers with their traces, and replays."""

from dataclasses import asdict, replace

import httpx
import pytest

from app.answering.replay import Change, Replayed
from app.api.schemas.answers import AnswerOut, ReplayReport
from app.db.keys import Caller
from app.errors import Missing, Unavailable
from app.types import Scope
from tests.db.test_answers import ANSWER, RULED, RULING
from tests.fakes.checks import told
from tests.fakes.services import Fakes


async def test_the_trace_is_shown_whole(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Every candidate with its figures and its verdict, and how the answer ended."""
    fakes.answers.answer = ANSWER
    response = await client.get(f"/answers/{ANSWER.id}")
    shown = response.json()
    assert response.status_code == 200
    AnswerOut.model_validate(shown)
    entries = [asdict(entry) for entry in ANSWER.trace.entries]
    times = ["2026-11-01T09:30:00.000125Z", None]
    assert shown["candidates"] == [
        entry | {"created_at": at} for entry, at in zip(entries, times, strict=True)
    ]
    assert ANSWER.recipe
    assert not any(block.text in str(shown["recipe"]) for block in ANSWER.recipe.blocks if block.text)
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
    assert set(shown) == set(AnswerOut.model_fields)


async def test_what_was_searched_is_shown(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A follow-up with what it refers to, else the question; an answer that broke off has no finish."""
    follow = replace(ANSWER, finish=None, trace=replace(ANSWER.trace, searched="the pump why?"))
    shown = []
    for fakes.answers.answer in (ANSWER, follow):
        shown.append((await client.get(f"/answers/{ANSWER.id}")).json())
    assert [each["searched"] for each in shown] == ["why?", "the pump why?"]
    assert [each["finish_reason"] for each in shown] == ["stop", None]
    assert 'Searched with "the pump why?"' in shown[1]["notes"]


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
    AnswerOut.model_validate(shown)
    assert shown["ruling"] == {key: RULING[key] for key in RULING if key not in ("sd", "thread")}
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
    ReplayReport.model_validate(response.json())
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
