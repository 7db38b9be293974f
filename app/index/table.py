"""The two tables that projects are read from, as SQL: their columns, a row's vector, who may see which rows.

Other tools write them too: any column may be null, and hold megabytes (what is read is cut here, in
characters), a vector may have any length. Pieces of statements are made from names in this file alone, what
a caller gives are always parameters. Nothing here raises.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.domain import embedded
from app.domain.passage import Scope

VECTOR = "CASE WHEN embedding_ibid IS NOT NULL THEN embedding_ibid ELSE embedding END"
"""A row's: Ibid's own where another tool's stands in `embedding`."""
DISTANCE = f"""
    CASE WHEN (space IS NULL OR space = {{space}}) AND vector_dims({VECTOR}) = {{dim}}
    THEN ({VECTOR}) <=> {{vector}} END
"""
"""Cosine distance to a query's vector, in [0, 2]; null for a row without a vector of its space, NaN for one
of zeros. Only CASE promises that two vectors of different lengths never meet: the operator would raise. A row
whose vector another tool made, in a space that nobody named, is searched as it is."""
FAR = "2.5"
"""Beyond every distance, before NaN."""

TENANT, OWNER = "coalesce(tenant::text, 'default')", "coalesce(owner::text, '')"
"""A row's: columns of other tools may be null. The newest are read off an index of the first (0012)."""
WHOSE = f"{TENANT} = $1 AND {OWNER} = $2"
REACHED = f"{TENANT} = $1 AND (owner::text = ANY($2::text[]) OR owner IS NULL)"
"""Rows of a tenant and an owner; of a tenant and `owners`, who share what is nobody's."""
IN_PROJECT = "project = {0} AND left(project, 200) = left({0}, 200)"
"""A row's project. Names of other tools may be too long for a tree's page: indexes hold their beginning."""
MOMENT = "CASE WHEN indexed_at BETWEEN '0001-01-02' AND '9999-12-30' THEN indexed_at END AS indexed_at"
"""As Python can hold it."""
WIDE = 200_000
"""Bytes of JSON beyond which a column is nobody's: it costs 20 ms a megabyte to write it as text."""
SMALL = f"pg_column_size({{0}}) <= {WIDE} AND pg_column_size(ARRAY[{{0}}]) <= {WIDE}"
"""As it is stored, then as it is without compression: an array holds it so."""
READABLE = "(pg_typeof({0}) <> 'json'::regtype OR strpos({0}::text, '\\u0000') = 0)"
"""Only a column of `json` can hold what no function of Postgres reads."""
FACT = f"""(CASE WHEN {SMALL.format("chunk_metadata")} AND {READABLE.format("chunk_metadata")}
    THEN to_jsonb(chunk_metadata) ->> '{{}}' END)"""
"""Of a chunk's metadata. `to_jsonb` takes a column of any type, and of text makes nothing that has facts."""
LINE = "CASE WHEN {fact} ~ '^[0-9]{{1,7}}$' THEN {fact}::int END"
START, END = FACT.format("start_line"), FACT.format("end_line")

TEXT_MOST, FACTS_MOST, PIECE = 20_000, 10_000, 1_000
"""Characters of JSON that is no list, of metadata read as it stands, of an item or fact of what is larger."""
LIST = f"""CASE WHEN {SMALL} THEN CASE
    WHEN json_typeof(to_json({{0}})) <> 'array' THEN left({{0}}::text, {TEXT_MOST})
    WHEN length(to_json({{0}})::text) <= {embedded.DETAILED} THEN to_json({{0}})::text
    ELSE (SELECT '[' || string_agg(item::text, ', ' ORDER BY turn) || ']' FROM (
        SELECT item, turn, sum(length(item::text) + 2) OVER (ORDER BY turn) AS size
        FROM json_array_elements(to_json({{0}})) WITH ORDINALITY AS every (item, turn)
        WHERE length(item::text) <= {PIECE}
    ) AS first WHERE size <= {embedded.DETAILED}) END END AS {{0}}"""  # noqa: S608 - no parameter of anybody's
"""A list as JSON, whatever the column's type, with as many of its first items as there is room for."""
NAMED = ", ".join(f"'{name}'" for name in (*embedded.NAMES, "start_line", "end_line"))
FACTS = f"""CASE WHEN {SMALL} THEN CASE
    WHEN length({{0}}::text) > {FACTS_MOST} AND json_typeof(to_json({{0}})) = 'object' AND {READABLE}
    THEN (SELECT json_object_agg(key, value)::text FROM json_each(to_json({{0}}))
        WHERE key IN ({NAMED}) AND length(value::text) <= {PIECE})
    ELSE left({{0}}::text, {TEXT_MOST}) END END AS {{0}}"""  # noqa: S608 - likewise
