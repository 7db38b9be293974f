"""The bundled model: its vectors, its lanes, its process."""

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import RetrievalError, StartError
from app.models import encoder as module
from app.models.bundled import (
    LEAST_WEIGHT,
    PROGRAM,
    Apart,
    Bundled,
    grasp,
    grasping,
    open_apart,
    open_bundled,
    whole,
)
from app.models.encoder import (
    DIM,
    MODEL,
    PACES,
    SIZE,
    Encoder,
    Faults,
    Lane,
    Lanes,
    Pace,
    Purpose,
    join,
    load,
)
from app.process import Program
from app.types import Embedding
from tests.fakes.logged import captured
from tests.fakes.process import children, is_alive


@pytest.mark.parametrize(
    "text", ["bridge", "", "\ud800", "a b " * 5_000], ids=["word", "empty", "half", "long"]
)
def test_a_vector_has_unit_length(text: str) -> None:
    """Little-endian float32, as many as the space has dimensions."""
    encode, _ = load()
    vector = encode(text)
    assert len(vector) == SIZE == 4 * DIM
    assert np.linalg.norm(np.frombuffer(vector, "<f4")) == pytest.approx(1, abs=1e-6)


def test_what_is_behind_the_last_piece_read_is_not_read() -> None:
    """512 word pieces, and 16,000 characters."""
    encode, _ = load()
    assert encode("road " * 600) == encode("road " * 4_000)


def test_an_altered_model_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with another hash than the measured ones."""
    (tmp_path / "model.onnx").write_bytes(b"another model")
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    monkeypatch.setattr(module, "shipped", lambda _package, name: tmp_path / Path(name).name)
    with pytest.raises(StartError, match=r"model\.onnx"):
        load()


@given(st.floats(0, allow_nan=False))
def test_a_question_is_never_unread_altogether(letters: float) -> None:
    """Nor read more than whole: infinity is a question without words."""
    assert LEAST_WEIGHT <= grasp(letters) <= 1


@pytest.mark.parametrize("text", ["", "bridge", "мост"])
def test_where_nobody_sees_the_pieces_all_is_read(text: str) -> None:
    """No evidence is no evidence against it."""
    assert whole(text) == 1


Loaded: TypeAlias = tuple[Encoder, Faults]

PROSE = "The council voted on Tuesday to close the northern bridge for repairs until the end of March. "


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    """The real model, loaded once."""
    return load()


@pytest.fixture
async def embedder(loaded: Loaded) -> AsyncIterator[Bundled]:
    """The real model with threads of the test's own."""
    lanes = Lanes(*loaded)
    yield Bundled(lanes)
    await lanes.close()


async def test_opens_and_closes() -> None:
    """The context loads the model and leaves no thread behind."""
    async with open_bundled() as opened:
        assert isinstance(opened.model, Lanes)
        threads = [thread for lane in opened.model.lanes.values() for thread in lane.threads]
        assert await opened.query("bridge")
    assert not any(thread.is_alive() for thread in threads)


def cosine(one: Embedding, other: Embedding) -> float:
    return float(np.frombuffer(one, "<f4") @ np.frombuffer(other, "<f4"))


async def test_a_question_is_nearest_to_what_answers_it(embedder: Bundled) -> None:
    """Meaning is there: the passage that answers is nearer than one that does not."""
    asked = await embedder.query("Which road is shut?")
    near, far = await embedder.passages([PROSE, "Whisk the eggs with the sugar until they are pale."])
    assert cosine(asked, near) > cosine(asked, far) + 0.1


async def test_a_question_is_embedded_as_it_is(embedder: Bundled) -> None:
    """Without the model card's prefix, like a passage."""
    asked = await embedder.query("bridge")
    assert [asked] == await embedder.passages(["bridge"])


async def test_the_same_text_has_the_same_vector_in_any_company(embedder: Bundled) -> None:
    """Neither the other texts of a call nor other callers change a vector: replays are identical."""
    [alone] = await embedder.passages([PROSE])
    company = await asyncio.gather(*(embedder.passages([PROSE, "short", PROSE * n]) for n in (2, 5)))
    assert {vectors[0] for vectors in company} == {alone}


@pytest.mark.parametrize(
    "text",
    ["", " ", "\0", "\ud800", "日本語のテキスト", "x" * 1_000_000, "a " * 500_000, PROSE * 200],
    ids=["empty", "blank", "nul", "surrogate", "japanese", "a megabyte of x", "a megabyte of a", "long"],
)
async def test_any_text_has_a_vector_soon(embedder: Bundled, text: str) -> None:
    """Odd or endless text is cut to what the model reads, never refused."""
    vectors = await embedder.passages([text])
    assert {len(vector) for vector in vectors} == {4 * DIM}
    assert len(await embedder.scores(text, ["", text])) == 2


async def test_the_cross_encoder_reads_a_text_beside_the_question(embedder: Bundled) -> None:
    """A text that answers scores above 0, another far below, in the order of the texts."""
    texts = ["The road to the pass is shut until May.", "Knead the dough for ten minutes."]
    first, second = await embedder.scores("Which road is shut?", texts)
    assert first > 0 > second + 5
    assert await embedder.scores("Which road is shut?", texts[::-1]) == pytest.approx([second, first])


