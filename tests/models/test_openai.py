"""Servers of the OpenAI protocol: where they are, and what their failures mean."""

import email.utils
import time

import pytest
from pydantic import SecretStr

from app.errors import ModelBusy, ModelError, ModelRefused, ModelTimeout
from app.models.chat import NO_KEY, VENDOR, Server, open_peer, retry_after, server, told
from app.settings import Chat, Embed, OpenAI
from tests.fakes.model import Fault, model_server

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


class Status(Exception):
    """A fault as the client raises it for a status."""

    def __init__(self, status: int, said: str = "", code: str | None = None, **headers: str) -> None:
        super().__init__(said)
        self.status_code = status
        self.code = code
        self.response = type(
            "Response", (), {"headers": {k.replace("_", "-"): v for k, v in headers.items()}}
        )


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
async def test_a_status_has_its_problem(status: int, kind: type[ModelError], served_as: int) -> None:
    """What the model's server answers decides what ours does."""
    async with open_peer(Server("http://127.0.0.1:1/v1", "k"), timeout=1, retries=0) as peer:
        problem = told(Status(status), peer)
    assert (type(problem), problem.status) == (kind, served_as)


async def test_a_redirect_is_told_and_not_followed() -> None:
    """The texts to embed go to the host that was set and to no other."""
    async with (
        model_server(fault=Fault(status=307)) as fake,
        open_peer(Server(fake.url, "k"), timeout=5, retries=0) as peer,
    ):
        with pytest.raises(peer.faults) as error:
            await peer.client.models.list()
        assert "base URL" in told(error.value, peer).detail
        assert not peer.client._client.follow_redirects


async def test_no_answer_in_time_is_a_timeout() -> None:
    """Silence is 504, not 502."""
    async with open_peer(Server("http://127.0.0.1:1/v1", "k"), timeout=1, retries=0) as peer:
        assert told(TimeoutError(), peer).status == 504


async def test_the_servers_own_words_stay_inside() -> None:
    """A detail holds the status and a plain code, never a message that may repeat a prompt or a key."""
    said = Status(400, "prompt: the secret plan, key sk-123", code="context_length_exceeded")
    loud = Status(400, "x", code="the secret plan, key sk-123")
    async with open_peer(Server("http://127.0.0.1:1/v1", "k"), timeout=1, retries=0) as peer:
        details = [told(said, peer).detail, told(loud, peer).detail]
    assert details == [
        "The model's server answered 400 (context_length_exceeded).",
        "The model's server answered 400.",
    ]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7), ("0.2", 1), ("-5", 1), ("99999999", 3600), ("nan", 1), ("inf", 1), ("soon", 1), ("", 1)],
)
def test_retry_after_is_read_and_bounded(value: str, seconds: int) -> None:
    """Whatever a server says, the reader is told between a second and an hour."""
    headers = {"retry-after": value} if value else {}
    assert retry_after(type("Response", (), {"headers": headers})) == seconds


def test_retry_after_may_be_a_date() -> None:
    """The header's other form (RFC 9110 §10.2.3)."""
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert 28 <= retry_after(type("Response", (), {"headers": {"retry-after": date}})) <= 31


async def test_a_field_refused_by_name_is_learnt_once() -> None:
    """A 400 that names an optional field says to leave it out; the same again says nothing new."""
    async with open_peer(Server("http://127.0.0.1:1/v1", "k"), timeout=1, retries=0) as peer:
        refusal = Status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        assert peer.learn(refusal, ["max_tokens", "stream_options"])
        assert not peer.learn(refusal, ["max_tokens", "stream_options"])
        assert not peer.learn(Status(500, "stream_options"), ["stream_options"])
        assert peer.unknown == {"max_tokens"}


async def test_a_peer_is_asked_with_its_key() -> None:
    """Requests go to the server's URL with its key as bearer, and connections end with the context."""
    async with model_server() as fake:
        async with open_peer(Server(fake.url, "its-key"), timeout=5, retries=0) as peer:
            names = [model.id async for model in peer.client.models.list()]
        assert names == ["fake-model"]
        assert fake.requests[0].headers["authorization"] == "Bearer its-key"


async def test_faults_of_a_real_client_are_told() -> None:
    """What the client raises for a refused connection and a status is among the peer's faults."""
    async with (
        model_server(fault=Fault(status=429, retry_after="9")) as fake,
        open_peer(Server(fake.url, "k"), timeout=5, retries=0) as peer,
    ):
        with pytest.raises(peer.faults) as busy:
            await peer.client.models.list()
        problem = told(busy.value, peer)
    assert (type(problem), problem.retry_after) == (ModelBusy, 9)
