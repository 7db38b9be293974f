"""The two tables of projects as SQL: columns, vectors, terms, and which rows a scope may see.

Other tools write them too: any column may be null or hold megabytes (reads are cut here, in characters), a
vector may have any length. SQL is assembled only from names in this file; values are always parameters. Terms
and token counts are stored in `ibid.project_words` with the revision (xmin) of their row: by Ibid's writers
in the row's transaction, otherwise when its scope is loaded. Vendors' errors pass through.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.db import project_text
from app.db.pool import Pool
from app.db.rows import Connection
from app.text.terms import VERSION, encode_terms
from app.text.vocabulary import count
from app.types import Scope

VECTOR = "CASE WHEN embedding_ibid IS NOT NULL THEN embedding_ibid ELSE embedding END"
"""A row's vector: Ibid's own if `embedding` is another tool's."""
COMPARABLE = f"""
    CASE WHEN (space IS NULL OR space = {{space}}) AND vector_dims({VECTOR}) = {{dim}} THEN {VECTOR} END
"""
"""A row's vector if it belongs to the space, else null. Another tool's vector without a named space counts if
its length fits."""
DISTANCE = f"({COMPARABLE}) <=> {{vector}}"
"""Cosine distance to a query's vector, in [0, 2]; null for a row without a comparable vector, NaN for zeros.
CASE guarantees that two vectors of different lengths never meet: the operator would raise."""
FAR = "2.5"
"""Greater than every distance, sorted before NaN."""

TENANT, OWNER = "coalesce(tenant::text, 'default')", "coalesce(owner::text, '')"
"""Columns of other tools may be null. An index on the first serves the newest rows (0012)."""
WHOSE = f"{TENANT} = $1 AND {OWNER} = $2"
REACHED = f"{TENANT} = $1 AND (owner::text = ANY($2::text[]) OR owner IS NULL)"
"""Rows of a tenant and an owner; of a tenant and `owners`, who share rows without an owner."""
IN_PROJECT = "project = {0} AND left(project, 200) = left({0}, 200)"
"""Names of other tools may exceed a B-tree's page, so indexes hold their beginning."""
MOMENT = "CASE WHEN indexed_at BETWEEN '0001-01-02' AND '9999-12-30' THEN indexed_at END AS indexed_at"
"""A time within Python's range."""
WIDE = 200_000
"""Bytes of JSON above which a column is not read: as text it costs 20 ms a megabyte."""
SMALL = f"pg_column_size({{0}}) <= {WIDE} AND pg_column_size(ARRAY[{{0}}]) <= {WIDE}"
"""Stored size, then uncompressed size (an array holds it so)."""
READABLE = "(pg_typeof({0}) <> 'json'::regtype OR strpos({0}::text, '\\u0000') = 0)"
"""Only a column of type `json` can hold text that Postgres's functions reject."""
FACT = f"""(CASE WHEN {SMALL.format("chunk_metadata")} AND {READABLE.format("chunk_metadata")}
    THEN to_jsonb(chunk_metadata) ->> '{{}}' END)"""
"""A fact of a chunk's metadata. `to_jsonb` takes any column type; of a text column it makes a string without
facts."""
LINE = "CASE WHEN {fact} ~ '^[0-9]{{1,7}}$' THEN {fact}::int END"
START, END = FACT.format("start_line"), FACT.format("end_line")

TEXT_MOST, FACTS_MOST, PIECE = 20_000, 10_000, 1_000
"""Characters read of JSON that is no list, of metadata in full, and of an item or fact of larger values."""
LIST = f"""CASE WHEN {SMALL} THEN CASE
    WHEN json_typeof(to_json({{0}})) <> 'array' THEN left({{0}}::text, {TEXT_MOST})
    WHEN length(to_json({{0}})::text) <= {project_text.DETAILED} THEN to_json({{0}})::text
    ELSE (SELECT '[' || string_agg(item::text, ', ' ORDER BY turn) || ']' FROM (
        SELECT item, turn, sum(length(item::text) + 2) OVER (ORDER BY turn) AS size
        FROM json_array_elements(to_json({{0}})) WITH ORDINALITY AS every (item, turn)
        WHERE length(item::text) <= {PIECE}
    ) AS first WHERE size <= {project_text.DETAILED}) END END AS {{0}}"""  # noqa: S608 - no user input
