"""/memories, /memory_feedback, /temporal, /profiles, /corpus, and the questions and answers of /rag.

The examples tell one story: Ada, who sleeps badly and keeps a diary.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, RootModel, StringConstraints

from app.api.schemas import (
    ENTRIES_MOST,
    Body,
    Message,
    Metadata,
    Name,
    Note,
    Out,
    Page,
    PastTime,
    TextId,
    Time,
    Title,
    Word,
    absent,
    by_form,
    examples,
    is_list,
    is_object,
    read,
)
from app.api.schemas.chat import ANSWER_ID, AnswerEnd, AnswerHead, CitationMarks, DebugInfo
from app.api.wire import encoded
from app.db.corpus import METADATA_BYTES, ReferenceDraft
from app.db.memories import DESIRE, GRAVITY, NOTE, RAW, UNTOLD, Draft
from app.problems import pattern

IDS_MOST = 200
"""Ids of one request for votes."""
MEMORY_ID = "6f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d"
NEXT = "MTc5MDAwMDAwMDAwMDAwMHw2ZjNhOGY2ZQ"
USER = "Whose. A tenant key must name a user; a user key implies it."
REFERENCE_ID = (
    "For a reference text, the id its writer gave it or one made from its words, unique within the"
    " collection."
)


def _writable_origin(origin: str) -> str:
    if origin in UNTOLD:
        raise ValueError("must not be one of the service's own, for what the assistant or a daemon writes")
    return origin


def _writable_kind(kind: str) -> str:
    if kind in {GRAVITY, DESIRE}:
        raise ValueError("must not be one that the service computes (`ibid profiles`)")
    return kind


class NewMemory(Body):
    """Something that a person said and wants kept."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {"user_id": "ada", "text": "I sleep badly when I read late.", "tags": ["sleep"]},
            {
                "user_id": "ada",
                "text": "Two cups of coffee at most, and none after noon.",
                "kind": "preference",
                "created_at": "2026-11-02T08:15:00+01:00",
            },
        )
    )

    user_id: Name | None = Field(None, description="Whose it is. A user key: that user, or left out.")
    text: Message = Field(description="The words.", examples=["I sleep badly when I read late."])
    kind: Annotated[Word, AfterValidator(_writable_kind)] = Field(
        NOTE,
        description="The model sees persona, style and preference before every answer; others are searched.",
    )
    tags: list[Name] = Field(default=[], max_length=50, description="Tags to rank it by.")
    origin: Annotated[Word, AfterValidator(_writable_origin)] = Field("api", description="Who wrote it down.")
    vantage_id: Name | None = Field(None, description="A namespace; null: it belongs to all of them.")
    thread_id: Name | None = Field(None, description="The conversation it was said in.")
    created_at: PastTime | None = Field(None, description="When it was said (RFC 3339). Default: now.")

    def draft(self) -> Draft:
        at = read(self.created_at) if self.created_at else None
        named = ("text", "kind", "origin", "vantage_id", "thread_id")
        return Draft(**{name: getattr(self, name) for name in named}, tags=tuple(self.tags), created_at=at)


_Several: TypeAlias = Annotated[list[NewMemory], Field(min_length=1, max_length=ENTRIES_MOST)]
NewMemories: TypeAlias = Annotated[NewMemory | _Several, by_form(is_list, _Several, NewMemory)]

MEMORY = {
    "id": MEMORY_ID,
    "user_id": "ada",
    "text": "I sleep badly when I read late.",
    "kind": "note",
    "tags": ["sleep"],
    "origin": "api",
    "vantage_id": None,
    "thread_id": None,
    "tokens": 8,
    "created_at": "2026-11-21T21:30:00Z",
}


class MemoryOut(Out):
    """A memory."""

    id: str = Field(description="The memory's id.")
    user_id: str = Field(description="Whose it is.")
    text: str = Field(description="The words.")
    kind: str = Field(description="note, persona, style, preference, …")
    tags: list[str] = Field(description="Its tags.")
    origin: str = Field(description="Who wrote it down.")
    vantage_id: str | None = Field(description="Its namespace; null: all of them.")
    thread_id: str | None = Field(description="The conversation it was said in; null: not known.")
    tokens: int = Field(description="Its tokens.")
    created_at: Time = Field(description="When it was said.")


