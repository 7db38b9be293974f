"""The bundled model in a process of its own: the same vectors, whatever becomes of the process. How processes
live and end in general: tests/test_process.py."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.errors import RetrievalError, StartError
from app.models.bundled import PROGRAM, Apart, Bundled, open_apart, open_bundled
from app.models.encoder import Kind
from app.process import Program
from tests.fakes.logged import captured
from tests.fakes.processes import children, is_alive

TEXTS = ["Which road is shut?", "", "\0", "ключ \ud800", "日本語のテキスト", "x" * 1_000_000, "a b " * 1_000]
FAKED = """
import os, sys, time
import app.models.bundled_child as child
def encode(text):
    if text == "bad":
        raise ValueError(text)
    if text == "unforeseen":
        raise KeyError(text)
    if text == "deadly":
        os._exit(9)
    if text == "slow":
        time.sleep(0.5)
    seen.append(text)
    return repr(seen).encode().ljust(1_536) if text == "seen" else text.encode().ljust(1_536)
seen = []
child.load = lambda: (encode, (ValueError,))
child.BEAT_SECONDS = 0.05
child.main()
"""


def program(code: str) -> Program:
    """A child of this code, soon given up."""
    command = (sys.executable, "-c", code)
    return replace(PROGRAM, command=command, start_seconds=5.0, silence_seconds=1.0, look_seconds=0.05)


@pytest.fixture
async def apart() -> AsyncIterator[Apart]:
    """A child of the test's own, with the model."""
    async with open_apart() as opened:
        yield opened


@pytest.fixture
async def faked() -> AsyncIterator[Apart]:
    """One with a model that a test can see through."""
    async with open_apart(program(FAKED)) as opened:
        yield opened


async def pid(apart: Apart) -> int:
    """The child's."""
    return (await apart.process.child()).pid


async def query(apart: Apart, text: str = "Which road is shut?") -> bytes:
    """One vector."""
    [vector] = await apart.run(Kind.QUERY, [text])
    return vector.rstrip()


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


async def test_no_more_than_so_many_are_under_way() -> None:
    """While it is stopped nothing is heaped up for it."""
    async with open_apart(replace(program(FAKED), calls=2, silence_seconds=None)) as apart:
        os.kill(await pid(apart), signal.SIGSTOP)
        asked = [asyncio.create_task(query(apart, str(number))) for number in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(RetrievalError, match="overloaded"):
            await query(apart, "one more")
        os.kill(await pid(apart), signal.SIGCONT)
        assert list(await asyncio.gather(*asked)) == [b"0", b"1"]


async def test_what_the_model_fails_on_costs_its_caller_alone(faked: Apart) -> None:
    """The text is not logged."""
    with captured() as logs:
        with pytest.raises(RetrievalError, match="embedding"):
            await query(faked, "bad")
        assert await query(faked, "good") == b"good"
    assert [line["text"] for line in logs.of("child_says")] == ["embedding failed: ValueError, 3 letters"]


async def test_what_nobody_foresaw_ends_it_and_tells_no_text(faked: Apart) -> None:
    """An error's words may be the text that it is about."""
    first = await pid(faked)
    with captured() as logs, pytest.raises(RetrievalError, match="embedding"):
        await query(faked, "unforeseen")
    assert await query(faked, "good") == b"good"
    assert await pid(faked) != first
    assert {line["text"].split(" at ")[0] for line in logs.of("child_says")} == {"KeyError"}
    assert "unforeseen" not in logs.getvalue()


async def test_what_nobody_waits_for_is_dropped(faked: Apart) -> None:
    """Texts of a caller that left are not embedded."""
    asked = [asyncio.create_task(query(faked, text)) for text in ("slow", "left", "third")]
    await asyncio.sleep(0.1)
    asked[1].cancel()
    assert list(await asyncio.gather(asked[0], asked[2])) == [b"slow", b"third"]
    assert await query(faked, "seen") == b"['slow', 'third', 'seen']"


async def test_whoever_leaves_takes_nothing_with_him(apart: Apart) -> None:
    """A document's texts that nobody waits for hold up no other's."""
    left = asyncio.create_task(apart.run(Kind.PASSAGE, ["word " * 500] * 200))
    await asyncio.sleep(0.05)
    left.cancel()
    async with asyncio.timeout(10):
        assert await apart.run(Kind.PASSAGE, ["short"])


async def test_a_child_that_dies_is_followed_by_another(apart: Apart) -> None:
    """What was under way is asked once more: nobody but the log knows."""
    expected = await query(apart)
    under_way = asyncio.create_task(apart.run(Kind.PASSAGE, ["word " * 500] * 10))
    await asyncio.sleep(0.1)
    first = await pid(apart)
    os.kill(first, signal.SIGKILL)
    assert len(await under_way) == 10
    assert (await query(apart), await pid(apart) != first) == (expected, True)


async def test_a_text_that_kills_twice_fails_and_the_next_is_embedded(faked: Apart) -> None:
    """It costs its caller the vector, not the service."""
    with pytest.raises(RetrievalError, match="embedding"):
        await query(faked, "deadly")
    assert await query(faked, "good") == b"good"


async def test_texts_that_kill_do_not_keep_the_machine_busy(faked: Apart) -> None:
    """After some children in ten seconds there is none for a while, and who asks is told at once."""
    for _ in range(2):
        with pytest.raises(RetrievalError, match="embedding"):
            await query(faked, "deadly")
    with pytest.raises(RetrievalError, match="unavailable"):
        await query(faked, "deadly")


async def test_a_child_that_hangs_is_ended() -> None:
    """Once it has not said a word for long; one that works for long says that it lives."""
    async with open_apart(program(FAKED)) as apart:
        assert len(await apart.run(Kind.QUERY, ["slow"] * 5)) == 5
        first = await pid(apart)
        os.kill(first, signal.SIGSTOP)
        assert await query(apart, "good") == b"good"
        assert await pid(apart) != first


@pytest.mark.parametrize(
    ("started", "says"),
    [
        (program("raise SystemExit(1)"), "does not start"),
        (replace(program("import time; time.sleep(60)"), start_seconds=1.0), "does not start"),
        (replace(PROGRAM, command=("/nowhere/python",)), "does not start"),
        (
            program(
                "import app.models.bundled_child as child\nfrom app.errors import StartError\n"
                "def load(): raise StartError('model.onnx is not the file Ibid was made for')\n"
                "child.load = load\nchild.main()"
            ),
            "model.onnx is not the file",
        ),
    ],
    ids=["ends", "is silent", "is not there", "refuses"],
)
async def test_without_a_child_there_is_no_start(started: Program, says: str) -> None:
    """And the reason is told; no process is left."""
    before = children()
    with pytest.raises(StartError, match=says):
        async with open_apart(started):
            pass
    assert children() <= before


async def test_closing_refuses_who_waits_and_leaves_no_process() -> None:
    """Whatever is under way."""
    async with open_apart() as apart:
        child = await pid(apart)
        waiting = asyncio.create_task(apart.run(Kind.PASSAGE, ["word " * 500] * 500))
        await asyncio.sleep(0.1)
    assert not is_alive(child)
    with pytest.raises(RetrievalError, match="unavailable"):
        await waiting
    with pytest.raises(RetrievalError, match="unavailable"):
        await query(apart)
