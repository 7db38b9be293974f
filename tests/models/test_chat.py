"""Chat behind the OpenAI protocol, against a real socket."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Finish, Prompt, Usage
from app.breaker import Breaker
from app.errors import ModelBusy, ModelError, ModelRefused, ModelTimeout
from app.models.base import Delta
from app.models.chat import (
    LIMITS,
    MODELS,
    OpenAIChat,
    chat_name,
    chat_server,
    first,
    model_at,
    open_chat,
    open_judge,
    read,
    usage,
)
from app.models.client import Server
from app.settings import Chat, Feedback, OpenAI, Rag, Settings, Vantage, load
from tests.fakes.answering import passage
from tests.fakes.model import Fault, model_server
from tests.models.talk import CHUNKED, DONE, PROMPT, REPLY, WHOLE, chat_with, event, framed, said, scripted


async def test_an_answer_streams_whole() -> None:
    """The deltas joined are the reply to the letter; the last one tells how it ended and what it used."""
    async with model_server(REPLY) as fake, chat_with(fake) as model:
        *deltas, last = await said(model)
    assert "".join(delta.text for delta in deltas) == REPLY
    assert len(deltas) > 3
    assert last == Delta(finish=Finish.STOP, usage=Usage(5, 8))


async def test_the_prompt_travels_as_roles() -> None:
    """The server sees the prompt's messages in their order, the model's name and the limit of length."""
    async with model_server() as fake, chat_with(fake, answer_tokens=77) as model:
        await said(model, model="asked-for")
    body = fake.requests[0].body
    assert [(one["role"], one["content"]) for one in body["messages"]] == [
        ("system", "Be brief."),
        ("user", "Before"),
        ("assistant", "Yes"),
        ("user", "Hello?"),
    ]
    assert (body["model"], body["stream"], body["max_tokens"]) == ("asked-for", True, 77)


async def test_one_system_message_goes_to_all_but_the_vendor() -> None:
    """Templates refuse a second one or drop it: its text stands behind the first's, in the prompt's order."""
    prompt = Prompt("Be brief.", "Hello?", (passage("a"),), ("A note.",), turns=PROMPT.turns)
    async with model_server() as fake, chat_with(fake) as model:
        await said(model, prompt)
    [told, *rest] = fake.requests[0].body["messages"]
    assert told == {"role": "system", "content": "\n\n".join(prompt.blocks())}
    assert rest == [{"role": m["role"], "content": m["content"]} for m in prompt.messages()[3:]]
    settings = Settings(openai=OpenAI.model_validate({"api_key": "k"}))
    at = chat_server(settings)
    assert at
    async with open_chat(settings, at) as model:
        assert json.loads(model.body(prompt, "m"))["messages"] == prompt.messages()


async def test_a_refusal_that_names_the_field_to_use_is_understood() -> None:
    """As OpenAI's reasoning models refuse the older limit."""
    told = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    fault = Fault(status=400, message=told, text="max_tokens")
    async with model_server(fault=fault) as fake, chat_with(fake, answer_tokens=77) as model:
        await said(model)
    assert [sorted(LIMITS & sent.body.keys()) for sent in fake.requests] == [
        ["max_tokens"],
        ["max_completion_tokens"],
    ]


async def test_lone_surrogates_travel_as_question_marks() -> None:
    """Text that JSON cannot carry does not fail the request."""
    async with model_server() as fake, chat_with(fake) as model:
        await said(model, Prompt("s", "a\ud800b"))
    assert fake.requests[0].body["messages"][-1]["content"] == "a?b"


@pytest.mark.parametrize(
    ("refused", "sent"),
    [
        ({"max_tokens"}, {"max_completion_tokens": 4096, "stream_options": {"include_usage": True}}),
        ({"stream_options"}, {"max_tokens": 4096}),
        ({"max_tokens", "max_completion_tokens", "stream_options"}, {}),
    ],
    ids=["max_tokens", "stream_options", "all"],
)
async def test_a_field_the_server_refuses_is_left_out(refused: set[str], sent: dict[str, object]) -> None:
    """A server that refuses an optional field by name is asked without it, from then on at once."""
    async with model_server(fault=Fault(rejects=frozenset(refused))) as fake, chat_with(fake) as model:
        await said(model)
        before = len(fake.requests)
        assert (await said(model))[-1].finish is Finish.STOP
    optional = {"max_tokens", "max_completion_tokens", "stream_options"}
    last = fake.requests[-1].body
    assert {name: last[name] for name in optional & last.keys()} == sent
    assert len(fake.requests) == before + 1


