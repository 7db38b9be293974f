"""When a chat's tokens are counted: beside the model's opening, exactly, and never on the way to it."""

import asyncio
import threading
from dataclasses import dataclass, field

import pytest

from app.answer import HEAD, Finish, Prompt
from app.answering.budget import Meter, PromptLimits
from app.answering.pipeline import FRESH_MOST
from app.answering.question import Question
from app.retrieval.search import Retrieval
from app.services.chat import BESIDE_MOST, ChatService, Fetched, laborious
from app.text.memo import Text
from app.text.sanitise import quote
from app.text.tokens import SHOWN
from app.types import Candidate, Found, Passage, Scope
from tests.fakes.answering import FakeEmbedder, FakeLog, FakeModel, FakeSource, passage
from tests.fakes.pipelines import chat_service

LIMITS = PromptLimits(budget=10_000, top_k=40, threshold=0.2, window=20_000, history=500, answer=100)
ASK = Question(Scope(session_id="s", thread_id="t"), "why is the sky blue today")


def sky(count: int) -> list[Passage]:
    """Passages whose texts remember, and were never seen."""
    return [passage(f"p{n}", Text(f"The sky is blue for reason {n}.")) for n in range(count)]


@dataclass
class Held:
    """Keeps `ports.Tokens`: a line of the context is counted only once `free`, and waits for that."""

    free: threading.Event = field(default_factory=threading.Event)
    on: set[str] = field(default_factory=set)
    """Threads that counted lines."""

    def count(self, text: str) -> int:
        """Its words."""
        if text.startswith(f"{HEAD}\n- From"):
            assert self.free.wait(5)
            self.on.add(threading.current_thread().name)
        return len(text.split())

    def factor(self, model: str) -> float:
        """As it is."""
        return 1.0


def service(tokens: Held, model: FakeModel, log: FakeLog, found: list[Passage]) -> ChatService:
    """A chat over what is found."""
    retrieval = Retrieval({"documents": FakeSource(found)}, FakeEmbedder(), seconds=5)
    return chat_service(retrieval, LIMITS, log=log, model=model, tokens=tokens)


async def asked(model: FakeModel) -> Prompt:
    """What the model is asked, as soon as it is."""
    async with asyncio.timeout(5):
        while not model.prompts:  # noqa: ASYNC110 - a fake tells nobody
            await asyncio.sleep(0.001)
    return model.prompts[0]


async def test_new_passages_are_counted_while_the_model_is_asked() -> None:
    """The model has its prompt before one line of it was counted; the reply tells them exactly."""
    tokens, model = Held(), FakeModel()
    chat = service(tokens, model, FakeLog(), sky(FRESH_MOST + 1))
    preparing = asyncio.create_task(chat.prepare(ASK))
    prompt = await asked(model)
    assert not tokens.on
    assert not preparing.done()
    tokens.free.set()
    reply = await preparing
    assert threading.main_thread().name not in tokens.on
    assert reply.context.trace.tokens == Meter(tokens.count).context(prompt) > 0
    assert reply.context.tokens == Meter(tokens.count).prompt(prompt)
    await reply.aclose()


async def test_who_leaves_while_it_counts_is_kept_as_cancelled() -> None:
    """The model is let go, and the record tells the tokens."""
    tokens, model, log = Held(), FakeModel(), FakeLog()
    chat = service(tokens, model, log, sky(FRESH_MOST + 1))
    preparing = asyncio.create_task(chat.prepare(ASK))
    await asked(model)
    preparing.cancel()
    tokens.free.set()
    with pytest.raises(asyncio.CancelledError):
        await preparing
    await chat.recorder.drain()
    assert [answer.finish for answer in log.answers] == [Finish.CANCELLED]
    assert log.answers[0].trace.tokens > 0
    assert model.closed == 1


def known(text: str) -> Text:
    """A text that was counted when it was written."""
    made = Text(text)
    made.memo[SHOWN] = {quote: 1}
    return made


@pytest.mark.parametrize(
    ("beside", "texts", "expected"),
    [
        pytest.param("why", [Text("x" * 100)] * 60, False, id="all fit"),
        pytest.param("why", [Text("x" * 300)] * 60, True, id="they may not"),
        pytest.param("why", [Text("\u0436" * 150)] * 60, True, id="by their bytes"),
        pytest.param("why", [Text("x" * 300)] * FRESH_MOST, False, id="few"),
        pytest.param("why", [known("x" * 300)] * 60, False, id="known"),
        pytest.param("x" * (BESIDE_MOST + 1), [], True, id="much beside them"),
    ],
)
def test_only_much_counting_goes_to_a_thread(beside: str, texts: list[str], expected: bool) -> None:
    """A thread takes as long as a little counting."""
    found = Found(tuple(Candidate(passage(f"p{n}", text)) for n, text in enumerate(texts)))
    assert laborious(Question(Scope(), beside), Fetched(beside, found), LIMITS) is expected
