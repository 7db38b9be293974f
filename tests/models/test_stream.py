"""The stream of a chat model, whole and broken."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Finish, Usage
from app.errors import ModelError, ModelTimeout
from app.models.base import Delta
from app.models.chat import first, read, usage
from tests.fakes.model import Fault, model_server
from tests.models.talk import CHUNKED, DONE, REPLY, chat_with, event, framed, said, scripted


@pytest.mark.parametrize(
    ("fault", "problem", "detail"),
    [
        (Fault(stall_after=2), ModelTimeout, "silent"),
        (Fault(close_after=2), ModelError, "closed early"),
        (Fault(unfinished=True), ModelError, "closed early"),
        (Fault(error_after=2, message="your prompt was Hello?"), ModelError, "reported an error"),
    ],
    ids=["silence", "cut", "no finish", "error event"],
)
async def test_a_fault_in_the_middle(fault: Fault, problem: type[ModelError], detail: str) -> None:
    """What was said before the fault has been delivered; then it is told."""
    heard: list[Delta] = []
    async with model_server(REPLY, fault=fault) as fake, chat_with(fake, timeout_seconds=0.2) as model:
        with pytest.raises(problem, match=detail):
            await said(model, heard=heard)
    assert "".join(delta.text for delta in heard).startswith("The bridge")


async def test_slow_but_steady_is_no_timeout() -> None:
    """The limit is on silence, not on the whole answer."""
    async with (
        model_server("one two three four five six", fault=Fault(pace=0.1)) as fake,
        chat_with(fake, timeout_seconds=0.4) as model,
    ):
        assert (await said(model))[-1].finish is Finish.STOP


async def test_an_answer_without_usage_ends() -> None:
    """A server that never tells usage costs nothing but the figures."""
    async with model_server(fault=Fault(usage=False)) as fake, chat_with(fake) as model:
        assert (await said(model))[-1] == Delta(finish=Finish.STOP, usage=None)


@pytest.mark.parametrize("pause", [0.0, 0.02], ids=["waiting", "busy"])
async def test_what_was_said_before_a_cut_is_heard(pause: float) -> None:
    """However late its reader comes: every delta that arrived, then the fault."""
    heard: list[Delta] = []
    fault = Fault(close_after=8)
    async with model_server("a b c d e f g h i j", fault=fault) as fake, chat_with(fake) as model:
        with pytest.raises(ModelError, match="closed early"):
            await said(model, heard=heard, pause=pause)
    assert "".join(delta.text for delta in heard) == "a b c d e f g h "


async def test_a_whole_answer_without_its_last_chunk_is_whole() -> None:
    """A server that closes the connection where HTTP wants an empty chunk has said all the same."""

    async def close(writer: asyncio.StreamWriter, _n: int) -> None:
        writer.write(CHUNKED + framed(event("a "), event("b", "stop"), DONE))

    async with scripted(close) as (model, _):
        deltas = await said(model, pause=0.05)
    assert ("".join(delta.text for delta in deltas), deltas[-1].finish) == ("a b", Finish.STOP)


async def test_done_without_a_reason_is_no_silence() -> None:
    """[DONE] ends an answer, though the connection stays open; without a finish_reason it is not whole."""

    async def hold(writer: asyncio.StreamWriter, _n: int) -> None:
        writer.write(CHUNKED + framed(event("a "), DONE))
        await asyncio.sleep(60)

    async with scripted(hold) as (model, _):
        with pytest.raises(ModelError, match="closed early"):
            await said(model)


async def test_comments_are_silence() -> None:
    """A server whose model hangs may go on pinging; CHAT_TIMEOUT_SECONDS counts from the last event."""

    async def ping(writer: asyncio.StreamWriter, _n: int) -> None:
        writer.write(CHUNKED)
        while True:
            writer.write(framed(b": ping\n\n"))
            await asyncio.sleep(0.05)

    async with scripted(ping, timeout_seconds=0.3) as (model, _), asyncio.timeout(10):
        with pytest.raises(ModelTimeout):
            await said(model)


@pytest.mark.parametrize(
    "said_first",
    [
        b"\xef\xbb\xbf" + event("x"),
        b'data: {"choices": [{"delta":\ndata: {"content": "x"}}]}\n\n',
        event("x").replace(b"\n\n", b"\n"),
        b"event: message\r\n" + event("x").replace(b"\n", b"\r\n"),
    ],
    ids=["byte order mark", "two lines", "no empty line", "CRLF and a name"],
)
async def test_events_in_other_forms(said_first: bytes) -> None:
    """What the standard allows, and what some servers leave out."""

    async def answer(writer: asyncio.StreamWriter, _n: int) -> None:
        writer.write(CHUNKED + framed(said_first + event("y", "stop"), DONE, b""))

    async with scripted(answer) as (model, _):
        assert "".join(delta.text for delta in await said(model)) == "xy"


@pytest.mark.parametrize(
    ("broken", "detail"),
    [
        (b'event: error\ndata: {"message": "overloaded"}\n\n', "reported an error"),
        (b'data: {"choices": [\n\n', "not JSON"),
        (b'data: {"choices": [', "not JSON"),
        (b"data: " + b"{" * 20_000 + b"\n", "not JSON"),
    ],
    ids=["an error by name", "half an event", "half at the end", "too much"],
)
async def test_events_that_are_faults(broken: bytes, detail: str) -> None:
    """They are not passed over, even where a proper end follows."""

    async def answer(writer: asyncio.StreamWriter, _n: int) -> None:
        after = b"" if broken.endswith(b"[") else event("", "stop")
        writer.write(CHUNKED + framed(event("x") + broken, after) + framed(*[b""] * bool(after)))

    async with scripted(answer) as (model, _):
        with pytest.raises(ModelError, match=detail):
            await said(model)


@pytest.mark.parametrize(
    "data", [b"", b"nonsense", b"[1]", b'"text"', b"\xff", b"[" * 100_000, b'{"error": {}']
)
def test_events_that_are_none(data: bytes) -> None:
    """What is not a JSON object is the model's failure, whatever it is."""
    with pytest.raises(ModelError):
        read(data)


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(json_like)
def test_any_json_in_an_event_is_survived(value: object) -> None:
    """Fields of unexpected types count as missing."""
    assert isinstance(first(value), dict)
    assert usage(value) is None or isinstance(usage(value), Usage)