async def test_a_refusal_in_pieces_is_read_whole() -> None:
    """The name of a field that is refused may come in the second packet."""
    body = b'{"error": {"message": "unknown field max_tokens"}}'

    async def refuse(writer: asyncio.StreamWriter, n: int) -> None:
        if n > 1:
            return writer.write(WHOLE)
        writer.write(b"HTTP/1.1 400 x\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:20])
        await asyncio.sleep(0.1)
        return writer.write(body[20:])

    async with scripted(refuse) as (model, fake):
        await said(model)
    assert "max_tokens" not in fake.requests[1].body


async def test_the_vendor_is_sent_the_newer_limit() -> None:
    """OpenAI's reasoning models refuse `max_tokens`."""
    settings = Settings(openai=OpenAI.model_validate({"api_key": "k"}))
    at = chat_server(settings)
    assert at
    async with open_chat(settings, at) as model:
        assert model.options()["max_completion_tokens"] == 4096
        assert "max_tokens" not in model.options()


@pytest.mark.parametrize(
    ("status", "problem"),
    [(400, ModelError), (401, ModelRefused), (404, ModelRefused), (429, ModelBusy), (500, ModelError)],
)
async def test_a_status_is_told_before_the_stream(status: int, problem: type[ModelError]) -> None:
    """A fault at the head is raised on entering, so that it can still be a status; it is not retried."""
    fault = Fault(status=status, retry_after="7", message="your prompt was Hello?")
    async with model_server(fault=fault) as fake, chat_with(fake) as model:
        with pytest.raises(problem) as told:
            await said(model)
    assert (type(told.value), "Hello" in told.value.detail) == (problem, False)
    assert told.value.retry_after == (7 if status == 429 else None)
    assert len(fake.requests) == 1


async def test_nobody_there_is_an_error() -> None:
    """A refused connection is the model's failure, told without waiting."""
    settings = Settings()
    async with open_chat(settings, Server("http://127.0.0.1:1/v1", "k")) as model:
        with pytest.raises(ModelError, match="cannot be reached"):
            await said(model)


async def test_garbage_is_an_error_at_the_head() -> None:
    """A 200 that is a web page is not taken for an answer."""
    async with model_server(fault=Fault(garbage=True)) as fake, chat_with(fake) as model:
        with pytest.raises(ModelError, match="stream of events"):
            await said(model)


async def test_a_slow_head_is_a_timeout() -> None:
    """No response head within CHAT_TIMEOUT_SECONDS is 504."""
    fault = Fault(head_delay=30)
    async with model_server(fault=fault) as fake, chat_with(fake, timeout_seconds=0.1) as model:
        with pytest.raises(ModelTimeout):
            await said(model)


@pytest.mark.parametrize("cancelled", [False, True], ids=["left", "cancelled"])
async def test_leaving_closes_the_connection_at_once(cancelled: bool) -> None:
    """The server sees its client gone within 500 ms, whether the reader left or was cancelled."""
    loop = asyncio.get_running_loop()
    async with model_server(REPLY, fault=Fault(pace=0.05)) as fake, chat_with(fake) as model:
        heard = asyncio.Event()

        async def read_some() -> None:
            async with model.open(PROMPT) as stream:
                async for _ in stream:
                    heard.set()
                    if not cancelled:
                        return

        reader = asyncio.create_task(read_some())
        await heard.wait()
        left = loop.time()
        if cancelled:
            reader.cancel()
        await asyncio.wait([reader])
        async with asyncio.timeout(5):
            await fake.requests[0].closed.wait()
        closed = fake.requests[0].closed_at
        assert closed is not None
        assert closed - left < 0.5


async def test_leaving_before_the_head_closes_too() -> None:
    """A caller cancelled while the head is awaited leaves no request behind."""
    async with model_server(fault=Fault(head_delay=30)) as fake, chat_with(fake) as model:
        asking = asyncio.create_task(said(model))
        await fake.arrived.wait()
        asking.cancel()
        async with asyncio.timeout(0.5):
            await fake.requests[0].closed.wait()


async def test_many_answers_at_once_do_not_mix() -> None:
    """Concurrent streams each get their own words."""

    def echo(body: dict[str, Any]) -> str:
        return f"echo {body['messages'][-1]['content']}"

    async with model_server(echo) as fake, chat_with(fake) as model:
        answers = await asyncio.gather(*(said(model, Prompt("s", f"m{n}")) for n in range(20)))
    assert ["".join(delta.text for delta in deltas) for deltas in answers] == [
        f"echo m{n}" for n in range(20)
    ]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (Settings(), "gpt-5.2"),
        (Settings(rag=Rag(model="rag")), "rag"),
        (Settings(chat=Chat(base_url="http://own/v1")), "Jinx-gpt-oss-20b"),
        (Settings(chat=Chat(base_url="http://own/v1", model="mine")), "mine"),
    ],
    ids=["default", "RAG_MODEL", "CHAT_BASE_URL", "CHAT_MODEL"],
)
def test_the_models_name(settings: Settings, name: str) -> None:
    """CHAT_MODEL; else Jinx-gpt-oss-20b where CHAT_BASE_URL is set; else RAG_MODEL."""
    assert chat_name(settings) == name


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (Settings(), ("gpt-5.2", "gpt-4o-mini", "gpt-5.2")),
        (Settings(chat=Chat(model="mine")), ("gpt-5.2", "gpt-4o-mini", "gpt-5.2")),
        (Settings(chat=Chat(base_url="http://own/v1", model="mine")), ("mine", "mine", "mine")),
        (
            Settings(chat=Chat(base_url="http://own/v1"), rag=Rag(model="r")),
            ("r", "Jinx-gpt-oss-20b", "Jinx-gpt-oss-20b"),
        ),
        (Settings(vantage=Vantage(model="v")), ("gpt-5.2", "gpt-4o-mini", "v")),
    ],
    ids=["default", "the vendor's", "a server of its own", "set there", "VANTAGE_MODEL"],
)
def test_what_is_not_set_gives_way_on_a_server_of_its_own(
    settings: Settings, names: tuple[str, str, str]
) -> None:
    """It would hardly have the vendor's models: RAG_, FEEDBACK_ and VANTAGE_MODEL are then CHAT_MODEL."""
    groups = (settings.rag, settings.feedback, settings.vantage)
    assert tuple(model_at(settings, group) for group in groups) == names


