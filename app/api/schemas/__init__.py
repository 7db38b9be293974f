"""Base types of requests and replies: one pydantic model for each, received and sent as it is.

Requests are strict ("5" is not 5) and refuse unknown fields. Lengths are characters. NUL is refused
everywhere (Postgres cannot store it), and so are lone surrogates (by pydantic). In Python a model of a domain
object ends in `Out`; the OpenAPI document shows it without, as `Document` or `Citation`.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Generic, TypeAlias, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    PlainSerializer,
    StringConstraints,
    TypeAdapter,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core.core_schema import CoreSchema, NullableSchema, UnionSchema

from app.problems import OWN, pattern
from app.types import moment

T = TypeVar("T")
NO_NUL = pattern(r"^[^\x00]*$", "must not contain NUL characters")
NOT_BLANK = pattern(
    r"^[\s\x1c-\x1f]*[^\x00\s\x1c-\x1f][^\x00]*$", "must not be blank or contain NUL characters"
)
"""Pydantic's engine is Rust's, whose white space lacks 1C-1F, which str.strip() removes."""
ONE_LINE = pattern(r"^[^\x00-\x1f\x7f]+$", "must be one line without control characters")
ANY_LINE = pattern(r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$", "must be one line without control characters")
SESSION = pattern(r"^[A-Za-z0-9._:\-]+$", "may have letters, digits, `.`, `_`, `:` and `-` only")
WORD = pattern(
    r"^[A-Za-z0-9][A-Za-z0-9._:/\-]{0,99}$",
    "must have 1 to 100 letters, digits, `.`, `_`, `:`, `/` or `-`, and begin with a letter or digit",
)
TEXT_ID = pattern(r"^[^\x00-\x1f\x7f/?#%\\]+$", "must be one line without `/`, `\\`, `?`, `#` or `%`")
RFC_3339 = pattern(
    r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$",
    "must be a time with its zone, such as 2026-11-21T09:30:00Z",
)

ENTRIES_MOST = 500
"""Memories, texts, chunks or files of one request; a body has at most 2 MiB."""
OLDEST = datetime(1900, 1, 1, tzinfo=UTC)
AHEAD = timedelta(days=1)
"""How far a client's clock may be ahead of ours."""

Note: TypeAlias = Annotated[str, StringConstraints(max_length=8_000, pattern=NO_NUL)]
LongText: TypeAlias = Annotated[str, StringConstraints(max_length=100_000, pattern=NO_NUL)]
Message: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=32_000, pattern=NOT_BLANK)]
SessionId: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=SESSION)]
Name: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=ONE_LINE)]
"""A user, a thread, a project, a model: any name on one line."""
SessionTitle: TypeAlias = Annotated[str, StringConstraints(max_length=200, pattern=ANY_LINE)]
Title: TypeAlias = Annotated[str, StringConstraints(max_length=500, pattern=NO_NUL)]
Word: TypeAlias = Annotated[str, StringConstraints(pattern=WORD)]
TextId: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=TEXT_ID)]
Weight: TypeAlias = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Time: TypeAlias = Annotated[
    datetime,
    PlainSerializer(moment, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time as replies show it: RFC 3339 in UTC, with `Z`."""


def read(text: str) -> datetime:
    """An RFC 3339 time; fractions finer than a microsecond are cut off."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text.upper()))


def lived(text: str) -> str:
    """Refuse a time that does not exist, or that no person can have lived."""
    try:
        at = read(text)
    except ValueError:
        raise ValueError("must be a time that exists") from None
    if not OLDEST <= at <= datetime.now(UTC) + AHEAD:
        raise ValueError("must lie between 1900 and now")
    return text


PastTime: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=RFC_3339, max_length=40),
    AfterValidator(lived),
    Field(json_schema_extra={"format": "date-time"}),
]
"""A time as requests give it."""


def _one_error(source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    """Report one error for a wrong value of an optional union, not one for each alternative."""
    schema = cast(NullableSchema, handler(source))
    union = cast(UnionSchema, schema["schema"])
    union["custom_error_type"], union["custom_error_message"] = OWN, METADATA_PHRASE
    return schema


METADATA_PHRASE = (
    "must be text of at most 2,000 characters without NUL, a boolean, a finite number, null, or a list of at"
    " most 50 single lines of 1 to 200 characters"
)
MetadataValue: TypeAlias = Annotated[
    Annotated[str, StringConstraints(max_length=2_000, pattern=NO_NUL)]
    | bool
    | Annotated[int, Field(ge=-(2**53), le=2**53)]
    | Annotated[float, Field(allow_inf_nan=False)]
    | Annotated[list[Name], Field(max_length=50)]
    | None,
    GetPydanticSchema(_one_error),
]
Metadata: TypeAlias = Annotated[dict[Name, MetadataValue], Field(max_length=50), FailFast()]
"""Only the first wrong name or value is reported: describing all 25,000 of a request takes 50 ms."""


def by_form(form: Callable[[object], bool], yes: Any, no: Any) -> WrapValidator:  # noqa: ANN401 - types
    """Validate a union by the form of what was sent, so that errors are about that form alone."""
    adapters: dict[bool, TypeAdapter[Any]] = {True: TypeAdapter(yes), False: TypeAdapter(no)}
    return WrapValidator(lambda value, _: adapters[form(value)].validate_python(value))


def is_list(value: object) -> bool:
    return isinstance(value, list)


def is_object(value: object) -> bool:
    return isinstance(value, dict | BaseModel)


class Body(BaseModel):
    """A request body, or a part of one: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Out(BaseModel):
    """A reply, or a part of one; made from a domain object of the same fields, or from keywords."""

    model_config = ConfigDict(
        from_attributes=True,
        serialize_by_alias=True,
        model_title_generator=lambda model: model.__name__.removesuffix("Out"),
    )


class Page(Out, Generic[T]):
    """A page of a list."""

    items: list[T] = Field(description="The entries, in order.")
    next: str | None = Field(description="The `cursor` of the next page; null: this is the last one.")


class CountedPage(Page[T], Generic[T]):
    """A page of a list that says how long it is."""

    total: int | None = Field(
        None,
        exclude_if=lambda value: value is None,
        description="How many entries the whole list has: in the first page, not with `since` or `as_of`.",
    )


class GoneOut(Out):
    """What was deleted, or replaced by a later version: its text is not kept."""

    id: str = Field(description="The entry's id.")
    created_at: Time = Field(description="Its `created_at`.")
    deleted_at: Time = Field(description="When it was deleted or replaced.")
    replaced: bool = Field(description="There was a later version under the same id.")


Gone: TypeAlias = Annotated[
    list[GoneOut] | None,
    Field(
        exclude_if=lambda value: value is None,
        description="Only with `since` or `as_of`: what is not stored any more. With `as_of` it was stored at"
        " that time; with `since` it was deleted after it.",
    ),
]


def absent(value: object) -> bool:
    return value is None
