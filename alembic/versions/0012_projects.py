"""What projects know: conversations (dreams among them) and code, as the seeds' tables, and their knowledge.

public.conversation_index and public.code_index may be there, written by older tools: what is missing is added
and nothing of theirs is tightened. Their rows belong to the tenant `default`; code that names no project is
THN's, as seed 000 has it. Triggers count every change, whoever makes it: what is in memory follows. Vectors
lie in their rows, texts beside them: a search looks at every vector, and at few texts (docs/decisions/0042).
Paths are hashed: a long one of theirs would not fit into a tree's page, and their write would fail.
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
    'where the vector in `embedding` is another tool''s: the one of this space';
ALTER TABLE public.conversation_index
    ALTER COLUMN embedding SET STORAGE MAIN, ALTER COLUMN embedding_ibid SET STORAGE MAIN;
CREATE INDEX IF NOT EXISTS conversation_index_newest
    ON public.conversation_index (tenant, project, indexed_at DESC);
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
COMMENT ON COLUMN public.code_index.sha256 IS 'of the whole file that the chunk was cut from';
ALTER TABLE public.code_index
    ALTER COLUMN embedding SET STORAGE MAIN, ALTER COLUMN embedding_ibid SET STORAGE MAIN;
CREATE INDEX IF NOT EXISTS code_index_file ON public.code_index USING hash (file_path);
CREATE INDEX IF NOT EXISTS code_index_whole ON public.code_index (tenant, project, sha256)
    WHERE sha256 IS NOT NULL;
"""

OURS = """
CREATE TABLE ibid.project_part (
    tenant   text NOT NULL,
    owner    text NOT NULL,
    project  text NOT NULL,
    kind     text NOT NULL CHECK (kind IN ('conversations', 'code')),
    version  bigint NOT NULL DEFAULT 0,                 -- grows with every change that a search would see
    PRIMARY KEY (tenant, kind, owner, project)
);

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

# With the right of who made it: older tools write their tables and know nothing of ours.
CHANGED = """
CREATE FUNCTION ibid.project_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO ibid.project_part AS part (tenant, owner, project, kind, version)
    SELECT DISTINCT tenant, owner, coalesce(project, ''), TG_ARGV[0], 1 FROM changed ORDER BY 1, 2, 3
    ON CONFLICT (tenant, kind, owner, project) DO UPDATE SET version = part.version + 1;
    RETURN NULL;
END $$
"""
MOVED = """
CREATE FUNCTION ibid.project_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO ibid.project_part AS part (tenant, owner, project, kind, version)
    SELECT tenant, owner, coalesce(project, ''), TG_ARGV[0], 1 FROM changed
    UNION
    SELECT tenant, owner, coalesce(project, ''), TG_ARGV[0], 1 FROM earlier
    ORDER BY 1, 2, 3
    ON CONFLICT (tenant, kind, owner, project) DO UPDATE SET version = part.version + 1;
    RETURN NULL;
END $$
"""
EMPTIED = """
CREATE FUNCTION ibid.project_emptied() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE ibid.project_part SET version = version + 1 WHERE kind = TG_ARGV[0];
    RETURN NULL;
END $$
"""
# Another tool that writes a row anew names neither its hash nor our vector beside it, and may write a vector
# of another width over ours: the row is that tool's again, and waits for `ibid adopt`. Casts find their
# functions whatever the writer's search path is; operators of `vector` would not be found.
OVERWRITTEN = """
CREATE FUNCTION ibid.{kind}_overwritten() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.space IS DISTINCT FROM OLD.space OR NEW.sha256 IS DISTINCT FROM OLD.sha256
        OR NEW.embedding_ibid::real[] IS DISTINCT FROM OLD.embedding_ibid::real[] THEN
        RETURN NEW;
    ELSIF (CASE WHEN OLD.embedding_ibid IS NOT NULL THEN {changed}
        ELSE array_length(NEW.embedding::real[], 1) IS DISTINCT FROM array_length(OLD.embedding::real[], 1)
        END) THEN
        NEW.space := NULL;
        NEW.embedding_ibid := NULL;
    END IF;
    RETURN NEW;
END $$
"""
TOLD = {
    "conversations": ("title", "tags", "key_entities", "summary_short", "summary_detailed", "memory_snippet"),
    "code": ("chunk_text",),
}
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
INSERT INTO ibid.project_part (tenant, owner, project, kind, version)
    SELECT DISTINCT tenant, owner, coalesce(project, ''), '{kind}', 1 FROM {table}
"""
TABLES = {"conversations": "public.conversation_index", "code": "public.code_index"}


def upgrade() -> None:
    """Make them."""
    for table in (CONVERSATIONS, CODE, OURS):
        run(table)
    for function in (CHANGED, MOVED, EMPTIED):
        op.execute(function)
    for kind, table in TABLES.items():
        changed = " OR ".join(f"NEW.{name}::text IS DISTINCT FROM OLD.{name}::text" for name in TOLD[kind])
        op.execute(OVERWRITTEN.format(kind=kind, changed=changed))
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
    for function in ("changed", "moved", "emptied"):
        op.execute(f"DROP FUNCTION ibid.project_{function}()")
    op.execute("DELETE FROM ibid.text_next WHERE kind IN ('conversation', 'code')")
    op.execute("ALTER TABLE ibid.text_next DROP CONSTRAINT text_next_kind_check")
    op.execute(
        "ALTER TABLE ibid.text_next ADD CONSTRAINT text_next_kind_check CHECK (kind IN ('memory', 'corpus'))"
    )
    for table in ("collection_home", "project_knowledge", "project_words", "project_part"):
        op.execute(f"DROP TABLE ibid.{table}")
