"""Child processes, as all their users have them: a real child of this program, in every way in which it may
begin, answer and end."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.child import FrameKind, frame, receive
from app.process import (
    ENVIRONMENT,
    Child,
    ChildProcess,
    Died,
    Fault,
    Full,
    NotStarted,
    Program,
    started,
)
from tests.fakes.logged import captured
from tests.fakes.process import children, is_alive, wait_for

SERVES = """
import os, subprocess, sys, threading, time
from app.child import connected

def answer(call):
    if call.name == "echo":
        call.reply(call.payload, bytes(call.data))
    elif call.name == "sleep":
        begun.append(call.payload.get("name"))
        call.on_cancel = lambda: told.append(call.payload["name"])
        time.sleep(call.payload["seconds"])
        call.reply()
    elif call.name == "seen":
        call.reply({"begun": begun, "told": told})
    elif call.name == "count":
        for n in range(call.payload["to"]):
            call.item({"n": n}, bytes(n))
        call.reply({"end": True})
    elif call.name == "fail":
        call.fail({"why": "not today"})
    elif call.name == "raise":
        raise KeyError(call.payload["text"])
    elif call.name == "exit":
        os._exit(call.payload["code"])
    elif call.name == "have a child":
        subprocess.Popen(["sleep", "5"], start_new_session=True)
        call.reply()
    elif call.name == "freeze":
        os.kill(os.getpid(), 19)

begun, told = [], []
parent, arguments = connected()
print("served", flush=True)
parent.ready({"arguments": arguments})
parent.serve(answer, threads=3, beat=0.05)
"""


def program(code: str) -> tuple[str, ...]:
    """The command of a child."""
    return (sys.executable, "-c", code)


CALLED = """
import socket, sys
from app.child import *
parent, _ = connected()
wire = socket.socket(fileno=int(sys.argv[2]))
parent.ready()
receive(wire)
"""
"""A child that was called once; its socket is `wire`."""
PROGRAM = Program("test", program(SERVES), check_seconds=0.05, close_seconds=2.0)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture
async def child() -> AsyncIterator[Child]:
    async with started(PROGRAM) as made:
        yield made


# --- Calls -----------------------------------------------------------------------------------------------


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=6), st.binary())
def test_law_what_is_sent_is_received(payload: dict[str, object], data: bytes) -> None:
    """Any JSON object, lone surrogates too, and the bytes; frames keep their order and bounds."""
    one, other = socket.socketpair()
    with one, other:
        one.sendall(frame(FrameKind.ITEM, 7, payload, data) + frame(FrameKind.BEAT, 0))
        kind, number, told, found = receive(other)
        assert (kind, number, told, bytes(found)) == (FrameKind.ITEM, 7, payload, data)
        assert receive(other)[:3] == (FrameKind.BEAT, 0, {})


@pytest.mark.parametrize("size", [0, 9], ids=["between frames", "within one"])
def test_the_end_of_the_parent_is_told(size: int) -> None:
    """A frame that broke off is none."""
    one, other = socket.socketpair()
    with other:
        with one:
            one.sendall(frame(FrameKind.CALL, 1)[:size])
        with pytest.raises(EOFError):
            receive(other)


async def test_a_call_is_answered(child: Child) -> None:
    """Payload and bytes come back, however large, and as they were."""
    assert child.hello == {"arguments": []}
    data = os.urandom(20_000_000)
    reply = await child.call("echo", {"a": "ключ \ud800", "b": [1, None]}, data)
    assert (reply.payload, reply.data == data) == ({"a": "ключ \ud800", "b": [1, None]}, True)
    reply = await child.call("echo")
    assert (reply.payload, reply.data) == ({}, b"")


async def test_what_the_child_cannot_do_is_told(child: Child) -> None:
    """In its own words; it lives on."""
    with pytest.raises(Fault) as failed:
        await child.call("fail")
    assert failed.value.payload == {"why": "not today"}
    assert await child.call("echo")


async def test_who_leaves_is_told_to_the_child(child: Child) -> None:
    """It may stop what runs; what waits for a thread is not begun. All of it is answered, and forgotten."""
    calls = [
        asyncio.create_task(child.call("sleep", {"seconds": 0.3, "name": f"{n}"}, hangs_after=30))
        for n in range(5)
    ]
    await asyncio.sleep(0.15)
    for call in calls[1:]:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await asyncio.to_thread(wait_for, lambda: not child.under_way)
    seen = (await child.call("seen")).payload
    assert (sorted(seen["begun"]), sorted(seen["told"])) == (["0", "1", "2"], ["1", "2"])


async def test_no_more_than_so_many_are_under_way() -> None:
    """While it is stopped nothing is heaped up for it."""
    async with started(replace(PROGRAM, calls=3)) as child:
        os.kill(child.pid, signal.SIGSTOP)
        calls = [asyncio.create_task(child.call("echo")) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Full):
            await child.call("echo")
        os.kill(child.pid, signal.SIGCONT)
        assert len(await asyncio.gather(*calls)) == 3


# --- Its end ---------------------------------------------------------------------------------------------


async def test_its_death_ends_the_calls_under_way(child: Child) -> None:
    """With its exit code; who calls then is told at once; it is no zombie, and its death is logged."""
    with captured() as logs:
        calls = [asyncio.create_task(child.call("sleep", {"seconds": 9, "name": f"{n}"})) for n in range(2)]
        await asyncio.sleep(0.1)
        os.kill(child.pid, signal.SIGKILL)
        for call in calls:
            with pytest.raises(Died) as died:
                await call
            assert (died.value.code, died.value.hung) == (-signal.SIGKILL, False)
        with pytest.raises(Died):
            await child.call("echo")
    assert child.ended
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    assert [line["waiting"] for line in logs.of("child_ended")] == [2]


async def test_one_that_is_silent_is_killed() -> None:
    """Once it has not said a word for long, while somebody waits."""
    async with started(replace(PROGRAM, silence_seconds=0.4)) as child:
        await asyncio.sleep(0.6)
        assert await child.call("echo")
        with pytest.raises(Died) as died:
            await child.call("freeze")
        assert (died.value.hung, died.value.code) == (True, None)
        assert not is_alive(child.pid) or await child.exited() is not None


async def test_one_that_takes_too_long_for_a_call_is_killed_whoever_still_waits(child: Child) -> None:
    """Callers leave before: each has a deadline of its own."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await child.call("sleep", {"seconds": 30, "name": ""}, hangs_after=0.3)
    with pytest.raises(Died) as died:
        await child.call("sleep", {"seconds": 30, "name": ""})
    assert died.value.hung


