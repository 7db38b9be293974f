"""The HTTP client of model servers and its probes; what chat makes of it is in `test_chat.py` and
`test_stream.py`."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr

from app.errors import IbidError, ModelBusy, ModelError, ModelRefused, ModelTimeout, StartError
from app.models.chat import PATH
from app.models.client import (
    FAULTS,
    NO_KEY,
    VENDOR,
    Refused,
    Server,
    model_error,
    open_client,
    proxy,
    server,
)
from app.models.probes import open_probes
from app.models.spaces import open_embedder
from app.settings import Chat, Embed, OpenAI, Settings
from app.types import Probe, Space
from tests.fakes.model import Fault, ModelServer, model_server
from tests.models.talk import CHUNKED, WHOLE, event, framed, said, scripted

NOBODY = Server("http://127.0.0.1:1/v1", "k")
ASKED = b'{"stream": true, "model": "m", "messages": []}'
KEY = SecretStr("shared-key")
OWN = SecretStr("own-key")


@pytest.mark.parametrize(
    ("own", "shared", "expected"),
    [
        (Chat(), OpenAI(), None),
        (Chat(), OpenAI(api_key=KEY), Server(VENDOR, "shared-key")),
        (Chat(base_url="http://own/v1"), OpenAI(), Server("http://own/v1", NO_KEY)),
        (Embed(), OpenAI(base_url="http://shared/v1"), Server("http://shared/v1", NO_KEY)),
        (
            Embed(base_url="http://own/v1", api_key=OWN),
            OpenAI(base_url="http://shared/v1", api_key=KEY),
            Server("http://own/v1", "own-key"),
        ),
        (Chat(base_url="http://own/v1"), OpenAI(api_key=KEY), Server("http://own/v1", "shared-key")),
    ],
    ids=["none", "a key", "a URL without a key", "the shared URL", "its own both", "its URL, the shared key"],
)
def test_each_part_falls_back_to_openais(own: Chat | Embed, shared: OpenAI, expected: Server | None) -> None:
    """CHAT_* and EMBED_* are taken first, OPENAI_* where they are unset; neither URL nor key: no server."""
    assert server(own, shared) == expected


def test_the_key_is_not_shown() -> None:
    """A server in a log or a traceback does not tell its key."""
    assert "secret" not in repr(Server("http://own/v1", "secret"))


@pytest.mark.parametrize(
    ("status", "kind", "served_as"),
    [
        (400, ModelError, 502),
        (401, ModelRefused, 502),
        (403, ModelRefused, 502),
        (404, ModelRefused, 502),
        (408, ModelTimeout, 504),
        (422, ModelError, 502),
        (429, ModelBusy, 503),
        (500, ModelError, 502),
        (503, ModelError, 502),
    ],
)
def test_a_status_has_its_problem(status: int, kind: type[ModelError], served_as: int) -> None:
    """What the model's server answers decides what ours does."""
    problem = model_error(Refused(status, {}, b""))
    assert (type(problem), problem.status) == (kind, served_as)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"code": "context_length_exceeded", "message": "key sk-123"}, " (context_length_exceeded)."),
        ({"code": "the secret plan, key sk-123"}, "."),
        ({"code": 7}, "."),
        ("no", "."),
    ],
    ids=["a code", "a sentence", "a number", "text"],
)
def test_the_servers_own_words_stay_inside(body: object, told: str) -> None:
    """A detail holds the status and a plain code, never a message that may repeat a prompt or a key."""
    said = json.dumps({"error": body}).encode()
    assert model_error(Refused(400, {}, said)).detail == f"The model's server answered 400{told}"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7), ("0.2", 1), ("-5", 1), ("99999999", 3600), ("nan", 1), ("inf", 1), ("soon", 1), ("", 1)],
)
def test_retry_after_is_read_and_bounded(value: str, seconds: int) -> None:
    """Whatever a server says, the reader is told between a second and an hour."""
    headers = {"retry-after": value} if value else {}
    assert model_error(Refused(429, headers, b"")).retry_after == seconds


