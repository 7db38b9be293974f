"""A user's newest memories of a kind, for the cards that every answer looks at."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index."""
    op.execute("CREATE INDEX memory_kind ON ibid.memory (tenant, user_id, kind, created_at DESC, id DESC)")


def downgrade() -> None:
    """Drop it."""
    op.execute("DROP INDEX ibid.memory_kind")
