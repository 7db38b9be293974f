"""OpenAI's protocol: GET /v1/models, POST /v1/chat/completions.

The model's name picks the sources and the recipe. The last user text is the question, the turns before it
are the history, system texts are notes. Answers come from the same services as elsewhere.
Labels become numbers while the text is sent, and annotations say where, in code points of the text as sent.
Fields that Ibid does not know are ignored; errors have OpenAI's envelope (`app/problems.py`).
"""

import re
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Path, Request
from starlette.responses import Response

from app import errors
from app.answer import BREAK, Finish, Role, ShownCitation, Turn, Usage, address_of, named
from app.answering.citations import LEADS, SOURCES, CitationMark
from app.answering.errands import is_errand
from app.answering.prompt import overlay_to_instructions
from app.answering.question import Question
from app.answering.stream import Reply
from app.answering.support import SURROGATES
from app.api.bodies import Json, JsonRoute, encoded
from app.api.dependencies import BEARER, Opened, authenticate, scope_of
from app.api.openapi import ASKING, completed, openai_responses, operation_id
from app.api.schemas import SessionId
from app.api.schemas.chat import SourceName
from app.api.schemas.openai import (
    AnswerFacts,
    AskedModel,
    ChatAnnotation,
    ChatCompletion,
    ChatCompletionRequest,
    ChatMessage,
    CompletionChoice,
    CompletionMessage,
    CompletionUsage,
    Content,
    IbidOptions,
    ModelList,
    ModelOut,
    UrlCitation,
)
from app.api.sse import ENDS, EVENT_HEADERS, Ended, PreparedAnswer, prepared
from app.db.keys import Caller
from app.errors import IbidError, InvalidField, Missing
from app.problems import openai_error
from app.services.services import Services
from app.types import Scope

router = APIRouter(
    generate_unique_id_function=operation_id, prefix="/v1", tags=["openai"], route_class=JsonRoute
)
PREFIX = "ibid"
DOCS, MEMORY, VANTAGE = f"{PREFIX}/docs", f"{PREFIX}/memory", f"{PREFIX}/vantage"
SINCE = 1_763_683_200
"""`created` of every model: OpenAI's protocol wants one."""
EVERYWHERE: tuple[str, ...] = get_args(SourceName)
QUESTION_MOST = 32_000
"""Most characters of a question, as in /api/chat."""
Style = Literal["number", "label", "none"]


async def asker(request: Request, _shown: Annotated[object, Depends(BEARER)]) -> Caller:
    """The caller. Unlike elsewhere, unknown query parameters are ignored."""
    return await authenticate(request)


SessionHeader = Annotated[
    SessionId | None,
    Header(
        alias="X-Ibid-Session",
        description="The session whose documents are searched, together with the global ones, unless"
        " `metadata.session_id` names one.",
    ),
]


@dataclass(frozen=True, slots=True)
class Asking:
    """The parts of a request beside its body."""

    who: Caller
    services: Services
    vantage: bool
    """The policy's endpoints are on."""
    session: str | None = None

    @property
    def fixed(self) -> tuple[str, ...]:
        """The models beside projects."""
        return (PREFIX, DOCS, MEMORY, *((VANTAGE,) if self.vantage else ()))


async def asking_of(request: Request, who: Annotated[Caller, Depends(asker)], opened: Opened) -> Asking:
    return Asking(who, opened, request.app.state.settings.enable.vantage_endpoints)


Asked = Annotated[Asking, Depends(asking_of)]


async def in_session(asking: Asked, session: SessionHeader = None) -> Asking:
    return replace(asking, session=session)


AskedInSession = Annotated[Asking, Depends(in_session)]


class UnknownModel(Missing):
    """A name that GET /v1/models does not list."""

    code, field = "model_not_found", "body.model"


# Marks and annotations


class Placed(NamedTuple):
    """A citation in the text as sent: code points."""

    label: str
    n: int
    start: int
    end: int