async def test_a_field_refused_by_name_is_learnt_once() -> None:
    """A 400 that names an optional field says to leave it out; the same again says nothing new."""
    said = b"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    async with open_client(NOBODY, "/x") as client:
        refusal = Refused(400, {}, said)
        assert client.learn(refusal, ["max_tokens", "stream_options"])
        assert not client.learn(refusal, ["max_tokens", "stream_options"])
        assert not client.learn(Refused(500, {}, b"stream_options"), ["stream_options"])
        assert client.unknown == {"max_tokens"}


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        ({"https_proxy": "http://proxy:3128"}, "http://proxy:3128"),
        ({"all_proxy": "http://proxy:3128"}, "http://proxy:3128"),
        ({"http_proxy": "http://proxy:3128"}, None),
        ({"https_proxy": "http://proxy:3128", "no_proxy": "models.example"}, None),
        ({"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        ({"https_proxy": "socks5://proxy:1080", "no_proxy": "models.example"}, None),
    ],
    ids=["none", "its scheme", "all", "another scheme", "left out", "no scheme", "left out of socks"],
)
def test_the_proxy_is_the_environments(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], found: str | None
) -> None:
    """As other clients find it."""
    set_proxies(monkeypatch, environment)
    assert proxy("https://models.example/v1") == found