@pytest.mark.parametrize(
    "said",
    [
        "wire.sendall(b'x' * 99)",
        "wire.sendall(HEAD.pack(4, 1, 4, 0) + b'nope')",
        "wire.sendall(HEAD.pack(4, 1, 9_999, 0) + b'[' * 9_999)",
        "wire.sendall(HEAD.pack(4, 1, 2, 0) + b'[]')",
        "parent.send(FrameKind.RESULT, 2)",
        "parent.send(FrameKind.ITEM, 1)",
        "parent.send(FrameKind.READY, 0)",
        "parent.send(FrameKind.CALL, 1)",
    ],
    ids=["noise", "no JSON", "deep JSON", "a list", "unknown", "an item", "ready again", "a call"],
)
async def test_one_that_says_what_is_out_of_order_is_killed(said: str) -> None:
    """Nobody reads from it any more, so nobody waits for it."""
    code = f"{CALLED}{said}"
    async with started(replace(PROGRAM, command=program(f"{code}\nreceive(wire)"))) as child:
        with pytest.raises(Died, match="cannot be read"):
            await child.call("echo")
        assert await child.exited() == -signal.SIGKILL


async def test_one_that_is_not_trusted_may_not_say_much() -> None:
    """In JSON, in bytes, and in frames without either."""
    for said in ("{'a': 'b' * 70_000}", "None, b'x' * 2_000_000", "None"):
        code = f"{CALLED}while True: parent.send(FrameKind.BEAT, 0, {said})"
        flood = replace(PROGRAM, command=program(code), output_bytes=1_000_000)
        async with started(flood) as child:
            with pytest.raises(Died, match="cannot be read"):
                await child.call("echo")


