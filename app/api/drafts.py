"""What clients send to be kept: memories and reference texts. Strict, as `bodies.py`; lengths are characters.

Refused are words put into other mouths: origins of the assistant and of the daemons, and kinds of the cards
that `ibid profiles` computes. Cards that a person may write himself (persona, style, preference) are taken.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeAlias, cast

from pydantic import (
    AfterValidator,
    FailFast,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    StringConstraints,
    TypeAdapter,
    WrapValidator,
)
from pydantic_core.core_schema import CoreSchema, NullableSchema, UnionSchema

from app.api.bodies import NO_NUL, SAYS, Body, Name
from app.api.wire import encoded
from app.db.corpus import METADATA_BYTES, Given
from app.db.memories import DESIRE, GRAVITY, NOTE, RAW, UNTOLD, Draft

MOST = 500
"""Memories, or texts, of one request; a body has 2 MiB."""
OLDEST = datetime(1900, 1, 1, tzinfo=UTC)
AHEAD = timedelta(days=1)
"""How far a client's clock may be ahead of ours."""
MOMENT = r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$"
"""RFC 3339 §5.6."""


def read(text: str) -> datetime:
    """MOMENT as a time; what is finer than a microsecond is cut off."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text.upper()))


def told(text: str) -> str:
    """A time with its zone, as a person can have lived it."""
    try:
        at = read(text)
    except ValueError:
        raise ValueError("not a time that there is") from None
    if not OLDEST <= at <= datetime.now(UTC) + AHEAD:
        raise ValueError("should lie between 1900 and now")
    return text


def foreign(origin: str) -> str:
    """An origin that a client may name."""
    if origin in UNTOLD:
        raise ValueError("this origin is the service's own: what the assistant or a daemon writes")
    return origin


def writable(kind: str) -> str:
    """A kind that a client may write."""
    if kind in {GRAVITY, DESIRE}:
        raise ValueError("this kind is computed by the service (`ibid profiles`)")
    return kind


def shelf(name: str) -> str:
    """A collection that is not the memories'."""
    if name.lower() == RAW:
        raise ValueError("this collection is the memories' own: POST /memories")
    return name


def small(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata that every citation can carry."""
    if len(encoded(metadata)) > METADATA_BYTES:
        raise ValueError(f"at most {METADATA_BYTES >> 10} KiB as JSON")
    return metadata


Word: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/\-]{0,99}$")]
Kept: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=32_000, pattern=SAYS)]
Moment: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=MOMENT, max_length=40),
    AfterValidator(told),
    Field(json_schema_extra={"format": "date-time"}),
]
Collection: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]{2,99}$"), AfterValidator(shelf)
]
TextId: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f/?#%\\]+$")
]
FACT = (
    "Input should be text of at most 2,000 characters without NUL, a boolean, a finite number, null, or a"
    " list of at most 50 single lines of 1 to 200 characters"
)


def one_fault(source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    """The schema of an optional union, with one error for a wrong value, not one for each alternative."""
    schema = cast(NullableSchema, handler(source))
    union = cast(UnionSchema, schema["schema"])
    union["custom_error_type"], union["custom_error_message"] = "fact", FACT
    return schema


Fact: TypeAlias = Annotated[
    Annotated[str, StringConstraints(max_length=2_000, pattern=NO_NUL)]
    | bool
    | Annotated[int, Field(ge=-(2**53), le=2**53)]
    | Annotated[float, Field(allow_inf_nan=False)]
    | Annotated[list[Name], Field(max_length=50)]
    | None,
    GetPydanticSchema(one_fault),
]
Facts: TypeAlias = Annotated[dict[Name, Fact], Field(max_length=50), FailFast()]
"""Only the first wrong name or value is reported: to describe all 25,000 of a request takes 50 ms."""


class MemoryBody(Body):
    """Something a person said and wants kept."""

    user_id: Name | None = Field(None, description="Whose it is. A user key: that user, or left out.")
    text: Kept = Field(description="The words.", examples=["I sleep badly when I read late."])
    kind: Annotated[Word, AfterValidator(writable)] = Field(
        NOTE, description="persona, style and preference are put before every answer; others are searched."
    )
    tags: list[Name] = Field(default=[], max_length=50)
    origin: Annotated[Word, AfterValidator(foreign)] = Field("api", description="Who wrote it down.")
    vantage_id: Name | None = Field(None, description="A namespace; none: it belongs to all of them.")
    thread_id: Name | None = Field(None, description="The conversation it was said in.")
    created_at: Moment | None = Field(None, description="When it was said (RFC 3339). Default: now.")

    def draft(self) -> Draft:
        """As the service takes it."""
        at = read(self.created_at) if self.created_at else None
        named = ("text", "kind", "origin", "vantage_id", "thread_id")
        return Draft(**{name: getattr(self, name) for name in named}, tags=tuple(self.tags), created_at=at)


Several: TypeAlias = Annotated[list[MemoryBody], Field(min_length=1, max_length=MOST)]
ONE, SEVERAL = TypeAdapter(MemoryBody), TypeAdapter(Several)


def either(value: object, _: Callable[[Any], Any]) -> MemoryBody | list[MemoryBody]:
    """One or several: the faults of the form that was sent, and not of the other too."""
    return SEVERAL.validate_python(value) if isinstance(value, list) else ONE.validate_python(value)


Memories: TypeAlias = Annotated[MemoryBody | Several, WrapValidator(either)]


class TextBody(Body):
    """A reference text with its name."""

    text: Kept
    id: TextId | None = Field(None, description="Again replaces. Default: made of the words.")
    title: Annotated[str, StringConstraints(max_length=500, pattern=NO_NUL)] = ""
    metadata: Annotated[Facts, AfterValidator(small)] = Field(
        default={},
        description="Stored with the text and returned in every citation (at most 8 KiB of JSON). Search"
        " results also show `kind`, `origin`, `url` and `tags`.",
    )

    def given(self) -> Given:
        """As the service takes it."""
        return Given(self.text, self.id, self.title, dict(self.metadata))


WORDS, NAMED = TypeAdapter[str](Kept), TypeAdapter(TextBody)


def named_or_not(value: object, _: Callable[[Any], Any]) -> str | TextBody:
    """A text, or one with its name: the faults of the form that was sent, and not of the other too."""
    return NAMED.validate_python(value) if isinstance(value, dict) else WORDS.validate_python(value)


Referred: TypeAlias = Annotated[Kept | TextBody, WrapValidator(named_or_not)]


class CorpusBody(Body):
    """Texts for a collection."""

    texts: list[Referred] = Field(min_length=1, max_length=MOST)

    def given(self) -> list[Given]:
        """As the service takes them."""
        return [Given(item) if isinstance(item, str) else item.given() for item in self.texts]
