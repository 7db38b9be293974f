"""Answers are found by their session: removing one must not read all of a tenant's."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index."""
    op.execute("CREATE INDEX answer_session ON ibid.answer (tenant, owner, session_id)")


def downgrade() -> None:
    """Drop it."""
    op.execute("DROP INDEX ibid.answer_session")
