"""Texts of projects: conversations (dreams among them) and code, in shared tables, and their knowledge.

public.conversation_index and public.code_index may be there, written by older tools: what is missing is added
and no column is tightened. Their rows belong to the tenant `default`; code that names no project is
THN's, by default. Triggers note every change, whoever makes it: what is in memory follows, and no
writer waits for another. Vectors are in their rows, texts beside them: a search looks at every vector, and at
few texts (docs/adr/0019). Paths are hashed, names of projects cut: a long one would not fit
into a tree's page, and their write would fail.
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

CONVERSATIONS = """
CREATE TABLE IF NOT EXISTS public.conversation_index (session_id uuid PRIMARY KEY DEFAULT gen_random_uuid());
ALTER TABLE public.conversation_index
    ADD COLUMN IF NOT EXISTS session_id       uuid DEFAULT gen_random_uuid(),
    ADD COLUMN IF NOT EXISTS tenant           text NOT NULL DEFAULT 'default',
    ADD COLUMN IF NOT EXISTS owner            text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS project          text,
    ADD COLUMN IF NOT EXISTS title            text,
    ADD COLUMN IF NOT EXISTS tags             jsonb,
    ADD COLUMN IF NOT EXISTS key_entities     jsonb,
    ADD COLUMN IF NOT EXISTS summary_short    text,
    ADD COLUMN IF NOT EXISTS summary_detailed text,
    ADD COLUMN IF NOT EXISTS memory_snippet   text,
    ADD COLUMN IF NOT EXISTS embedding        vector,
    ADD COLUMN IF NOT EXISTS indexed_at       timestamptz DEFAULT now(),
    ADD COLUMN IF NOT EXISTS sha256           text,
    ADD COLUMN IF NOT EXISTS space            text,
    ADD COLUMN IF NOT EXISTS embedding_ibid   vector;
COMMENT ON COLUMN public.conversation_index.space IS
    'ibid.space.name of the vector that Ibid made; null: another tool''s vector';
COMMENT ON COLUMN public.conversation_index.embedding_ibid IS
    'where the vector in `embedding` is another tool''s: the one of this space,
    [0] without a space: the one in `embedding` is of older words';
ALTER TABLE public.conversation_index
    ALTER COLUMN embedding SET STORAGE MAIN, ALTER COLUMN embedding_ibid SET STORAGE MAIN;
CREATE INDEX IF NOT EXISTS conversation_index_newest
    ON public.conversation_index
    (coalesce(tenant::text, 'default'), left(project, 200), indexed_at DESC NULLS LAST);