@pytest.mark.parametrize("name", ["https_proxy", "all_proxy"])
async def test_a_proxy_of_another_kind_is_no_start(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It is not passed by in silence; the message names the variable and does not tell its password."""
    set_proxies(monkeypatch, {name: "socks5://me:secret@proxy:1080"})
    with pytest.raises(StartError, match=f"^{name.upper()}: ") as told:
        async with open_client(Server("https://models.example/v1", "k"), "/x"):
            pass
    assert "secret" not in told.value.detail


def set_proxies(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


async def test_a_server_of_https_has_its_certificate_checked() -> None:
    """One that speaks plainly on that port is refused, not believed."""
    async with (
        model_server() as fake,
        open_client(Server(fake.url.replace("http:", "https:"), "k"), "/models") as client,
    ):
        with pytest.raises(FAULTS):
            await client.get(1)


async def test_a_reader_in_no_hurry_is_not_cut_off() -> None:
    """The limit is on the server's silence, not on what its reader does between two pieces."""
    async with (
        model_server("one two three", fault=Fault(pace=0.01)) as fake,
        open_client(Server(fake.url, "k"), PATH) as client,
        client.post(ASKED, 60) as body,
    ):
        body.reset(0.1)
        got = await body.next()
        await asyncio.sleep(0.3)
        while piece := await body.next():
            got += piece
    assert got.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("pause", [0.0, 0.2], ids=["waiting", "busy"])
async def test_a_broken_chunk_ends_the_answer(pause: float) -> None:
    """aiohttp hangs up and says nothing to its reader, who still hears of it long before the timeout."""

    async def broken(writer: asyncio.StreamWriter, _n: int) -> None:
        writer.write(CHUNKED + framed(event("a ")))
        await asyncio.sleep(0.05)
        writer.write(b"ZZZ\r\n")
        await asyncio.sleep(60)

    async with scripted(broken, timeout_seconds=50) as (model, _), asyncio.timeout(10):
        with pytest.raises(ModelError, match="closed early"):
            await said(model, pause=pause)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    """The prompt goes to the host that was set and to no other; the problem says what to set."""

    async def elsewhere(writer: asyncio.StreamWriter, _n: int) -> None:
        to = f"http://localhost:{writer.get_extra_info('sockname')[1]}/other"
        writer.write(f"HTTP/1.1 {status} x\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode())

    async with scripted(elsewhere) as (model, fake):
        with pytest.raises(ModelError, match=f"{status}.*base URL") as told:
            await said(model)
        assert (len(fake.requests), told.value.down) == (1, False)


@pytest.mark.parametrize(
    ("rest", "held"),
    [(b"Content-Length: 99\r\n\r\n", 30), (b"Content-Length: 99\r\n\r\n{", 0)],
    ids=["never comes", "is cut"],
)
async def test_a_refusal_counts_without_its_body(rest: bytes, held: float) -> None:
    """What the status and the headers say is not lost with the words."""

    async def refuse(writer: asyncio.StreamWriter, _n: int) -> None:
        writer.write(b"HTTP/1.1 429 x\r\nRetry-After: 7\r\n" + rest)
        await asyncio.sleep(held)

    async with scripted(refuse, timeout_seconds=0.5) as (model, _), asyncio.timeout(10):
        with pytest.raises(ModelBusy) as told:
            await said(model)
    assert told.value.retry_after == 7


async def test_a_connection_closed_as_it_is_used_again_is_no_failure() -> None:
    """A request that met the end of a kept connection is asked once more, on a new one."""

    async def leave(writer: asyncio.StreamWriter, n: int) -> None:
        writer.write(b"" if n == 2 else WHOLE)

    async with scripted(leave, kept=1) as (model, fake):
        for _ in range(2):
            assert (await said(model))[0].text == "ok"
    assert len(fake.requests) == 3


async def test_a_new_connection_that_is_closed_is_not_tried_again() -> None:
    """A server that dies of a prompt is not sent it twice."""

    async def leave(_writer: asyncio.StreamWriter, _n: int) -> None:
        return

    async with scripted(leave) as (model, fake):
        with pytest.raises(ModelError, match="cannot be reached"):
            await said(model)
    assert len(fake.requests) == 1


SPACE = Space("fake-embedder@64", "fake-embedder", 64, 0.0)


@asynccontextmanager
async def probing(server: ModelServer) -> AsyncIterator[tuple[Probe, Probe]]:
    """Probes of a server that has both models."""
    settings = Settings(
        _env_file=None,
        chat=Chat(base_url=server.url, api_key="a-secret-of-ours", model="fake-model"),
        embed=Embed(base_url=server.url, model="fake-embedder"),
    )
    async with (
        open_embedder(settings, SPACE) as (embedder, space),
        open_probes(settings, embedder, space) as probes,
    ):
        yield probes


async def test_servers_are_asked_for_their_lists_alone() -> None:
    """Which costs nothing; once for however many ask within some seconds; the key goes to nobody else."""
    async with model_server() as server, probing(server) as (chat, embedding):
        found = await asyncio.gather(*(probe.check() for _ in range(5) for probe in (chat, embedding)))

        assert {request.path for request in server.requests} == {"/v1/models"}
        assert len(server.requests) == 2
        assert {fact["model"] for fact in found} == {"fake-model", "fake-embedder"}
        assert {fact["kind"] for fact in found} == {"server"}
        assert "secret" not in str(found)
        assert server.url not in str(found)


@pytest.mark.parametrize(
    ("fault", "slug"),
    [
        (Fault(status=500), "model-failed"),
        (Fault(status=401), "model-refused"),
        (Fault(status=302), "model-failed"),
        (Fault(head_delay=60), "model-timeout"),
        (Fault(status=403), ""),
        (Fault(status=404), ""),
        (Fault(status=429), ""),
        (Fault(garbage=True), ""),
    ],
    ids=lambda value: "" if isinstance(value, str) else f"{value.status} {value.head_delay} {value.garbage}",
)
async def test_what_a_server_says_to_it(fault: Fault, slug: str) -> None:
    """One that lists no models, or not for this key, answers; one that fails or refuses the key does not."""
    async with model_server() as server, probing(server) as (chat, _):
        server.fault = fault
        try:
            await chat.check()
            told = ""
        except IbidError as error:
            told = error.slug

        assert told == slug


async def test_bundled_models_are_told_as_such() -> None:
    """They are asked, too: the embedder for a word."""
    settings = Settings(_env_file=None)
    async with (
        open_embedder(settings, None) as (embedder, space),
        open_probes(settings, embedder, space) as probes,
    ):
        chat, embedding = [await probe.check() for probe in probes]

    assert (chat["kind"], embedding["kind"]) == ("bundled", "bundled")
    assert embedding["model"] == space.model
