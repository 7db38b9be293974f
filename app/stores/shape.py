"""How a table is made that another tool may have made: its columns, and how our values fit into them.

What the catalog says of a column's type is put into statements as it stands there, quoted by Postgres; values
are parameters always. What a column of theirs must have and nobody gives is filled with the neutral value of
its type. Raises `InvalidField` for what a table of theirs refuses in a row (its constraints and triggers, the
length of a column), `Rejected` where it cannot take what we write at all, `Unavailable`.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import asyncpg

from app.clients.faults import record_faults
from app.domain.errors import InvalidField, Rejected
from app.stores.transaction import Connection

COLUMNS = """
    SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull AS required,
        atthasdef OR attidentity <> '' OR attgenerated <> '' AS filled
    FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
VECTOR = re.compile(r"(?:\w+\.)?vector(?:\((\d+)\))?")
NEUTRAL: Mapping[str, str] = {
    **dict.fromkeys(("text", "character varying", "character", "citext"), "''"),
    **dict.fromkeys(("smallint", "integer", "bigint", "numeric", "real", "double precision"), "0"),
    **dict.fromkeys(
        ("timestamp", "timestamp with time zone", "timestamp without time zone", "date"), "now()"
    ),
    **dict.fromkeys(("jsonb", "json"), "'{}'"),
    "boolean": "false",
    "uuid": "gen_random_uuid()",
}
"""By type without its length."""
REFUSES = (
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.NumericValueOutOfRangeError,
    asyncpg.RaiseError,
)
"""Raised by what its owners made of a table, about one row: another may be taken."""
LISTED = "(SELECT coalesce(array_agg(said), '{{}}') FROM jsonb_array_elements_text({}::jsonb) AS said)"


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    name: str
    type: str
    """As SQL: `character varying(200)`, `vector(1536)`."""
    required: bool
    """NOT NULL."""
    filled: bool
    """It has a default."""

    @property
    def dim(self) -> int | None:
        """Of a column of vectors: their length, 0 where any will do; None: it is none."""
        found = VECTOR.fullmatch(self.type)
        return int(found[1] or 0) if found else None

    @property
    def neutral(self) -> str | None:
        """A value that says nothing; None: we know of none for the type."""
        if self.type.endswith("[]"):
            return "'{}'"
        if self.dim:
            return f"array_fill(0, ARRAY[{self.dim}])::{self.type}"
        return NEUTRAL.get(re.sub(r"\(.*?\)", "", self.type))

    def value(self, given: str) -> str:
        """`given`, an expression, as the column takes it: cut to its length, and never null where it is
        required."""
        return f"coalesce({given}::{self.type}, {self.neutral})" if self.wants else f"{given}::{self.type}"

    def listed(self, given: str) -> str:
        """The same of a JSON array."""
        if self.type.endswith("[]"):
            array = LISTED.format(given)
            kept = array if self.required else f"CASE WHEN {given} IS NOT NULL THEN {array} END"
            return f"({kept})::{self.type}"
        return f"coalesce({given}, '[]')::{self.type}" if self.required else f"{given}::{self.type}"

    @property
    def wants(self) -> bool:
        """Whether null must give way to a neutral value."""
        return self.required and self.neutral is not None


Shape = Mapping[str, Column]
"""Of a table: its columns by name, in order."""


async def shape(connection: Connection, table: str) -> Shape:
    """As it is now: whoever else writes the table may alter it, too."""
    return {row["name"]: Column(*row) for row in await connection.fetch(COLUMNS, table)}


def vectors(columns: Shape, dim: int, given: str) -> dict[str, str]:
    """Where a vector of ours goes: into `embedding` where it fits, else beside it."""
    theirs = columns["embedding"]
    if theirs.dim in (0, dim):
        return {"embedding": theirs.value(given), "embedding_ibid": "NULL"}
    kept = theirs.neutral if theirs.wants else None
    return {"embedding": kept or "NULL", "embedding_ibid": given}


def filling(columns: Shape, ours: Mapping[str, str]) -> dict[str, str]:
    """What an INSERT gives to columns of theirs that must have something."""
    theirs = [column for name, column in columns.items() if name not in ours]
    return {column.name: str(column.neutral) for column in theirs if column.wants and not column.filled}


@contextmanager
def taking(table: str) -> Iterator[None]:
    """Around a write: what the table does not take is told, with what of the table refuses it; never what
    was written."""
    with record_faults():
        try:
            yield
        except asyncpg.StringDataRightTruncationError as error:  # of names: texts are cut to their columns
            raise InvalidField(f"{table} does not take a row: {error}") from error
        except REFUSES as error:
            raise InvalidField(f"{table} does not take a row: {named(error)}") from error
        except asyncpg.DataError as error:
            raise Rejected(f"{table} does not take a row: {named(error)}") from error


def named(error: asyncpg.PostgresError) -> str:
    """What of the table it is about."""
    return str(error.constraint_name or error.column_name or type(error).__name__)
