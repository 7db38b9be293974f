"""One process with the bundled model: how it begins, is asked, and ends."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.errors import RetrievalError
from app.models import process as room
from app.models.lanes import Kind
from app.models.process import Child, Ended
from tests.fakes.logged import captured
from tests.fakes.processes import is_alive, wait_for

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
async def child() -> AsyncIterator[Child]:
    """One that is ready."""
    made = Child()
    await made.ready()
    yield made
    await made.close()


async def test_it_is_asked_by_many(child: Child) -> None:
    """Each has its own answer; none is kept waiting for."""
    asked = [child.ask(kind, [f"road {number}"]) for number in range(10) for kind in Kind]
    found = await asyncio.gather(*asked)
    assert len({vector for [vector] in found}) == 10
    assert child._waiting == {}


async def test_who_waits_is_told_that_it_ended(child: Child) -> None:
    """And whoever asks then; it is no more, and no zombie."""
    under_way = asyncio.create_task(child.ask(Kind.PASSAGE, ["word " * 500] * 50))
    await asyncio.sleep(0.1)
    child.kill()
    with pytest.raises(Ended):
        await under_way
    with pytest.raises(Ended):
        await child.ask(Kind.QUERY, ["a"])
    with pytest.raises(Ended):
        await child.ready()
    await asyncio.to_thread(wait_for, lambda: not Path(f"/proc/{child._process.pid}").exists())


async def test_one_that_works_for_long_is_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it lives, by its own loop, however long its threads take."""
    monkeypatch.setattr(room, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(room, "HUNG_SECONDS", 0.8)
    program = "import sys; import app.models.child as child; child.BEAT_SECONDS = 0.05; child.main()"
    monkeypatch.setattr(room, "COMMAND", (sys.executable, "-c", program))
    made = Child()
    await made.ready()
    began = time.monotonic()
    texts = ["word " * 500] * 20
    while time.monotonic() - began < 2 * room.HUNG_SECONDS:
        texts += texts
        began = time.monotonic()
        assert len(await made.ask(Kind.PASSAGE, texts)) == len(texts)
    assert not made.ended
    await made.close()


async def test_what_it_says_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A native crash is talkative; a text is never told."""
    monkeypatch.setattr(room, "COMMAND", (sys.executable, "-c", "print('terminate called')"))
    with captured() as logs:
        made = Child()
        with pytest.raises(Ended):
            await made.ready()
        await made.close()
        await asyncio.to_thread(wait_for, lambda: logs.of("embedder_says"))
    assert [line["text"] for line in logs.of("embedder_says")] == ["terminate called"]


async def test_one_that_does_not_die_keeps_nobody_waiting(
    child: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel may take its time with a process that hangs in it."""
    monkeypatch.setattr(room, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(room, "HUNG_SECONDS", 0.2)
    child._process.send_signal(signal.SIGSTOP)
    with monkeypatch.context() as undying:
        undying.setattr(child._process, "kill", lambda: None)
        async with asyncio.timeout(5):
            with pytest.raises(Ended):
                await child.ask(Kind.QUERY, ["a"])


async def test_a_loop_that_stood_still_blames_no_child(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said meanwhile has only not been read."""
    monkeypatch.setattr(room, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(room, "HUNG_SECONDS", 2.0)
    asked = asyncio.create_task(child.ask(Kind.PASSAGE, ["word"] * 3))
    await asyncio.sleep(0)
    time.sleep(2.5)  # noqa: ASYNC251 - the stand-still
    assert len(await asked) == 3
    assert not child.ended


async def test_no_more_than_so_many_are_under_way(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is stopped nothing is heaped up for it."""
    monkeypatch.setattr(room, "WAITING", 3)
    child._process.send_signal(signal.SIGSTOP)
    asked = [asyncio.create_task(child.ask(Kind.QUERY, [str(number)])) for number in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(RetrievalError, match="overloaded"):
        await child.ask(Kind.QUERY, ["one more"])
    child._process.send_signal(signal.SIGCONT)
    assert len(await asyncio.gather(*asked)) == 3


async def test_without_a_thread_there_is_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """And none is left behind."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    made = Child()
    with pytest.raises(Ended):
        await made.ready()
    monkeypatch.undo()
    await made.close()
    assert made._process.returncode is not None
    assert made._process.stdout
    made._process.stdout.close()


async def test_what_nobody_foresaw_ends_it_and_tells_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error's words may be the text that it is about."""
    program = (
        "import app.models.child as child\n"
        "def encode(text): raise KeyError(text)\n"
        "child.serve.__defaults__ = (lambda: (encode, ()),)\nchild.main()"
    )
    monkeypatch.setattr(room, "COMMAND", (sys.executable, "-c", program))
    with captured() as logs:
        made = Child()
        await made.ready()
        with pytest.raises(Ended):
            await made.ask(Kind.QUERY, ["my secret"])
        await made.close()
        await asyncio.to_thread(wait_for, lambda: logs.of("embedder_says"))
    assert [line["text"] for line in logs.of("embedder_says")] == ["KeyError"]
    assert "secret" not in logs.getvalue()


@LINUX
async def test_it_has_no_setting_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this process was given."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    made = Child()
    await made.ready()
    told = await asyncio.to_thread(Path(f"/proc/{made._process.pid}/environ").read_text)
    await made.close()
    assert "PYTHONPATH" in told
    assert "secret" not in told


@LINUX
async def test_it_ends_with_a_parent_that_is_killed() -> None:
    """Nothing embeds for nobody."""
    program = (
        "import asyncio\nfrom app.models.apart import open_apart\n"
        "async def main():\n    async with open_apart() as apart:\n"
        "        print(apart._child._process.pid, flush=True)\n        await asyncio.sleep(60)\n"
        "asyncio.run(main())"
    )
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program), stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert parent.stdout
    child = int(await parent.stdout.readline())
    assert is_alive(child)
    parent.kill()
    await parent.wait()
    await asyncio.to_thread(wait_for, lambda: not is_alive(child))