class MemoryWritten(Out):
    """What became of a memory."""

    model_config = ConfigDict(json_schema_extra=examples({"outcome": "created", "memory": MEMORY}))

    outcome: Literal["created", "repeated", "echo"] = Field(
        description="`repeated`: the user has one of the same words already. `echo`: it only repeats what was"
        " recalled, or said by the assistant, in that conversation; it is not kept."
    )
    memory: MemoryOut | None = Field(description="The memory; of a partial echo, the new sentences alone.")


class MemoriesWritten(Out):
    """What became of each memory, in order."""

    items: list[MemoryWritten] = Field(description="One entry for each memory.")


class MemoryPage(Page[MemoryOut]):
    """A page of memories, newest first."""

    model_config = ConfigDict(json_schema_extra=examples({"items": [MEMORY], "next": NEXT}))


def _whole(value: object) -> object:
    """`true` and 1.0 equal 1 in Python, but are no votes."""
    if type(value) is not int:
        raise ValueError("must be 1, -1 or 0")
    return value


VOTE = {"user_id": "ada", "memory_id": MEMORY_ID, "signal": 1}


class VoteRequest(Body):
    """A vote on a memory."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            VOTE, {**VOTE, "answer_id": ANSWER_ID}, {**VOTE, "signal": 0, "answer_id": ANSWER_ID}
        )
    )

    user_id: Name | None = Field(
        None,
        description="Whose vote, on a memory of theirs. A tenant key must name one; a user key implies it.",
    )
    memory_id: Name = Field(description="The memory.")
    signal: Annotated[Literal[1, -1, 0], BeforeValidator(_whole)] = Field(
        description="Up, down, or 0 to withdraw the vote."
    )
    answer_id: Name | None = Field(
        None,
        description="The answer it is about: a user has one vote per answer and memory, and a later one"
        " replaces it. Without it a user has one vote per memory and UTC day; `signal: 0` then deletes the"
        " votes of all days.",
    )


class VoteReply(Out):
    """What became of a vote."""

    model_config = ConfigDict(
        json_schema_extra=examples({"memory_id": MEMORY_ID, "signal": 1, "applied": True})
    )

    memory_id: str = Field(description="The memory.")
    signal: Literal[1, -1, 0] = Field(description="The vote.")
    applied: bool = Field(description="False if the stored vote was already the same.")


class VoteCount(Out):
    """The votes on a memory."""

    positive: int = Field(description="Votes up.")
    negative: int = Field(description="Votes down.")


class VoteCounts(RootModel[dict[str, VoteCount]]):
    """Votes by memory, for each that was asked for."""

    model_config = ConfigDict(json_schema_extra=examples({MEMORY_ID: {"positive": 3, "negative": 1}}))


class LastActivity(Out):
    """When the user last said something."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {"bucket": "days", "last_message_at": "2026-11-19T09:30:40.5Z", "seconds_since": 172_800.0}
        )
    )

    bucket: Literal["new", "minutes", "hours", "days", "weeks", "months"] = Field(
        description="Less than an hour, 24 hours, 7 days, 31 days ago; longer; `new`: never."
    )
    last_message_at: Time | None = Field(description="When; null: never.")
    seconds_since: float | None = Field(description="Seconds since then; null: never.")


class ProfilesRequest(Body):
    """Whose profile cards to compute."""

    model_config = ConfigDict(json_schema_extra=examples({"user_id": "ada"}, {}))

    user_id: Name | None = Field(None, description="This user alone. Left out: all, page by page.")
    cursor: Name | None = Field(None, description="`next` of the page before.")
    tenant: Name | None = Field(
        None, description="Another tenant than the key's: for commands of the service's own machine alone."
    )


class UserProfiled(Out):
    """What was computed for one user."""

    user_id: str = Field(description="The user.")
    messages: int = Field(
        description="Messages of the user that were read. 0: no cards; earlier ones were removed."
    )
    kinds: list[str] = Field(description="Kinds of the cards that were written.")


