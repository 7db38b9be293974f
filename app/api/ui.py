"""POST /api/chat/ui: /api/chat in the AI SDK's UI message stream (v1), for `useChat`.

The message's id is the answer's. Sources are the cited passages, and follow the text with its citations. A
page that was reloaded resumes the newest answer of its chat from the beginning.
Source: https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from app import errors
from app.answer import Finish, address_of, cited_of, named
from app.api.bodies import Json, JsonRoute, encoded
from app.api.chat import asked
from app.api.dependencies import Asker, Opened, scope_of, shows_debug
from app.api.openapi import ASKING, MODEL, SENDING, operation_id, responses, ui_stream
from app.api.schemas import Name
from app.api.schemas.chat import ChatMeta, ChatRequest, CitationMarks
from app.api.schemas.ui import UiChatRequest
from app.api.sse import ENDS, EVENT_HEADERS, EventStream, PreparedAnswer, Resumed, prepared
from app.errors import IbidError
from app.types import DOCUMENTS

router = APIRouter(
    generate_unique_id_function=operation_id, prefix="/api/chat/ui", tags=["chat"], route_class=JsonRoute
)
TEXT = "answer"
"""Id of the message's only text part."""


class UiStream:
    """The events of an answer as chunks of a UI message."""

    headers: Mapping[str, str] = {**EVENT_HEADERS, "x-vercel-ai-ui-message-stream": "v1"}

    def __init__(self) -> None:
        self._speaking = False
        self._sources: dict[str, dict[str, Any]] = {}
        """Citations by their label."""

    def event(self, name: str, data: Mapping[str, object]) -> bytes:
        if name == "token":
            chunk = framed({"type": "text-delta", "id": TEXT, "delta": data["text"]})
            if self._speaking:
                return chunk
            self._speaking = True
            return framed({"type": "text-start", "id": TEXT}) + chunk
        return b"".join(map(framed, self._chunks(name, data)))

    def error(self, error: IbidError) -> bytes:
        return self._silent() + framed({"type": "error", "errorText": error.detail})

    def end(self) -> bytes:
        return b"data: [DONE]\n\n"

    def whole(self, told: Mapping[str, object]) -> Response:
        return Json(told)

    def _chunks(self, name: str, data: Mapping[str, object]) -> Iterator[dict[str, object]]:
        if name == "meta":
            meta = ChatMeta.model_validate(data).model_dump(mode="json", exclude={"debug"})
            self._sources = {each["label"]: each for each in meta.pop("citations")}
            yield {"type": "start", "messageId": meta["answer_id"], "messageMetadata": meta}
        elif name == "citations":
            marks = CitationMarks.model_validate(data)
            if self._speaking:
                self._speaking = False
                yield {"type": "text-end", "id": TEXT}
            yield from (source(self._sources[each]) for each in marks.cited if each in self._sources)
            for n, span in enumerate(marks.spans, 1):
                yield {"type": "data-citation", "id": f"citation-{n}", "data": span.model_dump(mode="json")}
        else:
            ending = {name: value for name, value in data.items() if name != "answer_id"}
            reason = ENDS[Finish(str(data["finish_reason"]))].ui
            yield {"type": "finish", "finishReason": reason, "messageMetadata": ending}

    def _silent(self) -> bytes:
        """The end of the text, if it has begun."""
        speaking, self._speaking = self._speaking, False
        return framed({"type": "text-end", "id": TEXT}) if speaking else b""


def framed(chunk: Mapping[str, object]) -> bytes:
    return b"data: %b\n\n" % encoded(chunk)


def source(told: dict[str, Any]) -> dict[str, object]:
    """A cited passage: of a document with its file's name, any other with its address if it has one."""
    citation = cited_of(told)
    name, url = citation.label.rpartition("#")[0], address_of(citation)
    found: dict[str, object] = {
        "sourceId": citation.label,
        "title": named(citation, name),
        "providerMetadata": {"ibid": told},
    }
    if citation.source == DOCUMENTS:
        return {"type": "source-document", "mediaType": "application/pdf", "filename": name, **found}
    if url:
        return {"type": "source-url", "url": url, **found}
    return {"type": "source-document", "mediaType": "text/plain", **found}


def question_of(body: UiChatRequest) -> ChatRequest:
    try:
        return body.question()
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in faults]) from None


async def begun(
    request: Request, body: UiChatRequest, who: Asker, opened: Opened
) -> AsyncIterator[PreparedAnswer]:
    most, debug = request.app.state.settings.rag.top_k_max, await shows_debug(opened)
    preparing = opened.chat.prepare(asked(question_of(body), who, most, debug=debug))
    watch = body.on_disconnect == "cancel"
    async with prepared(request, preparing, lambda *_: UiStream(), stream=True, watch=watch) as answer:
        yield answer


@router.post(
    "",
    summary="Ask a question from `useChat`",
    response_class=Response,
    responses=ui_stream("The answer as a UI message stream")
    | responses(*ASKING, *SENDING, *MODEL, errors.Forbidden),
)
async def chat_ui(answer: Annotated[PreparedAnswer, Depends(begun)]) -> Response:
    """The AI SDK's UI message stream: `start`, `text-start`, `text-delta`…, `text-end`, a `source-document`
    or `source-url` for each cited passage, a `data-citation` for each place, `finish`; or `error`. Unknown
    fields are ignored."""
    return await answer.response()


@router.get(
    "/{chat_id}/stream",
    summary="Resume the stream of a chat",
    response_class=Response,
    responses=ui_stream("The answer in progress, from its beginning")
    | {204: {"description": "No answer of this chat is in progress."}}
    | responses(*ASKING, errors.Overloaded),
)
async def resume_chat(
    who: Asker, opened: Opened, chat_id: Annotated[Name, Path(description="The chat's id.")]
) -> Response:
    """The answer that `useChat` with `resume` asks for: one that goes on without the page (`on_disconnect:
    continue`), from any replica."""
    found = await opened.streams.follow_thread(scope_of(who), chat_id)
    if found is None:
        return Response(status_code=204)
    return EventStream(Resumed(found.answer_id, found.events), UiStream())