"""A list as JSON, whatever the column's type, with as many of its first items as fit."""
NAMED = ", ".join(f"'{name}'" for name in (*project_text.NAMES, "start_line", "end_line"))
FACTS = f"""CASE WHEN {SMALL} THEN CASE
    WHEN length({{0}}::text) > {FACTS_MOST} AND json_typeof(to_json({{0}})) = 'object' AND {READABLE}
    THEN (SELECT json_object_agg(key, value)::text FROM json_each(to_json({{0}}))
        WHERE key IN ({NAMED}) AND length(value::text) <= {PIECE})
    ELSE left({{0}}::text, {TEXT_MOST}) END END AS {{0}}"""  # noqa: S608 - likewise
"""Metadata; of large values only the used facts."""
SAYS = "(octet_length({0}) > 32 OR {0} ~ '[^[:space:]]')"
HOLDS = "(pg_column_size({0}) > 32 OR {0}::text NOT IN ('null', '[]', '{{}}', '\"\"', ''))"
"""SQL: true if a text, or JSON, is not blank. Reads only tiny values: the size is known without reading."""


def some(texts: Sequence[str], json: Sequence[str] = ()) -> str:
    """SQL: true if any of these columns is not blank."""
    return " OR ".join([*map(SAYS.format, texts), *map(HOLDS.format, json)])


@dataclass(frozen=True, slots=True)
class ProjectTable:
    name: str
    kind: str
    """In `ibid.project_part` and `ibid.project_words`."""
    id: str
    """Column of the id, a UUID."""
    columns: str
    """Columns that a passage needs."""
    searchable: str
    """SQL: true if a search can find the row."""
    shown: str
    """SQL: true if the row has anything to show."""
    twins: str = ""
    """SQL: for the rows `found`, the id and the number, from 1, among visible rows (`:where`) of the same
    name."""


