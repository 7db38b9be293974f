"""A model's reasoning is no part of its answer."""

from asyncio import StreamWriter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Finish
from app.errors import ModelError
from app.models.base import Delta, read_answer
from app.models.chat import OpenAIChat, Thoughts
from tests.fakes.model import Fault, ModelServer, chunk, model_server, serving
from tests.fakes.wire import Json, write_chunk, write_event, write_head
from tests.models.talk import PROMPT, chat_with, said

THOUGHT = [
    pytest.param("<think>Hm.</think>\n\nNine pounds.", "Nine pounds.", id="a block"),
    pytest.param("\n<think>\nHm < 3.\n</think>Nine.", "Nine.", id="behind a blank"),
    pytest.param("<think></think>\n<think>Hm.</think>\n\nNine.", "Nine.", id="two blocks"),
    pytest.param("The user asks.\n</think>\n\nNine.", "Nine.", id="begun in the prompt"),
    pytest.param("I write `</think>` later.</think>Nine.", "Nine.", id="begun in the prompt, and quoted"),
    pytest.param("<think>Hm.", "", id="only a thought"),
    pytest.param("<think>Hm.</think>\n ", "", id="a thought and nothing"),
    pytest.param("Hm.</think>", "", id="only a thought begun in the prompt"),
    pytest.param("<think>a</think>Write <think>b</think>.", "Write <think>b</think>.", id="block, then text"),
]
TEXT = [
    "Nine pounds.",
    " \n Nine.",
    "<thin ice>",
    "<",
    "Models write <think>so</think> before they answer.",
    "The mark `</think>` ends it.",
    "```\n<think>\na\n</think>\n```\nThat is the form.",
    'It is "</think>".',
]


def seen(deltas: Sequence[Delta]) -> str:
    """What is left of them."""
    text = ""
    for delta in deltas:
        text = ("" if delta.restart else text) + delta.text
    return text


def split(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def fed(pieces: Sequence[str], inside: bool | None = None, finish: Finish = Finish.STOP) -> Iterator[Delta]:
    thoughts = Thoughts(inside)
    for piece in pieces:
        yield from thoughts.feed(piece)
    yield from thoughts.end(finish)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
@pytest.mark.parametrize("inside", [None, True, False])
@pytest.mark.parametrize(("text", "answer"), THOUGHT)
def test_a_thought_is_removed_however_it_is_split(
    text: str, answer: str, inside: bool | None, size: int
) -> None:
    known_otherwise = inside is False and "<think>" not in text and "\n</think>" not in text
    assert seen(list(fed(split(text, size), inside))) == (text if known_otherwise else answer)


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("inside", [None, True, False])
@pytest.mark.parametrize("text", TEXT)
def test_a_text_that_mentions_the_marks_stays(text: str, inside: bool | None, size: int) -> None:
    deltas = list(fed(split(text, size), inside))
    assert seen(deltas) == text
    assert not any(delta.restart for delta in deltas)


@given(st.lists(st.text(st.sampled_from("ab `\n<>/think"))))
def test_law_a_known_answer_is_sent_as_it_comes(pieces: list[str]) -> None:
    """Nothing but the beginning of `<think>` waits."""
    text = "x" + "".join(pieces)
    if "</think>" not in text:
        assert [delta.text for delta in fed(["x", *pieces], False)] == ["x", *filter(None, pieces)]


def test_a_thought_cut_at_the_limit_is_no_answer() -> None:
    assert seen(list(fed(["The user asks", " for"], True, Finish.LENGTH))) == ""
    assert seen(list(fed(["The ferry takes", " nine"], None, Finish.LENGTH))) == "The ferry takes nine"


async def test_an_answer_comes_without_its_thought_and_with_its_usage() -> None:
    text = "Let me see: nine, or ten?\n</think>\n\nNine pounds."
    async with model_server(text) as fake, chat_with(fake) as model:
        first, second = await said(model), await said(model)
    for deltas in (first, second):
        assert seen(deltas) == "Nine pounds."
        assert deltas[-1].usage is not None
        assert deltas[-1].usage.completion_tokens == len(text.split())


async def test_a_model_once_seen_to_think_is_waited_for() -> None:
    """Its first answer is sent after a moment, and taken back; none of the next is sent too early."""
    text = "Let me see. Nine?\n</think>\n\nNine pounds."
    fault = Fault(pace=0.15)
    async with model_server(text, fault=fault) as fake, chat_with(fake) as model:
        first, second = await said(model), await said(model)
        short = await read_answer(model, PROMPT, most=9, seconds=20)
    assert any(delta.restart for delta in first)
    assert not any(delta.restart for delta in second)
    assert {seen(first), seen(second), short} == {"Nine pounds."}


async def test_text_is_not_held_back_for_long() -> None:
    """A model that falls silent in its first sentence is heard."""
    fault = Fault(stall_after=2)
    async with (
        model_server("Nine pounds it is.", fault=fault) as fake,
        chat_with(fake) as model,
        model.open(PROMPT) as stream,
    ):
        async for delta in stream:
            assert delta.text.startswith("Nine")
            break


async def test_what_came_before_a_fault_is_sent() -> None:
    heard: list[str] = []

    async def listen(model: OpenAIChat) -> None:
        async with model.open(PROMPT) as stream:
            async for delta in stream:
                heard.append(delta.text.strip())  # noqa: PERF401 - it fails midway

    async with model_server("Nine pounds.", fault=Fault(close_after=1)) as fake, chat_with(fake) as model:
        with pytest.raises(ModelError, match="closed early"):
            await listen(model)
    assert heard == ["Nine"]


class Separating(ModelServer):
    """Sends the reasoning in a field of its own."""

    async def stream(self, body: Json, fault: Fault, writer: StreamWriter) -> bool:
        write_head(writer, 200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for delta in ({"reasoning_content": "Hm, nine?"}, {"content": "Nine"}, {"content": " pounds."}):
            write_event(writer, chunk(body, delta))
        write_event(writer, chunk(body, {}, "stop"))
        write_chunk(writer, b"data: [DONE]\n\n")
        write_chunk(writer, b"")
        await writer.drain()
        return True


async def test_reasoning_in_a_field_of_its_own_is_no_answer() -> None:
    async with serving(Separating()) as fake, chat_with(fake) as model:
        assert seen(await said(model, model="deepseek-r1")) == "Nine pounds."
