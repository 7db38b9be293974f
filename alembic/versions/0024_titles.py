"""Titles that people gave to sessions, and their ratings of answers."""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

TITLES = """
CREATE TABLE IF NOT EXISTS ibid.session_title (
    tenant      text NOT NULL,
    owner       text NOT NULL,
    session_id  text NOT NULL,
    title       text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, owner, session_id)
)
"""


def upgrade() -> None:
    """No table is rewritten."""
    op.execute(TITLES)
    op.execute("ALTER TABLE ibid.answer ADD COLUMN IF NOT EXISTS rating text")  # up, down


def downgrade() -> None:
    """Drop them."""
    op.execute("DROP TABLE IF EXISTS ibid.session_title")
    op.execute("ALTER TABLE ibid.answer DROP COLUMN IF EXISTS rating")
