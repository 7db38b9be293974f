"""/projects: a project's context, knowledge, code, conversations and dreams.

Rows are named as the columns of `code_index` and `conversation_index`. Lengths are characters.
"""

import re
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from app.answering.projects import DREAMING
from app.api.schemas import (
    ENTRIES_MOST,
    NO_NUL,
    NOT_BLANK,
    Body,
    CountedPage,
    LongText,
    Message,
    Metadata,
    Name,
    Out,
    Page,
    PastTime,
    TextId,
    Time,
    Title,
    by_form,
    is_list,
    read,
)
from app.db.code import CodeFile, CodeRow
from app.db.conversations import ConversationDraft, SaidTurn
from app.db.projects import MOST_NOTES, Knowledge, KnowledgeChange, KnowledgeNote, ProjectSummary
from app.problems import pattern
from app.types import Scope

FILE_LONGEST = 1 << 20
ROWS_MOST, WORDS_MOST = 1_000, 100
"""Rows of one request; tags, or entities, of one row."""
SPEAKERS = ("user", "assistant")
FORCED_LINES = re.compile(r"[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that end a line or change the direction of text: a label with them would show another path."""


class ContextRequest(Body):
    """A message to a project."""

    message: Annotated[str, StringConstraints(max_length=32_000, pattern=NO_NUL)] | None = Field(
        None, description="What the context is for. Blank or left out: only what needs no search is shown."
    )
    top_k: int | None = Field(
        None,
        description="Entries, at most, where the project allows it: DAAS 1 to 5 (more is 5, less than 1 is"
        " 3); THN always five of each. Never refused.",
    )


class ProjectOut(Out):
    """A project in figures."""

    project: str = Field(description="Its name.")
    conversations: int = Field(description="Conversations of yours, and of the tenant.")
    dreams: int = Field(description="Dreams, in a project that keeps them instead of conversations (DAAS).")
    code: int = Field(description="Chunks of code.")
    knowledge: bool = Field(description="Whether it has an overview, rules or notes.")

    @classmethod
    def of(cls, summary: ProjectSummary) -> Self:
        dreaming, rows = summary.project in DREAMING, summary.conversations
        return cls(
            project=summary.project,
            conversations=0 if dreaming else rows,
            dreams=rows if dreaming else 0,
            code=summary.code,
            knowledge=summary.knowledge,
        )


class ProjectPage(CountedPage[ProjectOut]):
    """A page of projects, by name."""


class ProjectContextOut(Out):
    """What a project shows for a message."""

    context: str = Field(description="Markdown without any words around it; empty: nothing was found.")
    notes: list[str] = Field(description="Notes on the retrieval, for people.")


KNOWLEDGE: dict[str, Any] = {
    "overview": "THN is a home network: a Firewalla, three switches, a Mac Mini as its server.",
    "rules": "Name devices as the overview does. Never propose to open a port to the internet.",
    "notes": [{"title": "Addresses", "text": "VLAN 10 is 10.0.10.0/24, VLAN 20 (IoT) 10.0.20.0/24."}],
}
KnowledgeText: TypeAlias = Annotated[str, StringConstraints(max_length=32_000, pattern=NO_NUL)]


class NewNote(Body):
    """A note of a project's knowledge."""

    title: Name = Field(description="Its title; unique within the project.")
    text: Annotated[str, StringConstraints(max_length=8_000, pattern=NOT_BLANK)] = Field(
        description="Its text."
    )


def _distinct(notes: list[NewNote]) -> list[NewNote]:
    if len({note.title for note in notes}) < len(notes):
        raise ValueError("must not have two notes of the same title")
    return notes


NewNotes: TypeAlias = Annotated[list[NewNote], Field(max_length=MOST_NOTES), AfterValidator(_distinct)]


class NewKnowledge(Body):
    """A project's whole knowledge; what is left out is empty."""

    overview: KnowledgeText = Field("", description="What the project is.")
    rules: KnowledgeText = Field("", description="Rules for answers.")
    notes: NewNotes = Field(default=[], description="Further notes.")

    def knowledge(self) -> Knowledge:
        return Knowledge(self.overview, self.rules, _notes(self.notes))


class KnowledgeUpdate(Body):
    """Parts of a project's knowledge; what is left out stays."""

    overview: KnowledgeText | None = Field(None, description="What the project is.")
    rules: KnowledgeText | None = Field(None, description="Rules for answers.")
    notes: NewNotes = Field([], description="Each replaces the note of the same title, or is added.")

    def change(self) -> KnowledgeChange:
        return KnowledgeChange(self.overview, self.rules, _notes(self.notes))


def _notes(notes: list[NewNote]) -> tuple[KnowledgeNote, ...]:
    return tuple(KnowledgeNote(note.title, note.text) for note in notes)


class KnowledgeNoteOut(Out):
    """A note of a project's knowledge."""

    title: str = Field(description="Its title.")
    text: str = Field(description="Its text.")


class KnowledgeOut(Out):
    """What the model is told about a project."""

    overview: str = Field(description="What the project is.")
    rules: str = Field(description="Rules for answers.")
    notes: list[KnowledgeNoteOut] = Field(description="Further notes.")


FilePath: TypeAlias = Annotated[
    str,
    StringConstraints(
        min_length=1,
        max_length=1_000,
        pattern=pattern(
            r"^[^\x00-\x1f\x7f/][^\x00-\x1f\x7f]*$",
            "must be one line without control characters, relative to the project's root",
        ),
    ),
]


def _plain_path(path: str) -> str:
    """A path that leads to one place and looks like it."""
    if {"", ".", ".."} & set(re.split(r"[/\\]", path)):
        raise ValueError("must have neither empty parts nor `.` or `..`")
    if FORCED_LINES.search(path):
        raise ValueError("must be one line without characters that change the direction of text")
    return path


NewPath: TypeAlias = Annotated[FilePath, AfterValidator(_plain_path)]
Language: TypeAlias = Annotated[
    str,
    StringConstraints(
        pattern=pattern(
            r"^[A-Za-z0-9][A-Za-z0-9+#._\-]{0,39}$",
            "must have 1 to 40 letters, digits, `+`, `#`, `.`, `_` or `-`, and begin with a letter or digit",
        )
    ),
]


class NewCode(Body):
    """A chunk of code."""

    file_path: NewPath | None = Field(None, description="Its file, relative to the project's root.")
    language: Language | None = Field(None, description="Its language.")
    chunk_text: Message = Field(description="The code.")
    chunk_metadata: Metadata = Field(
        default={}, description="function_name, class_name, signature, start_line, end_line, …"
    )
    id: TextId | None = Field(
        None, description="A chunk of the same id is replaced. A UUID is kept as it is."
    )

    def row(self) -> CodeRow:
        return CodeRow(self.file_path, self.language, self.chunk_text, dict(self.chunk_metadata), self.id)


_SeveralCode: TypeAlias = Annotated[list[NewCode], Field(min_length=1, max_length=ENTRIES_MOST)]
NewCodes: TypeAlias = Annotated[NewCode | _SeveralCode, by_form(is_list, _SeveralCode, NewCode)]


class NewCodeFile(Body):
    """A whole file, to be cut into chunks."""

    path: NewPath = Field(description="Its path, relative to the project's root.")
    text: Annotated[str, StringConstraints(max_length=FILE_LONGEST, pattern=NO_NUL)] = Field(
        description="Its text."
    )
    language: Language | None = Field(None, description="Default: by the file's name.")


class NewCodeFiles(Body):
    """Files to keep. If a path comes twice, the last counts."""

    files: list[NewCodeFile] = Field(min_length=1, max_length=ENTRIES_MOST, description="The files.")

    def given(self) -> list[CodeFile]:
        return [CodeFile(each.path, each.text, each.language) for each in self.files]


class CodeWritten(Out):
    """What became of a chunk."""

    outcome: Literal["created", "replaced"] = Field(description="Whether the id is new.")
    id: str = Field(
        description="The id that was sent if it is a UUID; otherwise one made from it or the code."
    )


class CodesWritten(Out):
    """What became of each chunk, in order."""

    items: list[CodeWritten] = Field(description="One entry for each chunk.")


class CodeChunk(Out):
    """A chunk of code; one that another tool wrote may lack anything."""

    id: str = Field(description="The chunk's id.")
    project: str | None = Field(description="Its project.")
    file_path: str | None = Field(description="Its file, relative to the project's root.")
    language: str | None = Field(description="Its language.")
    chunk_text: str | None = Field(description="The code.")
    chunk_metadata: dict[str, Any] | None = Field(description="What it is.")
    indexed_at: Time | None = Field(description="When it was written.")


class CodeFileWritten(Out):
    """What became of a file."""

    path: str = Field(description="Its path.")
    outcome: Literal["added", "changed", "unchanged"] = Field(description="What changed.")
    chunks: int = Field(description="Chunks it was cut into.")
    embedded: int = Field(description="Chunks that needed a new vector.")
    note: str = Field(
        "",
        exclude_if=lambda note: not note,
        description="Only if there is a warning, for example that the file was split by lines.",
    )


class CodeFilesWritten(Out):
    """What became of each file, in order."""

    items: list[CodeFileWritten] = Field(description="One entry for each file.")


class CodeFileSummary(Out):
    """A file that is kept."""

    path: str = Field(description="Its path, relative to the project's root.")
    sha256: str = Field(
        description="SHA-256 of its text in UTF-8. Empty: put it again, because another tool has written over"
        " it or its vectors are of another embedding space."
    )
    chunks: int = Field(description="Chunks it was cut into.")
    language: str | None = Field(description="Its language.")
    indexed_at: Time | None = Field(description="When it was written.")


class CodeFilePage(Page[CodeFileSummary]):
    """A page of files, by path."""


class FilesRemoved(Out):
    """How many files were removed."""

    removed: int = Field(description="Files.")


Summary: TypeAlias = Annotated[str, StringConstraints(max_length=100_000, pattern=NO_NUL)]
Words: TypeAlias = Annotated[list[Name], Field(max_length=WORDS_MOST)]


class SpokenTurn(Body):
    """A turn. Only those of user and assistant are used."""

    role: Literal["user", "assistant", "system", "tool"] = Field(description="Who spoke.")
    content: LongText = Field(description="What was said.")


class NewConversation(Body):
    """A conversation, or a dream."""

    session_id: TextId | None = Field(
        None,
        description="A row of the same id is replaced. Default: made of the content. A UUID stays as it is.",
    )
    title: Title | None = Field(None, description="Its title.")
    tags: Words | None = Field(None, description="Its tags.")
    key_entities: Words | None = Field(None, description="Whom and what it is about.")
    summary_short: Summary | None = Field(None, description="A sentence or two.")
    summary_detailed: Summary | None = Field(None, description="A paragraph.")
    memory_snippet: Summary | None = Field(None, description="What to remember from it.")
    indexed_at: PastTime | None = Field(None, description="Default: when it is written.")
    turns: list[SpokenTurn] = Field(
        default=[],
        max_length=1_000,
        description="What was said. What the row lacks is made from it; the turns are not kept.",
    )
    text: Annotated[str, StringConstraints(max_length=1_000_000, pattern=NO_NUL)] = Field(
        "", description="The same for what has no turns: a dream as it was written down."
    )
    project: str | None = Field(None, description="The path's project, as replies show it.")
    tenant: str | None = Field(None, description="The key's tenant, as the table has it.")
    owner: str | None = Field(None, description="The key's user; empty: the tenant shares it.")
    embedding: Any = Field(None, description="Ignored: embeddings are made here.")
    embedding_ibid: Any = Field(None, description="Ignored, as `embedding`.")
    space: Any = Field(None, description="Ignored, as `embedding`.")
    sha256: Any = Field(None, description="Ignored, as `embedding`.")

    @model_validator(mode="after")
    def says(self) -> Self:
        """A row without words can never be found."""
        own = (self.title, self.summary_short, self.summary_detailed, self.memory_snippet, self.text)
        said = [turn.content for turn in self.turns if turn.role in SPEAKERS]
        if not any(text and text.strip() for text in (*own, *said)):
            raise ValueError("must have a title, a summary, a memory_snippet, turns or a text")
        return self

    def misplaced(self, scope: Scope) -> str | None:
        """The first field that names another place than the scope."""
        place = {"project": scope.project, "tenant": scope.tenant, "owner": scope.owner}
        return next((name for name, here in place.items() if getattr(self, name) not in {None, here}), None)

    def draft(self) -> ConversationDraft:
        return ConversationDraft(
            id=self.session_id,
            title=self.title,
            tags=None if self.tags is None else tuple(self.tags),
            key_entities=None if self.key_entities is None else tuple(self.key_entities),
            summary_short=self.summary_short,
            summary_detailed=self.summary_detailed,
            memory_snippet=self.memory_snippet,
            indexed_at=read(self.indexed_at) if self.indexed_at else None,
            said=tuple(SaidTurn(turn.role, turn.content) for turn in self.turns),
            text=self.text,
        )


_SeveralConversations: TypeAlias = Annotated[list[NewConversation], Field(min_length=1, max_length=ROWS_MOST)]
NewConversations: TypeAlias = Annotated[
    NewConversation | _SeveralConversations, by_form(is_list, _SeveralConversations, NewConversation)
]


class ConversationOut(Out):
    """A conversation or a dream. One that another tool wrote may lack anything."""

    session_id: str = Field(description="The row's id: a UUID if Ibid wrote it.")
    project: str = Field(description="Its project.")
    title: str | None = Field(description="Its title.")
    tags: list[str] = Field(description="Its tags.")
    key_entities: list[str] = Field(description="Whom and what it is about.")
    summary_short: str | None = Field(description="A sentence or two.")
    summary_detailed: str | None = Field(description="A paragraph.")
    memory_snippet: str | None = Field(description="What to remember from it.")
    indexed_at: Time | None = Field(description="When it was written.")


class ConversationWritten(Out):
    """What became of a row."""

    outcome: Literal["created", "replaced", "unchanged"] = Field(
        description="`unchanged`: exactly this was sent before, and nothing was done."
    )
    row: ConversationOut = Field(description="As it is kept, with what was made.")


class ConversationsWritten(Out):
    """What became of each row, in order."""

    items: list[ConversationWritten] = Field(description="One entry for each row.")


class ConversationPage(Page[ConversationOut]):
    """A page of conversations or dreams, newest first."""