SPOKEN = (("title", "summary_short", "summary_detailed", "memory_snippet"), ("tags", "key_entities"))
CONVERSATION = ProjectTable(
    name="public.conversation_index",
    kind="conversations",
    id="session_id",
    columns=f"""
        left(project, 200) AS project, left(title, {project_text.TITLE}) AS title,
        {LIST.format("tags")}, {LIST.format("key_entities")},
        left(summary_short, {project_text.BRIEF}) AS summary_short,
        left(summary_detailed, {project_text.DETAILED}) AS summary_detailed,
        left(memory_snippet, {project_text.SNIPPET}) AS memory_snippet
    """,
    searchable=some(*SPOKEN),
    shown=some(*SPOKEN),
)
CHUNK = ProjectTable(
    name="public.code_index",
    kind="code",
    id="id",
    columns=f"""
        left(project, 200) AS project, left(file_path, 1000) AS file_path, left(language, 100) AS language,
        left(chunk_text, {project_text.CODE_COLUMNS}) AS chunk_text, {FACTS.format("chunk_metadata")},
        {LINE.format(fact=START)} AS start_line, {LINE.format(fact=END)} AS end_line
    """,
    searchable=some(["chunk_text"]),
    shown=some(["chunk_text", "file_path", "language"], ["chunk_metadata"]),
    twins=f"""
        SELECT id, place FROM (
            SELECT id::text AS id, row_number() OVER (
                PARTITION BY file_path, {START}, {END} ORDER BY {OWNER}, project, id
            ) AS place
            FROM public.code_index WHERE :where AND file_path = ANY (ARRAY(SELECT file_path FROM found))
        ) AS called WHERE id IN (SELECT id FROM found)
    """,  # noqa: S608 - no user input
)


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Rows of a source that a scope may see: SQL with its parameters, from $1 on."""

    sql: str
    values: tuple[object, ...]

    @property
    def parts(self) -> str:
        """The same for `ibid.project_part`, which has no nulls."""
        return self.sql.replace(TENANT, "tenant")

    def next(self, count: int) -> list[str]:
        return [f"${len(self.values) + n}" for n in range(1, count + 1)]


NOBODY = RowFilter("false", ())


class ProjectPart(NamedTuple):
    """Rows that are versioned and searched as one scope."""

    tenant: str
    owner: str
    project: str
    """The first 200 characters; "": no project."""

    @property
    def where(self) -> RowFilter:
        named = "left(project, 200) = $3" if self.project else "(project = $3 OR project IS NULL)"
        return RowFilter(f"{WHOSE} AND {named}", tuple(self))


def owners(scope: Scope) -> list[str]:
    return sorted({"", scope.owner})


def rows_of(scope: Scope, projects: Collection[str] | None, *, inside: bool = True) -> RowFilter:
    """Rows in `projects` (`inside`), or outside them; None: all."""
    known: Sequence[object] = (scope.tenant, owners(scope))
    if scope.project is not None:
        if projects is not None and (scope.project in projects) is not inside:
            return NOBODY
        named = IN_PROJECT.format("$3") if scope.project else "(project = $3 OR project IS NULL)"
        return RowFilter(f"{REACHED} AND {named}", (*known, scope.project))
    if projects is None:
        return RowFilter(REACHED, tuple(known))
    named = "project = ANY($3::text[])" if inside else "(project <> ALL($3::text[]) OR project IS NULL)"
    return RowFilter(f"{REACHED} AND {named}", (*known, sorted(projects)))


class Analysed(NamedTuple):
    terms: bytes
    """From `terms.encode_terms`, of all searchable text."""
    tokens: int
    """Tokens of the shown text."""


def conversation_analysed(row: Mapping[str, Any], *, brief: bool) -> Analysed:
    """Of a row of conversation_index, JSON as text or as values."""
    shown = project_text.conversation_text(row, brief=brief)
    return Analysed(encode_terms(project_text.conversation_words(row), shown), count(shown))


def chunk_analysed(row: Mapping[str, Any]) -> Analysed:
    shown = chunk_shown(row)
    return Analysed(encode_terms(project_text.code_words(row), shown), count(shown))


def chunk_shown(row: Mapping[str, Any]) -> str:
    return project_text.plain((row["chunk_text"] or "")[: project_text.CODE_COLUMNS])


# The revision is that of the row as this transaction wrote or found it. A concurrent delete waits, and then
# sees the stored terms (docs/adr/0019).
KEEP = """
    INSERT INTO ibid.project_words (kind, id, seen, analysis, terms, tokens)
    SELECT $1, given.id, held.xmin::text, $2, given.terms, given.tokens
    FROM unnest($3::text[], $4::bytea[], $5::int[], $6::text[]) AS given (id, terms, tokens, seen)
    JOIN {table} AS held ON held.{id} = given.id::uuid
    WHERE given.seen IS NULL OR given.seen = held.xmin::text
    FOR KEY SHARE OF held
    ON CONFLICT (kind, id) DO UPDATE SET
        seen = excluded.seen, analysis = excluded.analysis, terms = excluded.terms, tokens = excluded.tokens
"""
KEPT = """
    (SELECT words.{column} FROM ibid.project_words AS words
        WHERE words.kind = '{kind}' AND words.id = held.{id}::text AND words.seen = held.xmin::text
        AND words.analysis = {version})
"""
"""Analysis of a row of the table `held` at its revision, by one probe of the index."""
FORGET = "DELETE FROM ibid.project_words WHERE kind = $1 AND id = ANY($2::text[])"


def kept(table: ProjectTable, column: str) -> str:
    return KEPT.format(column=column, kind=table.kind, id=table.id, version=VERSION)


async def keep(
    connection: Connection | Pool,
    table: ProjectTable,
    analysed: Mapping[str, Analysed],
    seen: Mapping[str, str] | None = None,
) -> None:
    """Store analyses by row id, in the transaction that wrote the rows, after their last change; again
    replaces. `seen`: for rows of other writers, the revisions that were read; changed rows are skipped."""
    revisions = [seen[key] if seen else None for key in analysed]
    terms, tokens = [each.terms for each in analysed.values()], [each.tokens for each in analysed.values()]
    statement = KEEP.format(table=table.name, id=table.id)
    await connection.execute(statement, table.kind, VERSION, list(analysed), terms, tokens, revisions)


async def forget(connection: Connection | Pool, table: ProjectTable, ids: Collection[str]) -> None:
    await connection.execute(FORGET, table.kind, list(ids))