"""

CODE = """
CREATE TABLE IF NOT EXISTS public.code_index (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
ALTER TABLE public.code_index
    ADD COLUMN IF NOT EXISTS id             uuid DEFAULT gen_random_uuid(),
    ADD COLUMN IF NOT EXISTS tenant         text NOT NULL DEFAULT 'default',
    ADD COLUMN IF NOT EXISTS owner          text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS project        text NOT NULL DEFAULT 'THN',
    ADD COLUMN IF NOT EXISTS file_path      text,
    ADD COLUMN IF NOT EXISTS language       text,
    ADD COLUMN IF NOT EXISTS chunk_text     text,
    ADD COLUMN IF NOT EXISTS chunk_metadata jsonb,
    ADD COLUMN IF NOT EXISTS embedding      vector,
    ADD COLUMN IF NOT EXISTS indexed_at     timestamptz DEFAULT now(),
    ADD COLUMN IF NOT EXISTS sha256         text,
    ADD COLUMN IF NOT EXISTS space          text,
    ADD COLUMN IF NOT EXISTS embedding_ibid vector;
COMMENT ON COLUMN public.code_index.sha256 IS
    'of the whole file that the chunk was cut from; of one that was sent by itself `row ` and its own';
ALTER TABLE public.code_index
    ALTER COLUMN embedding SET STORAGE MAIN, ALTER COLUMN embedding_ibid SET STORAGE MAIN;
CREATE INDEX IF NOT EXISTS code_index_file ON public.code_index USING hash (file_path);
CREATE INDEX IF NOT EXISTS code_index_whole
    ON public.code_index (tenant, left(project, 200), left(sha256, 64)) WHERE sha256 IS NOT NULL;
"""

OURS = """
CREATE TABLE ibid.project_event (
    tenant   text NOT NULL,
    kind     text NOT NULL CHECK (kind IN ('conversations', 'code')),
    owner    text NOT NULL,
    project  text NOT NULL,                             -- its first 200 characters; '': of none
    mark     bigint NOT NULL DEFAULT hashtextextended(gen_random_uuid()::text, 0),
    PRIMARY KEY (tenant, kind, owner, project, mark)
);
COMMENT ON TABLE ibid.project_event IS
    'a row for every change that a search would see, folded now and then; no writer waits for another';

CREATE VIEW ibid.project_part AS
    SELECT tenant, kind, owner, project, bit_xor(mark) AS version FROM ibid.project_event
    GROUP BY tenant, kind, owner, project;
COMMENT ON COLUMN ibid.project_part.version IS
    'another after every change, in whichever order they are committed, and never an earlier one again';

CREATE TABLE ibid.project_words (
    kind      text NOT NULL,
    id        text NOT NULL,                            -- the row's
    seen      text NOT NULL,                            -- xmin of the row as it was analysed
    analysis  integer NOT NULL,                         -- version of the analysis that made the terms
    terms     bytea NOT NULL,
    PRIMARY KEY (kind, id)
);
ALTER TABLE ibid.project_words ALTER COLUMN terms SET STORAGE EXTERNAL;

CREATE TABLE ibid.project_knowledge (
    tenant      text NOT NULL,
    project     text NOT NULL,
    overview    text NOT NULL DEFAULT '',
    rules       text NOT NULL DEFAULT '',
    notes       jsonb NOT NULL DEFAULT '[]',            -- [{title, text}], in their order
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, project)
);