async def test_a_query_does_not_wait_for_an_ingest(embedder: Bundled) -> None:
    """While a document is embedded, a query takes its own lane."""
    ingest = asyncio.create_task(embedder.passages([PROSE * 4] * 60))
    await asyncio.sleep(0.05)
    await embedder.query("Which road is shut?")
    assert not ingest.done()
    ingest.cancel()


@pytest.mark.parametrize("long", ["which road? " * 60, "哪条路?" * 50], ids=["letters", "bytes"])
async def test_a_short_query_does_not_wait_for_long_ones(long: str) -> None:
    """They have threads of their own: nobody's page holds up everybody's sentence."""
    held = threading.Event()

    def encode(text: str) -> Embedding:
        if text.startswith(long):
            held.wait(10)
        return bytes(4)

    lanes = Lanes(encode)
    embedder = Bundled(lanes)
    pages = [asyncio.create_task(embedder.query(f"{long}{n}")) for n in range(8)]
    await asyncio.sleep(0.05)
    async with asyncio.timeout(5):
        assert await embedder.query("Which road is shut?") == bytes(4)
    assert not any(page.done() for page in pages)
    held.set()
    assert await asyncio.gather(*pages) == [bytes(4)] * 8
    await lanes.close()


def test_the_bundled_model_knows_what_it_can_read() -> None:
    """English words, and of other scripts hardly more than their letters."""
    grasp = grasping(f"{MODEL}@{DIM}")
    assert grasp("Which road is shut?") == 1
    assert grasp("Какая дорога закрыта?") < 0.2


class Gate:
    """An encoder that waits to be let through, and remembers what it was asked."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.entered = threading.Semaphore(0)
        self.open = threading.Semaphore(0)

    def __call__(self, text: str) -> Embedding:
        self.seen.append(text)
        self.entered.release()
        self.open.acquire()
        return text.encode()

    async def reached(self) -> None:
        """Until one more text is being embedded."""
        assert await asyncio.to_thread(self.entered.acquire, timeout=5)

    def let(self, count: int = 1_000) -> None:
        """Let so many texts through."""
        self.open.release(count)


@asynccontextmanager
async def lane_of(
    embed: Callable[[str], Embedding], *, threads: int = 1, waiting: int = 8
) -> AsyncIterator[Lane]:
    """A lane that is closed at the end."""
    lane = Lane(embed, Pace("test", threads, waiting), (ValueError,))
    try:
        yield lane
    finally:
        await closed(lane)


async def closed(lane: Lane, seconds: float = 5.0) -> None:
    """Its threads ended, unless they hang."""
    lane.close()
    await asyncio.to_thread(join, lane.threads, time.monotonic() + seconds)


async def run(lane: Lane, *texts: str) -> list[Embedding]:
    return await asyncio.wrap_future(lane.submit(texts))


def start(lane: Lane, *texts: str) -> asyncio.Task[list[Embedding]]:
    """A caller of its own."""
    return asyncio.create_task(run(lane, *texts))


async def test_a_long_list_does_not_hold_up_a_short_one() -> None:
    """Callers take turns text by text."""
    gate = Gate()
    async with lane_of(gate) as lane:
        long = start(lane, "a0", "a1", "a2", "a3")
        await gate.reached()
        short = start(lane, "b0")
        await asyncio.sleep(0)
        gate.let()
        await asyncio.gather(long, short)
    assert gate.seen.index("b0") <= 2


async def test_too_many_callers_are_refused_at_once() -> None:
    """One more than may wait is overloaded, without waiting."""
    gate = Gate()
    async with lane_of(gate, waiting=2) as lane:
        first = start(lane, "running")
        await gate.reached()
        others = [start(lane, "waiting"), start(lane, "waiting")]
        await asyncio.sleep(0)
        with pytest.raises(RetrievalError, match="overloaded"):
            await run(lane, "too many")
        gate.let()
        await asyncio.gather(first, *others)


async def test_what_a_cancelled_caller_waited_for_is_dropped() -> None:
    """Texts that nobody waits for any more are never embedded, and free their place in the queue."""
    gate = Gate()
    async with lane_of(gate, waiting=1) as lane:
        first = start(lane, "running")
        await gate.reached()
        gone = start(lane, "dropped", "dropped too")
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        kept = start(lane, "kept")
        await asyncio.sleep(0)
        gate.let()
        await asyncio.gather(first, kept)
    assert gate.seen == ["running", "kept"]


async def test_a_deadline_ends_the_wait() -> None:
    """A caller's timeout passes through."""
    gate = Gate()
    async with lane_of(gate) as lane:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await run(lane, "slow")
        gate.let()


async def test_a_fault_costs_its_caller_alone() -> None:
    """What the model cannot embed fails its caller; the thread goes on."""

    def picky(text: str) -> Embedding:
        if text == "bad":
            raise ValueError(text)
        return text.encode()

    async with lane_of(picky) as lane:
        with pytest.raises(RetrievalError, match="embedding"):
            await run(lane, "good", "bad")
        assert await run(lane, "good") == [b"good"]


