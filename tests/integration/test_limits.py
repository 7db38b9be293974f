"""The limits of a key: exact over replicas, told in headers, and given back whatever happens to a request."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.fakes.model import Fault, ModelServer, model_server
from tests.fakes.process import Service, wait_for
from tests.fakes.redis import RedisServer
from tests.fakes.server import told
from tests.integration.conftest import Host

ASKED = 40
"""Requests at once."""


def quotas(response: httpx.Response, name: str = "ratelimit") -> dict[str, dict[str, str]]:
    """The parameters of each policy of a header: a list of strings with parameters (RFC 9651)."""
    items = re.findall(r'"(\w+)"((?:;\w+=(?:\d+|"[^"]*"))*)', response.headers[name])
    return {item: dict(part.split("=") for part in said.split(";")[1:]) for item, said in items}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def model(host: Host) -> Iterator[ModelServer]:
    with host.beside(model_server()) as model:
        yield model


def test_a_key_over_its_limit_is_told_when_to_come_back(host: Host) -> None:
    """Other keys, health and the page are not concerned; what was refused was not done."""
    with host(IBID_LIMIT_REQUESTS="3/hour") as running:
        one, other = running.key(), running.key()
        wait_for(lambda: running.client.get("/api/sessions").status_code == 401)
        for left in (2, 1, 0):
            response = running.client.get("/api/sessions", headers=bearer(one))
            assert response.status_code == 200
            assert quotas(response, "ratelimit-policy") == {"requests": {"q": "3", "w": "3600"}}
            assert quotas(response)["requests"]["r"] == str(left)
            assert 0 < int(quotas(response)["requests"]["t"]) <= 3600
        memory = {"user_id": "ann", "text": "Ann keeps bees."}
        refused = running.client.post("/memories", json=memory, headers=bearer(one))
        told(refused, 429, "rate-limited")
        assert 3500 < int(refused.headers["retry-after"]) <= 3600
        assert quotas(refused)["requests"]["r"] == "0"
        assert running.client.get("/api/sessions", headers=bearer(other)).status_code == 200
        for path in ("/healthz", "/readyz", "/", "/openapi.json", "/metrics"):
            assert running.client.get(path, headers=bearer(one)).status_code == 200
        metrics = running.client.get("/metrics", headers=bearer(one)).text
        assert 'ibid_rate_limited_total{limit="requests"} 1.0' in metrics
        found = running.client.get("/memories", params={"user_id": "ann"}, headers=bearer(other))
        assert found.json()["items"] == []


def test_no_body_of_a_refused_request_is_read(host: Host) -> None:
    """The answer comes while the client has sent the head alone."""
    with host(IBID_LIMIT_REQUESTS="1/hour") as running:
        assert running.client.get("/api/sessions").status_code == 200
        arrived = threading.Event()

        def body() -> Iterator[bytes]:
            arrived.wait(10)
            yield b"{}"

        with running.client.stream(
            "POST", "/api/chat", content=body(), headers={"Content-Type": "application/json"}
        ) as response:
            arrived.set()
            assert response.status_code == 429


@pytest.mark.parametrize("limit", ["13/hour", "14/day"])
def test_two_replicas_allow_exactly_the_limit(host: Host, redis: RedisServer, limit: str) -> None:
    settings = {"CACHE_URL": redis.url, "IBID_LIMIT_REQUESTS": limit}
    with host(**settings) as one, host(**settings) as other, ThreadPoolExecutor(ASKED) as pool:
        asked = [(one, other)[number % 2].client for number in range(ASKED)]
        statuses = list(pool.map(lambda client: client.get("/api/sessions").status_code, asked))
    assert sorted(set(statuses)) == [200, 429]
    assert statuses.count(200) == int(limit.partition("/")[0])


def test_a_process_alone_allows_exactly_the_limit(host: Host) -> None:
    with host(IBID_LIMIT_REQUESTS="15/hour") as running, ThreadPoolExecutor(ASKED) as pool:
        statuses = pool.map(lambda _: running.client.get("/api/sessions").status_code, range(ASKED))
        assert list(statuses).count(200) == 15


@pytest.mark.parametrize("shared", [False, True])
def test_tokens_are_charged_after_an_answer(
    host: Host, redis: RedisServer, model: ModelServer, *, shared: bool
) -> None:
    """The answer that spends the last ones is whole; the next request is refused, also by a replica."""
    settings = {"IBID_LIMIT_TOKENS": "10/hour", "CHAT_BASE_URL": model.url}
    settings |= {"CACHE_URL": redis.url} if shared else {}
    with host(**settings) as one, host(**settings) as other:
        response = one.client.post("/api/chat", json={"message": "Hello, who are you?", "session_id": "s"})
        assert response.text.count("event: done") == 1
        assert quotas(response) == {"tokens": {"r": "10"}}
        refused = one.client.post("/api/chat", json={"message": "And you?"})
        assert "tokens" in told(refused, 429, "rate-limited")["detail"]
        assert quotas(refused)["tokens"]["r"] == "0"
        assert other.client.get("/api/sessions").status_code == (429 if shared else 200)


def ask(running: Service, **fields: Any) -> httpx.Response:
    body = {"message": "Hello, who are you?", "session_id": "s", "stream": False} | fields
    return running.client.post("/api/chat", json=body)


@pytest.mark.parametrize("shared", [False, True])
def test_a_stream_holds_its_slot_until_it_ends(
    host: Host, redis: RedisServer, model: ModelServer, *, shared: bool
) -> None:
    """To its last event, to its client's leaving, or to a fault; then the very next request has it."""
    settings = {"IBID_LIMIT_CONCURRENCY": "1", "CHAT_BASE_URL": model.url}
    settings |= {"CACHE_URL": redis.url} if shared else {}
    with host(**settings) as one, host(**settings) as other:
        for fault in (Fault(status=500), Fault(close_after=1), Fault()):
            model.fault = fault
            ask(one)
        for _ in range(3):
            assert ask(one).status_code == 200
        model.fault = Fault(stall_after=1)
        body = {"message": "Hello, who are you?", "session_id": "s"}
        with one.client.stream("POST", "/api/chat", json=body) as response:
            assert quotas(response)["concurrency"]["r"] == "0"
            lines = response.iter_lines()
            assert next(lines)
            refused = told(one.client.get("/api/sessions"), 429, "rate-limited")
            assert "at the same time" in refused["detail"]
            assert other.client.get("/api/sessions").status_code == (429 if shared else 200)
            assert one.client.get("/healthz").status_code == 200
        wait_for(lambda: one.client.get("/api/sessions").status_code == 200)
        assert other.client.get("/api/sessions").status_code == 200