class Marks:
    """Rewrites the citations of a text while it is sent, and says where they are in what was sent."""

    def __init__(self, style: Style = "number") -> None:
        self._style = style
        self._marks: Sequence[CitationMark] = ()
        self._next = 0
        """The first mark that was not sent."""
        self._at = 0
        """Characters that were fed since the text began, or began again."""
        self._sent = 0
        """Code points that were sent, since the very beginning."""
        self._half = ""
        """Half a surrogate pair at the end: a client joins it with the next half."""
        self._numbers: dict[str, int] = {}

    def feed(self, text: str, marks: Sequence[CitationMark]) -> tuple[str, list[Placed]]:
        """The next piece and the citations in it. `marks`: of the whole text so far, or further."""
        if marks is not self._marks:
            self._marks, self._next, self._at, self._numbers = marks, 0, 0, {}
        end = self._at + len(text)
        found: list[Placed] = []
        if self._next < len(marks) and marks[self._next].start < end:
            text = self._rewritten(text, end, found)
        else:
            self._count(text)
        self._at = end
        return text, found

    def _rewritten(self, text: str, end: int, found: list[Placed]) -> str:
        here = [
            mark._replace(start=mark.start - self._at, end=mark.end - self._at)
            for mark in self._marks[self._next :]
            if mark.end <= end
        ]
        self._next += len(here)
        pieces, at = list[str](), 0
        for _, group in groupby(here, key=lambda mark: mark[1:]):
            marks = list(group)
            labels = [mark.label for mark in marks]
            numbers = [self._numbers.setdefault(label, len(self._numbers) + 1) for label in labels]
            written, start, stop = self._written(text, marks[0], numbers, here)
            before, at = text[at:start], max(at, stop)
            if not written and before.endswith(LEADS):
                before = before[:-1]
            self._count(before)
            first = self._sent
            self._count(written)
            found += [Placed(label, n, first, self._sent) for label, n in zip(labels, numbers, strict=True)]
            pieces += [before, written]
        self._count(text[at:])
        return "".join([*pieces, text[at:]])

    def _written(
        self, text: str, mark: CitationMark, numbers: Sequence[int], marks: Sequence[CitationMark]
    ) -> tuple[str, int, int]:
        """The text in place of a mark, and the part of the text that it replaces."""
        if self._style == "number":
            return f"[{', '.join(map(str, numbers))}]", mark.start, mark.end
        if self._style == "label" or mark.written == "link":
            return text[mark.start : mark.end], mark.start, mark.end
        return "", *(around(text, marks, mark) if mark.written else (mark.start, mark.end))

    def _count(self, text: str) -> None:
        if text.isascii():
            self._sent += len(text)
            self._half = "" if text else self._half
            return
        self._sent += len(text) - len(SURROGATES.findall(self._half + text))
        self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""


def around(text: str, marks: Sequence[CitationMark], mark: CitationMark) -> tuple[int, int]:
    """The part to remove for a citation in inline code: all of the code if it holds nothing but citations."""
    first, last = text.rfind("`", 0, mark.start) + 1, text.find("`", mark.end)
    rest, at = "", first
    for one in marks:
        if at <= one.start and one.end <= last:
            rest, at = rest + text[at : one.start], one.end
    ticks = first - len(text[:first].rstrip("`"))
    closed = len(text) - last - len(text[last:].lstrip("`")) == ticks
    if first and closed and not (rest + text[at:last]).strip(" ,;"):
        return first - ticks, last + ticks
    return mark.start, mark.end


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses and titles of an answer's citations."""

    base: str
    answer_id: str
    citations: dict[str, ShownCitation] = field(default_factory=dict)
    """By label."""

    def know(self, citations: Iterable[ShownCitation]) -> None:
        self.citations.update({one.label: one for one in citations})

    def of(self, place: Placed) -> UrlCitation:
        found = self.citations.get(place.label)
        return UrlCitation(
            url=self.url(place.label),
            title=named(found, place.label) if found else place.label,
            start_index=place.start,
            end_index=place.end,
        )

    def url(self, label: str) -> str:
        """The passage's; if it has none, its place in the answer's trace."""
        found = self.citations.get(label)
        url = address_of(found, self.base, own=True) if found else None
        return url or f"{self.base}/answers/{self.answer_id}#{quote(label, safe='')}"


