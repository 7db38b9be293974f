"""`ibid serve` as a program: start, address, signals; and its web server."""

import asyncio
import os
import resource
import signal
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from app.api.middleware import Requests
from app.cli import serve
from app.cli.serve import bind, serving, url
from app.db.folder import NAME, read_lock
from app.logging import RequestLog
from tests.cli.conftest import PROGRAM, Ibid, Running
from tests.fakes.logged import captured
from tests.fakes.model import Fault, model_server
from tests.fakes.pdfs import bomb_pdf
from tests.fakes.server import told

NEVER = ("0.0.0.0", "serves this machine only")  # noqa: S104 - what must be refused


async def test_a_signal_ends_it_in_time_and_answers_whoever_waits(begun: Ibid) -> None:
    """SIGTERM: exit code 0 within 5 s, nothing left behind. Who reads a stream is told, and the model let go;
    an upload is kept, so 202, at once; a whole answer is not to be had, so 503 and when to come back."""
    async with model_server(reply="word " * 500) as model:
        model.fault = Fault(pace=0.2)
        running = await asyncio.to_thread(begun.start, CHAT_BASE_URL=model.url, DOCUMENT_MEMORY_MB="8192")
        question = {"message": "Tell me a long story, please.", "session_id": "s"}
        async with httpx.AsyncClient(base_url=running.url, trust_env=False, timeout=30) as client:
            file, where = {"file": ("a.pdf", bomb_pdf())}, {"session_id": "s", "wait": "30"}
            upload = asyncio.create_task(client.post("/api/documents", files=file, data=where))
            while not (await client.get("/api/documents")).json()["items"]:  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.05)
            chat = asyncio.create_task(client.post("/api/chat", json=question | {"stream": False}))
            async with client.stream("POST", "/api/chat", json=question) as response:
                lines = response.aiter_lines()
                while (await anext(lines)) != "event: token":
                    pass
                while len(model.asked("/chat/completions")) < 2:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.05)
                before = offspring(running.process.pid)

                await asyncio.to_thread(running.stop, signal.SIGTERM)
                rest = [line async for line in lines]
            kept, refused = await asyncio.gather(upload, chat)
        released = [request.closed.is_set() for request in model.asked("/chat/completions")]

    assert running.process.returncode == 0, "".join(running.errors)
    assert [line for line in rest if line.startswith("event: ")][-1] == "event: error"
    assert "urn:ibid:problem:unavailable" in rest[-2]
    assert (kept.status_code, kept.json()["state"]) == (202, "processing")
    told(refused, 503, "unavailable")
    assert refused.headers["retry-after"] == "2"
    assert "Exception" not in "".join(running.errors)
    assert released == [True, True]
    assert before
    assert not any(alive(pid) for pid in before)


def test_file_descriptors_that_run_out_are_told_and_it_goes_on(begun: Ibid) -> None:
    """Connections take them all; once these are closed it answers again. A signal ends it, although there
    is no memory any more, not even for a thread."""
    running = begun.start()
    pid = running.process.pid
    most = len(list(Path(f"/proc/{pid}/fd").iterdir())) + 20
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))

    taken = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(40)]
    patience = time.monotonic() + 30
    while not (told_so := any("no file descriptor is left" in line for line in running.errors)):
        if time.monotonic() > patience:
            break
        time.sleep(0.1)
    for each in taken:
        each.close()

    answer = httpx.Client(transport=httpx.HTTPTransport(retries=5), base_url=running.url, timeout=20)
    with answer:
        assert answer.get("/readyz").status_code == 200
    size = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (size, size))
    running.stop(signal.SIGTERM)
    assert told_so
    assert running.process.returncode in {0, 1}


