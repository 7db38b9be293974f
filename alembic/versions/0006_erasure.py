"""An erased user stays erased: what was asked for before leaves nothing behind, and files are cleaned after.

A late write for a user asks `ibid.user_stands` whether he was erased meanwhile. `dirty` names
the holdings whose files still hold what was erased at `dirty_at`; NULL: none does, since `compacted_at`.
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

MARKS = """
    ALTER TABLE ibid.memory_user ADD COLUMN dirty text[], ADD COLUMN dirty_at timestamptz,
        ADD COLUMN compacted_at timestamptz
"""
DUE = "CREATE INDEX memory_user_dirty ON ibid.memory_user (dirty_at) WHERE dirty_at IS NOT NULL"

# As ibid.session_stands: the lock makes a writer wait for an erasure under way, and it for him.
STANDS = """
    CREATE FUNCTION ibid.user_stands(of_tenant text, of_user text, since timestamptz)
    RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        IF coalesce(of_user, '') = '' THEN
            RETURN true;
        END IF;
        PERFORM pg_advisory_xact_lock_shared(
            hashtextextended(concat_ws(chr(31), 'ibid.user', of_tenant, of_user), 0));
        RETURN NOT EXISTS (
            SELECT FROM ibid.memory_user
            WHERE tenant = of_tenant AND user_id = of_user AND erased_at > since);
    END $$
"""

# Erasure and export find rows by their owner, too.
OWNERS = {
    "answer_owner": "ibid.answer (tenant, owner) WHERE owner <> ''",
    "chat_log_owner": "public.chat_log (tenant, owner) WHERE owner <> ''",
    "chat_log_user": "public.chat_log (tenant, user_id) WHERE user_id IS NOT NULL",
}


def upgrade() -> None:
    """Make them."""
    for statement in (MARKS, DUE, STANDS):
        op.execute(statement)
    for name, place in OWNERS.items():
        op.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {place}")


def downgrade() -> None:
    """Drop them."""
    for name, place in OWNERS.items():
        op.execute(f"DROP INDEX {place.partition('.')[0]}.{name}")
    op.execute("DROP FUNCTION ibid.user_stands")
    op.execute("DROP INDEX ibid.memory_user_dirty")
    op.execute(
        "ALTER TABLE ibid.memory_user DROP COLUMN dirty, DROP COLUMN dirty_at, DROP COLUMN compacted_at"
    )
