"""/corpus: reference texts in collections."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints

from app.api.bodies import encoded
from app.api.schemas import (
    ENTRIES_MOST,
    Body,
    CountedPage,
    Message,
    Metadata,
    Out,
    Page,
    TextId,
    Time,
    Title,
    by_form,
    is_object,
)
from app.db.corpus import METADATA_BYTES, ReferenceDraft
from app.db.memories import RAW
from app.problems import pattern


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


class NewTexts(Body):
    """Texts for a collection."""

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


class CollectionSummary(Out):
    """A collection in figures."""

    collection: str = Field(description="Its name.")
    texts: int = Field(description="Number of texts.")
    tokens: int = Field(description="Tokens of all texts.")
    updated_at: Time = Field(description="When it was last written to.")


class CollectionPage(CountedPage[CollectionSummary]):
    """The collections that were written here, by name; always one page."""