def base_of(request: Request) -> str:
    """Where a browser finds the service."""
    public_url: str | None = request.app.state.settings.ibid.public_url
    return str(public_url or request.base_url).rstrip("/")


# Requests


class Dialogue(NamedTuple):
    """A conversation as OpenAI's clients send it."""

    message: str
    history: tuple[Turn, ...]
    notes: tuple[str, ...]


NOTED = frozenset({"system", "developer"})
SPOKEN = {"user": Role.USER, "assistant": Role.ASSISTANT}
NUMBERS = re.compile(r"(?<=[^\s=(,:]) ?\[\d{1,3}(?:, \d{1,3})*\](?!\()")
BACKTICKS = re.compile(r"`+")


def without_numbers(text: str) -> str:
    """An earlier answer without its numbers: they mean nothing to the model, which would imitate them. Code
    stays as it is."""
    spans = code_spans(text)
    start, end = next(spans, (len(text), len(text)))
    kept, at = list[str](), 0
    for found in NUMBERS.finditer(text):
        while end <= found.start() < len(text):
            start, end = next(spans, (len(text), len(text)))
        if found.start() < start:
            kept.append(text[at : found.start()])
            at = found.end()
    return "".join((*kept, text[at:]))


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """From a run of backticks to the next run of the same length, as CommonMark has it. Linear."""
    runs = [found.span() for found in BACKTICKS.finditer(text)]
    places = defaultdict[int, deque[int]](deque)
    for n, (start, end) in enumerate(runs):
        places[end - start].append(n)
    at = 0
    while at < len(runs):
        start, end = runs[at]
        same = places[end - start]
        while same and same[0] <= at:
            same.popleft()
        if same:
            at = same.popleft()
            yield start, runs[at][1]
        at += 1


def text_of(content: Content) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.text for part in content if part.text)


def dialogue(messages: Sequence[ChatMessage], *, field: str, style: Style) -> Dialogue:
    """The last user text, the turns before it, and the notes. Chat templates refuse turns of one role in a
    row, so these are joined, and user texts right before the last one are notes."""
    said = [(each.role or "", text_of(each.content)) for each in messages]
    notes = tuple(text for role, text in said if role in NOTED and text.strip())
    turns = [(SPOKEN[role], text) for role, text in said if role in SPOKEN and text.strip()]
    while turns and turns[-1][0] is not Role.USER:
        turns.pop()
    if not turns:
        raise InvalidField(f"{field} must have a user message with a text", field=f"body.{field}")
    _, message = turns.pop()
    unanswered = list[str]()
    while turns and turns[-1][0] is Role.USER:
        unanswered.insert(0, turns.pop()[1])
    return Dialogue(message, tuple(joined(turns, style)), (*notes, *unanswered))


def joined(turns: Sequence[tuple[Role, str]], style: Style) -> Iterator[Turn]:
    """Turns of one role in a row as one, without the numbers that stood for marks."""
    for role, group in groupby(turns, key=itemgetter(0)):
        text = BREAK.join(text for _, text in group)
        is_numbered = role is Role.ASSISTANT and style == "number"
        yield Turn(role, without_numbers(text) if is_numbered else text)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, and the service that answers it."""

    question: Question
    prepare: Callable[[Question], Coroutine[Any, Any, Reply]]


async def known(name: str, asking: Asking) -> str | None:
    """The project that a model's name means; None: none. Raises `UnknownModel`."""
    if name in asking.fixed:
        return None
    prefix, _, project = name.partition("/")
    if prefix == PREFIX and project in await asking.services.knowledge.projects(scope_of(asking.who)):
        return project
    raise UnknownModel(f"The model `{name}` does not exist. GET /v1/models lists what there is.")


def serves_client(options: IbidOptions, said: Dialogue) -> bool:
    """True for an errand: what the client needs for itself, such as a title."""
    if options.errand is None:
        return not said.history and is_errand(said.message)
    return options.errand