async def test_closing_waits_for_what_is_under_way() -> None:
    """And takes nothing new; the child ends by itself."""
    child = await Child.start(PROGRAM)
    call = asyncio.create_task(child.call("sleep", {"seconds": 0.3, "name": ""}))
    await asyncio.sleep(0.1)
    await child.close()
    assert (await call).payload == {}
    assert await child.exited() == 0


@LINUX
@pytest.mark.parametrize("session", [True, False])
async def test_signals_for_the_parent_do_not_end_it(*, session: bool) -> None:
    """Ctrl-C and a service manager's stop reach whole groups and sessions; it is in none of ours, and ignores
    them besides."""
    async with started(replace(PROGRAM, session=session)) as child:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(child.pid, number)
        assert await child.call("echo")
        assert os.getpgid(child.pid) == child.pid
        assert (os.getsid(child.pid) == child.pid) is session


@LINUX
async def test_it_is_given_no_setting_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this process was given."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    async with started(PROGRAM) as child:
        shown = await asyncio.to_thread(Path(f"/proc/{child.pid}/environ").read_bytes)
    assert {item.split(b"=")[0].decode() for item in shown.split(b"\0") if item} == set(ENVIRONMENT)


async def test_what_it_prints_is_logged() -> None:
    """An error by its kind and place alone: its words may be a text."""
    with captured() as logs:
        async with started(PROGRAM) as child:
            with pytest.raises(Died) as died:
                await child.call("raise", {"text": "my secret"})
            assert died.value.code == 5
    first, error = [line["text"] for line in logs.of("child_output")]
    assert first == "served"
    assert error.startswith("KeyError at ")
    assert "secret" not in logs.getvalue()


# --- Its start -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "detail", "status"),
    [
        ("raise SystemExit(9)", "ended with 9", 9),
        ("import os; os.abort()", "ended with -6", -6),
        ("import time; time.sleep(60)", "not ready after 1 s", None),
        ("from app.child import *; connected()[0].refuse('no model is there')", "no model is there", 3),
    ],
    ids=["ends", "crashes", "is silent", "refuses"],
)
async def test_a_start_that_fails_is_told(code: str, detail: str, status: int | None) -> None:
    """With the reason, if the child has one; no process is left."""
    before = children()
    with pytest.raises(NotStarted, match=detail) as failed:
        await Child.start(replace(PROGRAM, command=program(code), start_seconds=1.0))
    assert (failed.value.code, bool(failed.value.reason)) == (status, status == 3)
    assert children() <= before


async def test_a_start_that_is_cancelled_leaves_no_process() -> None:
    """Whoever waits for it has gone."""
    before = children()
    starting = asyncio.create_task(
        Child.start(replace(PROGRAM, command=program("import time; time.sleep(9)")))
    )
    await asyncio.to_thread(wait_for, lambda: children() - before)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert children() <= before


async def test_it_does_not_begin_when_its_parent_has_gone() -> None:
    """Between fork and the first line."""
    done = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from app.child import connected; connected(); print('begun')", "1", "0"),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
    )
    said, _ = await done.communicate()
    assert (said, done.returncode) == (b"", 1)


@LINUX
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_it_ends_with_its_parent(end: signal.Signals) -> None:
    """Even with one that is killed, and while it is at work."""
    code = (
        "import asyncio, sys\nfrom app.process import *\nasync def main():\n"
        f"    child = await Child.start(Program('test', (sys.executable, '-c', {SERVES!r})))\n"
        "    print(child.pid, file=sys.stderr, flush=True)\n"
        "    await child.call('sleep', {'seconds': 60, 'name': ''})\n"
        "asyncio.run(main())"
    )
    parent = await asyncio.create_subprocess_exec(
        *program(code), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=Path(__file__).parents[1]
    )
    assert parent.stderr
    pid = int(await parent.stderr.readline())
    assert is_alive(pid)
    parent.send_signal(end)
    await parent.wait()
    await asyncio.to_thread(wait_for, lambda: not is_alive(pid))


