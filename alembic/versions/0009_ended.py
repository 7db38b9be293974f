"""When an erasure was whole, and when its files may be rewritten.

`ended_at`: every holding has dropped what it had, the engines too; NULL while one is at it, or broke off.
`due_at`: not before that; a compaction that overtook the deletes would call files clean that hold them.
"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

COLUMNS = "ALTER TABLE ibid.memory_user ADD COLUMN ended_at timestamptz, ADD COLUMN due_at timestamptz"
# Marks that were rewritten, or had nothing to rewrite, had ended.
KNOWN = """
    UPDATE ibid.memory_user SET due_at = dirty_at,
        ended_at = CASE WHEN dirty_at IS NULL THEN erased_at END
    WHERE erased_at IS NOT NULL
"""
INDEXES = {
    "memory_user_due": "(due_at) WHERE due_at IS NOT NULL",
    "memory_user_blank": "(ended_at) WHERE compacted_at IS NULL AND dirty_at IS NULL",
}


def upgrade() -> None:
    """Make them."""
    op.execute(COLUMNS)
    op.execute(KNOWN)
    op.execute("DROP INDEX ibid.memory_user_dirty")
    for name, place in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON ibid.memory_user {place}")


def downgrade() -> None:
    """Drop them."""
    for name in INDEXES:
        op.execute(f"DROP INDEX ibid.{name}")
    op.execute("CREATE INDEX memory_user_dirty ON ibid.memory_user (dirty_at) WHERE dirty_at IS NOT NULL")
    op.execute("ALTER TABLE ibid.memory_user DROP COLUMN ended_at, DROP COLUMN due_at")