async def test_closing_refuses_what_waits() -> None:
    """Callers still in the queue, and later ones, hear unavailable; the one running is finished."""
    gate = Gate()
    async with lane_of(gate) as lane:
        running = start(lane, "running")
        await gate.reached()
        waiting = start(lane, "waiting")
        await asyncio.sleep(0)
        closing = asyncio.create_task(closed(lane))
        await asyncio.sleep(0)
        gate.let()
        await closing
        assert await running == [b"running"]
        for refused in (waiting, start(lane, "late")):
            with pytest.raises(RetrievalError, match="unavailable"):
                await refused
        assert not any(thread.is_alive() for thread in lane.threads)


async def test_the_loop_stays_free() -> None:
    """While texts are embedded, other tasks run."""
    gate = Gate()
    async with lane_of(gate, threads=2) as lane:
        work = start(lane, *"abcd")
        await gate.reached()
        ticks = 0
        for _ in range(20):
            await asyncio.sleep(0)
            ticks += 1
        assert (ticks, work.done()) == (20, False)
        gate.let()
        await work


@pytest.mark.parametrize("full", Purpose)
async def test_a_lane_that_is_full_keeps_no_other_waiting(full: Purpose) -> None:
    """Each has threads of its own."""
    held = threading.Event()

    def encode(text: str) -> Embedding:
        if text == "held":
            held.wait(10)
        return text.encode()

    lanes = Lanes(encode, score=encode)
    blocked = [asyncio.create_task(lanes.run(full, ["held"])) for _ in range(PACES[full].threads)]
    await asyncio.sleep(0.05)
    async with asyncio.timeout(5):
        for kind in set(Purpose) - {full}:
            assert await lanes.run(kind, ["a", "b"]) == [b"a", b"b"]
    assert not any(task.done() for task in blocked)
    held.set()
    assert await asyncio.gather(*blocked) == [[b"held"]] * len(blocked)
    await lanes.close()


TEXTS = ["Which road is shut?", "", "\0", "ключ \ud800", "日本語のテキスト", "x" * 1_000_000, "a b " * 60]
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
    return replace(PROGRAM, command=command, start_seconds=5.0, silence_seconds=1.0, check_seconds=0.05)


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
    return (await apart.process.child()).pid


async def query(apart: Apart, text: str = "Which road is shut?") -> bytes:
    [vector] = await apart.run(Purpose.QUERY, [text])
    return vector.rstrip()


async def test_vectors_are_those_of_the_model_in_this_process(apart: Apart) -> None:
    """To the last bit, in every lane; in their texts' order."""
    async with open_bundled() as here:
        expected, scores = await here.passages(TEXTS), await here.scores("Which road?", TEXTS)
    for kind in set(Purpose) - {Purpose.PAIR}:
        assert await apart.run(kind, TEXTS) == expected
    assert await Bundled(apart).scores("Which road?", TEXTS) == scores
    assert await apart.run(Purpose.QUERY, []) == []


async def test_callers_have_their_own_answers(apart: Apart) -> None:
    """Fifty at once, whichever is done first."""
    embedder = Bundled(apart)
    texts = [f"road {number}" for number in range(50)]
    found = await asyncio.gather(*map(embedder.query, texts))
    assert found == await apart.run(Purpose.PASSAGE, texts)


async def test_what_the_model_fails_on_costs_its_caller_alone(faked: Apart) -> None:
    """The text is not logged."""
    with captured() as logs:
        with pytest.raises(RetrievalError, match="embedding"):
            await query(faked, "bad")
        assert await query(faked, "good") == b"good"
    assert [line["text"] for line in logs.of("child_output")] == ["embedding failed: ValueError, 3 letters"]


async def test_what_nobody_foresaw_ends_it_and_tells_no_text(faked: Apart) -> None:
    """An error's words may be the text that it is about."""
    first = await pid(faked)
    with captured() as logs, pytest.raises(RetrievalError, match="embedding"):
        await query(faked, "unforeseen")
    assert await query(faked, "good") == b"good"
    assert await pid(faked) != first
    assert {line["text"].split(" at ")[0] for line in logs.of("child_output")} == {"KeyError"}
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
    left = asyncio.create_task(apart.run(Purpose.PASSAGE, ["word " * 500] * 200))
    await asyncio.sleep(0.05)
    left.cancel()
    async with asyncio.timeout(10):
        assert await apart.run(Purpose.PASSAGE, ["short"])


async def test_a_text_that_kills_twice_fails_and_the_next_is_embedded(faked: Apart) -> None:
    """It costs its caller the vector, not the service."""
    with pytest.raises(RetrievalError, match="embedding"):
        await query(faked, "deadly")
    assert await query(faked, "good") == b"good"


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
        waiting = asyncio.create_task(apart.run(Purpose.PASSAGE, ["word " * 500] * 500))
        await asyncio.sleep(0.1)
    assert not is_alive(child)
    with pytest.raises(RetrievalError, match="unavailable"):
        await waiting
    with pytest.raises(RetrievalError, match="unavailable"):
        await query(apart)
