"""The stream of a chat model, whole and broken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.answer import Finish, Usage
from app.domain.errors import ModelError, ModelTimeout
from app.domain.ports import Delta
from app.models.stream import first, read, usage
from tests.fakes.model import Fault, model_server
from tests.models.talk import REPLY, chat_with, said


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