@pytest.mark.parametrize("base_url", ["", "http://own/v1"], ids=["the vendor's", "a server of its own"])
def test_a_copy_of_the_example_names_the_same_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base_url: str
) -> None:
    """As `.env`, changed for a server of its own only."""
    example = (Path(__file__).parents[2] / ".env.example").read_text()
    ours = {"CHAT_BASE_URL": base_url, "CHAT_MODEL": "mine" if base_url else ""}
    monkeypatch.chdir(tmp_path)
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    without = load()[0]
    (tmp_path / ".env").write_text(example)
    copied = load()[0]
    named = [
        (chat_name(each), *(model_at(each, group) for group in (each.rag, each.feedback, each.vantage)))
        for each in (without, copied)
    ]
    expected = ("mine",) * 4 if base_url else ("gpt-5.2", "gpt-5.2", "gpt-4o-mini", "gpt-5.2")
    assert named == [expected, expected]


async def test_feedback_is_judged_by_a_model_of_its_own() -> None:
    """By FEEDBACK_MODEL at the same server, with room for thoughts; without a server by nobody."""
    async with model_server("positive") as fake:
        settings = Settings(chat=Chat(base_url=fake.url), feedback=Feedback(model="judge"))
        async with open_judge(settings, chat_server(settings)) as model:
            assert model
            await said(model)
    assert [(sent.body["model"], sent.body["max_tokens"]) for sent in fake.requests] == [("judge", 1_024)]
    async with open_judge(Settings(), None) as model:
        assert model is None