def offspring(pid: int) -> list[int]:
    """The processes under one: its PostgreSQL (proc(5), task/TID/children)."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    """True if there still is such a process."""
    return Path(f"/proc/{pid}").exists()


class TestRunning:
    """What holds while a service runs."""

    def test_a_second_service_on_the_folder_is_refused(self, service: Running, held: Ibid) -> None:
        """With the process and the address that are in the way."""
        refused = held("serve", "--port", "0")

        assert refused.code == 1
        assert f"in use by process {service.process.pid} at {service.url}" in refused.err

    def test_reembedding_needs_the_folder_for_itself(self, service: Running, held: Ibid) -> None:
        """It would change what the service searches under its feet."""
        refused = held("reembed")

        assert refused.code == 1
        assert "in use by process" in refused.err


def test_a_taken_port_is_told_with_its_setting(ibid: Ibid) -> None:
    """At once, before anything is opened."""
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        refused = ibid("serve", "--port", str(other.getsockname()[1]))

    assert refused.code == 1
    assert "IBID_PORT" in refused.err
    assert not (ibid.data / "postgres").exists()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        pytest.param("RAG_TOPK_MAX", "9", "RAG_TOPK_MAX (did you mean RAG_TOP_K_MAX?)", id="misspelt"),
        pytest.param("RAG_TOP_K_MAX", "0", "RAG_TOP_K_MAX", id="out of range"),
        pytest.param("IBID_PORT", "http", "IBID_PORT", id="not a number"),
    ],
)
def test_a_wrong_setting_stops_the_start_with_its_name(
    ibid: Ibid, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    """One sentence, exit code 1."""
    monkeypatch.setenv(name, value)

    refused = ibid("serve")

    assert refused.code == 1
    assert said in refused.err
    assert refused.err.count("\n") == 1


def test_the_network_is_served_only_with_a_key(begun: Ibid) -> None:
    """Refused without one; with one it starts, and asks others for it."""
    refused = begun.process("serve", "--port", "0", IBID_HOST=NEVER[0])
    running = begun.start(IBID_HOST=NEVER[0], IBID_BOOTSTRAP_KEY="key-9f3c71e0b28d46a5-k2")
    try:
        status = httpx.get(f"{running.url}/api/documents", trust_env=False).status_code
    finally:
        running.stop()

    assert refused.code == 1
    assert NEVER[1] in refused.err
    assert status == 401


def test_an_interrupted_command_leaves_quietly(ibid: Ibid) -> None:
    """Ctrl-C while the stores are being opened: exit code 130, no traceback, the folder free."""
    process = subprocess.Popen(
        [PROGRAM, "ask", "Why?"], env=ibid.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    patience = time.monotonic() + 30
    while not (ibid.data / NAME).exists() and time.monotonic() < patience:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)

    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert read_lock(ibid.data) is None


def app() -> FastAPI:
    made = FastAPI()
    made.add_api_route("/", lambda: PlainTextResponse("here"))
    return made


async def test_a_request_cut_short_by_the_stop_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the app says it; the server neither answers itself nor logs a fault."""
    monkeypatch.setattr(serve, "GRACE_SECONDS", 0.1)
    made, bound = FastAPI(), bind("127.0.0.1", 0)
    made.add_middleware(Requests)
    made.add_middleware(RequestLog)
    begun = asyncio.Event()

    @made.get("/")
    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    with captured() as lines:
        async with httpx.AsyncClient() as client:
            async with serving(made, bound):
                asked = asyncio.create_task(client.get(url(bound, "127.0.0.1")))
                await begun.wait()
            answered = await asked

    assert told(answered, 503, "unavailable")
    assert answered.headers["retry-after"] == "2"
    assert "Traceback" not in lines.getvalue()
    assert "ASGI" not in lines.getvalue()


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        pytest.param("127.0.0.1", "http://127.0.0.1:", id="address"),
        pytest.param("localhost", "http://localhost:", id="name"),
        pytest.param("0.0.0.0", "http://127.0.0.1:", id="every address"),  # noqa: S104 - not bound
        pytest.param("::1", "http://[::1]:", id="IPv6"),
        pytest.param("::", "http://[::1]:", id="every address of IPv6"),
    ],
)
def test_the_address_shown_can_be_opened_on_this_machine(host: str, shown: str) -> None:
    """A wildcard is no address to call; IPv6 stands in brackets."""
    with closing(bind("127.0.0.1", 0)) as bound:
        assert url(bound, host) == f"{shown}{bound.getsockname()[1]}"