CREATE TABLE ibid.collection_home (
    name        text PRIMARY KEY,                       -- another tool's collection of points, left as it is
    home        text NOT NULL UNIQUE,                   -- ours, which is searched and written in its place
    adopted_at  timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE ibid.text_next DROP CONSTRAINT text_next_kind_check;
ALTER TABLE ibid.text_next ADD CONSTRAINT text_next_kind_check
    CHECK (kind IN ('memory', 'corpus', 'conversation', 'code'));
"""

# With the right of who made it: older tools write their tables and do not know Ibid's.
NOTED = """
CREATE FUNCTION ibid.project_{event}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO ibid.project_event (tenant, owner, project, kind) {parts};
    RETURN NULL;
END $$
"""
# Their columns may be nullable, and of another text type: null is the tenant `default`'s, and shared.
PARTS = """
    SELECT DISTINCT coalesce(tenant::text, 'default'), coalesce(owner::text, ''),
        left(coalesce(project::text, ''), 200), TG_ARGV[0] FROM
"""
EVENTS = {
    "changed": f"{PARTS} changed",
    "moved": f"{PARTS} changed UNION {PARTS} earlier",
    "emptied": f"{PARTS} ibid.project_event WHERE kind = TG_ARGV[0]",
}
# Another tool that overwrites a row's words names neither its hash nor our vector beside it, and may write a
# vector over ours: the row is that tool's again, and waits for `ibid adopt`. A vector that has stayed is of
# the words before: [0] beside it says so. Ibid's own writers change the space or the hash. Casts find their
# functions whatever the writer's search path is; operators of `vector` would not be found.
OVERWRITTEN = """
CREATE FUNCTION ibid.{kind}_overwritten() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    revised boolean;
    remade boolean;
BEGIN
    IF (OLD.space IS NULL AND OLD.embedding_ibid IS NULL)
        OR NEW.space IS DISTINCT FROM OLD.space OR NEW.sha256 IS DISTINCT FROM OLD.sha256
        OR NEW.embedding_ibid::real[] IS DISTINCT FROM OLD.embedding_ibid::real[] THEN
        RETURN NEW;
    END IF;
    revised := {revised};
    remade := NEW.embedding::real[] IS DISTINCT FROM OLD.embedding::real[];
    IF revised OR remade AND (OLD.space IS NULL OR OLD.embedding_ibid IS NULL) THEN
        NEW.space := NULL;
        NEW.sha256 := {hash};
        NEW.embedding_ibid := CASE WHEN NOT remade THEN '[0]' END;
    END IF;
    RETURN NEW;
END $$
"""
TOLD = {
    "conversations": ("title", "tags", "key_entities", "summary_short", "summary_detailed", "memory_snippet"),
    "code": ("file_path", "chunk_text"),
}
"""Columns that are embedded."""
HASH = {
    "conversations": "NULL",
    "code": "CASE WHEN starts_with(OLD.sha256, 'row ') THEN 'row ' WHEN OLD.sha256 IS NOT NULL THEN '' END",
}
"""Of nothing that is known. A chunk stays one of its file, so that it goes with it when that is rewritten;
or one that was sent by itself (`domain/code.ALONE`)."""
TRIGGERS = """
CREATE TRIGGER ibid_inserted AFTER INSERT ON {table} REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION ibid.project_changed('{kind}');
CREATE TRIGGER ibid_deleted AFTER DELETE ON {table} REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION ibid.project_changed('{kind}');
CREATE TRIGGER ibid_updated AFTER UPDATE ON {table} REFERENCING OLD TABLE AS earlier NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION ibid.project_moved('{kind}');
CREATE TRIGGER ibid_overwritten BEFORE UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION ibid.{kind}_overwritten();
CREATE TRIGGER ibid_emptied AFTER TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION ibid.project_emptied('{kind}');
INSERT INTO ibid.project_event (tenant, owner, project, kind)
    SELECT DISTINCT coalesce(tenant::text, 'default'), coalesce(owner::text, ''),
        left(coalesce(project::text, ''), 200), '{kind}' FROM {table}
"""
TABLES = {"conversations": "public.conversation_index", "code": "public.code_index"}


def upgrade() -> None:
    """Make them."""
    for table in (CONVERSATIONS, CODE, OURS):
        run(table)
    for event, parts in EVENTS.items():
        op.execute(NOTED.format(event=event, parts=parts))
    for kind, table in TABLES.items():
        revised = " OR ".join(f"NEW.{name}::text IS DISTINCT FROM OLD.{name}::text" for name in TOLD[kind])
        op.execute(OVERWRITTEN.format(kind=kind, revised=revised, hash=HASH[kind]))
        run(TRIGGERS.format(table=table, kind=kind))


def run(script: str) -> None:
    """One statement at a time: asyncpg prepares each."""
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    """Drop what is ours alone; the two tables stay, others write them too."""
    for kind, table in TABLES.items():
        for event in ("inserted", "deleted", "updated", "overwritten", "emptied"):
            op.execute(f"DROP TRIGGER ibid_{event} ON {table}")
        op.execute(f"DROP FUNCTION ibid.{kind}_overwritten()")
    for event in EVENTS:
        op.execute(f"DROP FUNCTION ibid.project_{event}()")
    op.execute("DROP VIEW ibid.project_part")
    op.execute("DELETE FROM ibid.text_next WHERE kind IN ('conversation', 'code')")
    op.execute("ALTER TABLE ibid.text_next DROP CONSTRAINT text_next_kind_check")
    op.execute(
        "ALTER TABLE ibid.text_next ADD CONSTRAINT text_next_kind_check CHECK (kind IN ('memory', 'corpus'))"
    )
    for table in ("collection_home", "project_knowledge", "project_words", "project_event"):
        op.execute(f"DROP TABLE ibid.{table}")
