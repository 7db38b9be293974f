"""OpenAI's protocol: requests and replies of /v1/models, /v1/chat/completions and /v1/responses.

Requests may have any other field; what is not listed is ignored. Offsets are code points of the text as sent.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from app.api.schemas import Body, LongText, Name, Out, SessionId, absent, by_form, is_list
from app.api.schemas.chat import CitationOut, DegradedSource, RetrievalSummary

MESSAGES_MOST, PARTS_MOST = 1_000, 200
MODEL = "`ibid`, or another of GET /v1/models: the name decides where the answer comes from."
MARKS = "How the text cites: `number` ([1], the place in `cited`), `label` ([report.pdf#3]), or `none`."
OFFSET = "code points of the text as sent."


class Lenient(Body):
    """A request, or a part of one, whose other fields are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class ContentPart(Lenient):
    """A part of a message. Only texts are read."""

    type: str | None = Field(None, description="`text`, `input_text` or `output_text`; others are ignored.")
    text: LongText | None = Field(None, description="Its text.")


Parts: TypeAlias = Annotated[list[ContentPart], Field(max_length=PARTS_MOST)]
Content: TypeAlias = Annotated[LongText | Parts | None, by_form(is_list, Parts, LongText | None)]


class ChatMessage(Lenient):
    """A message of the conversation."""

    role: str | None = Field(
        None,
        description="`user`; `assistant`: an earlier reply; `system` or `developer`: a note for the model."
        " Others are ignored.",
    )
    content: Content = Field(None, description="A text, or parts whose texts are joined.")


class RequestMetadata(Lenient):
    """The client's own data. One entry is read."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    session_id: SessionId | None = Field(
        None,
        description="The session whose documents are searched, together with the global ones. Default: the"
        " header X-Ibid-Session, else `default`.",
    )


class IbidOptions(Lenient):
    """Options beyond OpenAI's protocol."""

    marks: Literal["number", "label", "none"] = Field("number", description=MARKS)
    errand: bool | None = Field(
        None,
        description="True: a prompt of the client itself (a title, tags), which the model answers alone and"
        " which is not kept. False: a question. Default: recognised by its shape, a message that quotes a"
        " dialogue.",
    )


class StreamOptions(Lenient):
    """Options of a stream."""

    include_usage: bool | None = Field(None, description="True: a last chunk has the tokens used.")


class AskedModel(Lenient):
    """The fields that both endpoints share."""

    model: Name = Field(description=MODEL, examples=["ibid"])
    user: Name | None = Field(
        None,
        description="Who asks. A user key: that user, or left out. `ibid/memory` and `ibid/vantage` need it.",
    )
    metadata: RequestMetadata | None = Field(None, description="The client's own data; `session_id` is read.")
    stream: bool | None = Field(None, description="True: events instead of one object.")
    ibid: IbidOptions | None = Field(None, description="Ibid's own options.")

    @property
    def options(self) -> IbidOptions:
        return self.ibid or IbidOptions()


class ChatCompletionRequest(AskedModel):
    """A conversation whose last user message is the question."""

    messages: list[ChatMessage] = Field(
        min_length=1, max_length=MESSAGES_MOST, description="The conversation, oldest first."
    )
    stream_options: StreamOptions | None = Field(None, description="What a stream carries.")


class ModelOut(Out):
    """A name by which answers can be asked for."""

    id: str = Field(description="The name.")
    object: Literal["model"] = Field("model", description="Always `model`.")
    created: int = Field(description="Seconds since 1970; the same for all.")
    owned_by: str = Field(description="Always `ibid`.")


class ModelList(Out):
    """The names that the caller may use."""

    object: Literal["list"] = Field("list", description="Always `list`.")
    data: list[ModelOut] = Field(description="`ibid` first, projects last.")


class AnswerFacts(Out):
    """Facts of the answer beyond OpenAI's protocol."""

    answer_id: str = Field(description="The answer's id, for /answers/{answer_id} and feedback.")
    session_id: str | None = Field(None, description="The session; null: there is none.")
    rag: RetrievalSummary = Field(description="What retrieval found, and what of it the model saw.")
    citations: list[CitationOut] = Field(description="The passages that the model saw, in prompt order.")
    cited: list[str] = Field(description="Labels that the answer cites: [1] is the first of them.")
    unknown: list[str] = Field(description="Labels that the model invented; they were removed from the text.")
    appended: bool = Field(
        description="The model cited nothing, so the most similar passages were named at the end."
    )
    notes: list[str] = Field(description="Notes on the retrieval, for people.")
    degraded: list[DegradedSource] = Field(description="What did not do its part; empty: all is well.")


class UrlCitation(Out):
    """Where the text cites, and what."""

    url: str = Field(description="Absolute address of the passage.")
    title: str = Field(description="Title of its document or text, with the page.")
    start_index: int = Field(description=f"Where the mark begins: {OFFSET}")
    end_index: int = Field(description=f"Where the mark ends: {OFFSET}")


