"""The days that a memory speaks of, kept with it: a question about a time compares those of many memories.

Rows without them are read from their text.
"""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No table is rewritten."""
    op.execute("ALTER TABLE ibid.memory ADD COLUMN days date[]")
    op.execute(
        "COMMENT ON COLUMN ibid.memory.days IS"
        " 'Start and end of each span of days that the text speaks of; null: not read yet'"
    )


def downgrade() -> None:
    op.execute("ALTER TABLE ibid.memory DROP COLUMN days")