def test_an_answer_whose_client_left_is_charged(host: Host, model: ModelServer) -> None:
    with host(IBID_LIMIT_TOKENS="10/hour", CHAT_BASE_URL=model.url) as running:
        model.fault = Fault(stall_after=1)
        body = {"message": "Hello, who are you?", "session_id": "s"}
        with running.client.stream("POST", "/api/chat", json=body) as response:
            next(response.iter_lines())
        wait_for(lambda: running.client.get("/api/sessions").status_code == 429)


def test_without_redis_each_process_counts_for_itself(host: Host, redis: RedisServer) -> None:
    """Nobody is refused for it, /readyz says so, and the shared counts are used again when it is back."""

    def counted(running: Service) -> tuple[bool, object]:
        checks = running.client.get("/readyz").json()["checks"]
        [check] = [check for check in checks if check["name"] == "limits"]
        return check["ok"], check.get("reason") or check["facts"]["counted"]

    settings = {"CACHE_URL": redis.url, "IBID_LIMIT_REQUESTS": "7/hour"}
    with host(**settings) as one, host(**settings) as other:
        assert one.client.get("/api/sessions").status_code == 200
        assert counted(one) == (True, "shared")
        redis.kill()
        try:
            for running in (one, other):
                statuses = [running.client.get("/api/sessions").status_code for _ in range(10)]
                assert statuses == [200] * 7 + [429] * 3
            assert counted(one) == (False, "degraded")
            assert one.client.get("/readyz").status_code == 200
        finally:
            redis.start()
        wait_for(lambda: one.client.get("/api/sessions").status_code == 200, 20)
        assert counted(one) == (True, "shared")