"""Metadata; of large ones what is used."""
SAYS = "(octet_length({0}) > 32 OR {0} ~ '[^[:space:]]')"
HOLDS = "(pg_column_size({0}) > 32 OR {0}::text NOT IN ('null', '[]', '{{}}', '\"\"', ''))"
"""Whether a text, and JSON, is more than blank: sizes are known of megabytes too, what is tiny is read."""


def some(texts: Sequence[str], json: Sequence[str] = ()) -> str:
    """Whether any of these columns holds something."""
    return " OR ".join([*map(SAYS.format, texts), *map(HOLDS.format, json)])


@dataclass(frozen=True, slots=True)
class Table:
    """One of them."""

    name: str
    kind: str
    """In `ibid.project_part` and `ibid.project_words`."""
    id: str
    """Its column; a UUID."""
    columns: str
    """What a passage is made of."""
    told: str
    """Whether a row has anything to be found by."""
    shown: str
    """Whether it has anything to show."""
    twins: str = ""
    """Rows in reach (`:where`) of the same files as those `found`: id, and place among those that are called
    the same, from 1."""


SPOKEN = (("title", "summary_short", "summary_detailed", "memory_snippet"), ("tags", "key_entities"))
CONVERSATION = Table(
    name="public.conversation_index",
    kind="conversations",
    id="session_id",
    columns=f"""
        left(project, 200) AS project, left(title, {embedded.TITLE}) AS title,
        {LIST.format("tags")}, {LIST.format("key_entities")},
        left(summary_short, {embedded.BRIEF}) AS summary_short,
        left(summary_detailed, {embedded.DETAILED}) AS summary_detailed,
        left(memory_snippet, {embedded.SNIPPET}) AS memory_snippet
    """,
    told=some(*SPOKEN),
    shown=some(*SPOKEN),
)
CHUNK = Table(
    name="public.code_index",
    kind="code",
    id="id",
    columns=f"""
        left(project, 200) AS project, left(file_path, 1000) AS file_path, left(language, 100) AS language,
        left(chunk_text, {embedded.CHUNK}) AS chunk_text, {FACTS.format("chunk_metadata")},
        {LINE.format(fact=START)} AS start_line, {LINE.format(fact=END)} AS end_line
    """,
    told=some(["chunk_text"]),
    shown=some(["chunk_text", "file_path", "language"], ["chunk_metadata"]),
    twins=f"""
        SELECT id::text AS id, row_number() OVER (
            PARTITION BY file_path, {START}, {END} ORDER BY {OWNER}, project, id
        ) AS place
        FROM public.code_index WHERE :where AND file_path = ANY (ARRAY(SELECT file_path FROM found))
    """,  # noqa: S608 - no parameter of anybody's
)


@dataclass(frozen=True, slots=True)
class Where:
    """Which rows a scope may see of a source: SQL with its parameters, from $1 on."""

    sql: str
    values: tuple[object, ...]

    @property
    def parts(self) -> str:
        """The same of `ibid.project_part`, where nothing is null."""
        return self.sql.replace(TENANT, "tenant")

    def next(self, count: int) -> list[str]:
        """The names of further parameters."""
        return [f"${len(self.values) + n}" for n in range(1, count + 1)]


NOBODY = Where("false", ())


def owners(scope: Scope) -> list[str]:
    """Whose rows: the tenant's shared ones, and the asker's own."""
    return sorted({"", scope.owner})


def rows_of(scope: Scope, projects: Collection[str] | None, *, inside: bool = True) -> Where:
    """Rows of the tables. `projects`: the source's alone (`inside`), or all but them; None: it has all."""
    known: Sequence[object] = (scope.tenant, owners(scope))
    if scope.project is not None:
        if projects is not None and (scope.project in projects) is not inside:
            return NOBODY
        named = IN_PROJECT.format("$3") if scope.project else "(project = $3 OR project IS NULL)"
        return Where(f"{REACHED} AND {named}", (*known, scope.project))
    if projects is None:
        return Where(REACHED, tuple(known))
    named = "project = ANY($3::text[])" if inside else "(project <> ALL($3::text[]) OR project IS NULL)"
    return Where(f"{REACHED} AND {named}", (*known, sorted(projects)))
