"""/api/documents and /api/sessions: uploaded PDFs, and what was said about them."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.api.schemas import Body, CountedPage, Gone, Name, Out, Page, SessionId, SessionTitle, Time, absent
from app.api.schemas.answers import TurnAnswer
from app.db.documents import Document
from app.problems import Problem, of_fault
from app.types import Scope


class UploadFields(BaseModel):
    """The form fields of an upload."""

    # All of them are text on the wire, so not strict.
    model_config = ConfigDict(extra="forbid", frozen=True)

    session_id: SessionId | None = Field(
        None, description="The session it belongs to; send this or `scope`.", examples=["thesis"]
    )
    scope: Literal["global"] | None = Field(None, description="`global`: it belongs to every session.")
    user_id: Name | None = Field(
        None,
        description="Whose it is, for export and erasure. A user key: that user, or left out. A file that"
        " several users sent is erased with the last of them.",
    )
    replace: Literal["true", "false"] = Field("false", description="Replace a document of the same name.")
    wait: float = Field(
        30, ge=0, le=300, allow_inf_nan=False, description="Seconds to wait until it is searchable."
    )

    @model_validator(mode="after")
    def one_place(self) -> Self:
        """A document belongs to one session or to all of them."""
        if (self.session_id is None) == (self.scope is None):
            raise ValueError("must have either session_id or scope=global")
        return self


class ProgressOut(Out):
    """How far a document is that is not ready."""

    stage: Literal["queued", "reading", "indexing"] = Field(
        description="`queued`: nobody has begun; `reading`: its text; `indexing`: its passages."
    )
    done: int = Field(description="Pages that this stage has done.")
    of: int = Field(description="Pages of the document; 0: not known yet.")


class DocumentOut(Out):
    """A document and its state."""

    id: str = Field(description="The document's id.")
    label: str = Field(description="Its name in citations, before the `#`.")
    filename: str = Field(description="The name of the uploaded file.")
    title: str | None = Field(description="Its own title; null: none was found, or not yet.")
    scope: Literal["session", "global"] = Field(description="Whether one session can search it, or all.")
    session_id: str | None = Field(description="Its session; null: global.")
    user_id: str | None = Field(
        description="The calling user if it was uploaded for them. Otherwise the first user it was uploaded"
        " for; a user key gets null instead."
    )
    state: Literal["processing", "ready", "failed"] = Field(description="Searchable once it is `ready`.")
    pages: int = Field(description="Number of pages.")
    chunks: int = Field(description="Number of passages.")
    tokens: int = Field(description="Tokens of all passages.")
    size: int = Field(description="Bytes of the file.")
    sha256: str = Field(description="SHA-256 of the file.")
    created_at: Time = Field(description="When it was uploaded.")
    progress: ProgressOut | None = Field(
        None, exclude_if=absent, description="Only while it is `processing`: how far it is."
    )
    problem: Problem | None = Field(None, exclude_if=absent, description="Only if it failed: why.")
    warnings: list[str] = Field(
        [], description="What of the file cannot be searched, such as scanned pages: a sentence each."
    )

    @classmethod
    def of(cls, document: Document, asker: Scope, instance: str) -> Self:
        """As `asker` sees it; `instance` is the request's id."""
        return cls(
            id=document.id,
            label=document.label,
            filename=document.filename,
            title=document.title or None,
            scope=document.scope,
            session_id=document.session_id,
            user_id=user_of(document, asker),
            state=document.state,
            pages=document.pages,
            chunks=document.chunks,
            tokens=document.tokens,
            size=document.size,
            sha256=document.sha256,
            created_at=document.created_at,
            progress=document.progress and ProgressOut.model_validate(document.progress),
            problem=document.fault and of_fault(document.fault, instance),
            warnings=list(document.warnings),
        )


def user_of(document: Document, asker: Scope) -> str | None:
    """The scope's user if the document is theirs; otherwise, for a tenant key, the first user who sent it."""
    if asker.user_id in document.users or asker.owner:
        return asker.user_id if asker.user_id in document.users else None
    return next((user for user in document.users if user), None)


class DocumentPage(CountedPage[DocumentOut]):
    """A page of documents, newest first."""

    max_size: int = Field(description="Most bytes of one file (DOCUMENT_MAX_MB).")
    gone: Gone = None


class PageBoxes(Out):
    """Where a text is on a page."""

    page: int = Field(description="The page, physical, from 1.")
    label: str | None = Field(description="Its number as printed; null: not known.")
    rects: list[list[float]] = Field(
        description="A rectangle for each line, [left, top, right, bottom], as fractions of the page as it is"
        " shown, from its top left corner."
    )


class ChunkOut(Out):
    """A passage of a document."""

    label: str = Field(description="What stands in brackets in an answer that cites it.")
    text: str = Field(description="The passage.")
    page: int = Field(description="First page, physical, from 1.")
    page_end: int = Field(description="Last page.")
    heading: str = Field(description="The headings above it.")
    tokens: int = Field(description="Its tokens.")
    kind: str = Field(description='"table", "listing" (of contents or exhibits), "cover"; otherwise "".')
    page_label: str | None = Field(description="Page number as printed, or several; null: not known.")
    boxes: list[PageBoxes] | None = Field(
        None,
        exclude_if=absent,
        description="Only if asked for: where it is on its pages. A part that is not found for sure has"
        " none.",
    )
    quote_boxes: list[PageBoxes] | None = Field(
        None, exclude_if=absent, description="Only with `quote`: where the quotation is."
    )


class SessionOut(Out):
    """A session in figures."""

    session_id: str = Field(description="The session's name.")
    documents: int = Field(description="Its own documents; global ones are in every session.")
    title: str | None = Field(
        description="As it was renamed, else the beginning of its first question; null: none was asked."
    )
    renamed: bool = Field(description="Whether somebody gave it this title.")
    turns: int = Field(description="Questions and answers.")
    created_at: Time = Field(description="When it was first used.")
    last_active_at: Time = Field(description="When it was last used.")


class SessionUpdate(Body):
    """A new title of a session."""

    title: SessionTitle | None = Field(
        description="Its title from now on; blank or null: the beginning of its first question again."
    )


class SessionPage(Page[SessionOut]):
    """A page of sessions, the most recently active first."""


class TurnOut(Out):
    """A question or an answer."""

    thread_id: str = Field(description="The conversation.")
    role: Literal["user", "assistant"] = Field(description="Who spoke.")
    content: str = Field(description="What was said.")
    at: Time = Field(description="When it was said.")
    answer_id: str | None = Field(description="The answer that this turn belongs to.")
    answer: TurnAnswer | None = Field(
        None,
        exclude_if=absent,
        description="Only with `citations=1`, at the answer's turn, or at the question if the answer has no"
        " text: how it came to be.",
    )


class TurnPage(Page[TurnOut]):
    """A page of turns, oldest first."""
