"""The client of `/rerank` servers: three dialects spoken, and nothing taken but a score for each text."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from app.errors import RetrievalError
from app.models.probes import ServerProbe
from app.models.rerank import ANSWER_BYTES, UNUSABLE, HttpReranker, address, open_reranker, read
from app.settings import Rerank, Settings
from app.types import RERANK
from tests.fakes.judges import Ill, RerankServer, rerank_server

QUESTION = "what does the ferry carry"
TEXTS = ["a bridge of stone", "the ferry does carry mail", "the lamp"]


@asynccontextmanager
async def reranker(server: RerankServer, model: str | None = None) -> AsyncIterator[HttpReranker]:
    settings = Settings(rerank=Rerank(url=server.url, model=model, api_key=SecretStr("k")))
    async with open_reranker(settings) as found:
        assert found
        yield found


@pytest.mark.parametrize("dialect", ["results", "logits", "texts"])
async def test_each_dialect_gives_a_score_a_text(dialect: str) -> None:
    """In the order of the texts, whatever order the server told them in."""
    async with rerank_server(dialect) as server, reranker(server) as found:
        scores = await found.scores(QUESTION, TEXTS)
    assert sorted(range(3), key=lambda at: -scores[at]) == [1, 2, 0]


async def test_the_other_form_is_learned_once_and_kept_to_its_size() -> None:
    """TEI names the field that it misses; from then on it is asked in its own form, 32 texts at a time."""
    texts = [f"text {n}" for n in range(40)]
    async with rerank_server("texts") as server, reranker(server) as found:
        for _ in range(2):
            assert len(await found.scores("text 7", texts)) == 40
        forms = [sorted(body) for body in server.asked]
        sizes = [len(body.get("texts", ())) for body in server.asked]
    assert forms == [["documents", "query", "top_n"]] + 4 * [["query", "texts", "truncate"]]
    assert sizes == [0, 32, 8, 32, 8]


@pytest.mark.parametrize(
    ("ill", "reason"),
    [
        pytest.param(Ill(500), "unavailable", id="500"),
        pytest.param(Ill(401), "rerank", id="401"),
        pytest.param(Ill(429), "rerank", id="429"),
        pytest.param(Ill(422, body=b"missing field `texts`"), "rerank", id="neither form"),
        pytest.param(Ill(302), "rerank", id="redirect"),
        pytest.param(Ill(body=b"<html>"), "rerank", id="no JSON"),
        pytest.param(Ill(body=b'{"results": []}'), "rerank", id="none"),
        pytest.param(Ill(body=b" " * (ANSWER_BYTES + 1)), "rerank", id="too long"),
    ],
)
async def test_a_fault_is_a_retrieval_fault(ill: Ill, reason: str) -> None:
    """By one word; a refusal says that somebody is there."""
    async with rerank_server() as server, reranker(server) as found:
        server.ill = ill
        with pytest.raises(RetrievalError) as raised:
            await found.scores(QUESTION, TEXTS)
    assert raised.value.reason == reason
    assert raised.value.rejected == (300 <= ill.status < 500)
    assert not found.tei


async def test_nobody_there_is_unavailable() -> None:
    async with rerank_server() as server:
        gone = server
    async with reranker(gone) as found:
        with pytest.raises(RetrievalError, match="unavailable"):
            await found.scores(QUESTION, TEXTS)


ROWS: list[dict[str, float]] = [{"index": 0, "score": 0.1}, {"index": 1, "score": 3}]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(json.dumps(ROWS), id="a list"),
        pytest.param(json.dumps(ROWS[::-1]), id="another order"),
        pytest.param(json.dumps({"results": ROWS}), id="results"),
        pytest.param(
            json.dumps({"data": [{"index": row["index"], "relevance_score": row["score"]} for row in ROWS]}),
            id="data",
        ),
    ],
)
def test_scores_are_read_by_their_index(said: str) -> None:
    """Whatever they stand in."""
    assert read(said.encode(), 2) == [0.1, 3]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("null", id="nothing"),
        pytest.param("{}", id="no results"),
        pytest.param('{"results": 7}', id="no list"),
        pytest.param(json.dumps(ROWS[:1]), id="too few"),
        pytest.param(json.dumps([*ROWS, {"index": 2, "score": 1}]), id="too many"),
        pytest.param(json.dumps([ROWS[0], ROWS[0]]), id="twice the same"),
        pytest.param(json.dumps([ROWS[0], ROWS[0], ROWS[1]]), id="one twice beside all"),
        pytest.param(json.dumps([ROWS[0], {"index": 2, "score": 1}]), id="beyond"),
        pytest.param(json.dumps([ROWS[0], {"index": -1, "score": 1}]), id="negative"),
        pytest.param(json.dumps([ROWS[0], {"index": True, "score": 1}]), id="an index that is none"),
        pytest.param(json.dumps([ROWS[0], {"index": 1, "score": "1"}]), id="a text"),
        pytest.param(json.dumps([ROWS[0], {"index": 1, "score": None}]), id="null"),
        pytest.param(json.dumps([ROWS[0], {"index": 1, "score": float("nan")}]), id="NaN"),
        pytest.param(json.dumps([ROWS[0], {"index": 1}]), id="no score"),
        pytest.param("[[0, 1], [1, 2]]", id="lists"),
        pytest.param('[{"index": 0, "score": 1e999}, {"index": 1, "score": 1}]', id="infinite"),
    ],
)
def test_what_is_not_a_score_for_each_is_refused(said: str) -> None:
    """All of it: half an order is none."""
    with pytest.raises(UNUSABLE):
        read(said.encode(), 2)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["results", "data", "index", "score", "relevance_score"]), inner)
    ),
    max_leaves=12,
)


@given(JSON, st.integers(1, 3))
def test_law_anything_is_scores_or_unusable(said: object, count: int) -> None:
    """No other error, and never fewer or more."""
    try:
        scores = read(orjson.dumps(said), count)
    except UNUSABLE:
        return
    assert len(scores) == count


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://h:8080", "http://h:8080/rerank"),
        ("http://h:8080/", "http://h:8080/rerank"),
        ("https://api.example.com/v1", "https://api.example.com/v1/rerank"),
        ("https://api.example.com/v2/rerank", "https://api.example.com/v2/rerank"),
        ("http://h/reranking/", "http://h/reranking"),
        ("https://h/openai?api-version=1", "https://h/openai?api-version=1"),
    ],
)
def test_the_path_may_be_left_out(url: str, found: str) -> None:
    """An address with a path of its own, or a query, is taken as it is."""
    assert address(url) == found


@pytest.mark.parametrize("ill", [Ill(), Ill(404), Ill(401)], ids=["well", "404", "401"])
async def test_the_probe_asks_for_no_scores(ill: Ill) -> None:
    """Whoever answers is there, if only to refuse."""
    async with rerank_server() as server, reranker(server) as found:
        server.ill = ill
        probe = ServerProbe(RERANK, found.client)
        assert (probe.name, await probe.check()) == ("rerank", {})
        assert server.asked == []


@pytest.mark.parametrize(
    ("ill", "reason"),
    [pytest.param(Ill(503), "unavailable", id="down"), pytest.param(Ill(delay=30), "timeout", id="hung")],
)
async def test_the_probe_tells_who_is_not_well(ill: Ill, reason: str) -> None:
    async with rerank_server() as server, reranker(server) as found:
        server.ill = ill
        with pytest.raises(RetrievalError, match=reason):
            await ServerProbe(RERANK, found.client).check()
