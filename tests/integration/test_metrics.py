"""GET /metrics: what Prometheus reads, and what it must never find there."""

from collections.abc import Iterator

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed

from tests.fakes.model import Fault, model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service, service
from tests.integration.conftest import Host, Talk

QUESTION = "How many lanterns does the ferry carry?"
FERRY = text_pdf(["# The ferry\n\nThe ferry carries thirty-one lanterns. The youngest deckhand lights them."])

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scraped(client: httpx.Client, **headers: str) -> Series:
    """Every sample by name and labels, as Prometheus' own parser reads it."""
    response = client.get("/metrics", headers=headers)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/plain; version=")
    families = list(parsed(response.text))
    assert len({family.name for family in families}) == len(families)
    samples = [sample for family in families for sample in family.samples]
    return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}


def value(series: Series, name: str, **labels: str) -> float:
    """0 where there is no such series: a counter begins at its first event."""
    return series.get((name, frozenset(labels.items())), 0.0)


def of(series: Series, name: str) -> set[frozenset[tuple[str, str]]]:
    """The labels of a name."""
    return {labels for known, labels in series if known == name}


@pytest.fixture(scope="module")
def talk(host: Host) -> Iterator[Talk]:
    """A service of this module's own: its counters begin at zero."""
    with host.beside(model_server()) as model, host(CHAT_BASE_URL=model.url) as running:
        assert running.upload("ferry.pdf", FERRY).status_code == 201
        yield Talk(running, model)


def test_an_answer_is_counted_once_with_its_parts(talk: Talk) -> None:
    """Request, tokens, first token, finish reason, cache and the stages of its search."""
    before = scraped(talk.service.client)
    for stream in (True, False):
        body: dict[str, object] = {
            "message": QUESTION,
            "session_id": "s",
            "history": [],
            "stream": stream,
        }
        assert talk.service.client.post("/api/chat", json=body).status_code == 200
    after = scraped(talk.service.client)

    def more(name: str, **labels: str) -> float:
        return value(after, name, **labels) - value(before, name, **labels)

    chat = {"method": "POST", "route": "/api/chat"}
    assert more("ibid_http_requests_total", **chat, status="200") == 2
    assert more("ibid_http_request_duration_seconds_count", **chat) == 2
    assert more("ibid_answers_total", endpoint="/api/chat", finish_reason="stop") == 2
    assert more("ibid_first_token_seconds_count", endpoint="/api/chat") == 2
    for direction in ("input", "output"):
        assert more("ibid_model_tokens_total", endpoint="/api/chat", direction=direction) > 0
    assert more("ibid_cache_requests_total", cache="results", result="miss") == 1
    assert more("ibid_cache_requests_total", cache="results", result="hit") == 1
    assert more("ibid_retrieval_seconds_count", source="documents", stage="search") == 1
    assert more("ibid_retrieval_seconds_count", source="documents", stage="reach") == 2
    assert more("ibid_retrieval_seconds_count", source="all", stage="embedding") == 1
    assert value(after, "ibid_outbox_entries", engine="qdrant") == 0
    assert value(after, "ibid_jobs", kind="ingest", state="waiting") == 0
    assert {"postgres", "chroma", "qdrant", "chat"} <= {
        dict(labels)["dependency"] for labels in of(after, "ibid_breaker_open_circuits")
    }
    assert value(after, "process_resident_memory_bytes") > 0


def test_a_failing_model_is_an_answer_that_ended_in_an_error(talk: Talk) -> None:
    before = scraped(talk.service.client)
    talk.model.fault = Fault(status=500)
    try:
        body = {"message": QUESTION, "session_id": "s", "stream": False}
        assert talk.service.client.post("/api/chat", json=body).status_code == 502
    finally:
        talk.model.fault = Fault()
    after, labels = scraped(talk.service.client), {"endpoint": "/api/chat", "finish_reason": "error"}
    assert value(after, "ibid_answers_total", **labels) == value(before, "ibid_answers_total", **labels) + 1


def test_refusals_and_odd_templates_count_under_their_route(talk: Talk) -> None:
    """Also a body that is refused before its route is found."""
    client = talk.service.client
    assert client.post("/api/chat", content=b"{" * (3 << 20)).status_code == 413
    assert client.get("/users/somebody/export").status_code == 200
    found = scraped(client)
    for labels in (
        {"method": "POST", "route": "/api/chat", "status": "413"},
        {"method": "GET", "route": "/users/{user_id}/export", "status": "200"},
    ):
        assert value(found, "ibid_http_requests_total", **labels) == 1


def test_what_callers_choose_makes_no_series(talk: Talk) -> None:
    """Unknown paths, methods, ids and users: all of them together are a few series."""
    client = talk.service.client
    before = of(scraped(client), "ibid_http_requests_total")
    for number in range(30):
        client.get(f"/nowhere/{number}")
        client.request(f"ODD{number}", "/api/chat")
        client.get(f"/answers/no-such-{number}")
        client.get("/temporal/" + f"user-{number}")
    text = client.get("/metrics").text
    assert len(of(scraped(client), "ibid_http_requests_total") - before) <= 6
    assert "nowhere" not in text
    assert "no-such" not in text
    assert "user-" not in text
    assert "lanterns" not in text


def test_a_user_key_reads_no_metrics(host: Host) -> None:
    """The numbers are those of everybody; a tenant's key reads them."""
    with host() as running:
        tenant, user = running.key(), running.key(user="ann")
        assert running.client.get("/metrics").status_code == 401
        refused = running.client.get("/metrics", headers={"Authorization": f"Bearer {user}"})
        assert refused.status_code == 403
        assert scraped(running.client, Authorization=f"Bearer {tenant}")


def test_two_apps_of_a_process_count_apart(host: Host, house: Service) -> None:
    """Each has a registry of its own."""
    chat = {"endpoint": "/api/chat", "finish_reason": "stop"}
    house.chat(QUESTION, session_id="apart")
    with host() as fresh:
        assert value(scraped(fresh.client), "ibid_answers_total", **chat) == 0
    assert value(scraped(house.client), "ibid_answers_total", **chat) >= 1


def test_a_port_of_their_own_needs_no_key(tmp_path_factory: pytest.TempPathFactory) -> None:
    """IBID_METRICS_PORT: nothing else is served there, and no page reads it by DNS rebinding."""
    folder = tmp_path_factory.mktemp("metrics") / "data"
    with service(folder, IBID_METRICS_PORT="0") as running:
        log = (folder.parent / "data.log").read_text()
        address = next(word for word in log.split() if word.endswith("/metrics")).removesuffix("/metrics")
        key = running.key()
        assert running.client.get("/metrics").status_code == 401
        with httpx.Client(base_url=address, trust_env=False) as client:
            assert value(scraped(client), "process_start_time_seconds") > 0
            assert client.get("/api/sessions").status_code == 404
            assert client.get("/metrics", headers={"Host": "evil.example"}).status_code == 421
        assert running.client.get("/readyz", headers={"Authorization": f"Bearer {key}"}).status_code == 200