class ProfilesReply(Out):
    """A page of users whose cards were computed."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {
                "items": [
                    {
                        "user_id": "ada",
                        "messages": 212,
                        "kinds": ["gravity_profile", "vb_desire_profile", "style", "persona"],
                    }
                ],
                "next": None,
                "users": 1,
            }
        )
    )

    items: list[UserProfiled] = Field(description="The users of this page.")
    next: str | None = Field(description="The `cursor` of the next page; null: this is the last one.")
    users: int = Field(description="Number of users on all pages.")


def _not_memories(name: str) -> str:
    if name.lower() == RAW:
        raise ValueError("must not be the memories' own collection: use POST /memories")
    return name


def _small(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata that every citation can carry."""
    if len(encoded(metadata)) > METADATA_BYTES:
        raise ValueError(f"must have at most {METADATA_BYTES >> 10} KiB as JSON")
    return metadata


CollectionName: TypeAlias = Annotated[
    str,
    StringConstraints(
        pattern=pattern(
            r"^[A-Za-z0-9][A-Za-z0-9._\-]{2,99}$",
            "must have 3 to 100 letters, digits, `.`, `_` or `-`, and begin with a letter or digit",
        )
    ),
    AfterValidator(_not_memories),
]


class NewText(Body):
    """A reference text with its name."""

    text: Message = Field(description="The text.")
    id: TextId | None = Field(
        None, description="A text of the same id is replaced. Default: made from the words."
    )
    title: Title = Field("", description="Its title, shown in citations.")
    metadata: Annotated[Metadata, AfterValidator(_small)] = Field(
        default={},
        description="Stored with the text and returned in every citation (at most 8 KiB of JSON). Search"
        " results also show `kind`, `origin`, `url` and `tags`.",
    )

    def given(self) -> ReferenceDraft:
        return ReferenceDraft(self.text, self.id, self.title, dict(self.metadata))


TEXT = {
    "id": "hygiene-3",
    "title": "Sleep hygiene",
    "text": "Keep the hours of going to bed and of rising.",
    "metadata": {"kind": "guideline", "url": "https://example.org/sleep#3"},
}


class NewTexts(Body):
    """Texts for a collection."""

    model_config = ConfigDict(
        json_schema_extra=examples({"texts": ["Light in the evening delays sleep.", TEXT]})
    )

    texts: list[Annotated[Message | NewText, by_form(is_object, NewText, Message)]] = Field(
        min_length=1, max_length=ENTRIES_MOST, description="Each a text, or a text with its name."
    )

    def given(self) -> list[ReferenceDraft]:
        return [ReferenceDraft(item) if isinstance(item, str) else item.given() for item in self.texts]


class TextWritten(Out):
    """What became of a text."""

    outcome: Literal["created", "replaced"] = Field(description="Whether the id is new.")
    id: str = Field(description="As it was sent, or made from the words.")
    tokens: int = Field(description="Its tokens.")


class TextsWritten(Out):
    """What became of each text, in order."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {
                "collection": "sleep",
                "items": [{"outcome": "created", "id": "hygiene-3", "tokens": 11}],
            }
        )
    )

    collection: str = Field(description="The collection.")
    items: list[TextWritten] = Field(description="One entry for each text.")


class ReferenceText(Out):
    """A reference text as it was written."""

    id: str = Field(description="Its id in the collection.")
    title: str = Field(description='Its title; "": it has none.')
    text: str = Field(description="The text.")
    metadata: dict[str, Any] = Field(description="Its metadata.")
    tokens: int = Field(description="Its tokens.")
    created_at: Time = Field(description="When it was written.")


class TextPage(Page[ReferenceText]):
    """A page of a collection's texts, by id."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {"items": [{**TEXT, "tokens": 11, "created_at": "2026-11-21T21:31:00Z"}], "next": None}
        )
    )


class CollectionSummary(Out):
    """A collection in figures."""

    collection: str = Field(description="Its name.")
    texts: int = Field(description="Number of texts.")
    tokens: int = Field(description="Tokens of all texts.")
    updated_at: Time = Field(description="When it was last written to.")


