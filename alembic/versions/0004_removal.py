"""A removed session stays removed, and a thread's turns are read from an index in their order.

A late write for a session asks `ibid.session_stands` whether it was removed meanwhile.
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# A row may be there for this alone: version 0, as if there were none.
REMOVED = "ALTER TABLE ibid.part ADD COLUMN removed_at timestamptz"

# The lock makes writers wait for a removal under way and a removal for them. It must be a function, and
# volatile: a new snapshot then sees the state after the wait, in one round trip.
STANDS = """
    CREATE FUNCTION ibid.session_stands(of_tenant text, of_owner text, of_session text, since timestamptz)
    RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        IF coalesce(of_session, '') = '' THEN
            RETURN true;
        END IF;
        PERFORM pg_advisory_xact_lock_shared(
            hashtextextended(concat_ws(chr(31), 'ibid.said', of_tenant, of_owner, of_session), 0));
        RETURN NOT EXISTS (
            SELECT FROM ibid.part WHERE tenant = of_tenant AND owner = of_owner AND session_id = of_session
            AND removed_at > since);
    END $$
"""

# Newest first, rows without a time last; read backwards it is a session's reading order. Those of 0001 put
# such rows first, and tell rows of one instant apart by nothing.
NEWEST = """
    CREATE INDEX IF NOT EXISTS chat_log_{kind}_newest ON public.chat_log
        (tenant, owner, {kind}_id, created_at DESC NULLS LAST, id DESC)
"""
OLDER = """
    CREATE INDEX IF NOT EXISTS chat_log_{kind} ON public.chat_log
        (tenant, owner, {kind}_id, created_at DESC)
"""
KINDS = ("thread", "session")


def upgrade() -> None:
    """Make them."""
    op.execute(REMOVED)
    op.execute(STANDS)
    for kind in KINDS:
        op.execute(NEWEST.format(kind=kind))
        op.execute(f"DROP INDEX IF EXISTS public.chat_log_{kind}")


def downgrade() -> None:
    """Drop them."""
    for kind in KINDS:
        op.execute(OLDER.format(kind=kind))
        op.execute(f"DROP INDEX IF EXISTS public.chat_log_{kind}_newest")
    op.execute("DROP FUNCTION ibid.session_stands")
    op.execute("ALTER TABLE ibid.part DROP COLUMN removed_at")