class ChatAnnotation(Out):
    """A citation in the text."""

    type: Literal["url_citation"] = Field("url_citation", description="Always `url_citation`.")
    url_citation: UrlCitation = Field(description="Where the text cites, and what.")


class CompletionMessage(Out):
    """The answer and its citations."""

    role: Literal["assistant"] = Field("assistant", description="Always `assistant`.")
    content: str = Field(description="Its text, with marks.")
    refusal: None = Field(None, description="Always null.")
    annotations: list[ChatAnnotation] = Field(description="Its citations, in order.")


class CompletionChoice(Out):
    """The answer: there is one choice."""

    index: Literal[0] = Field(0, description="Always 0.")
    message: CompletionMessage = Field(description="The answer.")
    logprobs: None = Field(None, description="Always null.")
    finish_reason: Literal["stop", "length"] = Field(description="How the answer ended.")


class CompletionUsage(Out):
    """Tokens of the prompt and the answer, as the model's server counted them, or estimated."""

    prompt_tokens: int = Field(description="Of the prompt, with what was found.")
    completion_tokens: int = Field(description="Of the answer.")
    total_tokens: int = Field(description="Of both.")


class ChatCompletion(Out):
    """An answer as one object."""

    id: str = Field(description="`chatcmpl-` and the answer's id.")
    object: Literal["chat.completion"] = Field("chat.completion", description="Always `chat.completion`.")
    created: int = Field(description="When it was asked for: seconds since 1970.")
    model: str = Field(description="The name that was asked for.")
    choices: list[CompletionChoice] = Field(description="One.")
    usage: CompletionUsage = Field(description="Tokens used.")
    ibid: AnswerFacts = Field(description="What Ibid knows of the answer.")


class CompletionDelta(Out):
    """The next piece of the answer."""

    role: Literal["assistant"] | None = Field(None, exclude_if=absent, description="In the first chunk.")
    content: str | None = Field(None, exclude_if=absent, description="The next piece of the text.")
    annotations: list[ChatAnnotation] | None = Field(
        None, exclude_if=absent, description="The citations whose marks are in this piece."
    )


class ChunkChoice(Out):
    """A piece of the one choice."""

    index: Literal[0] = Field(0, description="Always 0.")
    delta: CompletionDelta = Field(description="The next piece.")
    finish_reason: Literal["stop", "length"] | None = Field(
        None, description="In the last chunk of the text."
    )


class ChatCompletionChunk(Out):
    """One event of a streamed answer."""

    id: str = Field(description="`chatcmpl-` and the answer's id.")
    object: Literal["chat.completion.chunk"] = Field(
        "chat.completion.chunk", description="Always `chat.completion.chunk`."
    )
    created: int = Field(description="When it was asked for: seconds since 1970.")
    model: str = Field(description="The name that was asked for.")
    choices: list[ChunkChoice] = Field(description="One; none beside `usage`.")
    usage: CompletionUsage | None = Field(
        None, exclude_if=absent, description="In a chunk of its own, with `stream_options.include_usage`."
    )
    ibid: AnswerFacts | None = Field(
        None, exclude_if=absent, description="In the chunk that has the finish_reason: what Ibid knows."
    )


class InputItem(Lenient):
    """An entry of the conversation. Only messages are read."""

    type: str | None = Field(None, description="`message` or left out; others are ignored.")
    role: str | None = Field(None, description="As in a chat completion.")
    content: Content = Field(None, description="A text, or parts whose texts are joined.")


Items: TypeAlias = Annotated[list[InputItem], Field(min_length=1, max_length=MESSAGES_MOST)]
Input: TypeAlias = Annotated[LongText | Items, by_form(is_list, Items, LongText)]


class ResponseRequest(AskedModel):
    """A question, alone or at the end of a conversation."""

    input: Input = Field(description="The question, or messages whose last user text is it.")
    instructions: LongText | None = Field(None, description="A note for the model.")
    previous_response_id: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="The response that this one follows: its conversation is the history."
    )
    store: bool | None = Field(
        None,
        description="False: the answer and its turns are not kept, so that it can be neither looked up nor"
        " followed. Answers of `ibid/vantage` are always kept.",
    )


class UrlAnnotation(UrlCitation):
    """A citation, with the address of its passage."""

    type: Literal["url_citation"] = Field("url_citation", description="Always `url_citation`.")


class FileAnnotation(Out):
    """The same citation of a document, with its file."""

    type: Literal["file_citation"] = Field("file_citation", description="Always `file_citation`.")
    file_id: str = Field(description="The document's id.")
    filename: str = Field(description="Its name, as in labels.")
    index: int = Field(description=f"Where the mark begins: {OFFSET}")


class OutputText(Out):
    """The answer's text and its citations."""

    type: Literal["output_text"] = Field("output_text", description="Always `output_text`.")
    text: str = Field(description="The text, with marks.")
    annotations: list[UrlAnnotation | FileAnnotation] = Field(description="Its citations, in order.")
    logprobs: list[None] = Field(default=[], description="Always empty.")