class CollectionPage(Page[CollectionSummary]):
    """The collections that were written here, by name; always one page."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {
                "items": [
                    {"collection": "sleep", "texts": 2, "tokens": 18, "updated_at": "2026-11-21T21:31:00Z"}
                ],
                "next": None,
            }
        )
    )


class OverlayOptions(Body):
    """How an answer should sound, part by part."""

    role: Note | None = Field(None, description="Who speaks.", examples=["a patient coach"])
    tone: Note | None = Field(None, description="The tone.", examples=["warm and plain"])
    format: Note | None = Field(None, description="The form.", examples=["a short list"])
    instructions: Note | None = Field(None, description="Anything else.", examples=["End with one question."])


Overlay: TypeAlias = Annotated[Note | OverlayOptions, by_form(is_object, OverlayOptions, Note)]


class RagRequest(Body):
    """A message to be answered from a person's memory."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {"user_id": "ada", "message": "What helped me sleep last winter?"},
            {
                "user_id": "ada",
                "message": "What helped me sleep last winter?",
                "thread_id": "evenings",
                "top_k": 8,
                "overlay": {
                    "role": "a patient coach",
                    "tone": "warm and plain",
                    "format": "a short list",
                    "instructions": "End with one question.",
                },
                "remember": True,
                "stream": False,
            },
            {"user_id": "ada", "message": "Plan my evening", "overlay": "Answer in two sentences."},
            {"user_id": "ada", "message": "hey again!"},
        )
    )

    user_id: Name | None = Field(
        None,
        description="Whose memories are searched. A tenant key must name one; a user key implies it.",
        examples=["ada"],
    )
    message: Message = Field(description="The message; not only white space.")
    thread_id: Name | None = Field(None, description="The conversation. Default: the user's default thread.")
    top_k: int = Field(8, ge=1, le=50, description="Reference texts, at most; of memories at most three.")
    overlay: Overlay | None = Field(None, description="How the answer should sound, for this message alone.")
    remember: bool = Field(default=False, description="Keep the user's own words as a memory.")
    stream: bool = Field(default=False, description="True: events, as /api/chat sends them.")


class UsedMemory(Out):
    """A memory or a reference text that the model saw."""

    id: str = Field(description=REFERENCE_ID)
    source: Literal["memories", "corpus"] = Field(description="The source it was found in.")
    collection: str | None = Field(description="Its collection.")
    kind: str | None = Field(description="Its kind.")
    origin: str | None = Field(description="Who wrote it (the payload's `source`).")
    title: str = Field(description='Its title; "": it has none.')
    metadata: dict[str, Any] = Field(description="The reference text's metadata; `{}` for other sources.")
    text: str = Field(description="The text.")
    label: str = Field(description="What stands in brackets in the answer.")
    similarity: float | None = Field(description="Cosine in [-1, 1]; null: found by words alone.")
    relevance: float = Field(description="From words and similarity, in [0, 1].")
    score: float = Field(description="Relevance times all boosts.")
    boosts: dict[str, float] = Field(description="Factors by name, each in [0.9, 1.1].")


class VoteBalance(Out):
    """Votes on the memories used."""

    positive: int = Field(description="Votes up.")
    negative: int = Field(description="Votes down.")
    net: int = Field(description="Votes up minus votes down.")


class GravityFit(Out):
    """How far the message is from the user's usual subjects."""

    misalignment: float = Field(description="In [0, 1].")
    label: Literal["unknown", "aligned", "drifting", "misaligned"] = Field(description="In one word.")


class MemoryExplanation(Out):
    """Why these memories."""

    query_tags: list[str] = Field(description="Tags of the message.")
    feedback: VoteBalance = Field(description="Votes on the memories used.")
    format_consistency: float | None = Field(
        description="Share of the memories used that have the wanted form, or the usual one; null: no form."
    )
    gravity: GravityFit = Field(description="How the message fits the user's usual subjects.")
    temporal: LastActivity | None = Field(
        description="When the user last said something, before this message; null: not known."
    )