class Heads(OpenAIChat):
    """A model whose heads fail as told; its breakers go by a clock that tests turn."""

    def __init__(self) -> None:
        client: Any = SimpleNamespace(server=SimpleNamespace(url="http://model.test/v1"))  # never spoken to
        super().__init__(client, "m", silence=1, answer_tokens=1)
        self.error: Exception | None = ModelError(down=True)
        self.asked = 0
        self.now = 0.0
        self.breaker = Breaker(lambda: self.now)

    def breaker_of(self, model: str) -> Breaker:
        known = model in {self.name, *self.others}
        breaker = super().breaker_of(model)
        if not known:
            breaker = self.others[model] = Breaker(lambda: self.now)
        return breaker

    async def head(self, held: object, prompt: Prompt, model: str) -> Any:
        self.asked += 1
        raise self.error or Reached

    async def told(self, model: str | None = None) -> Exception:
        with pytest.raises((ModelError, Reached)) as caught:
            async with self.open(PROMPT, model=model):
                pass
        return caught.value


class Reached(Exception):
    """The model was asked; as good as an answer to the breaker, which does not know it."""


@pytest.mark.parametrize("kind", [ModelTimeout, ModelError], ids=["silent", "5xx"])
async def test_a_model_that_is_down_is_not_waited_for(kind: type[ModelError]) -> None:
    """After three failures the same kind of problem comes at once, with the time to ask again. The first
    request after that is the probe; its answer opens the way for all."""
    model = Heads()
    model.error = kind(down=True)
    for _ in range(3):
        await model.told()
    model.now += 1.0
    told = await model.told()
    assert isinstance(told, ModelError)
    assert (type(told), told.retry_after, model.asked) == (kind, 4, 3)
    model.error = None
    model.now += 4.0
    assert [type(await model.told()) for _ in range(3)] == [Reached] * 3


@pytest.mark.parametrize(
    "error", [ModelRefused(), ModelBusy(retry_after=9), ModelError("400")], ids=["401", "429", "400"]
)
async def test_a_refusal_is_passed_on_every_time(error: ModelError) -> None:
    """A wrong key, too many requests, a request of the caller's own making: the next one may fare better."""
    model = Heads()
    model.error = error
    assert [await model.told() for _ in range(5)] == [error] * 5
    assert model.asked == 5


async def test_one_model_does_not_close_another() -> None:
    """Who asks a broken model by name does not take the default from everybody else; nor do made-up names
    push out a default that is down. Only so many names are remembered."""
    model = Heads()
    for _ in range(3):
        await model.told("broken")
    asked = model.asked
    await model.told("broken")
    assert model.asked == asked
    await model.told()
    assert model.asked == asked + 1
    for _ in range(2):
        await model.told("m")
    for n in range(2 * MODELS):
        await model.told(f"model-{n}")
    asked = model.asked
    await model.told()
    assert (model.asked, len(model.others)) == (asked, MODELS)


async def test_the_middle_of_an_answer_does_not_count() -> None:
    """The head was there: an answer that breaks off later is told by its own error event."""
    fault = Fault(close_after=1)
    async with model_server(REPLY, fault=fault) as fake, chat_with(fake) as model:
        model.breaker = Breaker(lambda: 0.0)
        for _ in range(4):
            with pytest.raises(ModelError):
                await said(model)
    assert len(fake.requests) == 4


async def test_a_client_that_leaves_says_nothing_of_the_model() -> None:
    """However many leave before the head."""
    async with model_server(fault=Fault(head_delay=30)) as fake, chat_with(fake) as model:
        model.breaker = Breaker(lambda: 0.0)
        for _ in range(5):
            asking = asyncio.create_task(said(model))
            await asyncio.sleep(0.05)
            asking.cancel()
            await asyncio.wait({asking})
        assert model.breaker.closed


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