class OutputMessage(Out):
    """The answer, as far as it is."""

    id: str = Field(description="`msg_` and the answer's id.")
    type: Literal["message"] = Field("message", description="Always `message`.")
    status: Literal["in_progress", "completed", "incomplete"] = Field(description="How far it is.")
    role: Literal["assistant"] = Field("assistant", description="Always `assistant`.")
    content: list[OutputText] = Field(description="One text; none while it has not begun.")


class TokenDetails(Out):
    """Tokens of a kind."""

    cached_tokens: int | None = Field(None, exclude_if=absent, description="Always 0: not known.")
    reasoning_tokens: int | None = Field(None, exclude_if=absent, description="Always 0: not known.")


class ResponseUsage(Out):
    """Tokens of the prompt and the answer, as the model's server counted them, or estimated."""

    input_tokens: int = Field(description="Of the prompt, with what was found.")
    input_tokens_details: TokenDetails = Field(TokenDetails(cached_tokens=0), description="Of the prompt.")
    output_tokens: int = Field(description="Of the answer.")
    output_tokens_details: TokenDetails = Field(
        TokenDetails(reasoning_tokens=0), description="Of the answer."
    )
    total_tokens: int = Field(description="Of both.")


class ResponseFault(Out):
    """Why an answer broke off."""

    code: str = Field(description="OpenAI's word if it has one, else the problem's slug.")
    message: str = Field(description="What went wrong.")


class IncompleteDetails(Out):
    """Why an answer is incomplete."""

    reason: Literal["max_output_tokens"] = Field(description="The model's limit of length.")


class ResponseObject(Out):
    """An answer as one object. Fields of OpenAI's that Ibid ignores have its defaults."""

    id: str = Field(description="`resp_` and the answer's id.")
    object: Literal["response"] = Field("response", description="Always `response`.")
    created_at: int = Field(description="When it was asked for: seconds since 1970.")
    status: Literal["in_progress", "completed", "incomplete", "failed", "cancelled"] = Field(
        description="How far it is, or how it ended."
    )
    error: ResponseFault | None = Field(None, description="Why it failed.")
    incomplete_details: IncompleteDetails | None = Field(None, description="Why it is incomplete.")
    instructions: str | None = Field(None, description="The request's.")
    max_output_tokens: None = Field(None, description="Always null.")
    metadata: dict[str, Any] = Field(default={}, description="The request's.")
    model: str = Field(description="The name that was asked for.")
    output: list[OutputMessage] = Field(description="One message; none while it has not begun.")
    parallel_tool_calls: bool = Field(default=True, description="Without meaning: there are no tools.")
    previous_response_id: str | None = Field(None, description="The request's.")
    reasoning: None = Field(None, description="Always null.")
    store: bool = Field(default=True, description="True if the answer is kept.")
    temperature: None = Field(None, description="Always null.")
    text: dict[str, Any] = Field(default={"format": {"type": "text"}}, description="Always plain text.")
    tool_choice: str = Field("auto", description="Without meaning: there are no tools.")
    tools: list[None] = Field(default=[], description="Always empty.")
    top_p: None = Field(None, description="Always null.")
    truncation: Literal["disabled"] = Field("disabled", description="Always `disabled`.")
    usage: ResponseUsage | None = Field(None, description="Tokens used; null until it has ended.")
    user: str | None = Field(None, description="The request's.")
    ibid: AnswerFacts | None = Field(
        None, exclude_if=absent, description="What Ibid knows of the answer, once it has ended."
    )


class ResponseEvent(Out):
    """An event of a streamed response. Its other fields depend on its type."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(
        description="`response.created`, `response.in_progress`, `response.output_item.added`,"
        " `response.content_part.added`, `response.output_text.delta`…,"
        " `response.output_text.annotation.added`…, `response.output_text.done`,"
        " `response.content_part.done`, `response.output_item.done`, and `response.completed` or"
        " `response.incomplete`; or `error` and `response.failed`."
    )
    sequence_number: int = Field(description="Its place in the stream, from 0.")
    response: ResponseObject | None = Field(None, exclude_if=absent, description="The response so far.")
    item: OutputMessage | None = Field(None, exclude_if=absent, description="The message so far.")
    part: OutputText | None = Field(None, exclude_if=absent, description="The text so far.")
    item_id: str | None = Field(None, exclude_if=absent, description="The message's id.")
    output_index: int | None = Field(None, exclude_if=absent, description="Always 0.")
    content_index: int | None = Field(None, exclude_if=absent, description="Always 0.")
    delta: str | None = Field(None, exclude_if=absent, description="The next piece of the text.")
    text: str | None = Field(None, exclude_if=absent, description="The whole text.")
    annotation_index: int | None = Field(None, exclude_if=absent, description="The citation's place, from 0.")
    annotation: UrlAnnotation | FileAnnotation | None = Field(
        None, exclude_if=absent, description="A citation whose mark was sent."
    )
    code: str | None = Field(None, exclude_if=absent, description="Of `error`: its code.")
    message: str | None = Field(None, exclude_if=absent, description="Of `error`: what went wrong.")