RAG_LABEL = "memory#k3v9q2ax"
RAG_ANSWER = f"Reading on paper for half an hour before bed [{RAG_LABEL}]."
USED = {
    "id": MEMORY_ID,
    "source": "memories",
    "collection": "memory_raw",
    "kind": "note",
    "origin": "frontend/chat:user",
    "title": "",
    "metadata": {},
    "text": "Reading on paper for half an hour before bed has helped me sleep since December.",
    "label": RAG_LABEL,
    "similarity": 0.58,
    "relevance": 0.7,
    "score": 0.735,
    "boosts": {"feedback": 1.05, "format": 1.0, "vb_desire": 1.0, "gravity": 1.0},
}
EXPLANATION = {
    "query_tags": ["vb:rest"],
    "feedback": {"positive": 1, "negative": 0, "net": 1},
    "format_consistency": None,
    "gravity": {"misalignment": 0.12, "label": "aligned"},
    "temporal": {"bucket": "days", "last_message_at": "2026-11-18T21:04:11Z", "seconds_since": 217_829.0},
}
HEAD: dict[str, Any] = {
    "answer_id": ANSWER_ID,
    "session_id": None,
    "model": "gpt-5.2",
    "rag": {
        "used": True,
        "reason": "ok",
        "cached": False,
        "passages": 1,
        "tokens": 41,
        "budget": 50_000,
        "took_ms": 12,
    },
    "citations": [
        {
            "label": RAG_LABEL,
            "source": "memories",
            "id": MEMORY_ID,
            "title": "",
            "page": None,
            "page_end": None,
            "url": None,
            "metadata": {},
        }
    ],
    "notes": ["Retrieved 1 passages from memories"],
    "degraded": [],
}
RAG_META = {**HEAD, "memory_used": [USED], "meta_explanation": EXPLANATION, "bypass": None}
RAG_MARKS: dict[str, Any] = {"cited": [RAG_LABEL], "unknown": [], "appended": False}
RAG_END = {
    "answer_id": ANSWER_ID,
    "finish_reason": "stop",
    "usage": {"prompt_tokens": 262, "completion_tokens": 17},
    "took_ms": 804,
    "remembered": "created",
}


class RagMeta(AnswerHead):
    """Data of the event `meta` of /rag/query."""

    model_config = ConfigDict(json_schema_extra=examples(RAG_META))

    memory_used: list[UsedMemory] = Field(description="What the model saw, in that order.")
    meta_explanation: MemoryExplanation = Field(description="Why these memories.")
    bypass: Literal["greeting", "small_talk"] | None = Field(
        description="`greeting`, `small_talk`: nothing was looked up."
    )
    system_prompt: str | None = Field(None, exclude_if=absent, description="Only with RAG_DEBUG_MODE.")
    debug: DebugInfo | None = Field(None, exclude_if=absent, description="Only with RAG_DEBUG_MODE.")


WITHOUT_SESSION = {name: value for name, value in RAG_META.items() if name != "session_id"}


class RagReply(AnswerEnd, CitationMarks, RagMeta):
    """An answer from memory as one object (`stream: false`)."""

    model_config = ConfigDict(
        json_schema_extra=examples({**WITHOUT_SESSION, **RAG_MARKS, **RAG_END, "answer": RAG_ANSWER})
    )

    session_id: str | None = Field(None, exclude_if=absent, description="The session, if there is one.")
    answer: str = Field(description="The answer.")


class FeedbackRequest(Body):
    """What somebody said about an answer."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {"user_id": "ada", "message": "Thanks, as a short list it is perfect."},
            {"user_id": "ada", "message": "No.", "answer_id": ANSWER_ID, "rating": "down"},
        )
    )

    user_id: Name | None = Field(
        None,
        description="Who says it. A tenant key must name one; a user key implies it.",
        examples=["ada"],
    )
    message: Message = Field(
        description="What they said next. It is not kept: send it as their next question, if it is one."
    )
    thread_id: Name | None = Field(None, description="The conversation. Default: the user's default one.")
    answer_id: Name | None = Field(None, description="The answer. Default: the last of user and thread.")
    rating: Literal["up", "down"] | None = Field(None, description="Decides, whatever the message says.")


class FeedbackReply(Out):
    """What the feedback changed."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {
                "answer_id": ANSWER_ID,
                "sentiment": "positive",
                "decided_by": "marker",
                "tag": "format:skeleton",
                "memory_ids": [MEMORY_ID],
                "applied": 1,
                "persona_refreshed": True,
            }
        )
    )

    answer_id: str = Field(description="The answer it was about.")
    sentiment: Literal["positive", "negative", "neutral"] = Field(description="Neutral: no votes.")
    decided_by: Literal["rating", "marker", "model", "none"] = Field(
        description="`none`: no rating, no marker, and no model that decided."
    )
    tag: str | None = Field(description="What the message asks for, as a query tag or as its own #tag.")
    memory_ids: list[str] = Field(description="The person's memories that the answer used.")
    applied: int = Field(
        description="Votes that changed. One per memory and answer: a repeat changes none, a change of mind"
        " replaces them."
    )
    persona_refreshed: bool = Field(description="Whether the style card was computed again.")
