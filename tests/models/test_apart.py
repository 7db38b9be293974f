"""The bundled model in a process of its own: the same vectors, whatever becomes of the process."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator

import pytest

from app.domain.errors import RetrievalError, StartError
from app.models import apart as room
from app.models import process
from app.models.apart import Apart, open_apart
from app.models.embedder import Bundled, open_bundled
from app.models.lanes import Kind
from app.models.wire import HEAD, Word
from tests.fakes.processes import children, is_alive, wait_for

TEXTS = ["Which road is shut?", "", "\0", "ключ \ud800", "日本語のテキスト", "x" * 1_000_000, "a b " * 1_000]


@pytest.fixture
async def apart() -> AsyncIterator[Apart]:
    """A child of the test's own."""
    async with open_apart() as opened:
        yield opened


def pid(apart: Apart) -> int:
    """The child's."""
    assert apart._child
    return apart._child._process.pid


async def query(apart: Apart, text: str = "Which road is shut?") -> bytes:
    """One vector."""
    [vector] = await apart.run(Kind.QUERY, [text])
    return vector


async def test_vectors_are_those_of_the_model_in_this_process(apart: Apart) -> None:
    """To the last bit, in every lane; in their texts' order."""
    async with open_bundled() as here:
        expected = await here.passages(TEXTS)
    for kind in Kind:
        assert await apart.run(kind, TEXTS) == expected
    assert await apart.run(Kind.QUERY, []) == []


async def test_callers_have_their_own_answers(apart: Apart) -> None:
    """Fifty at once, whichever is done first."""
    embedder = Bundled(apart)
    texts = [f"road {number}" for number in range(50)]
    found = await asyncio.gather(*map(embedder.query, texts))
    assert found == await apart.run(Kind.PASSAGE, texts)


async def test_a_lane_refuses_as_ever(apart: Apart) -> None:
    """By its own word."""
    asked = [asyncio.create_task(apart.run(Kind.SENTENCE, ["word " * 50] * 3)) for _ in range(40)]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert {error.reason for error in found if isinstance(error, RetrievalError)} == {"overloaded"}
    assert any(isinstance(vectors, list) for vectors in found)


async def test_a_child_that_dies_is_followed_by_another(apart: Apart) -> None:
    """What was under way is asked once more: nobody but the log knows."""
    expected = await query(apart)
    under_way = asyncio.create_task(apart.run(Kind.PASSAGE, ["word " * 500] * 10))
    await asyncio.sleep(0.1)
    first = pid(apart)
    os.kill(first, signal.SIGKILL)
    assert len(await under_way) == 10
    assert (await query(apart), pid(apart) != first) == (expected, True)


async def test_a_text_that_kills_twice_fails_and_the_next_is_embedded(
    apart: Apart, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs its caller the vector, not the service."""
    ask = process.Child.ask

    async def deadly(child: process.Child, kind: Kind, texts: list[str]) -> list[bytes]:
        if texts == ["poison"]:
            child._process.kill()
        return await ask(child, kind, texts)

    monkeypatch.setattr(process.Child, "ask", deadly)
    with pytest.raises(RetrievalError, match="embedding"):
        await query(apart, "poison")
    assert await query(apart)


async def test_texts_that_kill_do_not_keep_the_machine_busy(
    apart: Apart, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some children in ten seconds there is none for a while, and who asks is told at once."""
    begun: list[process.Child] = []
    ask = process.Child.ask

    async def deadly(child: process.Child, kind: Kind, texts: list[str]) -> list[bytes]:
        begun.append(child)
        child._process.kill()
        return await ask(child, kind, texts)

    monkeypatch.setattr(process.Child, "ask", deadly)
    monkeypatch.setattr(room, "BEGINS_SECONDS", 60.0)
    found = [(await asyncio.gather(query(apart, "poison"), return_exceptions=True))[0] for _ in range(6)]
    told = {error.reason for error in found if isinstance(error, RetrievalError)}
    assert told == {"embedding", "unavailable"}
    assert len({id(child) for child in begun}) == room.BEGINS
    monkeypatch.undo()
    monkeypatch.setattr(room, "BEGINS_SECONDS", 0.0)
    assert await query(apart)


async def test_a_child_that_hangs_is_ended(apart: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it has not said a word for long; one that works for long says that it lives."""
    monkeypatch.setattr(process, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(process, "HUNG_SECONDS", 0.3)
    first = pid(apart)
    os.kill(first, signal.SIGSTOP)
    async with asyncio.timeout(20):
        assert await query(apart)
    assert pid(apart) != first


async def test_whoever_leaves_takes_nothing_with_him(apart: Apart) -> None:
    """Neither another's answer, nor the start of a child that others wait for."""
    left = asyncio.create_task(apart.run(Kind.PASSAGE, ["word " * 500] * 200))
    await asyncio.sleep(0.05)
    left.cancel()
    async with asyncio.timeout(10):
        assert await apart.run(Kind.PASSAGE, ["short"])
    assert apart._child
    assert apart._child._waiting == {}
    os.kill(pid(apart), signal.SIGKILL)
    wait_for(lambda: not is_alive(pid(apart)))
    await asyncio.sleep(0.05)
    first, second = asyncio.create_task(query(apart)), asyncio.create_task(query(apart))
    await asyncio.sleep(0.05)
    first.cancel()
    assert await second


async def test_a_start_that_fails_is_told_and_tried_again_after_a_rest(
    apart: Apart, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile whoever asks is told at once, without another process."""
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", "raise SystemExit(1)"))
    monkeypatch.setattr(room, "REST_SECONDS", 1.0)
    os.kill(pid(apart), signal.SIGKILL)
    with pytest.raises(RetrievalError, match="unavailable"):
        await query(apart)
    monkeypatch.undo()
    monkeypatch.setattr(room, "REST_SECONDS", 1.0)
    before = children()
    with pytest.raises(RetrievalError, match="unavailable"):
        await query(apart)
    assert children() <= before
    await asyncio.sleep(1.1)
    assert await query(apart)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("raise SystemExit(1)", "does not start"),
        ("import time; time.sleep(60)", "does not start"),
        (
            "import socket, sys; socket.socket(fileno=int(sys.argv[2])).sendall(bytes.fromhex(sys.argv[0]))",
            "model.onnx is not",
        ),
    ],
    ids=["ends", "is silent", "refuses"],
)
async def test_without_a_child_there_is_no_start(
    monkeypatch: pytest.MonkeyPatch, program: str, says: str
) -> None:
    """And the reason is told; no process is left."""
    why = b"model.onnx is not the file"
    refusal = (HEAD.pack(0, Word.FAULT, len(why)) + why).hex()
    program = program.replace("sys.argv[0]", repr(refusal))
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", program))
    monkeypatch.setattr(process, "START_SECONDS", 1.0)
    before = children()
    with pytest.raises(StartError, match=says):
        async with open_apart():
            pass
    assert children() <= before


async def test_a_program_that_is_not_there_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """As any other fault of the machine's."""
    monkeypatch.setattr(process, "COMMAND", ("/nowhere/python",))
    with pytest.raises(StartError, match="does not start"):
        async with open_apart():
            pass


async def test_closing_refuses_who_waits_and_leaves_no_process() -> None:
    """In order: nothing is killed in the middle of a word."""
    async with open_apart() as apart:
        child = pid(apart)
        waiting = asyncio.create_task(apart.run(Kind.PASSAGE, ["word " * 500] * 500))
        await asyncio.sleep(0.1)
    assert not is_alive(child)
    with pytest.raises(RetrievalError):
        await waiting
    with pytest.raises(RetrievalError, match="unavailable"):
        await query(apart)
