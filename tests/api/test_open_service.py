"""The open service serves this machine, and no web page that happens to be open on it."""

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from app.api.dependencies import is_local_name, is_loopback
from app.db.keys import Caller
from tests.fakes.server import browsing, told
from tests.fakes.services import Fakes


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
async def test_calls_from_this_machine_are_served(app: FastAPI, peer: str) -> None:
    """All of 127.0.0.0/8, and IPv6's ways to write it."""
    async with browsing(app, peer) as client:
        assert (await client.get("/api/documents")).status_code == 200


@pytest.mark.parametrize(
    "peer", ["10.0.0.7", "192.168.1.2", "8.8.8.8", "2001:db8::1", "::ffff:10.0.0.7", "?"]
)
async def test_calls_from_elsewhere_are_refused(app: FastAPI, peer: str) -> None:
    """Even if something forwards to us from outside."""
    async with browsing(app, peer) as client:
        told(await client.get("/api/documents"), 403, "local-only")


@pytest.mark.parametrize(
    "name",
    [
        "Forwarded",
        "Via",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Azure-ClientIP",
        "X-Envoy-External-Address",
        "X-Original-Host",
        "CF-Ray",
        "Tailscale-User-Login",
        "X-Forwarded",
        "X-Real-IP",
        "CF-Connecting-IP",
    ],
)
async def test_calls_through_a_proxy_are_refused(client: httpx.AsyncClient, fakes: Fakes, name: str) -> None:
    """It calls from this machine for the whole internet. With a key it may."""
    problem = told(await client.get("/api/documents", headers={name: "203.0.113.9"}), 403, "local-only")

    assert name.lower() in problem["detail"]
    assert "ibid keys create" in problem["detail"]
    fakes.keys.known = {"key": Caller("default", None)}
    keyed = {name: "203.0.113.9", "authorization": "Bearer key"}
    assert (await client.get("/api/documents", headers=keyed)).status_code == 200


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "ibid.localhost", "LOCALHOST"]
)
async def test_local_names_are_answered_to(client: httpx.AsyncClient, host: str) -> None:
    """With or without a port."""
    assert (await client.get("/api/documents", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1/evil.example",
        "127.0.0.1?evil.example",
        "127.0.0.1\\evil.example",
        "local\thost",
        "0.0.0.0:8000",
        "10.0.0.7",
        "[::1",
        "",
    ],
)
async def test_a_rebound_name_is_refused(client: httpx.AsyncClient, host: str) -> None:
    """DNS rebinding makes a foreign name point here; the browser still sends that name."""
    told(await client.get("/api/documents", headers={"host": host}), 421, "misdirected")


@pytest.mark.parametrize("second", ["evil.example", "127.0.0.1"])
async def test_two_hosts_are_refused(client: httpx.AsyncClient, second: str) -> None:
    """RFC 9112 §3.2: which one was meant is anybody's guess."""
    headers = [("host", "127.0.0.1"), ("host", second)]

    told(await client.get("/api/documents", headers=headers), 421, "misdirected")


async def test_of_two_origins_each_must_be_ours(client: httpx.AsyncClient) -> None:
    """A foreign one does not hide behind the first."""
    headers = [("origin", "http://127.0.0.1"), ("origin", "https://evil.example")]

    told(await client.get("/api/documents", headers=headers), 403, "local-only")


async def test_our_own_page_may_call(client: httpx.AsyncClient) -> None:
    """Its origin is the very host it calls."""
    headers = {"host": "localhost:8000", "origin": "http://localhost:8000", "sec-fetch-site": "same-origin"}

    assert (await client.get("/api/documents", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://127.0.0.1:3000",
        "http://localhost:8000",
        "",
        "file://",
        "http://[bad",
        "http://evil@127.0.0.1:8000",
    ],
)
async def test_a_page_of_another_origin_is_refused(client: httpx.AsyncClient, origin: str) -> None:
    """Another port of this machine is another program, and another name another page."""
    headers = {"host": "127.0.0.1:8000", "origin": origin}

    told(await client.get("/api/documents", headers=headers), 403, "local-only")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_an_image_or_form_of_another_site_is_refused(client: httpx.AsyncClient, site: str) -> None:
    """Such calls carry no Origin, but the browser marks them (Fetch Metadata)."""
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}

    told(await client.get("/api/documents", headers=headers), 403, "local-only")


async def test_following_a_link_is_allowed(client: httpx.AsyncClient) -> None:
    """Somebody's mail may link to a passage; the page that links cannot read what comes."""
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}

    assert (await client.get("/api/documents", headers=headers)).status_code == 200


async def test_a_form_that_navigates_is_no_link(client: httpx.AsyncClient) -> None:
    """A foreign form posted as a navigation would upload documents."""
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    sent = {"data": {"session_id": "s"}, "files": {"file": ("a.pdf", b"%PDF-")}}

    told(await client.post("/api/documents", headers=headers, **sent), 403, "local-only")  # type: ignore[arg-type]


async def test_with_a_key_none_of_this_is_asked(app: FastAPI, fakes: Fakes) -> None:
    """A server has a name of its own and serves other machines; pages elsewhere do not have the key."""
    fakes.keys.known = {"good": Caller("acme", None)}
    headers = {"authorization": "Bearer good", "host": "ibid.example", "origin": "https://app.example"}

    async with browsing(app, "10.0.0.7") as client:
        assert (await client.get("/api/documents", headers=headers)).status_code == 200


async def test_pages_and_health_need_no_guard(app: FastAPI) -> None:
    """They hold no data, and a load balancer asks for them from elsewhere."""
    async with browsing(app, "10.0.0.7") as client:
        for path in ("/", "/docs", "/healthz", "/readyz", "/openapi.json"):
            assert (await client.get(path, headers={"host": "ibid.example"})).status_code == 200


@given(st.text())
def test_any_text_is_judged_without_an_error(text: str) -> None:
    """Headers are the caller's to write."""
    assert is_loopback(text) in (True, False)
    assert is_local_name(text) in (True, False)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_local_exactly_in_its_first_byte(address: object) -> None:
    assert is_loopback(str(address)) == str(address).startswith("127.")
