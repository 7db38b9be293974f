"""When things were recorded, and ids and times of what is gone: for `as_of`, `since` and changes.

Triggers write a row when a memory is replaced or deleted, a document is removed, or a session's answers are.
Never texts. The rows that an erasure deletes leave none, and older ones go with them (`db/users.py`). Rows
from before this version count as recorded at their `created_at`.
"""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

TABLE = (
    """
    CREATE TABLE IF NOT EXISTS ibid.past_version (
        seq          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant       text NOT NULL,
        owner        text NOT NULL DEFAULT '',
        user_id      text NOT NULL,                     -- a document of several users has a row for each
        session_id   text NOT NULL DEFAULT '',
        kind         text NOT NULL,                     -- memory, document, session
        id           text NOT NULL,
        created_at   timestamptz NOT NULL,
        recorded_at  timestamptz NOT NULL,
        ended_at     timestamptz NOT NULL,
        replaced     boolean NOT NULL DEFAULT false     -- by a later version of the same id
    )
    """,
    "CREATE INDEX IF NOT EXISTS past_version_user ON ibid.past_version (tenant, user_id, kind)",
    "CREATE INDEX IF NOT EXISTS past_version_part ON ibid.past_version (tenant, kind, session_id, owner)",
    "CREATE INDEX IF NOT EXISTS answer_newest ON ibid.answer (tenant, id DESC)",
    # Without a default at first, so that no table is rewritten.
    "ALTER TABLE ibid.memory ADD COLUMN IF NOT EXISTS recorded_at timestamptz",
    "ALTER TABLE ibid.memory ALTER COLUMN recorded_at SET DEFAULT clock_timestamp()",
    "ALTER TABLE ibid.answer ADD COLUMN IF NOT EXISTS recorded_at timestamptz",
    "ALTER TABLE ibid.answer ALTER COLUMN recorded_at SET DEFAULT clock_timestamp()",
    "ALTER TABLE ibid.document ADD COLUMN IF NOT EXISTS changed_at timestamptz",
    "COMMENT ON COLUMN ibid.document.changed_at IS 'Of its state; null: see ready_at and created_at'",
)
FUNCTIONS = (
    # True while an erasure of one of these users is in progress.
    """
    CREATE OR REPLACE FUNCTION ibid.is_erasing(of_tenant text, users text[])
    RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT EXISTS (
            SELECT FROM ibid.memory_user WHERE tenant = of_tenant AND user_id = ANY(users)
            AND erased_at IS NOT NULL AND ended_at IS NULL)
    $$
    """,
    """
    CREATE OR REPLACE FUNCTION ibid.memory_replaced() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.recorded_at := clock_timestamp();
        INSERT INTO ibid.past_version
            (tenant, user_id, kind, id, created_at, recorded_at, ended_at, replaced)
        VALUES (OLD.tenant, OLD.user_id, 'memory', OLD.id, OLD.created_at,
            coalesce(OLD.recorded_at, OLD.created_at), NEW.recorded_at, true);
        RETURN NEW;
    END $$
    """,
    """
    CREATE OR REPLACE FUNCTION ibid.memory_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO ibid.past_version (tenant, user_id, kind, id, created_at, recorded_at, ended_at)
        SELECT tenant, user_id, 'memory', id, created_at, coalesce(recorded_at, created_at), clock_timestamp()
        FROM old_rows WHERE NOT ibid.is_erasing(tenant, ARRAY[user_id]);
        RETURN NULL;
    END $$
    """,
    """
    CREATE OR REPLACE FUNCTION ibid.document_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.changed_at := clock_timestamp();
        RETURN NEW;
    END $$
    """,
    """
    CREATE OR REPLACE FUNCTION ibid.document_removed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO ibid.past_version
            (tenant, owner, user_id, session_id, kind, id, created_at, recorded_at, ended_at)
        SELECT gone.tenant, gone.owner, whose, gone.session_id, 'document', gone.id, gone.created_at,
            gone.created_at, clock_timestamp()
        FROM new_rows AS gone JOIN old_rows AS former USING (id), unnest(gone.users) AS whose
        WHERE former.removed_at IS NULL AND gone.removed_at IS NOT NULL
        AND NOT ibid.is_erasing(gone.tenant, gone.users || gone.owner);
        RETURN NULL;
    END $$
    """,
    """
    CREATE OR REPLACE FUNCTION ibid.answers_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO ibid.past_version
            (tenant, owner, user_id, session_id, kind, id, created_at, recorded_at, ended_at)
        SELECT tenant, owner, coalesce(user_id, owner), session_id, 'session', session_id,
            min(created_at), min(created_at), clock_timestamp()
        FROM old_rows
        WHERE session_id <> '' AND NOT ibid.is_erasing(tenant, ARRAY[coalesce(user_id, owner), owner])
        GROUP BY tenant, owner, coalesce(user_id, owner), session_id;
        RETURN NULL;
    END $$
    """,
)
OLD = "REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT"
BOTH = "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT"
TRIGGERS = {
    ("memory", "past_replaced"): "BEFORE UPDATE ON ibid.memory FOR EACH ROW"
    " WHEN (NEW.revision IS DISTINCT FROM OLD.revision) EXECUTE FUNCTION ibid.memory_replaced()",
    ("memory", "past_deleted"): f"AFTER DELETE ON ibid.memory {OLD} EXECUTE FUNCTION ibid.memory_deleted()",
    ("document", "past_changed"): "BEFORE UPDATE ON ibid.document FOR EACH ROW"
    " WHEN (NEW.state IS DISTINCT FROM OLD.state) EXECUTE FUNCTION ibid.document_changed()",
    ("document", "past_removed"): f"AFTER UPDATE ON ibid.document {BOTH}"
    " EXECUTE FUNCTION ibid.document_removed()",
    ("answer", "past_deleted"): f"AFTER DELETE ON ibid.answer {OLD} EXECUTE FUNCTION ibid.answers_deleted()",
}
NAMES = ("memory_replaced", "memory_deleted", "document_changed", "document_removed", "answers_deleted")


def upgrade() -> None:
    """No table is rewritten."""
    for statement in (*TABLE, *FUNCTIONS):
        op.execute(statement)
    for (_, name), rest in TRIGGERS.items():
        op.execute(f"CREATE OR REPLACE TRIGGER {name} {rest}")


def downgrade() -> None:
    """Drop them."""
    for table, name in TRIGGERS:
        op.execute(f"DROP TRIGGER IF EXISTS {name} ON ibid.{table}")
    for name in NAMES:
        op.execute(f"DROP FUNCTION IF EXISTS ibid.{name}")
    op.execute("DROP FUNCTION IF EXISTS ibid.is_erasing")
    op.execute("DROP INDEX IF EXISTS ibid.answer_newest")
    op.execute("ALTER TABLE ibid.document DROP COLUMN IF EXISTS changed_at")
    for table in ("memory", "answer"):
        op.execute(f"ALTER TABLE ibid.{table} DROP COLUMN IF EXISTS recorded_at")
    op.execute("DROP TABLE IF EXISTS ibid.past_version")