CONFINED = """
import json, os, resource, signal
from app.child import confine
confine(os.getppid(), 300, 7.0)
names = ("AS", "CPU", "FSIZE", "CORE", "NOFILE")
limits = [resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1] for name in names]
print(json.dumps([limits, signal.getitimer(signal.ITIMER_REAL)[0], os.nice(0)]))
"""


def test_a_confined_one_gives_up_what_it_does_not_need() -> None:
    """Memory, processor time, files, core dumps, a day without end, and precedence. Of its user:
    tests/ingest/test_pdf.py."""
    done = subprocess.run(program(CONFINED), env=ENVIRONMENT, capture_output=True, check=True, timeout=30)
    limits, timer, nice = json.loads(done.stdout)
    assert limits == [300 << 20, 8, 0, 0, 64]
    assert 7 < timer <= 12
    assert nice >= 10


# --- One after the other ---------------------------------------------------------------------------------


class Starter:
    """Starts children, and counts them."""

    def __init__(self) -> None:
        self.program = PROGRAM
        self.started: list[Child] = []

    async def __call__(self) -> Child:
        child = await Child.start(self.program)
        self.started.append(child)
        return child


@asynccontextmanager
async def kept(*, rest: float = 5.0, within: float = 10.0) -> AsyncIterator[tuple[ChildProcess, Starter]]:
    """A child that is replaced when it dies; none is left."""
    before, starter = children(), Starter()
    process = ChildProcess(starter, rest=rest, within=within)
    try:
        yield process, starter
    finally:
        await process.close()
    assert children() <= before


async def test_callers_at_once_start_one_child() -> None:
    """The first of them; none who leaves takes it from the others."""
    async with kept() as (process, starter):
        first = asyncio.create_task(process.call("echo"))
        others = [asyncio.create_task(process.call("echo")) for _ in range(4)]
        await asyncio.sleep(0.02)
        first.cancel()
        assert len(await asyncio.gather(*others)) == 4
        assert len(starter.started) == 1


@pytest.mark.parametrize("again", [True, False])
async def test_one_that_dies_is_followed_by_another(*, again: bool) -> None:
    """What was under way is lost, or asked once more, as the caller says."""
    async with kept() as (process, starter):
        call = asyncio.create_task(process.call("sleep", {"seconds": 0.5, "name": ""}, again=again))
        await asyncio.sleep(0.4)
        os.kill((await process.child()).pid, signal.SIGKILL)
        if again:
            assert await call
        else:
            with pytest.raises(Died):
                await call
        assert await process.call("echo")
        assert len(starter.started) == 2


async def test_calls_that_kill_do_not_keep_the_machine_busy() -> None:
    """Each costs two children; after five within a while there is none, and who asks is told at once."""
    async with kept(within=60) as (process, starter):
        for _ in range(6):
            with pytest.raises(Died):
                await process.call("exit", {"code": 1}, again=True)
        with pytest.raises(NotStarted, match="5 times within 60 s"):
            await process.call("echo")
        assert len(starter.started) == 5


async def test_a_start_that_failed_is_told_for_a_while_and_then_tried_again() -> None:
    """Meanwhile no process is started."""
    async with kept(rest=0.5) as (process, starter):
        starter.program = replace(PROGRAM, command=program("raise SystemExit(1)"))
        for _ in range(3):
            with pytest.raises(NotStarted, match="ended with 1"):
                await process.call("echo")
            starter.program = PROGRAM
        await asyncio.sleep(0.6)
        assert await process.call("echo")


async def test_a_restart_has_all_callers_wait() -> None:
    """What is done between happens while there is no child."""
    async with kept() as (process, starter):
        await process.call("echo")
        alive: list[bool] = []

        async def between() -> None:
            alive.append(is_alive(starter.started[0].pid))
            await asyncio.sleep(0.1)

        restarting = asyncio.create_task(process.restart(between))
        await asyncio.sleep(0.02)
        await process.call("echo")
        await restarting
        assert (alive, len(starter.started)) == ([False], 2)
