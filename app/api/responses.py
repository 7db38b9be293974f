"""OpenAI's protocol: POST /v1/responses, GET /v1/responses/{id}.

The same answers as POST /v1/chat/completions (`app/api/openai.py`), with other events. A response's id is
`resp_` and the answer's id. Each first response begins a thread; `previous_response_id` continues it, with
its turns up to that response.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from app import errors
from app.answer import Answer, Turn, new_id
from app.answering.citations import CitationMark
from app.answering.meta import links, retrieved
from app.answering.stream import Reply
from app.api.bodies import Json, JsonRoute, encoded
from app.api.dependencies import scope_of
from app.api.openai import (
    MEMORY,
    PREFIX,
    VANTAGE,
    Answering,
    Ask,
    Asked,
    AskedInSession,
    Asking,
    Dialogue,
    Links,
    Marks,
    Placed,
    ask_of,
    base_of,
    dialogue,
    ended,
    usage_of,
)
from app.api.openapi import ASKING, openai_responses, operation_id, responded
from app.api.schemas.openai import (
    AnswerFacts,
    ChatMessage,
    FileAnnotation,
    IncompleteDetails,
    OutputMessage,
    OutputText,
    ResponseFault,
    ResponseObject,
    ResponseRequest,
    ResponseUsage,
    UrlAnnotation,
)
from app.api.sse import ENDS, Ended, PreparedAnswer, prepared
from app.errors import IbidError, Missing
from app.problems import openai_error
from app.types import DOCUMENTS, Scope

router = APIRouter(
    generate_unique_id_function=operation_id, prefix="/v1/responses", tags=["openai"], route_class=JsonRoute
)
RESPONSE, MESSAGE = "resp_", "msg_"
NAMES = {"/rag/query": MEMORY, "/vantage/query": VANTAGE}
"""Models by the endpoint whose service answered."""
AFTER = timedelta(milliseconds=2)
"""Times of answers are recorded in milliseconds."""

Annotations = list[UrlAnnotation | FileAnnotation]


class UnknownResponse(Missing):
    """No answer with this id is kept for the caller."""

    code = "response_not_found"

    def __init__(self, response_id: str, *, field: str = "") -> None:
        super().__init__(f"There is no response `{response_id[:100]}`.")
        self.field = field


# Requests


def said_in(body: ResponseRequest) -> Dialogue:
    """The question, the turns before it, and the notes."""
    if isinstance(body.input, str):
        messages = [ChatMessage(role="user", content=body.input)]
    else:
        items = [item for item in body.input if item.type in (None, "message")]
        messages = [ChatMessage(role=item.role, content=item.content) for item in items]
    said = dialogue(messages, field="input", style=body.options.marks)
    notes = (body.instructions,) if body.instructions and body.instructions.strip() else ()
    return said._replace(notes=(*notes, *said.notes))


async def earlier(asking: Asking, body: ResponseRequest) -> tuple[Scope | None, Sequence[Turn]]:
    """The scope and the turns that the request continues; (None, ()) if it begins a thread."""
    named = body.previous_response_id
    if named is None:
        return None, ()
    scope = scope_of(asking.who, user_id=body.user)
    try:
        asked, answer = await asking.services.answers.found(scope, named.removeprefix(RESPONSE))
    except Missing:
        raise UnknownResponse(named, field="body.previous_response_id") from None
    end = answer.created_at + timedelta(milliseconds=answer.timings.get("total", 0)) + AFTER
    return asked, await asking.services.chat.turns(asked, end)


async def continued(asking: Asking, body: ResponseRequest) -> Ask:
    said = said_in(body)
    before, turns = await earlier(asking, body)
    if before:
        said = said._replace(history=(*turns, *said.history))
        body = body.model_copy(update={"user": body.user or (None if asking.who.user else before.user_id)})
        asking = replace(asking, session=asking.session or before.session_id)
    ask = await ask_of(asking, body, said)
    question = ask.question
    thread = before.thread_id if before else None
    scope = replace(question.scope, thread_id=thread or f"{RESPONSE}{new_id()}")
    kept = question.recorded and (body.store is not False or body.model == VANTAGE)
    return replace(ask, question=replace(question, scope=scope, recorded=kept))


# Replies


def annotations_of(found: Sequence[Placed], links: Links) -> Annotations:
    """Of each citation its address, and of a document its file too."""
    told: Annotations = []
    for place in found:
        told.append(UrlAnnotation(**links.of(place).model_dump()))
        cited = links.citations.get(place.label)
        if cited and cited.source == DOCUMENTS:
            told.append(
                FileAnnotation(
                    file_id=cited.id.rpartition(":")[0] or cited.id,
                    filename=place.label.rpartition("#")[0],
                    index=place.start,
                )
            )
    return told


def message_of(answer_id: str, status: str, *texts: OutputText) -> OutputMessage:
    return OutputMessage.model_validate({"id": f"{MESSAGE}{answer_id}", "status": status, "content": texts})


def tokens_of(told: object) -> ResponseUsage:
    used = usage_of(told)
    return ResponseUsage(
        input_tokens=used.prompt_tokens, output_tokens=used.completion_tokens, total_tokens=used.total_tokens
    )


class ResponseWire(Answering):
    """Answers as POST /v1/responses sends them."""

    def __init__(self, body: ResponseRequest, base: str, reply: Reply, _request_id: str) -> None:
        super().__init__(body, base, reply)
        self._count = 0
        self._texts: list[str] = []
        self._annotations: Annotations = []
        self._object = ResponseObject(
            id=f"{RESPONSE}{reply.answer_id}",
            created_at=int(reply.started.timestamp()),
            status="in_progress",
            instructions=body.instructions,
            metadata=body.metadata.model_dump(exclude_none=True) if body.metadata else {},
            model=body.model,
            output=[],
            previous_response_id=body.previous_response_id,
            store=reply.question.recorded,
            user=body.user,
        )
        self._part = {"item_id": f"{MESSAGE}{reply.answer_id}", "output_index": 0, "content_index": 0}
        name = b"response.output_text.delta"
        told = encoded({"type": name.decode(), **self._part, "logprobs": []})[:-1].replace(b"%", b"%%")
        self._delta = b"event: %b\ndata: %b" % (name, told) + b',"sequence_number":%d,"delta":%b}\n\n'

    def event(self, name: str, data: Mapping[str, object]) -> bytes:
        if name == "token":
            return self._token(str(data["text"]))
        self.learn(data)
        if name == "meta":
            return self._begun()
        return self._ended(data) if name == "done" else b""

    def error(self, error: IbidError) -> bytes:
        said = openai_error(error).error
        fault = ResponseFault(code=said.code, message=said.message)
        failed = self._finished(ENDS[None]).model_copy(update={"error": fault})
        return self._event("error", code=said.code, message=said.message, param=said.param) + self._event(
            "response.failed", response=failed.model_dump()
        )

    def end(self) -> bytes:
        return b""

    def whole(self, told: Mapping[str, object]) -> Response:
        self.learn(told)
        text, found = self.text(cast(str, told["answer"]))
        self._texts.append(text)
        self._annotations += annotations_of(found, self.links)
        return Json(self._complete(told))

    def _token(self, piece: str) -> bytes:
        text, found = self.text(piece)
        self._texts.append(text)
        sent = b""
        if text:
            sent = self._delta % (self._count, encoded(text))
            self._count += 1
        for each in annotations_of(found, self.links) if found else ():
            place = len(self._annotations)
            self._annotations.append(each)
            told = {"annotation_index": place, "annotation": each.model_dump()}
            sent += self._event("response.output_text.annotation.added", **self._part, **told)
        return sent

    def _event(self, name: str, /, **data: object) -> bytes:
        told = encoded({"type": name, **data, "sequence_number": self._count})
        self._count += 1
        return b"event: %b\ndata: %b\n\n" % (name.encode(), told)

    def _begun(self) -> bytes:
        told = self._object.model_dump()
        item = message_of(self.reply.answer_id, "in_progress").model_dump()
        part = OutputText(text="", annotations=[]).model_dump()
        return b"".join(
            [
                self._event("response.created", response=told),
                self._event("response.in_progress", response=told),
                self._event("response.output_item.added", output_index=0, item=item),
                self._event("response.content_part.added", **self._part, part=part),
            ]
        )

    def _ended(self, data: Mapping[str, object]) -> bytes:
        told = self._complete(data)
        item = told.output[0]
        part = item.content[0].model_dump()
        return b"".join(
            [
                self._event("response.output_text.done", **self._part, text=part["text"], logprobs=[]),
                self._event("response.content_part.done", **self._part, part=part),
                self._event("response.output_item.done", output_index=0, item=item.model_dump()),
                self._event(f"response.{told.status}", response=told.model_dump(mode="json")),
            ]
        )

    def _complete(self, data: Mapping[str, object]) -> ResponseObject:
        end = ended(data)
        return self._finished(end).model_copy(
            update={
                "incomplete_details": end.incomplete and IncompleteDetails(reason=end.incomplete),
                "usage": tokens_of(data["usage"]),
                "ibid": AnswerFacts.model_validate(self.facts),
            }
        )

    def _finished(self, end: Ended) -> ResponseObject:
        text = OutputText(text="".join(self._texts), annotations=self._annotations)
        message = message_of(self.reply.answer_id, end.item, text)
        return self._object.model_copy(update={"status": end.response, "output": [message]})


def recorded(answer: Answer, links: Links) -> ResponseObject:
    """An answer that is kept."""
    marks = [CitationMark(span.label, span.start, span.end) for span in answer.spans]
    text, found = Marks().feed(answer.text, marks)
    end = ENDS[answer.finish]
    part = OutputText(text=text, annotations=annotations_of(found, links))
    facts: dict[str, Any] = {
        **retrieved(answer.trace, answer.citations),
        **{name: getattr(answer, name) for name in ("cited", "unknown", "appended")},
        "answer_id": answer.id,
    }
    return ResponseObject.model_validate(
        {
            "id": f"{RESPONSE}{answer.id}",
            "created_at": int(answer.created_at.timestamp()),
            "status": end.response,
            "model": NAMES.get(answer.endpoint, PREFIX),
            "output": [message_of(answer.id, end.item, part)],
            "usage": tokens_of(answer.usage),
            "incomplete_details": end.incomplete and {"reason": end.incomplete},
            "ibid": AnswerFacts.model_validate(facts),
        }
    )


# Routes


async def begun(
    request: Request, body: ResponseRequest, asking: AskedInSession
) -> AsyncIterator[PreparedAnswer]:
    ask = await continued(asking, body)
    wire = partial(ResponseWire, body, base_of(request))
    async with prepared(request, ask.prepare(ask.question), wire, stream=bool(body.stream)) as answer:
        yield answer


@router.post(
    "",
    summary="Ask a question through the Responses API",
    responses=responded(),
)
async def create_response(answer: Annotated[PreparedAnswer, Depends(begun)]) -> Response:
    """As POST /v1/chat/completions. Citations are marks in the text, `url_citation` and, of documents,
    `file_citation` annotations."""
    return await answer.response()


@router.get(
    "/{response_id}",
    summary="Get a response",
    response_description="The response, with the marks as numbers",
    responses=openai_responses(*ASKING, errors.Missing, errors.InvalidField, errors.Rejected),
)
async def get_response(
    request: Request,
    asking: Asked,
    response_id: Annotated[str, Path(description="`resp_` and the answer's id.")],
) -> ResponseObject:
    """Any answer that is kept; the model is `ibid` where its name was not kept."""
    answer_id = response_id.removeprefix(RESPONSE)
    try:
        asked, answer = await asking.services.answers.found(scope_of(asking.who), answer_id)
    except Missing:
        raise UnknownResponse(response_id) from None
    public_url = request.app.state.settings.ibid.public_url
    known = Links(base_of(request), answer.id)
    known.know(links(answer.citations, public_url, asked.session_id, answer.id))
    return recorded(answer, known)
