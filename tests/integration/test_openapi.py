"""The running service asked whatever its OpenAPI document allows, and much that it does not (schemathesis).

Each answer must be one that the document tells of: its status, content type, headers and shape; never a 500.
The same questions every time: some hundreds here, ten thousand by hand (docs/adr/0001).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.fakes import offer
from tests.fakes.process import Service, wait_for
from tests.integration.conftest import EVERY, Host

SLOW = {
    **dict.fromkeys(
        ("chat", "chatUi", "keepMemories", "keepTexts", "projectContext", "ragQuery", "vantageQuery"), 3
    ),
    **dict.fromkeys(("completeChat", "createResponse", "keepConversations", "keepDreams"), 3),
    "uploadDocument": 5,
}
"""Cases of what embeds, or reads a PDF; of all else FAST."""
FAST = 5
HOSTILE = st.fixed_dictionaries(
    {},
    optional={
        "Authorization": st.sampled_from(["Bearer", "Bearer  ", "Basic eDp5", "Bearer ibid_acme_x", "\xe9"]),
        "Content-Type": st.sampled_from(
            ["", "text/plain", "application/json; charset=utf-16", "multipart/form-data", "x"]
        ),
        "Content-Encoding": st.sampled_from(["gzip", "br"]),
        "Accept": st.sampled_from(["", "text/html", "*/*;q=0"]),
        "Host": st.sampled_from(["localhost", "evil.example", "127.0.0.1@evil.example", "[::1"]),
        "Origin": st.sampled_from(["null", "http://evil.example", "http://["]),
        "Sec-Fetch-Site": st.sampled_from(["cross-site", "none"]),
        "X-Request-ID": st.sampled_from(["a" * 65, "{}", "ok-1"]),
        "Range": st.sampled_from(["bytes=0-1", "bytes=9-1", "x"]),
        "Expect": st.just("100-continue"),
        "Cookie": st.just("a=b; " * 200),
    },
)
"""What a confused or a hostile client adds."""
FREE = {
    "deleteDocument",
    "deleteMemory",
    "getFile",
    "getMemory",
    "getAnswer",
    "replayAnswer",
    "resumeAnswer",
    "resumeChat",
    "stopAnswer",
    "deleteCard",
    "deleteFact",
    "listCollections",
    "listModels",
    "getModel",
    "getResponse",
    "vantagePolicy",
    "showMetrics",
    "alive",
    "ready",
}
"""They take any text for an id, or nothing at all: no request breaks the document there."""
PROMISED = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def house(host: Host) -> Iterator[Service]:
    """A service with every route."""
    with host(**EVERY) as running:
        yield running


def operations(url: str) -> list[APIOperation[Any, Any, Any, Any]]:
    """Of the document as the service gives it."""
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    return [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]


def ask(url: str, mode: GenerationMode, headers: st.SearchStrategy[Any], most: int = FAST) -> Counter[int]:
    """Ask every operation and hold each answer against the document; how often each status came."""
    told: Counter[int] = Counter()
    with requests.Session() as session:
        session.trust_env = False
        for operation in operations(url):
            name = str(operation.definition.raw["operationId"])
            kind = GenerationMode.POSITIVE if name in FREE else mode

            @settings(
                max_examples=min(most, SLOW.get(name, most)),
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=kind), added=headers)
            def hold(case: Case[Any], added: dict[str, str]) -> None:
                answer = case.call(base_url=url, session=session, headers=added, timeout=30)
                told[answer.status_code] += 1
                case.validate_response(answer, PROMISED)

            hold()
    return told


def test_what_the_document_allows_is_answered_as_it_says(house: Service) -> None:
    """Questions, uploads, lists, ids: every operation, with what fits it."""
    assert house.upload("ferry.pdf", offer.PDFS[0], scope="global").status_code == 201
    told = ask(house.lock.url, GenerationMode.POSITIVE, st.just({}))
    assert {200, 404, 415} <= set(told)
    assert told.total() > 100


def test_what_it_does_not_allow_is_refused_as_it_says(house: Service) -> None:
    """Wrong types, missing and unknown fields, broken ids; with headers of a hostile client on top."""
    told = ask(house.lock.url, GenerationMode.NEGATIVE, HOSTILE)
    assert {401, 403, 421, 422} <= set(told)


def test_the_closed_service_answers_as_it_says(house: Service) -> None:
    """With its key, with another, and without one. The last test here: a key closes the service for good."""
    key = house.key()
    given_keys = st.sampled_from([key, "another-key-of-nobody", ""])
    headers = given_keys.map(lambda key: {"Authorization": f"Bearer {key}"} if key else {})
    wait_for(lambda: house.client.get("/api/documents").status_code == 401)
    told = ask(house.lock.url, GenerationMode.POSITIVE, headers, most=3)
    assert {200, 401} <= set(told)