def personal(scope: Scope, said: Dialogue) -> Question:
    """The question of a model that knows the user's memories."""
    if scope.user_id is None:
        raise InvalidField("user is required with this model: only a user key implies it", field="body.user")
    overlay = overlay_to_instructions(BREAK.join(said.notes))
    return Question(scope, said.message, history=said.history, overlay=overlay)


async def ask_of(asking: Asking, body: AskedModel, said: Dialogue) -> Ask:
    who, opened = asking.who, asking.services
    project = await known(body.model, asking)
    session = (body.metadata.session_id if body.metadata else None) or asking.session
    scope = scope_of(
        who, user_id=body.user, session_id=session or "default", thread_id=session, project=project
    )
    if body.model != VANTAGE and serves_client(body.options, said):  # its policy decides about every message
        asked = Question(scope, said.message, notes=said.notes, errand=True, recorded=False)
        return Ask(asked, opened.chat.prepare)
    if len(said.message) > QUESTION_MOST:
        raise InvalidField(
            f"the question must have at most {QUESTION_MOST:,} characters", field="body.messages"
        )
    if body.model in {MEMORY, VANTAGE}:
        asked = personal(scope_of(who, user_id=body.user, thread_id=session), said)
        return Ask(asked, opened.rag.prepare if body.model == MEMORY else opened.vantage.prepare)
    sources = EVERYWHERE if body.model == PREFIX else None
    asked = Question(scope, said.message, sources=sources, history=said.history, notes=said.notes)
    return Ask(asked, opened.chat.prepare)


# Replies


def usage_of(told: object) -> CompletionUsage:
    used = told if isinstance(told, Usage) else Usage()
    both = used.prompt_tokens + used.completion_tokens
    return CompletionUsage(
        prompt_tokens=used.prompt_tokens, completion_tokens=used.completion_tokens, total_tokens=both
    )


def ended(told: Mapping[str, object]) -> Ended:
    """How the answer of these facts ended."""
    return ENDS[Finish(str(told["finish_reason"]))]


class Answering:
    """Base of the wires of OpenAI's protocol."""

    headers: Mapping[str, str] = EVENT_HEADERS

    def __init__(self, body: AskedModel, base: str, reply: Reply) -> None:
        self.reply = reply
        self.links = Links(base, reply.answer_id)
        self.style = body.options.marks
        self.marks = Marks(self.style)
        self.facts: dict[str, object] = {}
        """Data of `meta`, `citations` and `done`."""

    def learn(self, data: Mapping[str, object]) -> None:
        self.facts.update(data)
        self.links.know(cast(Iterable[ShownCitation], data.get("citations", ())))

    def text(self, piece: str) -> tuple[str, list[Placed]]:
        """The next piece as it is sent, and the citations in it."""
        text, found = self.marks.feed(piece, self.reply.marks)
        if found and self.style == "none" and self.reply.appended:
            kept = text.rpartition(SOURCES.rstrip())[0]
            gone = len(text) - len(kept)
            return kept, [each._replace(start=each.start - gone, end=each.end - gone) for each in found]
        return text, found

    def annotations(self, found: Iterable[Placed]) -> list[ChatAnnotation]:
        return [ChatAnnotation(url_citation=self.links.of(place)) for place in found]


