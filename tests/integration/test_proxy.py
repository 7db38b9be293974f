"""Behind a real nginx that buffers what a service sends, tokens arrive one by one.

With buffering on, its default, nginx passes on each chunk that it can, and holds small ones back where it
compresses: a client that accepts gzip sees whether `X-Accel-Buffering: no` reached it.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.model import Fault
from tests.fakes.process import wait_for
from tests.fakes.server import Event, event
from tests.integration.conftest import Talk
from tests.integration.test_resume import blocks

PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
MISSING = "install nginx (Debian) to run these"
SETTINGS = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off; gzip on; gzip_types text/event-stream;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen unix:{folder}/socket; location / {{ proxy_pass {url}; }} }}
}}
"""
WORDS = ["One", " two", " three", " four", " five."]
MESSAGE = "Count to five, please."

if PROGRAM is None and "CI" not in os.environ:
    pytest.skip(MISSING, allow_module_level=True)


@pytest.fixture(scope="module")
def proxied(talk: Talk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of the service behind nginx."""
    if PROGRAM is None:
        pytest.fail(MISSING)
    folder = tmp_path_factory.mktemp("nginx")
    settings = folder / "nginx.conf"
    settings.write_text(SETTINGS.format(folder=folder, url=talk.service.lock.url.rstrip("/")))
    process = subprocess.Popen([PROGRAM, "-e", str(folder / "error.log"), "-c", str(settings)], cwd=folder)
    try:
        way = httpx.HTTPTransport(uds=str(folder / "socket"))
        with httpx.Client(base_url="http://proxy", transport=way, timeout=20) as client:
            wait_for(lambda: process.poll() is not None or answers(client))
            yield client
    finally:
        process.terminate()
        process.wait(10)


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").is_success
    except httpx.TransportError:
        return False


def heard(response: httpx.Response, words: int) -> list[Event]:
    """Events up to this number of words, after which the model is silent. No ping has pushed them on."""
    text, found = "", list[Event]()
    for piece in response.iter_text():
        text += piece
        found = [event(block) for block in text.split("\n\n")[:-1]]
        if len(said(found).split()) >= words:
            break
    return found


def said(events: list[Event]) -> str:
    return "".join(one.data["text"] for one in events if one.name == "token")


@pytest.mark.parametrize(("sent", "coding"), [(2, "gzip"), (4, "identity")])
def test_each_token_arrives_before_the_next_is_made(
    talk: Talk, proxied: httpx.Client, sent: int, coding: str
) -> None:
    """And a client that leaves is seen through the proxy."""
    talk.model.reply, talk.model.fault = "".join(WORDS), Fault(pace=0.2, stall_after=sent)
    body = {"message": MESSAGE, "session_id": "proxy"}
    with proxied.stream("POST", "/api/chat", json=body, headers={"Accept-Encoding": coding}) as response:
        assert response.headers.get("content-encoding", "identity") == coding
        assert said(heard(response, sent)) == "".join(WORDS[:sent])
    wait_for(lambda: talk.model.asked("/chat/completions")[-1].closed_at is not None)
    talk.model.fault = Fault()


def test_a_follower_gets_each_token_too(talk: Talk, proxied: httpx.Client) -> None:
    talk.model.reply, talk.model.fault = "".join(WORDS), Fault(pace=0.2, stall_after=3)
    body = {"message": MESSAGE, "session_id": "proxy", "on_disconnect": "continue"}
    with talk.service.client.stream("POST", "/api/chat", json=body) as response:
        answer_id = next(blocks(response)).data["answer_id"]
        with proxied.stream("GET", f"/answers/{answer_id}/events") as following:
            assert said(heard(following, 3)) == "".join(WORDS[:3])
        stopped = proxied.post(f"/answers/{answer_id}/stop").json()
    assert (stopped["answer"], stopped["finish_reason"]) == ("".join(WORDS[:3]), "cancelled")
    talk.model.fault = Fault()