class ChatCompletionWire(Answering):
    """Answers as POST /v1/chat/completions sends them."""

    def __init__(self, body: ChatCompletionRequest, base: str, reply: Reply, _request_id: str) -> None:
        super().__init__(body, base, reply)
        self._usage = bool(body.stream_options and body.stream_options.include_usage)
        self._head = {
            "id": f"chatcmpl-{reply.answer_id}",
            "created": int(reply.started.timestamp()),
            "model": body.model,
        }
        named = encoded({**self._head, "object": "chat.completion.chunk"})[:-1]
        self._before = b'data: %b,"choices":[{"index":0,"delta":{"content":' % named
        self._after = b'},"finish_reason":null}]%b}\n\n' % (b',"usage":null' if self._usage else b"")

    def event(self, name: str, data: Mapping[str, object]) -> bytes:
        # Tokens are encoded by hand: there are hundreds.
        if name == "token":
            text, found = self.text(str(data["text"]))
            if found:
                told = (
                    encoded(text)
                    + b',"annotations":'
                    + encoded([one.model_dump() for one in self.annotations(found)])
                )
                return self._before + told + self._after
            return self._before + encoded(text) + self._after if text else b""
        self.learn(data)
        if name == "meta":
            return self._chunk({"role": "assistant", "content": ""})
        return self._ended(data) if name == "done" else b""

    def error(self, error: IbidError) -> bytes:
        return b"data: %b\n\n" % encoded(openai_error(error))

    def end(self) -> bytes:
        return b"data: [DONE]\n\n"

    def whole(self, told: Mapping[str, object]) -> Response:
        self.learn(told)
        text, found = self.text(cast(str, told["answer"]))
        message = CompletionMessage(content=text, annotations=self.annotations(found))
        return Json(
            ChatCompletion(
                **self._head,
                choices=[CompletionChoice(message=message, finish_reason=ended(told).completion)],
                usage=usage_of(told["usage"]),
                ibid=AnswerFacts.model_validate(told),
            )
        )

    def _chunk(self, delta: Mapping[str, object], finish: str | None = None, **others: object) -> bytes:
        usage = {"usage": None} if self._usage else {}
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        told = {**self._head, "object": "chat.completion.chunk", "choices": [choice], **usage, **others}
        return b"data: %b\n\n" % encoded(told)

    def _ended(self, data: Mapping[str, object]) -> bytes:
        facts = AnswerFacts.model_validate(self.facts).model_dump(mode="json")
        last = self._chunk({}, ended(data).completion, ibid=facts)
        if self._usage:
            used = usage_of(data["usage"]).model_dump()
            told = {**self._head, "object": "chat.completion.chunk", "choices": [], "usage": used}
            last += b"data: %b\n\n" % encoded(told)
        return last


# Routes


@router.get(
    "/models",
    summary="List the names by which answers can be asked for",
    response_description="The names",
    responses=openai_responses(*ASKING),
)
async def list_models(asking: Asked) -> ModelList:
    """`ibid` searches all that the caller may reach, `ibid/docs` documents, `ibid/memory` a user's memories
    and reference texts, `ibid/vantage` the same within the policy, `ibid/{project}` what a project knows."""
    projects = [f"{PREFIX}/{name}" for name in await asking.services.knowledge.projects(scope_of(asking.who))]
    return ModelList(data=[model(name) for name in dict.fromkeys((*asking.fixed, *projects))])


@router.get(
    "/models/{model:path}",
    summary="Get a model",
    response_description="The model",
    responses=openai_responses(*ASKING, errors.Missing, errors.InvalidField),
)
async def get_model(
    asking: Asked,
    name: Annotated[str, Path(alias="model", description="Its name, as GET /v1/models lists it.")],
) -> ModelOut:
    """404: no answer can be asked for by this name."""
    await known(name, asking)
    return model(name)


def model(name: str) -> ModelOut:
    return ModelOut(id=name, created=SINCE, owned_by=PREFIX)


async def begun(
    request: Request, body: ChatCompletionRequest, asking: AskedInSession
) -> AsyncIterator[PreparedAnswer]:
    said = dialogue(body.messages, field="messages", style=body.options.marks)
    ask = await ask_of(asking, body, said)
    wire = partial(ChatCompletionWire, body, base_of(request))
    async with prepared(request, ask.prepare(ask.question), wire, stream=bool(body.stream)) as answer:
        yield answer


@router.post(
    "/chat/completions",
    summary="Ask a question as OpenAI's clients do",
    responses=completed(),
)
async def complete_chat(answer: Annotated[PreparedAnswer, Depends(begun)]) -> Response:
    """The last user message is the question, the messages before it are the history, system messages notes
    for the model. Other fields of OpenAI's are ignored. Citations are marks in the text and `annotations`."""
    return await answer.response()
